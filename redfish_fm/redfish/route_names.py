"""The route of a path: the URI template behind it, for figures that must not grow with clients.

Pure. Actions, task monitors and the OData documents are routes too; what nothing fits has none.
"""

from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.targets import METADATA, OPENAPI, SERVICE_DOCUMENT, VERSION_DOCUMENT

FIXED_ROUTES = frozenset({VERSION_DOCUMENT, SERVICE_DOCUMENT, METADATA, OPENAPI}) | {
    "/healthz",
    "/metrics",
    "/readyz",
}
"""Paths that stand for themselves."""
_ACTIONS = "/Actions/"
_MEMBERS = "/Members"


class RouteNames:
    """Finds routes. `fixed` are paths that are routes as they stand."""

    def __init__(self, catalog: Catalog, fixed: frozenset[str] = frozenset()) -> None:
        self._catalog = catalog
        self._fixed = fixed
        self._action_info = catalog.action_info.rpartition("/")[0]

    def route_of(self, path: str) -> str | None:
        """Return "/redfish/v1/Fabrics/{FabricId}" of a path, or None."""
        uri = path[:-1] if path.endswith("/") else path
        if uri in self._fixed:
            return uri
        catalog = self._catalog
        found = catalog.template_of(uri)
        if found is not None:
            return found
        if _ACTIONS in uri:
            return self._action(uri)
        if uri.endswith(_MEMBERS):
            of = catalog.template_of(uri.removesuffix(_MEMBERS))
            return None if of is None else f"{of}{_MEMBERS}"
        if uri.rpartition("/")[0] == self._action_info:
            return catalog.action_info
        return None if catalog.task_of(uri) is None else catalog.task_monitor

    def _action(self, uri: str) -> str | None:
        """Return the route of an action, of those that there are."""
        resource, _, name = uri.partition(_ACTIONS)
        template, info = self._catalog.template_of(resource), self._catalog.type_of(resource)
        if template is None or info is None or name not in info.actions:
            return None
        return f"{template}{_ACTIONS}{name}"

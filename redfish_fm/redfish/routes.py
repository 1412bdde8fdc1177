"""Which methods stand at which URI templates: the table that `redfish-fm routes` prints.

Pure. Says what this service offers for a type; a single resource may allow less, which its Allow
header says.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from redfish_fm.redfish.catalog import ActionInfo, Catalog, TypeInfo


@dataclass(frozen=True, slots=True)
class Route:
    """One URI template of one type, or of one action of it that is carried out."""

    uri: str
    methods: tuple[str, ...]
    info: TypeInfo
    action: ActionInfo | None = None
    deprecated: bool = False


class Routes:
    """Makes the routes of types. Reads what is creatable once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._creating = frozenset(
            uri for info in catalog.types.values() if info.create for uri in info.create.collections
        )

    def all(self) -> Iterator[Route]:
        """Yield every route of every type, deprecated URIs left out."""
        for info in self._catalog.types.values():
            for uri in info.uris:
                yield from self.at(uri, info)

    def at(self, uri: str, info: TypeInfo) -> Iterator[Route]:
        """Yield the route of `info` at one of its templates, and those of its actions there."""
        deprecated = uri in info.uris_deprecated
        yield Route(uri, self._methods(uri, info), info, None, deprecated)
        for action in info.actions.values():
            if action.supported:
                below = f"{uri}/Actions/{action.path}"
                yield Route(below, ("POST",), info, action, deprecated)

    def _methods(self, uri: str, info: TypeInfo) -> tuple[str, ...]:
        offered = {
            "POST": uri in self._creating,
            "PATCH": info.updatable and bool(info.writable_here or info.overlay_here),
            "DELETE": info.deletable_here,
        }
        return ("GET", "HEAD", *(method for method, given in offered.items() if given))

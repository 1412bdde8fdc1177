"""Everything that can be read by URI: the view, with the protocol's own resources laid over it.

Satisfies redfish.view.View. What is in a table comes from there; of the view's, only the empty
collection is known. Most resources are what the view has, and cost no more than to see that.
"""

from collections.abc import Iterable, Mapping

from redfish_fm.redfish.action_documents import Advertised
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.tables import Moment, Table, with_moment
from redfish_fm.redfish.tasks import Tasks
from redfish_fm.redfish.view import Description, Representation, View


class Resources:
    """One place to look a URI up. `moments` tell, by URI, what is true only when it is read."""

    def __init__(
        self,
        catalog: Catalog,
        view: View,
        tasks: Tasks,
        advertised: Advertised,
        tables: Iterable[Table],
        moments: Mapping[str, Moment],
    ) -> None:
        self._view = view
        self._tasks = tasks
        self._advertised = advertised
        self._tables = {table.collection_uri: table for table in tables}
        self._moments = moments
        types = (catalog.type_of(uri) for uri in (*self._tables, *moments))
        self._told_here = frozenset({"Task", *(info.name for info in types if info is not None)})

    def get(self, uri: str) -> Representation | None:
        """Return the resource at `uri` (no trailing slash), or None."""
        found = self._view.get(uri)
        if found is None or found.type_name in self._told_here:
            return self._told(uri, found)
        return self._advertised.render(found)

    def describe(self, uri: str) -> Description | None:
        """Return what a write must know of the resource at `uri`, or None."""
        table = self._table_at(uri)
        return self._view.describe(uri) if table is None else table.get(uri)

    def exists(self, uri: str) -> bool:
        """Return whether `get` would find something."""
        table = self._table_at(uri)
        return self._view.exists(uri) if table is None else table.get(uri) is not None

    def is_table(self, uri: str) -> bool:
        """Return whether what is in the collection at `uri` comes and goes by itself."""
        return uri in self._tables

    def _told(self, uri: str, found: Representation | None) -> Representation | None:
        """Return what is told here of a resource that the view may have."""
        table = self._table_at(uri)
        if table is not None:
            return table.get(uri)
        if found is None:
            return None
        if found.type_name == "Task":
            return self._tasks.render(found)
        moment = self._moments.get(uri)
        return self._advertised.render(found if moment is None else with_moment(found, moment))

    def _table_at(self, uri: str) -> Table | None:
        """Return the table whose collection, or whose member, is at `uri`."""
        tables = self._tables
        return tables.get(uri) or tables.get(uri.rpartition("/")[0])

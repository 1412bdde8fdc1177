"""Everything that can be read by URI: the view, with the protocol's own resources laid over it.

Satisfies redfish.view.View. Sessions come from the session table, whatever the view has there.
"""

from redfish_fm.redfish.action_documents import Advertised
from redfish_fm.redfish.session_resources import SessionResources
from redfish_fm.redfish.tasks import Tasks
from redfish_fm.redfish.view import Description, Representation, View


class Resources:
    """One place to look a URI up."""

    def __init__(
        self, view: View, sessions: SessionResources, tasks: Tasks, advertised: Advertised
    ) -> None:
        self._view = view
        self._sessions = sessions
        self._tasks = tasks
        self._advertised = advertised
        self._sessions_prefix = f"{sessions.collection_uri}/"

    def get(self, uri: str) -> Representation | None:
        """Return the resource at `uri` (no trailing slash), or None."""
        if uri == self._sessions.collection_uri or uri.startswith(self._sessions_prefix):
            return self._sessions.get(uri)
        found = self._view.get(uri)
        if found is None:
            return None
        if found.type_name == "Task":
            return self._tasks.render(found)
        return self._advertised.render(found)

    def describe(self, uri: str) -> Description | None:
        """Return what a write must know of the resource at `uri`, or None."""
        if uri == self._sessions.collection_uri or uri.startswith(self._sessions_prefix):
            return self._sessions.get(uri)
        return self._view.describe(uri)

    def exists(self, uri: str) -> bool:
        """Return whether `get` would find something."""
        if uri == self._sessions.collection_uri or uri.startswith(self._sessions_prefix):
            return self._sessions.get(uri) is not None
        return self._view.exists(uri)

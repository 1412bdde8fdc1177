"""Sessions as resources: the collection and its members, rendered from the session table."""

from typing import Any

from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.representations import represent
from redfish_fm.redfish.sessions import SessionRow, Sessions
from redfish_fm.redfish.times import date_time
from redfish_fm.redfish.view import Representation


class SessionResources:
    """Read side of the session table."""

    def __init__(self, catalog: Catalog, sessions: Sessions[Any]) -> None:
        self._sessions = sessions
        self._info = catalog.types["Session"]
        self._collection_info = catalog.types["SessionCollection"]
        self.collection_uri = catalog.uri_of("SessionCollection")
        self._rendered: tuple[tuple[str, ...], Representation] | None = None

    def uri(self, session_id: str) -> str:
        """Return the URI of a session."""
        return f"{self.collection_uri}/{session_id}"

    def session_at(self, uri: str) -> SessionRow | None:
        """Return the open session at `uri`, or None."""
        session_id = uri.removeprefix(f"{self.collection_uri}/")
        found: SessionRow | None = self._sessions.get(session_id)
        return found

    def get(self, uri: str) -> Representation | None:
        """Return the collection or one open session, or None."""
        if uri == self.collection_uri:
            return self._collection()
        row = self.session_at(uri)
        return None if row is None else self.render(row)

    def render(self, row: SessionRow) -> Representation:
        """Return one session; its password and token are never told."""
        uri = self.uri(row.id)
        document = {
            "@odata.id": uri,
            "@odata.type": self._info.odata_type,
            "Id": row.id,
            "Name": f"Session {row.id}",
            "UserName": row.user_name,
            "Password": None,
            "SessionType": "Redfish",
            "CreatedTime": date_time(row.created_s),
        }
        if self._sessions.absolute_s is not None:
            document["ExpirationTime"] = date_time(row.created_s + self._sessions.absolute_s)
        if row.client:
            document["ClientOriginIPAddress"] = row.client
        return represent(uri, "Session", document)

    def _collection(self) -> Representation:
        # By id like every collection, so that a next link finds its place again.
        ids = tuple(sorted(row.id for row in self._sessions.open_sessions()))
        if self._rendered is None or self._rendered[0] != ids:
            document = {
                "@odata.id": self.collection_uri,
                "@odata.type": self._collection_info.odata_type,
                "Name": "Sessions",
                "Members": [{"@odata.id": self.uri(each)} for each in ids],
                "Members@odata.count": len(ids),
            }
            rendered = represent(self.collection_uri, "SessionCollection", document)
            self._rendered = (ids, rendered)
        return self._rendered[1]

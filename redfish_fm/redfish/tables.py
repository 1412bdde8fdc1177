"""Resources that come and go outside of wanted state, each collection of them a table.

Sessions, log entries and network interfaces are such: whoever keeps them says at each GET what
there is. Properties that are true only at the moment of a GET (the time) are laid over resources
of the view; no tag depends on them, so an entity tag stays while nothing else changes.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.view import Representation

Moment = Callable[[], Mapping[str, Any]]
"""Tells properties as they are now; the resource itself must not have them."""


class Table(Protocol):
    """One collection and its members, whose URIs are one segment longer."""

    @property
    def collection_uri(self) -> str:
        """The URI of the collection, without trailing slash."""
        ...

    def get(self, uri: str) -> Representation | None:
        """Return the collection or one member as it is now, or None."""
        ...


def with_moment(found: Representation, moment: Moment) -> Representation:
    """Return `found` with what is true now; its tags stay."""
    return replace(found, body=found.body[:-1] + b"," + encode(moment())[1:])

"""What the protocol may read: published resources, each as bytes with its tags."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Origin(Enum):
    """Whose resource it is; decides which verbs it allows."""

    WANTED = "wanted"
    """Made by a client (or imported and changeable)."""
    INVENTORY = "inventory"
    """Discovered, or imported and fixed."""
    SERVICE = "service"
    """Kept by the service itself: root, collections, tasks, sessions."""


@dataclass(frozen=True, slots=True)
class Representation:
    """One resource as a GET gives it.

    `body` is the complete JSON text with @odata.id and @odata.etag; `etag` is `"W.O"` with its
    quotes; `wanted_tag` the W alone, which is what If-Match compares. `type_name` is the
    unversioned Redfish type ("Zone", "ZoneCollection").
    """

    uri: str
    type_name: str
    origin: Origin
    body: bytes
    etag: str
    wanted_tag: str


class View(Protocol):
    """The last published snapshot. Never blocks; never shows what is not durable."""

    def get(self, uri: str) -> Representation | None:
        """Return the resource at `uri` (no trailing slash; the root is "/redfish/v1")."""
        ...

    def exists(self, uri: str) -> bool:
        """Return whether `get` would find something, without rendering it."""
        ...

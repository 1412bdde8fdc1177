"""What the protocol may read: published resources, each as bytes with its tags."""

from enum import Enum
from typing import Protocol

from redfish_fm.values import value_class


class Origin(Enum):
    """Whose resource it is; decides which verbs it allows."""

    WANTED = "wanted"
    """Made by a client (or imported and changeable)."""
    KEPT = "kept"
    """Changeable like those that clients make, but there as long as the service is."""
    INVENTORY = "inventory"
    """Fixed: discovered, imported so, or describing the service, like its predefined roles."""
    SERVICE = "service"
    """Comes and goes with what the service does: collections, tasks, sessions."""
    FIXED = "fixed"
    """Only shown: it follows from others, or tells how others are made. Takes no change at all."""

    @property
    def changeable(self) -> bool:
        """Whether a PATCH changes the resource itself, rather than what is laid over it."""
        return self in (Origin.WANTED, Origin.KEPT)


@value_class
class Description:
    """What must be known of a resource to decide whether something may be done to it.

    `type_name` is the unversioned Redfish type ("Zone", "ZoneCollection").
    """

    uri: str
    type_name: str
    origin: Origin


@value_class
class Representation(Description):
    """One resource as a GET gives it.

    `wanted_tag` is the W of its ETag, which is what If-Match compares; `etag` is `"W.O"` with its
    quotes. `body` is the complete JSON text with @odata.id and @odata.etag.
    """

    wanted_tag: str
    body: bytes
    etag: str


class View(Protocol):
    """The last published snapshot. Never blocks; never shows what is not durable."""

    def get(self, uri: str) -> Representation | None:
        """Return the resource at `uri` (no trailing slash; the root is "/redfish/v1")."""
        ...

    def describe(self, uri: str) -> Description | None:
        """Return what `get` would say of the resource, without rendering it."""
        ...

    def exists(self, uri: str) -> bool:
        """Return whether `get` would find something, without rendering it."""
        ...

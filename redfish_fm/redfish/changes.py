"""Changes of durable state: what the writer commits, the store keeps and the feed tells.

Pure values. A Change carries the image before and after each edit, so it is its own undo.
"""

from enum import Enum

from redfish_fm.values import value_class


class Space(Enum):
    """Where a key lives. Values are stored: never rename one."""

    # As exact as Enum's own, which hashes the name in Python at each look-up.
    __hash__ = object.__hash__

    DOCUMENT = "document"
    """Client-made (or imported, changeable) resources by URI; JSON bytes."""
    OVERLAY = "overlay"
    """Client patches over inventory by URI; JSON merge patch bytes."""
    INVENTORY = "inventory"
    """An imported mockup's read-only resources by URI; JSON bytes. Not in the feed."""
    BINDING = "binding"
    """Recorded hardware bindings; JSON bytes. Not in the feed."""
    OPERATION = "operation"
    """Open or remembered operations by id; JSON bytes. Not in the feed."""
    ANNOUNCED = "announced"
    """Last announced observed state by URI; JSON bytes. In the feed as OBSERVED."""
    SECRET = "secret"  # noqa: S105 - the name of a space, not a secret
    """Password hashes and keys by URI, in a table of their own; never in feed or export."""
    ANSWER = "answer"
    """Outcomes of writes that carried an Idempotency-Key, by account and key. Not in the feed."""
    META = "meta"
    """Facts about this state itself: source name, service UUID. Not in the feed."""


FEED_SPACES = frozenset({Space.DOCUMENT, Space.OVERLAY, Space.ANNOUNCED})
"""Spaces whose edits appear in feed records."""


@value_class
class Edit:
    """One key's change. `pre` None: it did not exist; `post` None: it no longer does."""

    space: Space
    key: str
    pre: bytes | None
    post: bytes | None

    def inverse(self) -> "Edit":
        """Return the edit that undoes this one."""
        return Edit(self.space, self.key, self.post, self.pre)


@value_class
class Change:
    """One atomic commit. Made by the writer, which gives `seq` (from 1, without gaps).

    `time_s` is the service clock's wall time (seconds since 1970); `actor` the account's user
    name or a service part such as "reconcile"; `operation` the id of the operation it belongs to.
    """

    seq: int
    time_s: float
    actor: str
    edits: tuple[Edit, ...]
    operation: str | None = None

    def undo(self) -> tuple[Edit, ...]:
        """Return the edits that take the whole change back, in the order to apply them."""
        return tuple(edit.inverse() for edit in reversed(self.edits))


class FeedOp(Enum):
    """What happened to one URI."""

    # As exact as Enum's own, which hashes the name in Python at each look-up.
    __hash__ = object.__hash__

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    OBSERVED = "observed"


@value_class
class FeedEntry:
    """One URI's part of a feed record. `pre` and `post` are document bytes or None."""

    uri: str
    op: FeedOp
    pre: bytes | None
    post: bytes | None


@value_class
class FeedRecord:
    """What one commit tells the world; the source of every event."""

    seq: int
    time_s: float
    actor: str
    operation: str | None
    entries: tuple[FeedEntry, ...]


def feed_record(change: Change) -> FeedRecord:
    """Return what `change` tells: edits of FEED_SPACES; secrets and records are left out."""
    return FeedRecord(
        change.seq,
        change.time_s,
        change.actor,
        change.operation,
        tuple(
            [
                FeedEntry(edit.key, feed_op(edit), edit.pre, edit.post)
                for edit in change.edits
                if edit.space in FEED_SPACES
            ]
        ),
    )


def feed_op(edit: Edit) -> FeedOp:
    """Return what an edit of FEED_SPACES tells that happened to its URI."""
    if edit.space is Space.ANNOUNCED:
        return FeedOp.OBSERVED
    if edit.space is Space.OVERLAY:
        return FeedOp.CHANGED
    if edit.pre is None:
        return FeedOp.CREATED
    return FeedOp.DELETED if edit.post is None else FeedOp.CHANGED

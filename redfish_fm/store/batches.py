"""What every store checks of a batch before it touches anything. Pure."""

from collections.abc import Sequence

from redfish_fm.redfish.changes import Change, Edit
from redfish_fm.store.base import StoreConflict, StoreFailed

SOURCE_KEY = "source"
"""Key in Space.META: the topology or mockup this state belongs to. Written by the store itself."""


def check_batch(base_seq: int, changes: Sequence[Change]) -> None:
    """Raise ValueError unless `changes` are numbered base_seq+1 … without gaps.

    A wrong number is a fault of the one writer, not of the device, so it is no StoreError.
    """
    if not changes:
        raise ValueError("a batch without changes")
    for expected, change in enumerate(changes, base_seq + 1):
        if change.seq != expected:
            raise ValueError(f"change {change.seq} stands where {expected} belongs")


def check_base(base_seq: int, stored_seq: int) -> None:
    """Raise StoreConflict unless the store stands where the writer believes it does."""
    if stored_seq != base_seq:
        raise StoreConflict(f"the store is at {stored_seq}, the writer at {base_seq}")


def pre_image_wrong(edit: Edit) -> StoreFailed:
    """Return the error for an edit whose key does (not) exist against its pre-image."""
    truth = "exists" if edit.pre is None else "does not exist"
    return StoreFailed(f"{edit.space.value} {edit.key} {truth}, unlike the change's pre-image")

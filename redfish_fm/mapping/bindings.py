"""Recorded bindings as stored bytes, their keys, and the edits that a binding delta means.

Pure. The stored form is JSON with a fixed field order and sorted sets: equal bindings have equal
bytes, so an Edit's `pre` can be made again from the value.
"""

import msgspec

from redfish_fm.fabric.binding import BindingDelta
from redfish_fm.fabric.values import Binding
from redfish_fm.redfish.changes import Edit, Space


def encode_binding(binding: Binding) -> bytes:
    """Return the stored form of one binding."""
    return msgspec.json.encode(binding, order="deterministic")


def decode_binding(raw: bytes) -> Binding:
    """Return the binding that `encode_binding` stored; raises msgspec.ValidationError."""
    return msgspec.json.decode(raw, type=Binding)


def binding_key(binding: Binding) -> str:
    """Return the key of a binding's record: its fabric and vPPB, which hold one binding."""
    vppb = binding.vppb
    return f"{binding.fabric}|{vppb.switch}|{vppb.vcs}|{vppb.vppb}"


def binding_edit(before: Binding | None, after: Binding | None) -> Edit:
    """Return the edit of one record; at least one side is given, both on the same vPPB."""
    known = before if after is None else after
    if known is None:
        raise ValueError("an edit of a record needs one side at least")
    return Edit(
        Space.BINDING,
        binding_key(known),
        None if before is None else encode_binding(before),
        None if after is None else encode_binding(after),
    )


def delta_edits(delta: BindingDelta) -> tuple[Edit, ...]:
    """Return the record edits of a delta: released first, so that a vPPB can be granted anew."""
    return (
        *(binding_edit(binding, None) for binding in delta.released),
        *(binding_edit(before, after) for before, after in delta.changed),
        *(binding_edit(None, binding) for binding in delta.granted),
    )

"""How feed records are kept: their bytes, and for how long.

Knows the feed's values and msgspec, and no table or file. A document inside a record is a JSON
string, not nested JSON: whatever bytes were committed come back exactly, and no bad document
can make a record unreadable.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from redfish_fm.redfish.changes import FEED_SPACES, Edit, FeedEntry, FeedOp, feed_op

RECORD_OVERHEAD_BYTES = 100
"""What a record costs besides its entries, so that many empty ones count too."""

_OPS = {op: op.value for op in FeedOp}
_Row = tuple[str, str, str | None, str | None]
_DECODER = msgspec.json.Decoder(list[_Row])


@dataclass(frozen=True, slots=True)
class Retention:
    """How long feed records are kept; whichever limit is reached first. Never for a subscriber."""

    age_s: float = 7 * 86400.0
    size_bytes: int = 256 * 1024 * 1024


DEFAULT_RETENTION = Retention()


def encode_entries(entries: Iterable[FeedEntry]) -> bytes:
    """Return the stored form. Raises ValueError for a document that is not UTF-8."""
    return msgspec.json.encode(
        [(entry.uri, entry.op.value, _text(entry.pre), _text(entry.post)) for entry in entries]
    )


def encode_edits(edits: Iterable[Edit]) -> bytes:
    """Return what `encode_entries` gives for the entries that a change of these edits tells."""
    return msgspec.json.encode(
        [
            (edit.key, _OPS[feed_op(edit)], _text(edit.pre), _text(edit.post))
            for edit in edits
            if edit.space in FEED_SPACES
        ]
    )


def decode_entries(stored: bytes) -> tuple[FeedEntry, ...]:
    """Return the entries that encode_entries was given. Raises ValueError for other bytes."""
    return tuple(
        FeedEntry(uri, FeedOp(op), _bytes(pre), _bytes(post))
        for uri, op, pre, post in _DECODER.decode(stored)
    )


def expired_count(
    records: Iterable[tuple[float, int]], total_bytes: int, now_s: float, retention: Retention
) -> tuple[int, int]:
    """Return how many of the oldest records to drop, and their bytes.

    `records` are (time_s, bytes) oldest first; only as many are looked at as are dropped, plus one.
    """
    count = dropped_bytes = 0
    for time_s, size_bytes in records:
        too_old = time_s < now_s - retention.age_s
        if not too_old and total_bytes - dropped_bytes <= retention.size_bytes:
            break
        count += 1
        dropped_bytes += size_bytes
    return count, dropped_bytes


def _text(document: bytes | None) -> str | None:
    return None if document is None else document.decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()

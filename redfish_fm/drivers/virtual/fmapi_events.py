"""Event records of a simulated switch: made, kept until they are cleared, lost when too many.

Pure; times are given in ns since 1970. A record has 128 bytes:

    00  16  identifier         14  2  handle             22  2  LD
    10  1   length             16  2  related handle     24  1  head
    11  3   flags, severity    18  8  timestamp          30  80 data
"""

import struct
from collections import deque
from dataclasses import dataclass, field
from uuid import UUID

PHYSICAL_SWITCH = UUID("77cf9271-9c02-470b-9fe4-bc7b75f2da97")
VIRTUAL_SWITCH = UUID("40d26425-3396-4c4d-a5da-3d47263af425")
MLD_PORT = UUID("8dc44363-0c96-4710-b7bf-04bb99534c3f")
DYNAMIC_CAPACITY = UUID("ca95afa7-f183-4018-8c2f-95268e101a2a")

INFORMATIONAL, WARNING, FAILURE, FATAL, DYNAMIC = range(5)
"""The logs; the first four are severities too."""

RECORD_BYTES = 128
KEPT_MAX = 256
"""Records that one log holds."""

_RECORD = struct.Struct("<16sB3sHHQBBHB11x80s")
_HEAD = struct.Struct("<BxHQQH10x")
_HANDLE_MAX = 0xFFFF


@dataclass(slots=True)
class _Log:
    records: deque[tuple[int, bytes]] = field(default_factory=deque)
    lost: int = 0
    first_lost_ns: int = 0
    last_lost_ns: int = 0


class EventLogs:
    """The logs of one switch. All managers read the same ones."""

    def __init__(self) -> None:
        self._logs = {log: _Log() for log in range(DYNAMIC + 1)}
        self._handle = 0

    def add(self, log: int, kind: UUID, data: bytes, now_ns: int, ld: int = 0) -> None:
        """Keep one record; where the log is full, it is lost and counted."""
        kept = self._logs[log]
        if len(kept.records) >= KEPT_MAX:
            kept.lost = min(kept.lost + 1, 0xFFFF)
            kept.first_lost_ns = kept.first_lost_ns or now_ns
            kept.last_lost_ns = now_ns
            return
        self._handle = self._handle % _HANDLE_MAX + 1
        severity = bytes((0 if log == DYNAMIC else log, 0, 0))
        record = _RECORD.pack(
            kind.bytes, RECORD_BYTES, severity, self._handle, 0, now_ns, 0, 0, ld, 0, data
        )
        kept.records.append((self._handle, record))

    def read(self, log: int, bytes_max: int) -> bytes | None:
        """Return the answer to Get Event Records, the oldest that fit; None for no such log."""
        kept = self._logs.get(log)
        if kept is None:
            return None
        room = max(1, (bytes_max - _HEAD.size) // RECORD_BYTES)
        shown = [record for _, record in kept.records][:room]
        flags = (kept.lost > 0) | (len(shown) < len(kept.records)) << 1
        head = _HEAD.pack(flags, kept.lost, kept.first_lost_ns, kept.last_lost_ns, len(shown))
        return head + b"".join(shown)

    def clear(self, log: int, handles: tuple[int, ...] | None) -> bool:
        """Forget records, all of them for None; False where a handle is not there."""
        kept = self._logs[log]
        if handles is None:
            self._logs[log] = _Log()
            return True
        if not set(handles) <= {handle for handle, _ in kept.records}:
            return False
        left = (each for each in kept.records if each[0] not in handles)
        self._logs[log] = _Log(deque(left))
        return True

    def has(self, log: int) -> bool:
        """Whether there is a log of that number."""
        return log in self._logs


def virtual_switch_data(vcs: int, vppb: int, entry: tuple[int, int, int]) -> bytes:
    """Return the data of a binding change: status, port and LD of the vPPB now."""
    return struct.pack("<BBBBBB", vcs, vppb, 0, *entry)


def physical_switch_data(port: int, kind: int, block: bytes, *, present: bool) -> bytes:
    """Return the data of a port's change; `block` is the port's state as 5101h tells it."""
    # PCIe slot status: bit 3 presence detect changed, bit 6 presence detect state.
    slot = (kind == SLOT_STATUS) << 3 | present << 6
    return struct.pack("<BBHB", port, kind, slot, 0) + block[1:15]


LINK_STATE, SLOT_STATUS = 0, 1
"""What a physical switch record tells."""


def capacity_data(
    kind: int, host: int, region: int, extent: bytes, *, more: bool, extents: int, tags: int
) -> bytes:
    """Return the data of a dynamic capacity record about one extent."""
    head = struct.pack("<BBHBB2x", kind, 0, host, region, more)
    return head + extent + bytes(24) + struct.pack("<II", extents, tags)


ADDED, RELEASED = 4, 5
"""What a dynamic capacity record tells: a host has taken what was offered, or given it back."""

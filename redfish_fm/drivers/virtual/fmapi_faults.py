"""What goes wrong between a simulated switch and its managers: drawn by rates, or ordered.

Pure but for its own chance, which derives from a seed: equal seeds and equal conversations, equal
faults. One fault befalls a command at most.
"""

import random
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class WireFault(Enum):
    """One kind of fault; the values are its names in settings."""

    DROP_REQUEST = "drop-request"
    """The command never arrives."""
    DROP = "drop"
    """The command is carried out and its answer never arrives."""
    DELAY = "delay"
    """The answer is late; what was asked later may be answered before."""
    DUPLICATE = "duplicate"
    """The answer comes twice."""
    REORDER = "reorder"
    """The answer comes after the next one."""
    CORRUPT = "corrupt"
    """One bit of the answer's headers is another."""
    DISCONNECT = "disconnect"
    """The connection ends amid the answer."""
    WRONG_TAG = "wrong-tag"
    """The answer carries the tag of another command."""
    BUSY = "busy"
    """Some commands in a row are refused as busy."""
    STUCK = "stuck"
    """The bind or unbind that is started never ends, until it is aborted."""


_STORM = (2, 5)
"""How many commands in a row a busy storm refuses."""

_STARTS = (0x5201, 0x5202)
_NEVER_BUSY = (0x0001, 0x0002)
"""Who is busy still says who it is, and with what."""

_HEADERS_BYTES = 16


@dataclass(slots=True)
class _Ordered:
    kind: WireFault
    opcode: int | None
    times: int


class WireFaults:
    """The faults of one wire. `rates` says how likely each is for every command, 0 to 1."""

    def __init__(
        self,
        rates: Mapping[WireFault, float] | None = None,
        seed: int | str = 0,
        *,
        delay_s_max: float = 0.2,
    ) -> None:
        self.chance = random.Random(f"{seed} wire")  # noqa: S311 - no secret
        self.befallen: Counter[WireFault] = Counter()
        """How often each has befallen."""
        self._rates = {kind: rate for kind in WireFault if (rate := (rates or {}).get(kind, 0.0))}
        self._delay_s_max = delay_s_max
        self._ordered: deque[_Ordered] = deque()
        self._storm = 0

    def order(self, kind: WireFault, opcode: int | None = None, times: int = 1) -> None:
        """Let a fault befall the next commands, or the next ones with that opcode."""
        self._ordered.append(_Ordered(kind, opcode, times))

    def stop(self) -> None:
        """Let nothing more befall."""
        self._rates.clear()
        self._ordered.clear()
        self._storm = 0

    def draw(self, opcode: int) -> WireFault | None:
        """Return what befalls a command."""
        kind = self._next_ordered(opcode) or self._by_chance(opcode)
        if kind is not None:
            self.befallen[kind] += 1
        return kind

    def delay_s(self) -> float:
        """Return how long an answer is late, in service seconds."""
        return self.chance.uniform(0.0, self._delay_s_max)

    def other_tag(self, tag: int) -> int:
        """Return another tag."""
        return (tag + self.chance.randint(1, 255)) % 256

    def corrupted(self, data: bytes) -> bytes:
        """Return bytes of which one bit in the headers is another."""
        at = self.chance.randrange(min(_HEADERS_BYTES, len(data)))
        flipped = data[at] ^ 1 << self.chance.randrange(8)
        return data[:at] + bytes((flipped,)) + data[at + 1 :]

    def _next_ordered(self, opcode: int) -> WireFault | None:
        for each in self._ordered:
            if each.opcode in (None, opcode) and _befalls(each.kind, opcode):
                each.times -= 1
                if each.times <= 0:
                    self._ordered.remove(each)
                return each.kind
        return None

    def _by_chance(self, opcode: int) -> WireFault | None:
        if self._storm and opcode not in _NEVER_BUSY:
            self._storm -= 1
            return WireFault.BUSY
        roll = self.chance.random() if self._rates else 1.0
        for kind, rate in self._rates.items():
            roll -= rate
            if roll < 0:
                if kind is WireFault.BUSY and _befalls(kind, opcode):
                    self._storm = self.chance.randint(*_STORM) - 1
                return kind if _befalls(kind, opcode) else None
        return None


def _befalls(kind: WireFault, opcode: int) -> bool:
    if kind is WireFault.STUCK:
        return opcode in _STARTS
    return kind is not WireFault.BUSY or opcode not in _NEVER_BUSY

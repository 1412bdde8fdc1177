"""How links train: how long it takes, and what the two ends agree on.

Pure: the time is given (fabric clock). A link that has just come up carries nothing until it is
trained; one that was up when the fabric was powered up for us counts as trained.
"""

from dataclasses import dataclass, field

from redfish_fm.fabric.model import Link

TRAINING_S = 0.05
"""Usual time from detection to L0: PCIe allows 100 ms, and a cold start should not wait."""

GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Transfers per second and lane by PCIe generation, in GT/s."""


@dataclass(frozen=True, slots=True)
class Negotiated:
    """What a trained link runs at. `speed_gbps` None: the generation is not known."""

    width: int
    speed_gbps: float | None


def negotiate(ends: tuple[Link, ...], gen: int | None, width: int | None) -> Negotiated:
    """Return the best that all `ends` can, no better than a degraded `gen` and `width`."""
    # An imported fabric may not know a generation or a width: 0 limits nothing.
    gens = [n for n in (*(end.gen for end in ends), gen or 0) if n]
    widths = [n for n in (*(end.lanes for end in ends), width or 0) if n]
    lanes = min(widths, default=0)
    rate = GT_S.get(min(gens, default=0))
    return Negotiated(lanes, None if rate is None else rate * lanes)


@dataclass(slots=True)
class Training:
    """Which ports of one switch are training, and until when."""

    takes_s: float = TRAINING_S
    _until_s: dict[str, float] = field(default_factory=dict)

    def begin(self, port: str, now_s: float) -> None:
        """Train the link of a port anew."""
        if self.takes_s > 0:
            self._until_s[port] = now_s + self.takes_s

    def stop(self, port: str) -> None:
        """Give up: the link is down."""
        self._until_s.pop(port, None)

    def advance(self, now_s: float) -> list[str]:
        """End what is trained by now; returns which ports that were."""
        done = [port for port, until_s in self._until_s.items() if until_s <= now_s]
        for port in done:
            del self._until_s[port]
        return done

    def next_s(self) -> float | None:
        """Return when the next link is trained, None if none is training."""
        return min(self._until_s.values(), default=None)

    def __contains__(self, port: str) -> bool:
        return port in self._until_s

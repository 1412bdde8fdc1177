"""How links train: how long it takes, what the two ends agree on, what a port counts meanwhile.

Pure: the time is given (fabric clock). A link that has just come up carries nothing until it is
trained; one that was up when the fabric was powered up for us counts as trained. Errors are those
of events and nothing else: equal events, equal counts.
"""

from dataclasses import dataclass, field

from redfish_fm.fabric.link_errors import LinkErrors
from redfish_fm.fabric.model import Link

TRAINING_S = 0.05
"""Usual time from detection to L0: PCIe allows 100 ms, and a cold start should not wait."""

GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Transfers per second and lane by PCIe generation, in GT/s."""


RETRAINED = LinkErrors(recoveries=1)
"""A link that was up and trains anew, or changes its speed or width for the better."""


@dataclass(frozen=True, slots=True)
class Negotiated:
    """What a trained link runs at. `gen` 0, `speed_gbps` None: the generation is not known."""

    width: int
    gen: int
    speed_gbps: float | None


def negotiate(ends: tuple[Link, ...], gen: int | None, width: int | None) -> Negotiated:
    """Return the best that all `ends` can, no better than a degraded `gen` and `width`."""
    # An imported fabric may not know a generation or a width: 0 limits nothing.
    gens = [n for n in (*(end.gen for end in ends), gen or 0) if n]
    widths = [n for n in (*(end.lanes for end in ends), width or 0) if n]
    lanes = min(widths, default=0)
    trained = min(gens, default=0)
    rate = GT_S.get(trained)
    return Negotiated(lanes, trained, None if rate is None else rate * lanes)


def lost(*, downstream: bool, waiting: int) -> LinkErrors:
    """Return what a port counts when its link goes down without notice.

    The receiver loses the signal, Recovery finds nothing. A `downstream` port reports that as
    Surprise Down, which is fatal, and answers the requests of the hosts that are bound there
    (`waiting`, one each) as unsupported.
    """
    if not downstream:
        return LinkErrors(correctable=1, recoveries=1)
    return LinkErrors(
        correctable=1, recoveries=1, fatal=1, non_fatal=waiting, unsupported_requests=waiting
    )


def changed(before: Negotiated, after: Negotiated) -> LinkErrors:
    """Return what a port counts when its link, still up, runs at something else.

    Lanes fall out and generations are given up because they garble what they carry: one TLP and
    one DLLP for each, both ways, sent again until the replays roll over into Recovery.
    """
    garbled = max(before.width - after.width, 0) + max(before.gen - after.gen, 0)
    if not garbled:
        return RETRAINED
    return LinkErrors(
        correctable=2 * garbled + 1,
        recoveries=1,
        replays=garbled,
        replay_rollovers=1,
        naks_sent=garbled,
        naks_received=garbled,
        bad_tlps=garbled,
        bad_dllps=garbled,
    )


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

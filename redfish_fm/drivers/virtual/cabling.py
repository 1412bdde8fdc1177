"""The links of all switches of one fabric: a link has two ends, and both train together.

Knows switches and the clock of physics. Everything in it happens synchronously.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.switch import SimulatedSwitch
from redfish_fm.fabric.link_errors import LinkErrors
from redfish_fm.fabric.model import PortId


class Cabling:
    """Trains links. `tell` is called with each switch that will have something to say in time."""

    def __init__(
        self,
        switches: Mapping[str, SimulatedSwitch],
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self._switches = switches
        self._clock = clock
        self._tell = tell
        self._training: set[str] = set()

    def ends(self, ports: Iterable[PortId]) -> tuple[PortId, ...]:
        """Return the ports, and those of other switches at the far ends of their links."""
        found: dict[PortId, None] = {}
        for port in ports:
            found[port] = None
            peer = self._switches[port.switch].peer(port.port)
            if peer is not None and peer.switch in self._switches:
                found[peer] = None
        return tuple(found)

    def train(
        self, ports: Iterable[PortId], *, announced: bool = False
    ) -> dict[PortId, LinkErrors]:
        """Train links anew or give them up; returns what both ends have counted by then."""
        now_s = self._clock.now_s()
        ends = self.ends(ports)
        for port in ends:
            self._switches[port.switch].train(port.port, now_s, announced=announced)
            self._training.add(port.switch)
            self._tell(port.switch)
        return {port: self._switches[port.switch].counted(port.port) for port in ends}

    def advance(self) -> Iterator[str]:
        """End the training that has ended by now; yields the switches of which any has."""
        now_s = self._clock.now_s()
        for name in tuple(self._training):
            trained = self._switches[name].trained(now_s)
            if self._switches[name].next_trained_s() is None:
                self._training.discard(name)
            if trained:
                yield name

    def next_s(self) -> float | None:
        """Return when the next link is trained (fabric clock), None if none is training."""
        times = (self._switches[name].next_trained_s() for name in self._training)
        return min((time_s for time_s in times if time_s is not None), default=None)

"""All simulated devices of one fabric: found by id and by port, and kept going by the fabric clock.

Knows devices and the clock of physics. Everything in it happens synchronously.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.refusals import Forgets, Refusal, Refused, describe
from redfish_fm.fabric.model import (
    Allocate,
    BindTarget,
    Deallocate,
    Inventory,
    PartState,
    PortId,
    Qos,
    Sanitize,
    SetQos,
)


class Devices(Mapping[str, SimulatedDevice]):
    """The devices of one fabric by id."""

    def __init__(self, inventory: Inventory, clock: Clock, forgets: frozenset[Forgets]) -> None:
        ports: dict[str, list[PortId]] = defaultdict(list)
        for switch in inventory.switches:
            for port in switch.ports:
                if port.device is not None:
                    ports[port.device].append(port.id)
        self._clock = clock
        self._devices = {
            device.id: SimulatedDevice(device, tuple(ports[device.id]), forgets)
            for device in inventory.devices
        }
        self._at = {port: self._devices[id_] for id_, at in ports.items() for port in at
                    if id_ in self._devices}  # fmt: skip
        self._stateful: dict[str, list[SimulatedDevice]] = defaultdict(list)
        for device in self._devices.values():
            if device.facts.sanitizes or device.facts.pool is not None:
                for name in {port.switch for port in device.ports}:
                    self._stateful[name].append(device)
        self._sharing: dict[str, list[SimulatedDevice]] = defaultdict(list)
        for device in self._devices.values():
            for name in {port.switch for port in device.ports} if device.facts.qos else ():
                self._sharing[name].append(device)
        self._busy: dict[str, SimulatedDevice] = {}

    def __getitem__(self, id_: str) -> SimulatedDevice:
        return self._devices[id_]

    def __iter__(self) -> Iterator[str]:
        return iter(self._devices)

    def __len__(self) -> int:
        return len(self._devices)

    def at(self, target: BindTarget) -> SimulatedDevice | None:
        """Return the device that a target is part of."""
        return self._at.get(PortId(target.switch, target.port))

    def execute(self, step: Allocate | Deallocate | Sanitize | SetQos) -> bool:
        """Let the device do it; returns whether that changed anything. Raises Refused."""
        device = self.at(step.target)
        if device is None:
            raise Refused(Refusal.DEVICE_ABSENT, describe(step))
        match step:
            case Allocate():
                return device.allocate(step)
            case Deallocate():
                return device.deallocate(step)
            case SetQos():
                return device.set_qos(step)
        changed = device.sanitize(step, self._clock.now_s())
        self._busy[device.facts.id] = device
        return changed

    def resume(self) -> None:
        """Go on with what was under way when its state was kept; nothing takes longer for that."""
        now_s = self._clock.now_s()
        for device in self._devices.values():
            device.cap_sanitizing(now_s)
            if device.next_s() is not None:
                self._busy[device.facts.id] = device

    def advance(self) -> list[tuple[SimulatedDevice, list[BindTarget]]]:
        """End what has ended by now; returns which device has sanitized what."""
        if not self._busy:
            return []
        now_s = self._clock.now_s()
        ended = [(device, device.advance(now_s)) for device in self._busy.values()]
        self._busy = {id_: d for id_, d in self._busy.items() if d.next_s() is not None}
        return [(device, targets) for device, targets in ended if targets]

    def next_s(self) -> float | None:
        """Return when something ends by itself next (fabric clock), None if nothing will."""
        times = (device.next_s() for device in self._busy.values())
        return min((time_s for time_s in times if time_s is not None), default=None)

    def bandwidths(self, switch: str) -> dict[BindTarget, Qos]:
        """Return what is said of the bandwidth of LDs behind the ports of one switch."""
        said: dict[BindTarget, Qos] = {}
        for device in self._sharing.get(switch, ()):
            said.update((t, q) for t, q in device.bandwidths().items() if t.switch == switch)
        return said

    def states(self, switch: str) -> dict[BindTarget, PartState]:
        """Return what is said of parts and contents behind the ports of one switch."""
        said: dict[BindTarget, PartState] = {}
        for device in self._stateful.get(switch, ()):
            states = device.states()
            if any(port.switch != switch for port in device.ports):
                states = {t: state for t, state in states.items() if t.switch == switch}
            said.update(states)
        return said

"""What the state of a port means: for the port, for the device in it, for the host behind it.

Pure. Redfish: Port.v1_18_0 LinkStatus, Resource.v1_23_0 Status.State, Cable.v1_2_4 CableStatus.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redfish_fm.fabric.health import Condition, Health
from redfish_fm.fabric.model import CableState, PortState
from redfish_fm.mapping import conditions, congestion
from redfish_fm.mapping.metering import Supply
from redfish_fm.mapping.metrics_ports import port_metrics
from redfish_fm.mapping.rendering import GT_PER_LANE
from redfish_fm.mapping.statuses import ABSENT

_GENERATIONS = {rate: f"Gen{generation}" for generation, rate in GT_PER_LANE.items()}
_CABLE_HEALTH = {
    CableState.NORMAL: Health.OK,
    CableState.DEGRADED: Health.WARNING,
    CableState.FAILED: Health.CRITICAL,
}
"""The Status.Health that CableStatus prescribes, always with State Enabled."""
_HEALTHS = {health.value: health for health in Health}


@dataclass(frozen=True, slots=True)
class SeenPort:
    """A port as last seen; `origin` is the unit plugged in there, else the port itself.

    `serial_number` is that of the device inventory knows there, None where it does not tell.
    `joins`: it leads to another switch, and whoever comes in by it is cut off without its link.
    """

    uri: str
    origin: str
    state: PortState
    serial_number: str | None = None
    joins: bool = False

    @property
    def plugged(self) -> bool:
        """Whether inventory knows a device there; a host is none."""
        return self.origin != self.uri

    @property
    def exchanged(self) -> bool:
        """Whether another device is there than inventory knows."""
        there = self.state.serial_number
        known = there is not None and self.serial_number is not None
        return self.state.device_present and known and there != self.serial_number

    @property
    def present(self) -> bool:
        """Whether the device that inventory knows is there."""
        return self.state.device_present and not self.exchanged


Seen = tuple[str, tuple[Condition, ...]]
"""State and own Conditions."""

Shown = tuple[str | None, tuple[Condition, ...], dict[str, Any]]
"""State (None: not shown), own Conditions, other properties."""


def link_shown(uri: str, seen: SeenPort) -> Shown:
    """Return State, own Conditions and properties of a port, or of what tells of its link.

    That is its PortMetrics, or the cable that the link runs through.
    """
    if uri == seen.uri:
        state = _joining(seen.state) if seen.joins else "Enabled"
        return state, port_conditions(seen), port_properties(seen.state)
    if uri.startswith(f"{seen.uri}/"):
        return None, (), {**port_metrics(seen.state.errors), **congestion.metrics(seen.state)}
    return _cable_shown(uri, seen.state.cable)


def _joining(state: PortState) -> str:
    """Return the State of a port to another switch."""
    if state.link_up:
        return "Enabled"
    return "Starting" if state.training else "UnavailableOffline"


def _cable_shown(uri: str, cable: CableState | None) -> Shown:
    if cable is None:
        return None, (), {}
    if cable is CableState.UNPLUGGED:
        return ABSENT, (), {}
    health = _CABLE_HEALTH[cable]
    own = () if health is Health.OK else (conditions.ailing(uri, health),)
    return "Enabled", own, {"CableStatus": cable.value}


def port_conditions(seen: SeenPort) -> tuple[Condition, ...]:
    """Return what is wrong with the port itself: an empty one is no fault of a port.

    A device that is there and has power and no link is, whoever of both it is: then its port shows
    the same, and the switch with it; so does the port to another switch, cable or not. A host's end
    is dark for reasons of its own.
    """
    return (*_reported(seen), *_unlinked(seen), *_exchanged(seen))


def port_properties(state: PortState) -> dict[str, Any]:
    """Return what a port shows beside its Status."""
    properties: dict[str, Any] = {"LinkStatus": link_status(state), **congestion.properties(state)}
    if state.link_up and state.speed_gbps is not None:
        properties["CurrentSpeedGbps"] = state.speed_gbps
    if state.link_up and state.width is not None:
        properties["ActiveWidth"] = state.width
    return properties


def link_status(state: PortState) -> str:
    """Return Port.LinkStatus."""
    if state.link_up:
        return "LinkUp"
    if not state.device_present:
        return "NoLink"
    return "Training" if state.training else "LinkDown"


def device_status(seen: Sequence[SeenPort]) -> Seen:
    """Return what is shown of a device with these ports, at least one.

    The best port counts: one path that works is a path.
    """
    best = max(seen, key=_usable)
    if not best.present:
        return ABSENT, (conditions.absent(best.origin), *_exchanged(best))
    if not best.state.powered:
        return "StandbyOffline", (conditions.unpowered(best.origin), *_reported(best))
    if best.state.link_up:
        return "Enabled", _reported(best)
    if best.state.training:
        return "Starting", _reported(best)
    return "UnavailableOffline", (conditions.link_down(best.origin), *_reported(best))


def interface_properties(uri: str, seen: Sequence[SeenPort]) -> dict[str, Any]:
    """Return what a PCIeDevice (URI) shows of the link it uses; nothing of any other resource.

    Of a device with several ports it is the best one.
    """
    if uri.split("/")[-2] != "PCIeDevices":
        return {}
    state = max(seen, key=_usable).state
    if not state.link_up or not state.width:
        return {}
    in_use: dict[str, Any] = {"LanesInUse": state.width}
    generation = _GENERATIONS.get((state.speed_gbps or 0.0) / state.width)
    return {"PCIeInterface": in_use if generation is None else in_use | {"PCIeType": generation}}


def supply_of(state: str, powered: bool) -> Supply:
    """Return whether a module in this State draws power."""
    if state == ABSENT:
        return Supply.ABSENT
    return Supply.ON if powered else Supply.OFF


def host_status(seen: Sequence[SeenPort]) -> Seen:
    """Return what is shown of an initiator: a host that is off is no fault of the fabric."""
    best = max(seen, key=_usable)
    if best.state.link_up:
        return "Enabled", _reported(best)
    if not best.state.powered:
        return "StandbyOffline", ()
    return ("Starting" if best.state.training else "UnavailableOffline"), ()


def _usable(seen: SeenPort) -> tuple[bool, ...]:
    state = seen.state
    return state.link_up and seen.present, seen.present, state.powered, state.training


def _reported(seen: SeenPort) -> tuple[Condition, ...]:
    # A word that Redfish does not know is not shown; that something is wrong is.
    health = _HEALTHS.get(seen.state.health, Health.WARNING)
    return () if health is Health.OK else (conditions.ailing(seen.origin, health),)


def _unlinked(seen: SeenPort) -> tuple[Condition, ...]:
    state = seen.state
    dark = state.powered and not (state.link_up or state.training)
    needed = (seen.plugged and seen.present) or seen.joins
    return (conditions.link_down(seen.origin),) if needed and dark else ()


def _exchanged(seen: SeenPort) -> tuple[Condition, ...]:
    if not seen.exchanged:
        return ()
    return (conditions.exchanged(seen.uri, seen.state.serial_number or ""),)

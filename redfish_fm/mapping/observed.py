"""What was seen of a fabric, as properties laid over its resources.

Pure: one sight in, patches out, no memory. Patches replace each other whole per URI, so what is
not known is simply absent. Owned here and nowhere else: Status of ports, vPPBs, devices,
endpoints, zones and connections, LinkStatus, BindingStatus, BoundLDId and Links.Port of vPPBs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, Observation, PortState, VppbId
from redfish_fm.fabric.values import Binding, Endpoint, Role, Violation
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.rendering import ref
from redfish_fm.mapping.uris import FABRIC

Patch = dict[str, Any]

OK = {"State": "Enabled", "Health": "OK"}
STARTING = {"State": "Starting", "Health": "OK"}
OFFLINE = {"State": "UnavailableOffline", "Health": "Critical"}
ABSENT = {"State": "Absent", "Health": "Critical"}

ERRORS_DETECTED = "ResourceEvent.1.4.ResourceErrorsDetected"
"""MessageId of a Condition: property and kind of error are its arguments."""


@dataclass(frozen=True, slots=True)
class FabricSight:
    """One look at one fabric with what it means. Made by control after each observation.

    `observation` None: no switch answers. `unmet` are wanted vPPBs not seen as wanted, `opening`
    those among them that an open operation is still binding; `foreign` is bound but not ours.
    """

    fabric: str
    observation: Observation | None
    unmet: frozenset[VppbId] = frozenset()
    foreign: tuple[tuple[VppbId, BindTarget], ...] = ()
    violations: tuple[Violation, ...] = ()
    opening: frozenset[VppbId] = frozenset()
    since: Mapping[Violation, str] = field(default_factory=dict)
    """When each violation was first seen, as DateTime text; where absent none is shown."""


def observed_patches(facts: Facts, index: FabricIndex, sight: FabricSight) -> dict[str, Patch]:
    """Return the observed properties of everything in the sight's fabric, by URI.

    Resources of unreachable switches are left out: what was last seen of them stays shown.
    """
    patches: dict[str, Patch] = {FABRIC.format(fabric=sight.fabric): _fabric(sight)}
    seen = sight.observation
    if seen is None:
        return patches
    ports = _port_states(facts, seen)
    patches.update(_switches(facts, seen))
    patches.update((uri, _port(state)) for uri, state in ports.items())
    patches.update(_vppbs(facts, sight, seen))
    patches.update(_plugged(facts, ports))
    patches.update(_endpoints(index, ports, sight.fabric))
    patches.update(_holders(index, sight, seen))
    for violation in sight.violations:
        _mark(patches, violation, sight)
    return patches


def unseen_patch(index: FabricIndex, uri: str) -> Patch | None:
    """Return what is shown of a zone or connection that nobody has looked at yet; else None.

    What wants bindings is Starting until they are seen; what wants none has nothing to wait for.
    """
    if uri not in index.zones and uri not in index.connections:
        return None
    return {"Status": dict(STARTING if index.bindings_of_holder(uri) else OK)}


def _fabric(sight: FabricSight) -> Patch:
    seen = sight.observation
    if seen is None:
        return {"Status": OFFLINE}
    health = "Critical" if sight.violations else "Warning" if sight.foreign else "OK"
    if seen.unreachable and health == "OK":
        health = "Warning"
    return {"Status": {"State": "Enabled", "Health": health}}


def _port_states(facts: Facts, seen: Observation) -> dict[str, PortState]:
    found = {}
    for port, state in seen.ports.items():
        uri = facts.port_uris.get((seen.fabric, port))
        if uri is not None and port.switch not in seen.unreachable:
            found[uri] = state
    return found


def _switches(facts: Facts, seen: Observation) -> Iterator[tuple[str, Patch]]:
    bound: dict[str, int] = {}
    for vppb, target in seen.bindings.items():
        if (seen.fabric, vppb) in facts.vppb_uris:
            bound[vppb.switch] = bound.get(vppb.switch, 0) + (target is not None)
    for (fabric, switch), uri in facts.switch_uris.items():
        if fabric != seen.fabric:
            continue
        if switch in seen.unreachable:
            yield uri, {"Status": OFFLINE}
        elif switch in bound:
            yield uri, {"Status": OK, "CXL": {"NumberOfBoundvPPBs": bound[switch]}}
        else:
            yield uri, {"Status": OK}


def _port(state: PortState) -> Patch:
    patch: Patch = {"Status": _port_status(state), "LinkStatus": _link_status(state)}
    if state.link_up and state.speed_gbps is not None:
        patch["CurrentSpeedGbps"] = state.speed_gbps
    if state.link_up and state.width is not None:
        patch["ActiveWidth"] = state.width
    return patch


def _link_status(state: PortState) -> str:
    if state.link_up:
        return "LinkUp"
    return "LinkDown" if state.device_present else "NoLink"


def _port_status(state: PortState) -> dict[str, str]:
    return {"State": "Enabled", "Health": state.health}


def _vppbs(facts: Facts, sight: FabricSight, seen: Observation) -> Iterator[tuple[str, Patch]]:
    foreign = {vppb for vppb, _target in sight.foreign}
    for vppb, target in seen.bindings.items():
        uri = facts.vppb_uris.get((seen.fabric, vppb))
        if uri is not None and vppb.switch not in seen.unreachable:
            busy = vppb in sight.opening and vppb in sight.unmet
            yield uri, _vppb(facts, seen.fabric, target, busy, vppb in foreign)


def _vppb(facts: Facts, fabric: str, target: BindTarget | None, busy: bool, foreign: bool) -> Patch:
    status = {"State": "Enabled", "Health": "Warning" if foreign else "OK"}
    if target is None:
        return {"Status": status, "BindingStatus": "Busy" if busy else "Unbound"}
    kind = "BoundPhysicalPort" if target.ld is None else "BoundLD"
    patch: Patch = {"Status": status, "BindingStatus": kind}
    if target.ld is not None:
        patch["BoundLDId"] = target.ld
    if target.port.isdecimal():
        patch["BoundPortId"] = int(target.port)
    port = facts.target_uri(fabric, target)
    if port is not None:
        patch["Links"] = {"Port": ref(port)}
    return patch


def _plugged(facts: Facts, ports: Mapping[str, PortState]) -> Iterator[tuple[str, Patch]]:
    for uri, port in facts.resource_ports.items():
        if port in ports:
            yield uri, {"Status": device_status(ports[port])}


def device_status(state: PortState) -> dict[str, str]:
    """Return the Status of what is plugged into a port in this state."""
    if not state.device_present:
        return ABSENT
    if not state.link_up:
        return OFFLINE
    return {"State": "Enabled", "Health": state.health}


def _endpoints(
    index: FabricIndex, ports: Mapping[str, PortState], fabric: str
) -> Iterator[tuple[str, Patch]]:
    for endpoint in index.endpoints.values():
        if endpoint.fabric != fabric:
            continue
        states = [ports[port] for port in sorted(endpoint.ports) if port in ports]
        if states:
            yield endpoint.id, {"Status": _endpoint_status(endpoint, states)}


def _endpoint_status(endpoint: Endpoint, states: list[PortState]) -> dict[str, str]:
    """The best of its ports counts: one path that works is a path."""
    best = max(states, key=lambda state: (state.link_up, state.device_present))
    if endpoint.role is Role.INITIATOR and not best.link_up:
        # A host that is switched off is no fault of the fabric; its bind waits.
        return {"State": "UnavailableOffline", "Health": "OK"}
    return device_status(best)


def _holders(
    index: FabricIndex, sight: FabricSight, seen: Observation
) -> Iterator[tuple[str, Patch]]:
    for holders in (index.zones, index.connections):
        for uri, holder in holders.items():
            if holder.fabric == sight.fabric:
                status = _holder_status(index.bindings_of_holder(uri), sight, seen)
                if status is not None:
                    yield uri, {"Status": status}


def _holder_status(
    bindings: Iterable[Binding], sight: FabricSight, seen: Observation
) -> Patch | None:
    """Enabled when all is bound, Starting while an operation binds it, Critical when lost."""
    mine = [binding for binding in bindings if binding.fabric == sight.fabric]
    known = [binding for binding in mine if binding.vppb.switch not in seen.unreachable]
    unmet = [binding.vppb for binding in known if binding.vppb in sight.unmet]
    if any(vppb not in sight.opening for vppb in unmet):
        return {"State": "Enabled", "Health": "Critical"}
    if unmet:
        return dict(STARTING)
    if len(known) < len(mine):
        return {"State": "Enabled", "Health": "Warning"}
    return dict(OK)


def _mark(patches: dict[str, Patch], violation: Violation, sight: FabricSight) -> None:
    """Say at the unit, and at who rightly holds it, that the wrong host reaches it."""
    for uri in filter(None, (violation.subject, violation.holder)):
        patch = patches.setdefault(uri, {})
        status: Patch = dict(patch.get("Status") or OK)
        found = [*status.get("Conditions", ()), _condition(violation, sight)]
        patch["Status"] = {**status, "Health": "Critical", "Conditions": found}


def _condition(violation: Violation, sight: FabricSight) -> Patch:
    hosts = ", ".join(violation.others)
    told = f"isolation violation: {violation.subject} reached by {hosts or 'nobody entitled'}"
    condition: Patch = {
        "MessageId": ERRORS_DETECTED,
        "MessageArgs": ["Links", told],
        "Message": told,
        "Severity": "Critical",
    }
    if violation in sight.since:
        condition["Timestamp"] = sight.since[violation]
    if violation.subject.startswith("/"):
        condition["OriginOfCondition"] = ref(violation.subject)
    return condition

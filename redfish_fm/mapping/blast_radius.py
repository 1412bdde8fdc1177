"""What would suffer if a resource failed: CompositionService's own action, and its answer.

Pure; changes nothing. Our OEM schema: schemas/oem/RedfishFMComposition_v1.xml. A failure domain is
the chassis (a rack, mostly) that everything in it stands in, and fails as that.
"""

from typing import Any

from redfish_fm.fabric.blast_radius import Outage, Suffering, blast_radius
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.rendering import ref, refs
from redfish_fm.mapping.systems_shown import ACTION_INFO
from redfish_fm.mapping.uris import COMPOSITION_SERVICE, chassis_of
from redfish_fm.redfish.writes import OutcomeKind, Write

ACTION = "RedfishFMComposition.BlastRadius"


def advertised() -> dict[str, Any]:
    """Return the Oem part of Actions of the CompositionService."""
    return {
        f"#{ACTION}": {
            "target": f"{COMPOSITION_SERVICE}/Actions/Oem/{ACTION}",
            "@Redfish.ActionInfo": ACTION_INFO.format(action=ACTION),
        }
    }


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft that answers the action, and does nothing."""
    uri = next(uris_at(write.body, ["Resource"]), "")
    if not tip.exists(uri):
        raise refusals.bad_content(refusals.missing_reference(uri, "#/Resource"))
    found = blast_radius(tip.index, outage_of(uri, tip.index, tip.facts))
    return Draft(OutcomeKind.NO_OPERATION, write.uri, body=answer(uri, found))


def answer(uri: str, found: tuple[Suffering, ...]) -> dict[str, Any]:
    """Return what the action answers with."""
    return {
        "Resource": ref(uri),
        "Affected": [
            {
                "System": ref(each.composition),
                "Harm": each.harm.value,
                "Lost": refs(each.lost),
                "RedundancyLost": refs(each.spared),
            }
            for each in found
        ],
    }


def outage_of(uri: str, index: FabricIndex, facts: Facts) -> Outage:
    """Return what fails with the resource at `uri`; nothing where nothing is bound through it."""
    if uri in facts.whereabouts.switch_at:
        return _of_switches(frozenset({uri}), facts)
    if chassis_of(uri) == uri:
        return _of_chassis(uri, facts)
    if uri in index.chunks or uri in index.regions or uri in index.volumes:
        return Outage(parts=frozenset({uri}))
    block = index.blocks.get(uri)
    if block is not None:
        return Outage(frozenset({block.host} if block.host else ()), block.units)
    composition = index.compositions.get(uri)
    if composition is not None and composition.host is not None:
        return Outage(hosts=frozenset({composition.host}))
    port = facts.switch_port(facts.link_resources.get(uri, uri))
    if facts.port_at(port) is not None:
        return _of_port(port, facts)
    endpoint = index.endpoints.get(uri)
    if endpoint is not None:
        return _together(
            [Outage(units=endpoint.units), *(_of_port(p, facts) for p in endpoint.ports)]
        )
    return _of_entity(uri, index, facts)


def _of_entity(uri: str, index: FabricIndex, facts: Facts) -> Outage:
    """Return the outage of a device, of a host, or of what is built into one of these."""
    for place in enclosing(uri):
        if place in index.units:
            return Outage(units=frozenset({place}))
        if place in facts.parts_of:
            return Outage(units=frozenset({facts.parts_of[place]}))
        if facts.entity_units.get(place):
            return Outage(units=facts.entity_units[place])
        if place in facts.entity_hosts:
            return Outage(hosts=frozenset({facts.entity_hosts[place]}))
    return Outage()


def _of_port(port: str, facts: Facts) -> Outage:
    """Return what fails with a switch port: what is plugged in there, or the way of hosts."""
    ends = (port, facts.peer_ports.get(port, port))
    return Outage(
        units=facts.port_units.get(port, frozenset()),
        vcss=frozenset[tuple[str, str]]().union(*map(facts.whereabouts.vcss_at, ends)),
    )


def _of_switches(uris: frozenset[str], facts: Facts) -> Outage:
    """Return what fails with switches: themselves, and the ways to what is plugged in there."""
    known = [facts.whereabouts.switch_at[uri] for uri in uris]
    ports = (port for place in known for port in facts.whereabouts.ports_of(*place))
    units = (facts.port_units.get(uri, frozenset()) for uri in ports)
    return Outage(
        units=frozenset[str]().union(*units), switches=frozenset(switch for _, switch in known)
    )


def _of_chassis(uri: str, facts: Facts) -> Outage:
    """Return what fails with a chassis: all that stands in it, however deep."""
    at = facts.whereabouts
    inside = [*at.inside(uri)]
    hosts = (facts.entity_hosts.get(each) for each in inside)
    devices = Outage(
        frozenset(host for host in hosts if host is not None),
        frozenset[str]().union(*map(at.units_in, inside)),
    )
    switches = frozenset[str]().union(*map(at.switches_in, inside))
    return _together([devices, _of_switches(switches, facts)])


def _together(outages: list[Outage]) -> Outage:
    """Return everything that fails when all of them happen."""
    return Outage(
        frozenset[str]().union(*(each.hosts for each in outages)),
        frozenset[str]().union(*(each.units for each in outages)),
        frozenset[str]().union(*(each.parts for each in outages)),
        frozenset[tuple[str, str]]().union(*(each.vcss for each in outages)),
        frozenset[str]().union(*(each.switches for each in outages)),
    )

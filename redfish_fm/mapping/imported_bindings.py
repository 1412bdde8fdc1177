"""Which bindings a mockup's own zones and connections imply, and on which vPPBs.

Pure. A vPPB whose document already names the unit keeps it; other units take free ones. These
bindings are both what the service wants and what the virtual switch starts with. Where zones give
one thing to two hosts, the first has it: whole, in part, or by another way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from redfish_fm.fabric.binding import wanted_by_connection, wanted_by_zone
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_tree import Documents
from redfish_fm.mapping.read import members


def implied_bindings(
    documents: Documents, facts: Facts, index: FabricIndex, findings: list[Finding]
) -> list[Binding]:
    """Return the bindings of all zones and connections in `index`, and put them there."""
    documented = dict(_documented(documents, facts))
    reserved = frozenset(documented.values())
    for holder, fabric, unit, host in _claims(index):
        others = {each for each in _hosts_around(index, unit) if each != host}
        same = [each for each in index.bindings_of_unit(unit) if each.host == host]
        if others:
            told = ", ".join(sorted(others))
            text = f"{unit} is already bound for {told}, whole or in part, not for {host}"
            findings.append(Finding(FindingKind.CONTRADICTION, holder, text))
        elif same:
            index.put_binding(replace(same[0], holders=same[0].holders | {holder}))
        else:
            _bind(index, documented, reserved, (holder, fabric, unit, host), findings)
    findings.extend(_unbound_regions(index))
    return [index.bindings[vppb] for vppb in sorted(index.bindings)]


def _unbound_regions(index: FabricIndex) -> Iterator[Finding]:
    """Yield what connections grant that no driver of an import can bind."""
    for uri, connection in sorted(index.connections.items()):
        for each in connection.regions:
            if each.region in index.regions and index.units[each.region].target is None:
                text = f"{each.region} is kept for its host, but nothing can bind it"
                yield Finding(FindingKind.COMPLETED, uri, text)


def _hosts_around(index: FabricIndex, unit: str) -> Iterator[str]:
    """Yield the hosts for which the unit is bound, what it lies in, or what lies in it."""
    todo = [unit]
    while todo:
        inner = todo.pop()
        todo += index.units_within(inner)
        yield from (each.host for each in index.bindings_of_unit(inner))
    for above in index.units_above(unit):
        yield from (each.host for each in index.bindings_of_unit(above))


def _claims(index: FabricIndex) -> Iterator[tuple[str, str, str, str]]:
    """Yield (holder, fabric, unit, host) in an order that does not depend on anything else."""
    for uri, zone in sorted(index.zones.items()):
        for unit, host in sorted(wanted_by_zone(index, zone)):
            yield uri, zone.fabric, unit, host
    for uri, connection in sorted(index.connections.items()):
        for unit, host in sorted(wanted_by_connection(index, connection)):
            yield uri, connection.fabric, unit, host


def _bind(
    index: FabricIndex,
    documented: Mapping[str, VppbId],
    reserved: frozenset[VppbId],
    claim: tuple[str, str, str, str],
    findings: list[Finding],
) -> None:
    holder, fabric, unit, host = claim
    target = index.units[unit].target
    if target is None:
        return
    vppb = documented.get(unit)
    vcs = None if vppb is None else index.vcss.get((vppb.switch, vppb.vcs))
    if vppb is None or vcs is None or vcs.host != host or vppb in index.bindings:
        vppb = index.free_vppb(fabric, host, target.switch, reserved) or index.free_vppb(
            fabric, host, target.switch, frozenset()
        )
    if vppb is None:
        text = f"{host} has no vPPB left for {unit}, which stays unbound"
        findings.append(Finding(FindingKind.COMPLETED, holder, text))
        return
    index.put_binding(Binding(fabric, unit, host, vppb, target, frozenset({holder})))


def _documented(documents: Documents, facts: Facts) -> Iterator[tuple[str, VppbId]]:
    """Yield (unit, vPPB) where a vPPB's document says what is bound to it."""
    ports = {uri: key for key, uri in facts.port_uris.items()}
    for (fabric, vppb), uri in facts.vppb_uris.items():
        document = documents[uri]
        ld = document.get("BoundLDId")
        for port in members(document, "Links/Port"):
            if port in ports and document.get("BindingStatus") != "Unbound":
                place = ports[port][1]
                number = ld if isinstance(ld, int) else None
                unit = facts.target_units.get(
                    (fabric, BindTarget(place.switch, place.port, number))
                )
                if unit is not None:
                    yield unit, vppb

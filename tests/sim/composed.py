"""Compositions held apart, naively: a second reading of rule 5, by documents and by hardware.

Shares no code with the rules, nor with the index's own look-ups of who holds what. Looks at
everything each time.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redfish_fm.fabric.composition import Composition
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.mapping.uris import ACTIVE_POOL, FREE_POOL, RESOURCE_BLOCKS
from tests.sim.isolation import routes
from tests.sim.plant import Plant
from tests.sim.process import Process


def mixed_up(index: FabricIndex, now_s: float) -> str | None:
    """Return what is wrong with who has what, or None."""
    return next(_mixed_up(index, now_s), None)


def _mixed_up(index: FabricIndex, now_s: float) -> Iterator[str]:
    yield from _blocks_twice(index)
    yield from _hosts_twice(index)
    yield from _held_twice(index)
    yield from _taken_by_others(index)
    yield from _hosts_of_others(index)
    yield from _reserved(index, now_s)


def _blocks_twice(index: FabricIndex) -> Iterator[str]:
    users: dict[str, set[str]] = defaultdict(set)
    for each in index.compositions.values():
        if len(set(each.blocks)) < len(each.blocks):
            yield f"{each.id} has a block twice"
        for block in each.blocks:
            users[block].add(each.id)
    for name, systems in users.items():
        block = index.blocks.get(name)
        if block is None:
            yield f"{systems} are made of {name}, which is not there"
        elif len(systems) > 1 and not block.sharing:
            yield f"{name} is in {sorted(systems)}"


def _hosts_twice(index: FabricIndex) -> Iterator[str]:
    runs: dict[str, set[str]] = defaultdict(set)
    for each in index.compositions.values():
        computes = [name for name in each.blocks
                    if name in index.blocks and index.blocks[name].host is not None]  # fmt: skip
        if len(computes) != (0 if each.expands else 1):
            yield f"{each.id} has {computes} to run on"
        runs[str(each.host)].add(each.id)
    for host, systems in runs.items():
        if len(systems) > 1:
            yield f"{sorted(systems)} run on {host}"


def _held_twice(index: FabricIndex) -> Iterator[str]:
    tables = (index.zones, index.connections, index.chunks, index.regions, index.volumes)
    holders: dict[str, set[str]] = defaultdict(set)
    for each in index.compositions.values():
        for name in each.holdings:
            holders[name].add(each.id)
            if not any(name in table for table in tables):
                yield f"{each.id} holds {name}, which is not there"
    for name, systems in holders.items():
        if len(systems) > 1:
            yield f"{name} is held by {sorted(systems)}"


def _taken_by_others(index: FabricIndex) -> Iterator[str]:
    """Nobody else's zone, connection or vPPB has what is in a block that is no shared one."""
    owners = whole_units(index)
    for holder, units, hosts in _takings(index):
        for unit in units:
            owner = next((owners[near] for near in _near(index, unit) if near in owners), None)
            if owner is None:
                continue
            system = index.compositions[owner]
            if holder not in system.holdings:
                yield f"{holder} has {unit} of {owner}"
            elif hosts - {system.host}:
                yield f"{holder} of {owner} has {unit} for {sorted(hosts)}"
    for each in index.compositions.values():
        for name in each.holdings:
            for binding in index.bindings.values():
                if name in binding.holders and binding.host != each.host:
                    yield f"{name} of {each.id} is bound for {binding.host}"


def _hosts_of_others(index: FabricIndex) -> Iterator[str]:
    """Nobody else's zone, connection or vPPB names the host of a composed system."""
    owners = {each.host: each for each in index.compositions.values() if not each.expands}
    for holder, _, hosts in _takings(index):
        for host in hosts & owners.keys():
            if holder not in owners[host].holdings:
                yield f"{holder} names {host}, which {owners[host].id} runs on"


def whole_units(index: FabricIndex) -> dict[str, str]:
    """Return unit -> the composition that has the block it is in, shared blocks left out."""
    return {
        unit: each.id
        for each in index.compositions.values()
        for name in each.blocks
        if name in index.blocks and not index.blocks[name].sharing
        for unit in index.blocks[name].units
    }


def _takings(index: FabricIndex) -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield who takes which units for which hosts."""
    for zone in filter(routes, index.zones.values()):
        yield zone.id, *_meant(index, zone.endpoints)
    for connection in index.connections.values():
        ends = (*connection.initiators, *connection.targets)
        yield connection.id, *_meant(index, ends)
    for grant in index.vppb_grants.values():
        yield grant.id, {grant.unit}, {grant.host}


def _meant(index: FabricIndex, ends: Sequence[str]) -> tuple[set[str], set[str]]:
    known = [index.endpoints[end] for end in ends if end in index.endpoints]
    units = {unit for end in known for unit in end.units}
    return units, {end.host for end in known if end.host is not None}


def _near(index: FabricIndex, unit: str) -> Iterator[str]:
    """Yield the unit, what it is in, and what is in it."""
    above: str | None = unit
    while above is not None:
        yield above
        above = index.units[above].within if above in index.units else None
    for other in index.units.values():
        at: str | None = other.within
        while at is not None:
            if at == unit:
                yield other.id
            at = index.units[at].within if at in index.units else None


def _reserved(index: FabricIndex, now_s: float) -> Iterator[str]:
    """What is reserved is in no composition, and in no other reservation."""
    lasting = [each for each in index.reservations.values() if each.expires_s > now_s]
    for one in lasting:
        names = {name for name in one.blocks
                 if name in index.blocks and not index.blocks[name].sharing}  # fmt: skip
        for other in lasting:
            if other.id != one.id and names & set(other.blocks):
                yield f"{one.id} and {other.id} reserve {names & set(other.blocks)}"
        for system in index.compositions.values():
            if names & set(system.blocks):
                yield f"{system.id} has {names & set(system.blocks)}, which {one.id} reserves"


def strangers(index: FabricIndex, plant: Plant, held: Mapping[VppbId, BindTarget]) -> Iterator[str]:
    """Yield what a host reaches of a composition that does not run on it, by hardware's own reach.

    `held` are bindings that somebody wants; what is on its way out is nobody's any more.
    """
    owners = whole_units(index)
    targets = {known.target: unit for unit, known in index.units.items()
               if known.fabric == plant.fabric and known.target is not None}  # fmt: skip
    parts = {part.target: part.holder for part in index.allocations.values()}
    for vppb, target in held.items():
        host = plant.host(vppb)
        # Whatever a fabric's driver calls a host, documents call it by its system.
        system = f"/redfish/v1/Systems/{host}"
        for owner in _owners(index, owners, targets.get(target), parts.get(target)):
            if owner.host not in (host, system):
                yield f"{host} reaches {target} of {owner.id}, which runs on {owner.host}"


def _owners(
    index: FabricIndex, whole: Mapping[str, str], unit: str | None, part: str | None
) -> Iterator[Composition]:
    if unit is not None:
        for near in _near(index, unit):
            if near in whole:
                yield index.compositions[whole[near]]
    for each in index.compositions.values():
        if part in each.holdings:
            yield each


# -- what is told ------------------------------------------------------------------------------


def untold(process: Process, index: FabricIndex) -> Iterator[str]:
    """Yield what blocks and pools say otherwise than documents have it."""
    users: dict[str, set[str]] = defaultdict(set)
    for each in index.compositions.values():
        for block in each.blocks:
            users[block].add(each.id)
    pools = {name: _members(process, name) for name in (RESOURCE_BLOCKS, FREE_POOL, ACTIVE_POOL)}
    every, free, active = pools[RESOURCE_BLOCKS], pools[FREE_POOL], pools[ACTIVE_POOL]
    outside = set()
    for name in every:
        document = _document(process, name)
        status, pool = document["CompositionStatus"], document["Pool"]
        if pool == "Unassigned":
            outside.add(name)
        wished = "Active" if users[name] else pool if pool != "Active" else "Free"
        told = (pool, status["NumberOfCompositions"])
        if told != (wished, len(users[name])):
            yield f"{name} is in {sorted(users[name])}, and says {told}"
        composed = status["CompositionState"] in ("Composed", "ComposedAndAvailable", "Composing")
        if composed and not users[name]:
            yield f"{name} is in nothing, and says {status}"
        if users[name] and status["CompositionState"] == "Unused":
            yield f"{name} is in {sorted(users[name])}, and says {status}"
        back = {each["@odata.id"] for each in document["Links"].get("ComputerSystems", ())}
        if back != users[name]:
            yield f"{name} is in {sorted(users[name])}, and links {sorted(back)}"
    if active != {name for name in every if users[name]}:
        yield f"ActivePool has {sorted(active)}"
    if free & active or free & outside or free | active | outside != every:
        odd = (free & active) | (free & outside) | (every - free - active - outside)
        yield f"pools do not add up: {sorted(odd)} of {len(every)} blocks"


def _members(process: Process, uri: str) -> set[str]:
    return {each["@odata.id"] for each in _document(process, uri)["Members"]}


def _document(process: Process, uri: str) -> dict[str, Any]:
    found = process.kernel.published.get(uri)
    if found is None:
        raise LookupError(f"nothing is shown at {uri}")
    document: dict[str, Any] = json.loads(found.body)
    return document

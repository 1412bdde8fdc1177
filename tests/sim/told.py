"""What the service says at rest, held against the hardware's own memory.

Knows documents as a client reads them; asks the hardware, not the service, what is true.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from redfish_fm.fabric.accounting import account
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import PortId
from redfish_fm.mapping.facts import Facts
from tests.sim.plant import Plant
from tests.sim.process import Process
from tests.sim.truth import free_mib

AT_REST = frozenset({None, "Enabled", "StandbyOffline"})
"""States of what is there: an LD of a pool that nobody has asked for stands by."""


def untrue(
    process: Process, plants: Sequence[Plant], facts: Facts, uris: Iterable[str]
) -> Iterator[str]:
    """Yield what is told otherwise than it is, where nothing happens and nothing is broken."""
    documents: dict[str, Any] = {}
    for uri in uris:
        found = process.kernel.published.get(uri)
        if found is not None:
            documents[uri] = json.loads(found.body)
    for uri, document in documents.items():
        status = document.get("Status") or {}
        wrong = {status.get("Health"), status.get("HealthRollup")} - {None, "OK"}
        if "/TaskService/" not in uri and (wrong or status.get("State") not in AT_REST):
            yield f"{uri} says {status}"
    index = process.kernel.published.state.index
    for plant in plants:
        yield from _vppbs(plant, facts, documents)
        yield from _parts(plant, index, facts, documents)
        yield from _pools(plant, index, documents)


def _vppbs(plant: Plant, facts: Facts, documents: Mapping[str, Any]) -> Iterator[str]:
    bound = plant.bound()
    ports = {(f, port): uri for (f, port), uri in _ports(facts).items() if f == plant.fabric}
    for (fabric, vppb), uri in facts.vppb_uris.items():
        if fabric != plant.fabric or uri not in documents:
            continue
        document, target = documents[uri], bound.get(vppb)
        shown = (document.get("Links") or {}).get("Port", {}).get("@odata.id")
        if target is None:
            free = document.get("BindingStatus") == "Unbound" and shown is None
            if not free:
                yield f"{uri} is free, and says {document.get('BindingStatus')} {shown}"
            continue
        wished = "BoundLD" if target.ld is not None else "BoundPhysicalPort"
        port = ports.get((fabric, PortId(target.switch, target.port)))
        if (document.get("BindingStatus"), shown) != (wished, port):
            yield f"{uri} is {target}, and says {document.get('BindingStatus')} {shown}"
        if target.ld is not None and document.get("BoundLDId") != target.ld:
            yield f"{uri} is {target}, and says LD {document.get('BoundLDId')}"


def _ports(facts: Facts) -> dict[tuple[str, PortId], str]:
    return {place: uri for uri in facts.port_units if (place := facts.port_at(uri)) is not None}


def _parts(
    plant: Plant, index: FabricIndex, facts: Facts, documents: Mapping[str, Any]
) -> Iterator[str]:
    """Yield LDs and regions that show another size than the hardware gives them."""
    sizes: dict[str, int] = {}
    for target, (size_mib, _) in plant.allocated().items():
        unit = facts.target_units.get((plant.fabric, target))
        if unit is not None and target.region is None:
            sizes[unit] = size_mib
    for unit, known in index.units.items():
        target, shown = known.target, documents.get(unit, {}).get("MemorySizeMiB")
        device = None if target is None else plant.devices.at(target)
        pooled = device is not None and device.facts.pool is not None
        if target is None or not pooled or known.fabric != plant.fabric or shown is None:
            continue
        region_mib = sum(size for part, (size, _) in plant.allocated().items()
                         if part.region is not None and part.ld == target.ld
                         and (part.switch, part.port) == (target.switch, target.port))  # fmt: skip
        true_mib = sizes.get(unit, 0) + region_mib
        if shown != true_mib:
            yield f"{unit} has {true_mib} MiB, and says {shown}"


def _pools(plant: Plant, index: FabricIndex, documents: Mapping[str, Any]) -> Iterator[str]:
    """Yield pools whose account is not what the hardware has; nothing is being scrubbed."""
    for pool in index.pools.values():
        if pool.fabric != plant.fabric or pool.port is None:
            continue
        device = next(d for d in plant.devices.values() if pool.port in d.ports)
        used = sum(part.size_mib for part in device.parts.values())
        told = account(index, pool.id, plant.part_states(pool.port.switch))
        true = (pool.capacity_mib, free_mib(device), used, 0)
        if (told.total, told.free, told.used, told.scrubbing) != true:
            yield f"{pool.id} has {true}, the account says {told}"
        shown = ((documents.get(pool.id) or {}).get("Oem") or {}).get("RedfishFM") or {}
        names = ("TotalMiB", "FreeMiB", "UsedMiB", "ScrubbingMiB")
        if shown and tuple(shown.get(name) for name in names) != true:
            yield f"{pool.id} has {true}, and shows {shown}"

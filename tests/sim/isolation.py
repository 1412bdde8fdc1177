"""The isolation rules once more, naively: written apart from fabric.zoning, to hold it to them.

Looks at everything each time and shares no code with the rules, so that one switched off is seen.
"""

from collections import defaultdict

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import Binder


def broken(index: FabricIndex) -> str | None:
    """Return what is wrong with what is wanted, or None."""
    reach: dict[str, set[str]] = defaultdict(set)
    zoned: dict[str, set[str]] = defaultdict(set)
    for zone in index.zones.values():
        ends = [index.endpoints[uri] for uri in zone.endpoints]
        hosts = {end.host for end in ends if end.host is not None}
        for unit in {unit for end in ends for unit in end.units}:
            reach[unit] |= hosts
            zoned[unit].add(zone.id)
    for connection in index.connections.values():
        hosts = {host for uri in connection.initiators if (host := index.endpoints[uri].host)}
        units = {index.chunks[grant.chunk].unit for grant in connection.chunks}
        for unit in units.union(*(index.endpoints[uri].units for uri in connection.targets)):
            reach[unit] |= hosts
    return _shared(index, reach) or _zoned_twice(index, zoned)


def _shared(index: FabricIndex, reach: dict[str, set[str]]) -> str | None:
    for unit, hosts in sorted(reach.items()):
        whole = index.units[unit].within
        together = hosts | (reach.get(whole, set()) if whole is not None else set())
        if index.units[unit].exclusive and len(together) > 1:
            return f"{unit} is reached by {sorted(together)}"
    return None


def _zoned_twice(index: FabricIndex, zoned: dict[str, set[str]]) -> str | None:
    for unit, zones in sorted(zoned.items()):
        if index.units[unit].binder is Binder.ZONE and len(zones) > 1:
            return f"{unit} binds by zone and is in {sorted(zones)}"
    return None

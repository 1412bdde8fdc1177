"""Which resources show the state of which switch ports: what is looked up when a port changes.

Pure, made once per fabric from Facts, step by step: of 100,000 resources it takes some 150 ms. A
device with several ports shows the best of them, each of its parts that of its own port; whatever
lies in a unit (drive, function, memory domain) shows the state of that unit
(`Facts.state_sources`).
"""

from collections.abc import Iterable, Iterator

from redfish_fm.fabric.model import BindTarget, PortId, VppbId
from redfish_fm.fabric.values import CapacityPool, Unit
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.uris import chassis_of, storage_of


class Plugged:
    """One fabric's ports and what is plugged in. Empty until `learn` is through, then read-only."""

    def __init__(self, facts: Facts, fabric: str) -> None:
        self.facts, self._fabric = facts, fabric
        self.switch_uris = {switch: uri for (name, switch), uri in facts.switch_uris.items()
                            if name == fabric}  # fmt: skip
        self.switch_ids = {uri: switch for switch, uri in self.switch_uris.items()}
        self.metrics_of = {uri: switch for (name, switch), uri in facts.switch_metrics.items()
                           if name == fabric}  # fmt: skip
        """SwitchMetrics -> the switch whose ports they sum up."""
        self.port_uris: dict[PortId, str] = {}
        self.port_ids: dict[str, PortId] = {}
        self.units: dict[str, Unit] = {}
        self.unit_of_target: dict[BindTarget, str] = {}
        self.ports_of: dict[str, list[str]] = {}
        """Resource -> the ports whose best state it shows."""
        self.shown_by: dict[str, list[str]] = {}
        """Port -> the resources that show it."""
        self.in_unit: dict[str, list[str]] = {}
        """Unit -> what shares its state."""
        self.origins: dict[str, str] = {}
        """Port -> whose fault it is if the port reports one: what is plugged in."""
        self.of_link: dict[str, str] = {}
        """PortMetrics or cable -> the port whose link it tells of."""
        self.pools: dict[PortId, CapacityPool] = {}
        self.pools_by_id: dict[str, CapacityPool] = {}
        self.idle_lds = frozenset(facts.idle_lds)
        self._with_vppbs: set[str] = set()

    def learn(self) -> Iterator[None]:
        """Look everything up in Facts; yield after each resource, that others may have a turn."""
        yield from self._learn_ports()
        yield from self._learn_units()
        yield from self._learn_states()
        yield from self._learn_who_shows()

    def has_vppbs(self, switch: str) -> bool:
        """Return whether the switch's bridges are resources."""
        return switch in self._with_vppbs

    def vppb_uri(self, vppb: VppbId) -> str | None:
        """Return the resource that a vPPB is, or None where it is none."""
        return self.facts.vppb_uris.get((self._fabric, vppb))

    def target_around(self, uri: str) -> BindTarget | None:
        """Return the target of the unit that `uri` lies in."""
        unit = self.units.get(self.facts.state_sources.get(uri, uri))
        return None if unit is None else unit.target

    def chassis_links(self) -> Iterator[tuple[str, str]]:
        """Yield (unit or switch, the chassis it stands in), and so on up to the rack."""
        met: dict[str, None] = {}
        for resource, chassis in self._standing():
            if chassis is not None:
                met[chassis] = None
                if chassis != resource:
                    yield resource, chassis
        for chassis in met:
            around = self.facts.containers.get(chassis)
            if around is not None:
                yield chassis, around

    def _standing(self) -> Iterator[tuple[str, str | None]]:
        for unit in self.units:
            yield unit, chassis_of(unit)
        for switch in self.switch_ids:
            yield switch, self.facts.switch_chassis.get(switch)

    def storage_links(self) -> Iterator[tuple[str, str]]:
        """Yield (part, storage it belongs to) where a switch of this fabric is a Storage."""
        storages = {uri for uri in self.switch_ids if storage_of(uri) == uri}
        for resource in self.ports_of if storages else ():
            storage = storage_of(resource)
            if storage in storages and storage != resource:
                yield resource, storage

    def _learn_ports(self) -> Iterator[None]:
        facts = self.facts
        for (name, port), uri in facts.port_uris.items():
            if name == self._fabric:
                self.port_uris[port] = uri
                self.port_ids[uri] = port
            yield
        for uri, units in facts.port_units.items():
            if units and uri in self.port_ids:
                self.origins[uri] = min(units)
            yield
        for resource, uri in facts.link_resources.items():
            if uri in self.port_ids:
                self.of_link[resource] = uri
            yield
        for name, vppb in facts.vppb_uris:
            if name == self._fabric:
                self._with_vppbs.add(vppb.switch)
            yield

    def _learn_units(self) -> Iterator[None]:
        for unit in self.facts.units:
            if unit.fabric == self._fabric:
                self.units[unit.id] = unit
                if unit.target is not None:
                    self.unit_of_target[unit.target] = unit.id
            yield
        for pool in self.facts.pools.values():
            if pool.port is not None and pool.fabric == self._fabric:
                self.pools[pool.port] = pool
                self.pools_by_id[pool.id] = pool
            yield

    def _learn_states(self) -> Iterator[None]:
        """Find out which ports each resource shows the state of."""
        facts = self.facts
        for resource, port in facts.resource_ports.items():
            self._add(resource, port)
            yield
        for resource, paths in facts.path_ports.items():
            for port in paths:
                self._add(resource, port)
            yield
        for unit in self.units.values():
            place = None if unit.target is None else self._port(unit.target)
            for each in () if place is None else self._with_wholes(unit):
                self._add(each, place or "")
            yield
        for resource, source in facts.state_sources.items():
            if source in self.units:
                self.in_unit.setdefault(source, []).append(resource)
            for port in self.ports_of.get(source, ()) if resource not in self.ports_of else ():
                self._add(resource, port)
            yield

    def _learn_who_shows(self) -> Iterator[None]:
        for resource, ports in self.ports_of.items():
            for port in ports:
                self.shown_by.setdefault(port, []).append(resource)
            yield
        for resource, port in self.of_link.items():
            self.shown_by.setdefault(port, []).append(resource)
            yield
        sums = {switch: uri for uri, switch in self.metrics_of.items()}
        for port_id, port in self.port_uris.items():
            if port_id.switch in sums:
                self.shown_by.setdefault(port, []).append(sums[port_id.switch])
            yield

    def _add(self, resource: str, port: str) -> None:
        if port not in self.port_ids:
            return
        ports = self.ports_of.get(resource)
        if ports is None:
            self.ports_of[resource] = [port]
        elif port not in ports:
            ports.append(port)

    def _port(self, target: BindTarget) -> str | None:
        return self.port_uris.get(PortId(target.switch, target.port))

    def _with_wholes(self, unit: Unit) -> Iterator[str]:
        above: Unit | None = unit
        while above is not None:
            yield above.id
            above = None if above.within is None else self.units.get(above.within)


def state_sources(with_status: Iterable[str], facts: Facts) -> dict[str, str]:
    """Return resource -> unit, for all of `with_status` in a chassis that is no unit itself.

    What lies in no unit but in the chassis of a single one (drive, processor, the module itself)
    shows that one; in a chassis of several it shows none.
    """
    units = {unit.id for unit in facts.units}
    found = {uri: unit for uri, unit in facts.parts_of.items() if unit in units}
    single = _single_units(facts.units)
    for uri in with_status:
        chassis = None if uri in units else chassis_of(uri)
        if chassis is None:
            continue
        source = _nearest(uri, chassis, units, facts) or single.get(chassis)
        if source is not None:
            found[uri] = source
    return found


def _nearest(uri: str, chassis: str, units: set[str], facts: Facts) -> str | None:
    known, place = facts.entity_units, uri
    while place != chassis:
        if place in units:
            return place
        meant = known.get(place)
        if meant is not None and len(meant) == 1:
            return next(iter(meant))
        place = place[: place.rfind("/")]
    return None


def _single_units(units: Iterable[Unit]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for unit in units:
        chassis = chassis_of(unit.id)
        if unit.within is None and chassis is not None:
            found.setdefault(chassis, set()).add(unit.id)
    return {chassis: next(iter(ids)) for chassis, ids in found.items() if len(ids) == 1}

"""What was seen of one fabric, as properties laid over its resources.

Pure and mutable: one per reconcile loop. It compares each look with the one before and says anew
only what changed, so a look costs comparisons of the observation and the rendering of what is
different. Owned here and nowhere else: Status of ports, vPPBs, devices, endpoints, zones, cables,
connections and parts of pools; LinkStatus and error counts of ports, BindingStatus, BoundLDId and
Links.Port of vPPBs, NumberOfBoundvPPBs, PowerState of modules, MemorySizeMiB and QoS of LDs,
extents of regions, our OEM part of pools.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.health import Condition
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, Media, PortId, VppbId
from redfish_fm.fabric.values import Binding, CapacityPool, Endpoint, Role
from redfish_fm.mapping import bandwidth, conditions
from redfish_fm.mapping.bindings import decode_binding
from redfish_fm.mapping.capacity import (
    ld_shown,
    pool_properties,
    pools_by_port,
    region_extents,
)
from redfish_fm.mapping.dependencies import (
    all_wanted,
    allocations,
    endpoint_links,
    holder_links,
    holders_of,
    inventory_links,
    inventory_shown,
    silence,
)
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.graph_links import GraphLinks
from redfish_fm.mapping.metrics_ports import switch_metrics
from redfish_fm.mapping.plugged import Plugged, chassis_of
from redfish_fm.mapping.port_status import (
    SeenPort,
    device_status,
    host_status,
    interface_properties,
    link_shown,
    supply_of,
)
from redfish_fm.mapping.sights import FabricSight, Lasting
from redfish_fm.mapping.statuses import Patch, Statuses
from redfish_fm.mapping.uris import FABRIC, fabric_of
from redfish_fm.mapping.vppb_status import bound_properties
from redfish_fm.redfish.changes import Edit, Space

OFFLINE = "UnavailableOffline"
PART = 100
"""Resources said anew in one part of a look: some 5 ms."""

_Conditions = tuple[Condition, ...]


class ObservedFabric:
    """Looks at one fabric, one after another; `rendered` counts resources said anew.

    Call `touched` with every published edit and `look` after every observation. Nodes of the
    health graph that are no resources have names that are no URIs: a switch's silence, a binding.
    """

    def __init__(self, fabric: str, statuses: Statuses) -> None:
        self.fabric = fabric
        self.uri = FABRIC.format(fabric=fabric)
        self.rendered = 0
        self._statuses = statuses
        self._facts: Facts | None = None
        self._index = FabricIndex()
        self._last = Lasting()
        self._links = GraphLinks(statuses.graph)
        self._inventory_links = GraphLinks(statuses.graph)
        self._marks: dict[str, _Conditions] = {}
        self._parts_at: dict[str, set[str]] = {}
        self._port_of_part: dict[str, str] = {}
        self._pools: dict[PortId, CapacityPool] = {}
        self._switch_uris: dict[str, str] = {}
        self._touched: set[str] = set()
        self._relinking: set[str] = set()
        self._dirty: set[str] = set()
        self._dirty_vppbs: set[VppbId] = set()
        self._sight = FabricSight(fabric, None)
        self._blocked: frozenset[BindTarget] = frozenset()

    def touched(self, edits: Iterable[Edit]) -> None:
        """Note published edits: what they concern is looked at anew next time."""
        for edit in edits:
            if edit.space is Space.DOCUMENT:
                # What lies in another fabric is looked at by whoever looks after that one.
                if fabric_of(edit.key) in (None, self.fabric):
                    self._touched.add(edit.key)
            elif edit.space is Space.BINDING and edit.key.startswith(f"{self.fabric}|"):
                for binding in map(decode_binding, filter(None, (edit.pre, edit.post))):
                    self._touched |= binding.holders
                    self._dirty_vppbs.add(binding.vppb)

    def look(self, facts: Facts, index: FabricIndex, sight: FabricSight) -> dict[str, Patch | None]:
        """Return the observed properties that changed since the last look, by URI; None: gone.

        What is behind an unreachable switch keeps what was last seen of it.
        """
        parts = self.look_in_parts(facts, index, sight)
        return {uri: patch for part in parts for uri, patch in part.items()}

    def look_in_parts(
        self, facts: Facts, index: FabricIndex, sight: FabricSight
    ) -> Iterator[dict[str, Patch | None]]:
        """Look as `look` does, and yield what it returns in parts: empty ones at first.

        What is `touched` between them waits for the next look. Nobody else may look meanwhile.
        """
        if facts is not self._facts:
            self._meet(facts)
        if index is not self._index:
            # After a reload from disk nothing is known of what changed.
            self._index = index
            self._touch_all()
        self._compare(sight)
        self._relinking, self._touched = self._touched, set()
        for count, _ in enumerate(self._work(), start=1):
            if not count % PART:
                yield {}
        yield from self._statuses.patches_in_parts(sight.now, PART)

    # -- what is different -------------------------------------------------------------------

    def _meet(self, facts: Facts) -> None:
        """Take over another inventory: what only the one before knew is not spoken of any more."""
        changed = self._facts is not None
        before = set() if self._facts is None else self._known(self._facts)
        for uri in self._switch_uris.values():
            # Under whatever name: the next look says which switches are silent.
            self._statuses.graph.set_own(silence(uri))
        self._last.unreachable = frozenset()
        self._facts = facts
        self._statuses.meter(facts)
        self._plugged = Plugged(facts, self.fabric)
        self._serials = facts.port_serials
        self._pools = pools_by_port(facts, self.fabric)
        self._pools_by_id = {pool.id: pool for pool in self._pools.values()}
        self._switch_uris = {switch: uri for (fabric, switch), uri in facts.switch_uris.items()
                             if fabric == self.fabric}  # fmt: skip
        self._switch_ids = {uri: switch for switch, uri in self._switch_uris.items()}
        self._inventory_links.put(
            self.uri, inventory_links(self._plugged, self._switch_uris, self.uri)
        )
        self._dirty |= {*self._switch_uris.values()}
        if changed:
            now = self._known(facts)
            for uri in before - now:
                self._statuses.forget(uri)
            self._dirty |= now
            self._dirty_vppbs |= {*self._last.bindings}
            self._touch_all()

    def _known(self, facts: Facts) -> set[str]:
        """Return what of the inventory may be spoken of."""
        return {*self._switch_ids, *inventory_shown(self._plugged, facts, self.fabric)}

    def _touch_all(self) -> None:
        wanted = all_wanted(self._index, self.fabric)
        self._touched |= {*self._links, *self._port_of_part, *wanted}
        self._dirty_vppbs |= {*self._index.bindings}

    def _compare(self, sight: FabricSight) -> None:
        before, self._sight = self._sight, sight
        news = self._last.compare(sight.observation, self._switch_uris)
        for port in news.ports:
            self._port_changed(port)
        for vppb in news.vppbs:
            self._dirty_vppbs.add(vppb)
            self._dirty.add(self._switch_uris.get(vppb.switch, self.uri))
        # A switch that falls silent says nothing better of what is in the way of a part.
        silent = {each for each in self._blocked if each.switch in self._last.unreachable}
        blocked, self._blocked = self._blocked, sight.blocked_parts | silent
        unmet = before.unmet_parts ^ sight.unmet_parts
        for target in (*news.parts, *unmet, *(blocked ^ self._blocked)):
            self._part_changed(target)
        for switch in news.switches:
            self._switch_changed(switch)
        foreign = {vppb for vppb, _ in set(before.foreign) ^ set(sight.foreign)}
        for vppb in {*foreign, *(before.unmet ^ sight.unmet), *(before.opening ^ sight.opening)}:
            self._dirty_vppbs.add(vppb)
        if before.violations != sight.violations:
            self._mark()
        self._dirty.add(self.uri)

    def _port_changed(self, port: PortId) -> None:
        uri = self._plugged.port_uris.get(port)
        if uri is not None:
            self._dirty.add(uri)
            self._dirty.update(self._plugged.shown_by.get(uri, ()))
            self._dirty |= self._index.endpoints_of_port(uri)
            self._dirty |= self._parts_at.get(uri, set())

    def _part_changed(self, target: BindTarget) -> None:
        unit = self._plugged.unit_of_target.get(target)
        if unit is not None:
            self._dirty.add(unit)
            self._dirty.update(self._plugged.in_unit.get(unit, ()))
        place = PortId(target.switch, target.port)
        self._dirty |= self._parts_at.get(self._plugged.port_uris.get(place) or "", set())
        if place in self._pools:
            self._dirty.add(self._pools[place].id)
            holding = self._plugged.unit_of_target.get(replace(target, region=None))
            self._dirty |= set() if holding is None else {holding}

    def _switch_changed(self, switch: str) -> None:
        uri = self._switch_uris[switch]
        silent = switch in self._last.unreachable
        self._dirty.add(uri)
        self._statuses.graph.set_own(silence(uri), [conditions.stale(uri)] if silent else [])
        for vppb, binding in self._index.bindings.items():
            if vppb.switch == switch and binding.fabric == self.fabric:
                self._dirty_vppbs.add(vppb)
        # What became of the others while nothing could be said of them is said now.
        self._dirty_vppbs |= {vppb for vppb in self._last.bindings if vppb.switch == switch}

    def _mark(self) -> None:
        """Note at the unit, and at who rightly holds it, that the wrong host reaches it."""
        before, marks = self._marks, dict[str, _Conditions]()
        for violation in self._sight.violations:
            for uri in filter(None, (violation.subject, violation.holder)):
                marks[uri] = (*marks.get(uri, ()), conditions.violated(violation))
        self._marks = marks
        changed = {uri for uri in {*before, *marks} if before.get(uri) != marks.get(uri)}
        self._dirty |= changed
        # A vPPB that holds its own binding is rendered by place.
        places = () if self._facts is None else map(self._facts.vppb_at, changed)
        self._dirty_vppbs |= {place[1] for place in places if place is not None}

    # -- who depends on whom -----------------------------------------------------------------

    def _relink(self, uri: str) -> None:
        """Bring the links of a zone, connection or endpoint, and of who names it, up to date."""
        endpoint = self._index.endpoints.get(uri)
        links = holder_links(self._index, uri, self.fabric)
        if endpoint is not None and endpoint.fabric == self.fabric:
            links = frozenset(endpoint_links(self._plugged, self._switch_uris, endpoint))
        known = uri in self._links or uri in self._statuses
        self._links.put(uri, sorted(links))
        self._place_parts(uri)
        if known or links or any(allocations(self._index, uri)):
            self._dirty.add(uri)
        if endpoint is not None or uri not in self._index.zones:
            for holder in holders_of(self._index, uri):
                if holder not in self._relinking and holder not in self._touched:
                    self._links.put(holder, sorted(holder_links(self._index, holder, self.fabric)))

    def _place_parts(self, uri: str) -> None:
        before = self._port_of_part.pop(uri, None)
        if before is not None:
            self._parts_at[before].discard(uri)
            self._pool_changed(before)
        for allocation in allocations(self._index, uri):
            place = PortId(allocation.target.switch, allocation.target.port)
            port = self._plugged.port_uris.get(place)
            if port is not None and allocation.fabric == self.fabric:
                self._port_of_part[uri] = port
                self._parts_at.setdefault(port, set()).add(uri)
                self._pool_changed(port)

    def _pool_changed(self, port: str) -> None:
        place = self._plugged.port_ids.get(port)
        pool = None if place is None else self._pools.get(place)
        self._dirty |= set() if pool is None else {pool.id}

    # -- saying it anew ----------------------------------------------------------------------

    def _work(self) -> Iterator[None]:
        """Relink what was touched, say anew what is dirty; what is touched meanwhile is left."""
        for uri in self._relinking:
            self._relink(uri)
            yield
        for uri in [*self._links.left_out] if self._relinking else ():
            # What was in the way of their links may be gone, but only now.
            self._relink(uri)
            yield
        foreign = {vppb for vppb, _ in self._sight.foreign}
        vppbs, self._dirty_vppbs = self._dirty_vppbs, set()
        for vppb in vppbs:
            if vppb not in self._dirty_vppbs:
                self._render_vppb(vppb, vppb in foreign)
            yield
        dirty, self._dirty = self._dirty, set()
        for uri in dirty:
            if uri in self._touched:
                # This sight does not know what it waits for, and would call it Enabled.
                self._dirty.add(uri)
            else:
                self.rendered += 1
                self._render_one(uri)
            yield

    def _render_one(self, uri: str) -> None:
        index, plugged = self._index, self._plugged
        if uri == self.uri:
            self._render_fabric()
        elif uri in self._switch_ids:
            self._render_switch(uri)
        elif uri in plugged.port_ids or uri in plugged.of_link:
            self._render_link(uri)
        elif (switch := plugged.metrics_of.get(uri)) is not None:
            self._say(uri, None, (), switch_metrics(self._last.errors.get(switch)))
        elif uri in index.endpoints:
            self._render_endpoint(index.endpoints[uri])
        elif uri in index.zones or uri in index.connections:
            self._render_holder(uri)
        elif self._facts is not None and self._facts.vppb_at(uri) is not None:
            return  # a vPPB that holds its own binding; what is seen there is rendered by place
        elif any(allocations(index, uri)):
            self._render_part(uri)
        elif uri in plugged.ports_of:
            self._render_resource(uri)
        elif uri in self._marks:
            self._say(uri, "Enabled")
        else:
            self._statuses.forget(uri)

    def _say(
        self, uri: str, state: str | None, own: _Conditions = (), properties: Patch | None = None
    ) -> None:
        self._statuses.show(uri, state, (*own, *self._marks.get(uri, ())), properties)

    def _render_fabric(self) -> None:
        sight = self._sight
        if sight.observation is None:
            self._say(self.uri, OFFLINE, (conditions.silent(self.uri),))
            return
        own = [conditions.violated(each) for each in sight.violations]
        own += [conditions.foreign(self._place(vppb, target)) for vppb, target in sight.foreign]
        ports = sorted({*map(self._port, sight.foreign_parts)})
        own += [conditions.foreign_part(port) for port in ports]
        own += [conditions.stale(self._switch_uris[each]) for each in self._last.unreachable]
        self._say(self.uri, "Enabled", tuple(own))

    def _place(self, vppb: VppbId, target: BindTarget) -> str:
        """Return the resource that says best where a foreign binding is."""
        port = PortId(target.switch, target.port)
        known = self._vppb_uri(vppb) or self._plugged.port_uris.get(port)
        return known or f"{vppb.switch}/{vppb.vcs}/{vppb.vppb}"

    def _port(self, target: BindTarget) -> str:
        port = PortId(target.switch, target.port)
        return self._plugged.port_uris.get(port) or f"{port.switch}/{port.port}"

    def _vppb_uri(self, vppb: VppbId) -> str | None:
        return None if self._facts is None else self._facts.vppb_uris.get((self.fabric, vppb))

    def _render_switch(self, uri: str) -> None:
        switch = self._switch_ids[uri]
        bound = self._last.bound.get(switch)
        if switch in self._last.unreachable:
            self._say(uri, OFFLINE, (conditions.silent(uri), conditions.stale(uri)))
        elif bound is not None and self._plugged.has_vppbs(switch):
            self._say(uri, "Enabled", (), {"CXL": {"NumberOfBoundvPPBs": bound}})
        else:
            self._say(uri, "Enabled")

    def _render_link(self, uri: str) -> None:
        seen = self._seen(self._plugged.of_link.get(uri, uri))
        if seen is None:
            self._statuses.forget(uri)
        else:
            self._say(uri, *link_shown(uri, seen))

    def _seen(self, uri: str) -> SeenPort | None:
        port = self._plugged.port_ids.get(uri)
        state = None if port is None else self._last.ports.get(port)
        if state is None:
            return None
        return SeenPort(uri, self._plugged.origins.get(uri, uri), state, self._serials.get(uri))

    def _seen_ports(self, uris: Iterable[str]) -> list[SeenPort]:
        return [seen for seen in map(self._seen, uris) if seen is not None]

    def _render_endpoint(self, endpoint: Endpoint) -> None:
        seen = self._seen_ports(sorted(endpoint.ports))
        if endpoint.fabric != self.fabric or not seen:
            self._statuses.forget(endpoint.id)
            return
        meaning = host_status if endpoint.role is Role.INITIATOR else device_status
        self._say(endpoint.id, *meaning(seen))

    def _render_resource(self, uri: str) -> None:
        seen = self._seen_ports(self._plugged.ports_of[uri])
        if not seen:
            self._statuses.forget(uri)
            return
        state, own = device_status(seen)
        properties: dict[str, Any] = {}
        unit = self._plugged.units.get(uri)
        if uri in self._index.chunks:
            target = self._plugged.target_around(uri)
            part = None if target is None else self._last.parts.get(target)
            if state == "Enabled" and part is not None and part.media is Media.SANITIZING:
                state = "Updating"
        elif unit is not None and unit.target is not None and unit.target.ld is not None:
            pool = self._pools.get(PortId(unit.target.switch, unit.target.port))
            idle = uri in self._plugged.idle_lds
            state, more = ld_shown(unit, state, pool, self._last.parts, idle=idle)
            properties |= more
            qos = self._last.qos.get(unit.target)
            properties |= {} if qos is None else bandwidth.properties(qos)
        pool = self._pools_by_id.get(uri)
        if pool is not None:
            properties |= pool_properties(self._index, pool, self._last.parts)
        properties |= interface_properties(uri, seen)
        if uri == chassis_of(uri):
            powered = any(each.state.powered for each in seen)
            properties |= {} if powered else {"PowerState": "Off"}
            self._statuses.switch(uri, supply_of(state, powered))
        self._say(uri, state, own, properties)

    def _render_part(self, uri: str) -> None:
        """Say of a chunk, region or volume whether hardware has provided it."""
        (allocation, *_) = allocations(self._index, uri)
        target = allocation.target
        if allocation.fabric != self.fabric:
            return
        port = self._plugged.port_uris.get(PortId(target.switch, target.port))
        seen = self._seen_ports([] if port is None else [port])
        state, own = device_status(seen) if seen else ("Enabled", ())
        part = self._last.parts.get(target)
        if target in self._blocked:
            in_the_way = conditions.still_bound if part is None else conditions.displaced
            own = (*own, in_the_way(uri))
        if state == "Enabled" and target in self._sight.unmet_parts:
            state = "Starting"
        elif state == "Enabled" and part is not None and part.media is Media.SANITIZING:
            state = "Updating"
        laid = region_extents(part) if uri in self._index.regions and part is not None else {}
        self._say(uri, state, own, laid)

    def _render_vppb(self, vppb: VppbId, foreign: bool) -> None:
        self.rendered += 1
        self._render_binding(vppb)
        uri = self._vppb_uri(vppb)
        if uri is None or vppb.switch in self._last.unreachable:
            return
        if vppb not in self._last.bindings:
            self._statuses.forget(uri)
            return
        own = (conditions.foreign(uri),) if foreign else ()
        self._say(uri, "Enabled", own, self._binding_properties(vppb))

    def _binding_properties(self, vppb: VppbId) -> Patch:
        target = self._last.bindings[vppb]
        if target is None:
            busy = vppb in self._sight.opening and vppb in self._sight.unmet
            return {"BindingStatus": "Busy" if busy else "Unbound"}
        port = self._plugged.port_uris.get(PortId(target.switch, target.port))
        return bound_properties(target, port)

    def _render_binding(self, vppb: VppbId) -> None:
        """Let the host suffer that was promised this binding, and its holders say so."""
        binding, node = self._index.bindings.get(vppb), f"binding {vppb}"
        mine = binding if binding is not None and binding.fabric == self.fabric else None
        self._links.put(node, () if mine is None else ((node, mine.host),))
        lost = mine is not None and self._unmet(mine) and vppb not in self._sight.opening
        holder = min(mine.holders, default="") if mine is not None else ""
        self._statuses.graph.set_own(node, [conditions.unbound(holder)] if lost else [])
        self._dirty |= frozenset() if mine is None else mine.holders

    def _unmet(self, binding: Binding) -> bool:
        """Return whether a wanted binding is not seen; of a silent switch, was not seen last.

        Of a vPPB that was never seen nothing is known.
        """
        if binding.vppb.switch in self._last.unreachable:
            return self._last.bindings.get(binding.vppb, binding.target) != binding.target
        return binding.vppb in self._sight.unmet

    def _render_holder(self, uri: str) -> None:
        index = self._index
        holder = index.zones.get(uri) or index.connections.get(uri)
        if holder is None or holder.fabric != self.fabric:
            return
        state, own = self._holder_status(uri, index.bindings_of_holder(uri))
        self._say(uri, state, own)

    def _holder_status(self, uri: str, bindings: Iterable[Binding]) -> tuple[str, _Conditions]:
        """Enabled when all is bound, Starting while an operation binds it, Critical when lost."""
        mine = [binding for binding in bindings if binding.fabric == self.fabric]
        silent = {each.vppb.switch for each in mine} & self._last.unreachable
        unmet = [each.vppb for each in mine if self._unmet(each)]
        if any(vppb not in self._sight.opening for vppb in unmet):
            return "Enabled", (conditions.unbound(uri),)
        if unmet:
            return "Starting", ()
        if self._sight.observation is None and all(e.vppb in self._last.bindings for e in mine):
            # The fabric says so itself; what was last seen stays as it was.
            return "Enabled", ()
        return "Enabled", tuple(conditions.stale(self._switch_uris[each]) for each in silent)

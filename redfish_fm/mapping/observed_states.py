"""What each resource of one fabric says of itself, given all that is known of the fabric.

Pure and mutable; kept up to date and asked by `ObservedFabric`, which knows when a resource has to
be said anew. Owned here and nowhere else: Status of ports, vPPBs, devices, endpoints, zones,
cables, connections and parts of pools; LinkStatus and error counts of ports, BindingStatus,
BoundLDId and Links.Port of vPPBs, NumberOfBoundvPPBs, PowerState of modules, MemorySizeMiB and QoS
of LDs, extents of regions, our OEM part of pools.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from redfish_fm.fabric.health import Condition
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, Media, PortId, VppbId
from redfish_fm.fabric.values import Binding, Endpoint, Role
from redfish_fm.mapping import bandwidth, conditions
from redfish_fm.mapping.capacity import ld_shown, pool_properties, region_extents
from redfish_fm.mapping.dependencies import allocations
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.metrics_ports import switch_metrics
from redfish_fm.mapping.plugged import Plugged
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
from redfish_fm.mapping.uris import FABRIC, chassis_of
from redfish_fm.mapping.vppb_status import bound_properties

OFFLINE = "UnavailableOffline"

Conditions = tuple[Condition, ...]


class FabricStates:
    """What is known of one fabric, and what its resources say for it.

    `plugged` and `index` are what there is and what clients made of it, `sight` is the newest look,
    `last` what was last seen of what did not answer then; `blocked` are parts that something else
    is in the way of, and `marks` says of whom more is wrong than what is seen of them alone.
    """

    def __init__(self, fabric: str, statuses: Statuses) -> None:
        self.fabric = fabric
        self.uri = FABRIC.format(fabric=fabric)
        self.plugged = Plugged(Facts(), fabric)
        self.index = FabricIndex()
        self.last = Lasting()
        self.sight = FabricSight(fabric, None)
        self.blocked: frozenset[BindTarget] = frozenset()
        self.marks: Mapping[str, Conditions] = {}
        self._statuses = statuses

    def say(self, uri: str) -> None:
        """Say anew what one resource shows, or that nothing is known of it."""
        index, plugged = self.index, self.plugged
        if uri == self.uri:
            self._render_fabric()
        elif uri in plugged.switch_ids:
            self._render_switch(uri)
        elif uri in plugged.port_ids or uri in plugged.of_link:
            self._render_link(uri)
        elif (switch := plugged.metrics_of.get(uri)) is not None:
            self._say(uri, None, (), switch_metrics(self.last.errors.get(switch)))
        elif uri in index.endpoints:
            self._render_endpoint(index.endpoints[uri])
        elif uri in index.zones or uri in index.connections:
            self._render_holder(uri)
        elif plugged.facts.vppb_at(uri) is not None:
            return  # a vPPB that holds its own binding; what is seen there is rendered by place
        elif any(allocations(index, uri)):
            self._render_part(uri)
        elif uri in plugged.ports_of:
            self._render_resource(uri)
        elif uri in self.marks:
            self._say(uri, "Enabled")
        else:
            self._statuses.forget(uri)

    def say_vppb(self, vppb: VppbId, foreign: bool) -> None:
        """Say anew what a vPPB is bound to; of a silent switch's, what was said before stays."""
        uri = self.plugged.vppb_uri(vppb)
        if uri is None or vppb.switch in self.last.unreachable:
            return
        if vppb not in self.last.bindings:
            self._statuses.forget(uri)
            return
        own = (conditions.foreign(uri),) if foreign else ()
        self._say(uri, "Enabled", own, self._binding_properties(vppb))

    def unmet(self, binding: Binding) -> bool:
        """Return whether a wanted binding is not seen; of a silent switch, was not seen last.

        Of a vPPB that was never seen nothing is known.
        """
        if binding.vppb.switch in self.last.unreachable:
            return self.last.bindings.get(binding.vppb, binding.target) != binding.target
        return binding.vppb in self.sight.unmet

    def _say(
        self, uri: str, state: str | None, own: Conditions = (), properties: Patch | None = None
    ) -> None:
        self._statuses.show(uri, state, (*own, *self.marks.get(uri, ())), properties)

    def _render_fabric(self) -> None:
        sight = self.sight
        if sight.observation is None:
            self._say(self.uri, OFFLINE, (conditions.silent(self.uri),))
            return
        own = [conditions.violated(each) for each in sight.violations]
        own += [conditions.foreign(self._place(vppb, target)) for vppb, target in sight.foreign]
        ports = sorted({*map(self._port, sight.foreign_parts)})
        own += [conditions.foreign_part(port) for port in ports]
        silent = self.last.unreachable
        own += [conditions.stale(self.plugged.switch_uris[each]) for each in silent]
        self._say(self.uri, "Enabled", tuple(own))

    def _place(self, vppb: VppbId, target: BindTarget) -> str:
        """Return the resource that says best where a foreign binding is."""
        port = PortId(target.switch, target.port)
        known = self.plugged.vppb_uri(vppb) or self.plugged.port_uris.get(port)
        return known or f"{vppb.switch}/{vppb.vcs}/{vppb.vppb}"

    def _port(self, target: BindTarget) -> str:
        port = PortId(target.switch, target.port)
        return self.plugged.port_uris.get(port) or f"{port.switch}/{port.port}"

    def _render_switch(self, uri: str) -> None:
        switch = self.plugged.switch_ids[uri]
        bound = self.last.bound.get(switch)
        if switch in self.last.unreachable:
            self._say(uri, OFFLINE, (conditions.silent(uri), conditions.stale(uri)))
        elif bound is not None and self.plugged.has_vppbs(switch):
            self._say(uri, "Enabled", (), {"CXL": {"NumberOfBoundvPPBs": bound}})
        else:
            self._say(uri, "Enabled")

    def _render_link(self, uri: str) -> None:
        seen = self._seen(self.plugged.of_link.get(uri, uri))
        if seen is None:
            self._statuses.forget(uri)
        else:
            self._say(uri, *link_shown(uri, seen))

    def _seen(self, uri: str) -> SeenPort | None:
        port = self.plugged.port_ids.get(uri)
        state = None if port is None else self.last.ports.get(port)
        if state is None:
            return None
        serial = self.plugged.facts.port_serials.get(uri)
        joins = uri in self.plugged.facts.peer_ports
        return SeenPort(uri, self.plugged.origins.get(uri, uri), state, serial, joins)

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
        seen = self._seen_ports(self.plugged.ports_of[uri])
        if not seen:
            self._statuses.forget(uri)
            return
        state, own = device_status(seen)
        properties: dict[str, Any] = {}
        unit = self.plugged.units.get(uri)
        if uri in self.index.chunks:
            target = self.plugged.target_around(uri)
            part = None if target is None else self.last.parts.get(target)
            if state == "Enabled" and part is not None and part.media is Media.SANITIZING:
                state = "Updating"
        elif unit is not None and unit.target is not None and unit.target.ld is not None:
            pool = self.plugged.pools.get(PortId(unit.target.switch, unit.target.port))
            idle = uri in self.plugged.idle_lds
            state, more = ld_shown(unit, state, pool, self.last.parts, idle=idle)
            properties |= more
            qos = self.last.qos.get(unit.target)
            properties |= {} if qos is None else bandwidth.properties(qos)
        pool = self.plugged.pools_by_id.get(uri)
        if pool is not None:
            properties |= pool_properties(self.index, pool, self.last.parts)
        properties |= interface_properties(uri, seen)
        if uri == chassis_of(uri):
            powered = any(each.state.powered for each in seen)
            properties |= {} if powered else {"PowerState": "Off"}
            self._statuses.switch(uri, supply_of(state, powered))
        self._say(uri, state, own, properties)

    def _render_part(self, uri: str) -> None:
        """Say of a chunk, region or volume whether hardware has provided it."""
        (allocation, *_) = allocations(self.index, uri)
        target = allocation.target
        if allocation.fabric != self.fabric:
            return
        port = self.plugged.port_uris.get(PortId(target.switch, target.port))
        seen = self._seen_ports([] if port is None else [port])
        state, own = device_status(seen) if seen else ("Enabled", ())
        part = self.last.parts.get(target)
        if target in self.blocked:
            in_the_way = conditions.still_bound if part is None else conditions.displaced
            own = (*own, in_the_way(uri))
        if state == "Enabled" and target in self.sight.unmet_parts:
            state = "Starting"
        elif state == "Enabled" and part is not None and part.media is Media.SANITIZING:
            state = "Updating"
        laid = region_extents(part) if uri in self.index.regions and part is not None else {}
        self._say(uri, state, own, laid)

    def _binding_properties(self, vppb: VppbId) -> Patch:
        target = self.last.bindings[vppb]
        if target is None:
            opening = vppb in self.sight.opening and vppb in self.sight.unmet
            busy = opening or vppb in self.last.busy
            return {"BindingStatus": "Busy" if busy else "Unbound"}
        port = self.plugged.port_uris.get(PortId(target.switch, target.port))
        return bound_properties(target, port)

    def _render_holder(self, uri: str) -> None:
        index = self.index
        holder = index.zones.get(uri) or index.connections.get(uri)
        if holder is None or holder.fabric != self.fabric:
            return
        state, own = self._holder_status(uri, index.bindings_of_holder(uri))
        self._say(uri, state, own)

    def _holder_status(self, uri: str, bindings: Iterable[Binding]) -> tuple[str, Conditions]:
        """Enabled when all is bound, Starting while an operation binds it, Critical when lost."""
        mine = [binding for binding in bindings if binding.fabric == self.fabric]
        silent = {each.vppb.switch for each in mine} & self.last.unreachable
        unmet = [each.vppb for each in mine if self.unmet(each)]
        if any(vppb not in self.sight.opening for vppb in unmet):
            return "Enabled", (conditions.unbound(uri),)
        if unmet:
            return "Starting", ()
        if self.sight.observation is None and all(e.vppb in self.last.bindings for e in mine):
            # The fabric says so itself; what was last seen stays as it was.
            return "Enabled", ()
        uris = self.plugged.switch_uris
        return "Enabled", tuple(conditions.stale(uris[each]) for each in silent)

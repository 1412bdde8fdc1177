"""What was seen of one fabric, as properties laid over its resources.

Pure and mutable: one per reconcile loop. It compares each look with the one before and says anew
only what changed, so a look costs comparisons of the observation and the rendering of what is
different. What a resource then says is `FabricStates`' business.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, PortId, VppbId
from redfish_fm.mapping import conditions
from redfish_fm.mapping.bindings import decode_binding
from redfish_fm.mapping.dependencies import (
    all_wanted,
    allocations,
    binding_links,
    endpoint_links,
    holder_links,
    holders_of,
    inventory_links,
    inventory_shown,
    silence,
)
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.graph_links import GraphLinks
from redfish_fm.mapping.observed_hosts import is_system
from redfish_fm.mapping.observed_states import Conditions, FabricStates
from redfish_fm.mapping.plugged import Plugged
from redfish_fm.mapping.sights import FabricSight
from redfish_fm.mapping.statuses import Patch, Statuses
from redfish_fm.mapping.uris import FABRIC_PREFIX
from redfish_fm.redfish.changes import Edit, Space

PART = 100
"""Resources said anew in one part of a look: some 5 ms."""
LEARNED = 2000
"""Resources and links learned, or things found to be new, in one part of a look: some 5 ms."""


class ObservedFabric:
    """Looks at one fabric, one after another; `rendered` counts resources said anew.

    Call `touched` with every published edit and `look` after every observation. Nodes of the
    health graph that are no resources have names that are no URIs: a switch's silence, a binding.
    """

    def __init__(self, fabric: str, statuses: Statuses) -> None:
        self.fabric = fabric
        self.rendered = 0
        self._statuses = statuses
        self._states = FabricStates(fabric, statuses)
        self.uri = self._states.uri
        self._below = f"{self.uri}/"
        self._facts: Facts | None = None
        self._links = GraphLinks(statuses.graph)
        self._inventory_links = GraphLinks(statuses.graph)
        self._parts_at: dict[str, set[str]] = {}
        self._port_of_part: dict[str, str] = {}
        self._touched: set[str] = set()
        self._touched_vppbs: set[VppbId] = set()
        self._relinking: set[str] = set()
        self._dirty: set[str] = set()
        self._dirty_vppbs: set[VppbId] = set()

    def touched(self, edits: Iterable[Edit]) -> None:
        """Note published edits: what they concern is looked at anew next time."""
        for edit in edits:
            if edit.key.startswith(FABRIC_PREFIX):
                # What lies in another fabric is looked at by whoever looks after that one.
                if edit.space is Space.DOCUMENT and edit.key.startswith(self._below):
                    self._touched.add(edit.key)
            elif is_system(edit.key):
                # It has devices in several fabrics, and is said anew by none of them alone.
                self._statuses.compositions.touched(edit.key)
            elif edit.space is Space.DOCUMENT:
                self._touched.add(edit.key)
            elif edit.space is Space.BINDING and edit.key.startswith(f"{self.fabric}|"):
                for binding in map(decode_binding, filter(None, (edit.pre, edit.post))):
                    self._touched |= binding.holders
                    self._touched_vppbs.add(binding.vppb)

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
        self._relinking, self._touched = self._touched, set()
        self._dirty_vppbs, self._touched_vppbs = self._touched_vppbs, set()
        self._statuses.compositions.look(index)
        changed = facts is not self._facts and self._facts is not None
        if changed or index is not self._states.index:
            # After a reload from disk nothing is known of what changed.
            self._states.index = index
            self._note_all()
        yield from _parts(self._learn(facts, sight), LEARNED)
        yield from _parts(self._work(), PART)
        yield from self._statuses.patches_in_parts(sight.now, PART)

    def _learn(self, facts: Facts, sight: FabricSight) -> Iterator[None]:
        """Take over what is given, and note who has to be said anew for it."""
        if facts is not self._facts:
            yield from self._meet(facts)
        yield from self._compare(sight)

    # -- what is different -------------------------------------------------------------------

    def _meet(self, facts: Facts) -> Iterator[None]:
        """Take over another inventory: what only the one before knew is not spoken of any more."""
        states = self._states
        before, plugged = states.plugged, Plugged(facts, self.fabric)
        for uri in before.switch_ids:
            # Under whatever name: the next look says which switches are silent.
            self._statuses.graph.set_own(silence(uri))
        states.last.unreachable = frozenset()
        self._statuses.meter(facts)
        yield from plugged.learn()
        states.plugged = plugged
        links = inventory_links(plugged, self.uri)
        yield from self._inventory_links.put_in_steps(self.uri, links)
        self._dirty |= {*plugged.switch_ids}
        if self._facts is not None:
            now = {*inventory_shown(plugged, self.fabric)}
            for uri in {*inventory_shown(before, self.fabric)} - now:
                self._statuses.forget(uri)
                yield
            self._dirty |= now
            self._dirty_vppbs |= {*states.last.bindings}
        self._facts = facts

    def _note_all(self) -> None:
        # In one go and first of all: the index changes with every commit, and what is made from
        # now on waits for the next look.
        index = self._states.index
        self._relinking |= {*self._links, *self._port_of_part, *all_wanted(index, self.fabric)}
        self._dirty_vppbs |= {*index.bindings}

    def _compare(self, sight: FabricSight) -> Iterator[None]:
        states = self._states
        before, states.sight = states.sight, sight
        switches = states.plugged.switch_uris
        news = yield from states.last.compare(sight.observation, switches)
        for port in news.ports:
            self._port_changed(port)
            yield
        for vppb in news.vppbs:
            self._dirty_vppbs.add(vppb)
            self._dirty.add(switches.get(vppb.switch, self.uri))
            yield
        # A switch that falls silent says nothing better of what is in the way of a part.
        silent = {each for each in states.blocked if each.switch in states.last.unreachable}
        blocked, states.blocked = states.blocked, sight.blocked_parts | silent
        unmet = before.unmet_parts ^ sight.unmet_parts
        for target in (*news.parts, *unmet, *(blocked ^ states.blocked)):
            self._part_changed(target)
            yield
        for switch in news.switches:
            self._switch_changed(switch)
            yield
        foreign = {vppb for vppb, _ in set(before.foreign) ^ set(sight.foreign)}
        for vppb in {*foreign, *(before.unmet ^ sight.unmet), *(before.opening ^ sight.opening)}:
            self._dirty_vppbs.add(vppb)
        if before.violations != sight.violations:
            self._mark()
        self._dirty.add(self.uri)

    def _port_changed(self, port: PortId) -> None:
        uri = self._states.plugged.port_uris.get(port)
        if uri is not None:
            self._dirty.add(uri)
            self._dirty.update(self._states.plugged.shown_by.get(uri, ()))
            self._dirty |= self._states.index.endpoints_of_port(uri)
            self._dirty |= self._parts_at.get(uri, set())

    def _part_changed(self, target: BindTarget) -> None:
        unit = self._states.plugged.unit_of_target.get(target)
        if unit is not None:
            self._dirty.add(unit)
            self._dirty.update(self._states.plugged.in_unit.get(unit, ()))
        place = PortId(target.switch, target.port)
        self._dirty |= self._parts_at.get(self._states.plugged.port_uris.get(place) or "", set())
        if place in self._states.plugged.pools:
            self._dirty.add(self._states.plugged.pools[place].id)
            holding = self._states.plugged.unit_of_target.get(replace(target, region=None))
            self._dirty |= set() if holding is None else {holding}

    def _switch_changed(self, switch: str) -> None:
        uri = self._states.plugged.switch_uris[switch]
        silent = switch in self._states.last.unreachable
        self._dirty.add(uri)
        self._statuses.graph.set_own(silence(uri), [conditions.stale(uri)] if silent else [])
        for vppb, binding in self._states.index.bindings.items():
            if vppb.switch == switch and binding.fabric == self.fabric:
                self._dirty_vppbs.add(vppb)
        # What became of the others while nothing could be said of them is said now.
        self._dirty_vppbs |= {vppb for vppb in self._states.last.bindings if vppb.switch == switch}

    def _mark(self) -> None:
        """Note at the unit, and at who rightly holds it, that the wrong host reaches it."""
        before, marks = self._states.marks, dict[str, Conditions]()
        for violation in self._states.sight.violations:
            for uri in filter(None, (violation.subject, violation.holder)):
                marks[uri] = (*marks.get(uri, ()), conditions.violated(violation))
        self._states.marks = marks
        changed = {uri for uri in {*before, *marks} if before.get(uri) != marks.get(uri)}
        self._dirty |= changed
        # A vPPB that holds its own binding is rendered by place.
        places = map(self._states.plugged.facts.vppb_at, changed)
        self._dirty_vppbs |= {place[1] for place in places if place is not None}

    # -- who depends on whom -----------------------------------------------------------------

    def _relink(self, uri: str) -> None:
        """Bring the links of a zone, connection or endpoint, and of who names it, up to date."""
        if uri in self._touched:
            # Linked now, it would show a HealthRollup before this look may say its State.
            return
        endpoint = self._states.index.endpoints.get(uri)
        links = holder_links(self._states.index, uri, self.fabric)
        if endpoint is not None and endpoint.fabric == self.fabric:
            links = frozenset(endpoint_links(self._states.plugged, endpoint))
        known = uri in self._links or uri in self._statuses
        if not (links or known) and uri in self._states.index.zones:
            # It shows what it did before anybody looked.
            return
        self._links.put(uri, sorted(links))
        self._place_parts(uri)
        if known or links or any(allocations(self._states.index, uri)):
            self._dirty.add(uri)
        if endpoint is not None or uri not in self._states.index.zones:
            for holder in holders_of(self._states.index, uri):
                if holder not in self._relinking and holder not in self._touched:
                    self._links.put(
                        holder, sorted(holder_links(self._states.index, holder, self.fabric))
                    )

    def _place_parts(self, uri: str) -> None:
        before = self._port_of_part.pop(uri, None)
        if before is not None:
            self._parts_at[before].discard(uri)
            self._pool_changed(before)
        for allocation in allocations(self._states.index, uri):
            place = PortId(allocation.target.switch, allocation.target.port)
            port = self._states.plugged.port_uris.get(place)
            if port is not None and allocation.fabric == self.fabric:
                self._port_of_part[uri] = port
                self._parts_at.setdefault(port, set()).add(uri)
                self._pool_changed(port)

    def _pool_changed(self, port: str) -> None:
        place = self._states.plugged.port_ids.get(port)
        pool = None if place is None else self._states.plugged.pools.get(place)
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
        foreign = {vppb for vppb, _ in self._states.sight.foreign}
        for vppb in self._dirty_vppbs:
            if vppb not in self._touched_vppbs:
                self.rendered += 1
                self._judge_binding(vppb)
                self._states.say_vppb(vppb, vppb in foreign)
            yield
        dirty, self._dirty = self._dirty, set()
        for uri in dirty:
            if uri in self._touched:
                # This sight does not know what it waits for, and would call it Enabled.
                self._dirty.add(uri)
            else:
                self.rendered += 1
                self._states.say(uri)
            yield

    def _judge_binding(self, vppb: VppbId) -> None:
        """Let the host suffer that was promised this binding, and its holders say so."""
        states, node = self._states, f"binding {vppb}"
        binding = states.index.bindings.get(vppb)
        mine = binding if binding is not None and binding.fabric == self.fabric else None
        self._links.put(node, () if mine is None else binding_links(states.index, node, mine))
        lost = mine is not None and states.unmet(mine) and vppb not in states.sight.opening
        holder = min(mine.holders, default="") if mine is not None else ""
        self._statuses.graph.set_own(node, [conditions.unbound(holder)] if lost else [])
        self._dirty |= frozenset() if mine is None else mine.holders


def _parts(steps: Iterator[None], size: int) -> Iterator[dict[str, Patch | None]]:
    """Take the steps; yield nothing new after each `size` of them."""
    for count, _ in enumerate(steps, start=1):
        if not count % size:
            yield {}

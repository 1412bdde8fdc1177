"""What one fabric is to become: wanted bindings and parts, and what open operations give up.

Reads the published state only. What it remembers itself: which new bindings it has seen (contents
behind those are their owner's, contents behind the others are still somebody else's: DESIGN
section 4, scrub before reuse), and which targets have ever told what is in them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from redfish_fm.control.operations import Operations
from redfish_fm.control.published import Published
from redfish_fm.control.verdicts import Look, Unsettled
from redfish_fm.fabric.binding import Plan, is_stranded, plan
from redfish_fm.fabric.ground import Targets, doubted
from redfish_fm.fabric.model import BindTarget, Observation, Place, Qos, VppbId
from redfish_fm.fabric.physical import Inventoried
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.fabric.targets import overlaps
from redfish_fm.fabric.values import Allocation, Binding
from redfish_fm.mapping.operations import Operation


class Intent:
    """The wishes for one fabric, always as last published."""

    def __init__(self, fabric: str, published: Published, operations: Operations) -> None:
        self._fabric = fabric
        self._published = published
        self._operations = operations
        self._given: set[tuple[str, VppbId]] = set()
        self._keeping: set[BindTarget] = set()
        self._inventoried: Inventoried | None = None

    def open(self) -> list[Operation]:
        """Return the open operations with work here, oldest first, each whole."""
        return [each for each in self._operations.open_of(self._fabric) if not each.port_reset]

    def resets(self) -> list[Operation]:
        """Return the open operations that are a command to a port and nothing else."""
        return [each for each in self._operations.open_of(self._fabric) if each.port_reset]

    def left(self) -> list[Operation]:
        """Return the ended operations that left something here, when the fabric was not served."""
        return self._operations.left_of(self._fabric)

    def parts(self) -> list[Operation]:
        """Return what there is to do here of each open operation, oldest first, and what is left.

        What ended ones have left is to be released, and nothing else.
        """
        return [operation.part(self._fabric) for operation in (*self.open(), *self.left())]

    def wanted(self) -> tuple[Binding, ...]:
        """Return the wanted bindings, but for those that are stranded."""
        index = self._published.state.index
        return tuple(
            each for each in index.bindings_in(self._fabric) if not is_stranded(index, each)
        )

    def _stranded(self, wanted: Sequence[Binding]) -> frozenset[VppbId]:
        """Return the vPPBs of the other bindings: of devices gone, or no longer in that place."""
        bindings = self._published.state.index.bindings_in(self._fabric)
        if len(bindings) == len(wanted):
            return frozenset()
        return frozenset(each.vppb for each in {*bindings} - {*wanted})

    def releasing(self) -> list[Binding]:
        """Return the bindings that are given up and not wanted again."""
        kept = {(binding.vppb, binding.target) for binding in self.wanted()}
        return [each for each in self._released() if (each.vppb, each.target) not in kept]

    def given_up(self) -> frozenset[Place]:
        """Return the vPPBs and parts that an open operation is still giving up."""
        vppbs = (each.vppb for each in self._released())
        return frozenset([*vppbs, *(each.target for each in self._freed())])

    def opening(self) -> frozenset[VppbId]:
        """Return the vPPBs that an open operation binds."""
        return frozenset(
            binding.vppb for operation in self.parts() for binding in operation.granted
        )

    def plan(self, seen: Observation, unsettled: Unsettled, enforce: bool) -> Plan:
        """Return the next safe steps; what is stranded is told as unmet, and nothing is tried."""
        unsettled = doubted(seen, unsettled)
        wanted, releasing = self.wanted(), self.releasing()
        found = plan(
            wanted,
            [*releasing, *_turned(releasing, wanted, seen)],
            seen,
            unsettled,
            enforce,
            self._published.state.index.allocations_in(self._fabric),
            [part for part in self._freed() if self._physical().is_in_place(part)],
            self._fresh(seen),
            self._physical(),
            self.bandwidth(),
            self.controls(),
        )
        stranded = self._stranded(wanted)
        return replace(found, unmet=found.unmet | stranded) if stranded else found

    def bandwidth(self) -> dict[BindTarget, Qos]:
        """Return what LDs are to have: what is wanted, else what they had before it was tried."""
        before = (wish for operation in self.parts() for wish in operation.restoring)
        wanted = self._published.state.index.bandwidth.in_fabric(self._fabric)
        return {**{wish.target: wish.qos for wish in before if wish.control is None}, **wanted}

    def controls(self) -> dict[BindTarget, QosControl]:
        """Return what whole devices are to do: what is wanted, else what they did before."""
        before = (wish for operation in self.parts() for wish in operation.restoring)
        wanted = self._published.state.index.bandwidth.controls_in_fabric(self._fabric)
        told = {wish.target: wish.control for wish in before if wish.control is not None}
        return {**told, **wanted}

    def look(
        self,
        seen: Observation,
        unsettled: Unsettled,
        foreign: tuple[tuple[VppbId, BindTarget], ...] = (),
        under_way: frozenset[Place] = frozenset(),
        *,
        enforce: bool = False,
    ) -> Look:
        """Return what open operations are judged by; arguments as in Look."""
        wanted, fresh = self.wanted(), self._fresh(seen)
        given = [each for each in wanted if each.vppb not in fresh]
        self._keeping |= seen.parts.keys()
        kept = self._published.state.index.allocations
        # Copied: judging awaits, and what is published meanwhile belongs to the next look.
        again = {each.target: kept[each.target] for each in self._freed() if each.target in kept}
        return Look(
            seen,
            frozenset((each.vppb, each.target) for each in wanted),
            Targets(way for each in given for way in self._physical().ways(each.target)),
            again,
            doubted(seen, unsettled),
            self.bandwidth(),
            self._keeping,
            self.controls(),
            foreign,
            under_way,
            enforce,
            frozenset(
                part.target for part in self._freed() if not self._physical().is_in_place(part)
            ),
        )

    def _released(self) -> Iterable[Binding]:
        return (binding for operation in self.parts() for binding in operation.released)

    def _freed(self) -> list[Allocation]:
        return [part for operation in self.parts() for part in operation.freed]

    def _fresh(self, seen: Observation) -> frozenset[VppbId]:
        """Return the vPPBs that an open operation binds and has never seen bound.

        What was seen once is its owner's, also when the switch loses it before the operation ends.
        A restart of the service forgets that: then it is scrubbed once more than necessary.
        """
        fresh = [(each.id, binding) for each in self.parts() for binding in each.fresh]
        self._given &= {(operation, binding.vppb) for operation, binding in fresh}
        self._given |= {
            (operation, binding.vppb)
            for operation, binding in fresh
            if binding.vppb.switch not in seen.unreachable
            if seen.bindings.get(binding.vppb) == binding.target
        }
        given = self._given
        return frozenset(each.vppb for name, each in fresh if (name, each.vppb) not in given)

    def _physical(self) -> Inventoried:
        index = self._published.state.index
        if self._inventoried is None or self._inventoried.index is not index:
            self._inventoried = Inventoried(index, self._fabric)
        return self._inventoried


def _turned(
    releasing: Sequence[Binding], wanted: Sequence[Binding], seen: Observation
) -> list[Binding]:
    """Return what is given up and shows as something else that has the target, or is of it.

    Another kind of device in that place makes an LD the whole port, say. What a vPPB is to let go
    is what it is seen to have.
    """
    found = [
        replace(each, target=now)
        for each in releasing
        if (now := seen.bindings.get(each.vppb)) not in (None, each.target)
        if overlaps(now, each.target)
    ]
    kept = {(each.vppb, each.target) for each in wanted} if found else set()
    return [each for each in found if (each.vppb, each.target) not in kept]

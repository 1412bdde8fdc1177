"""What a request may take at this moment: shelves, less what they can not know.

Pure. Reservations run out and devices die without any change of the index, and a request may be
confined to a zone of blocks: each block that is about to be taken is asked about here, by the very
rules that a composition is judged by (fabric.block_rules).
"""

from collections.abc import Container, Sequence
from itertools import islice
from math import prod

from redfish_fm.fabric.block_rules import OUT_OF_USE, check_blocks
from redfish_fm.fabric.cases import TargetStatus
from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.memory_policy import legs_of
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.model import Place as BindPlace
from redfish_fm.fabric.part_index import Part
from redfish_fm.fabric.paths import BESIDE, SwitchKey
from redfish_fm.fabric.placement_values import Request
from redfish_fm.fabric.stock import Appliance, Sort


class Market:
    """Answers for one request, and counts what it had to refuse.

    `occupied` are vPPBs that nobody may take although nothing is wanted there, `elsewhere` what
    another manager has bound.
    """

    def __init__(
        self,
        index: FabricIndex,
        request: Request,
        now_s: float,
        status: TargetStatus,
        occupied: Container[BindPlace],
        elsewhere: Container[BindTarget] = (),
    ) -> None:
        self.index = index
        self.request = request
        self.refused = 0
        self._now_s = now_s
        self._status = status
        self._occupied = occupied
        self._elsewhere = elsewhere
        self._known: dict[str, bool] = {}
        self._sorts: dict[Sort, tuple[list[str], int]] = {}
        self._named = frozenset(request.blocks)
        self._limit = sum(wish.count for wish in request.devices)
        parts = (legs_of(wish) for wish in request.memory)
        things = len(index.components(self._named))
        self.binds_max = self._limit + sum(map(prod, parts)) + things
        """How many things the request can bind for its host, at the most."""

    def takable(self, block: Block) -> bool:
        """Return whether the system may have the block now."""
        found = self._known.get(block.id)
        if found is None:
            self.index.work += 1
            found = self._known[block.id] = self._takable(block)
        self.refused += not found
        return found

    def _takable(self, block: Block) -> bool:
        among = self.request.among
        if among is not None and block.id not in among:
            return False
        if block.sharing and not self._alive(block):
            return False
        if block.id not in self.own_blocks() and self._bound_elsewhere(block):
            return False
        return not check_blocks(
            self.index,
            self.request.system or "",
            (block.id,),
            () if block.id in self.own_blocks() else (block.id,),
            expands=not block.computes,
            now_s=self._now_s,
            reservation=self.request.reservation,
            status=self._status,
        )

    def _bound_elsewhere(self, block: Block) -> bool:
        """Return whether another manager has bound what is in a block that is taken whole.

        Who is given that would wait until the other one lets go of it.
        """
        if block.sharing:
            return False
        around = {near for unit in block.units for near in self.index.units_around(unit)}
        known = self.index.units
        units = [known[unit] for unit in block.units | around if unit in known]
        return any(unit.target is not None and unit.target in self._elsewhere for unit in units)

    def own_blocks(self) -> tuple[str, ...]:
        """Return the blocks that the system has already."""
        system = self.index.compositions.get(self.request.system or "")
        return () if system is None else system.blocks

    def part(self, name: str) -> Part | None:
        """Return a part of a pool; None: it is none, or not there any more."""
        index = self.index
        return index.chunks.get(name) or index.regions.get(name) or index.volumes.get(name)

    def _alive(self, block: Block) -> bool:
        """Return whether any part of a shared block can be used, as far as is known."""
        units = {inner for unit in block.units for inner in (unit, *self.index.units_within(unit))}
        ends = {end for unit in units for end in self.index.endpoints_of_unit(unit)}
        told = [self._status(end) for end in sorted(ends)]
        self.index.work += len(told)
        gone = [state in OUT_OF_USE or health == "Critical" for state, health in told]
        return not gone or not all(gone)

    def available(self, sort: Sort) -> Sequence[str]:
        """Return the first blocks of a sort that may be taken: as many as the request can need.

        What the client named itself, or the system has, is not offered a second time.
        """
        if sort not in self._sorts:
            before = self.refused
            self._sorts[sort] = (self._first(sort), self.refused - before)
            return self._sorts[sort][0]
        found, refused = self._sorts[sort]
        # Every host that sees it is as much a special case as the first one.
        self.refused += refused
        return found

    def _first(self, sort: Sort) -> list[str]:
        found: list[str] = []
        own = frozenset(self.own_blocks())
        for name in self.index.shelves.ids(sort):
            if len(found) == self._limit:
                break
            if name in self._named or name in own:
                self.refused += 1
            elif self.takable(self.index.blocks[name]):
                found.append(name)
        return found

    def appliances(self, switch: SwitchKey, kind: str) -> list[Appliance]:
        """Return the appliances of a kind at a switch of which something may be taken."""
        found = self.index.shelves.appliances(switch, kind)
        return [each for each in found if self.takable(self.index.blocks[each.block])]

    def free_vppbs(self, host: str, switch: SwitchKey) -> int:
        """Return how many more things the host can bind at a switch, up to `binds_max`."""
        fabric, name = switch
        if fabric == BESIDE:
            return self.binds_max
        places = (
            VppbId(name, vcs.vcs, number)
            for vcs in self.index.vcs_of_host(fabric, host, name)
            for number in range(vcs.vppb_count)
        )
        return sum(1 for _ in islice(filter(self._is_free, places), self.binds_max))

    def _is_free(self, vppb: VppbId) -> bool:
        self.index.work += 1
        return vppb not in self.index.bindings and vppb not in self._occupied

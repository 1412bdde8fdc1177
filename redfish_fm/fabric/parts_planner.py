"""The next safe steps towards the wanted parts of pools: allocate, sanitize, deallocate.

Pure. One half of fabric.planner: what is bound is decided there. A part is given back only when
nobody wants it any more, nothing is bound to it and nothing of its last owner is left in it.
"""

from collections.abc import Iterable

from redfish_fm.fabric.ground import Ground, Targets
from redfish_fm.fabric.model import Allocate, BindTarget, Deallocate, Media
from redfish_fm.fabric.targets import enclosing, order
from redfish_fm.fabric.values import Allocation


class PartsPlanner:
    """One pass over the parts.

    `claims` are the targets of wanted bindings; `in_use` those among them that their owner has
    been given already, whose contents are therefore nobody else's.
    """

    def __init__(
        self,
        ground: Ground,
        allocations: Iterable[Allocation],
        claims: Targets,
        in_use: Targets,
    ) -> None:
        self._ground = ground
        self._wanted = {each.target: each for each in allocations}
        self._wanted_targets = Targets(self._wanted)
        self._claims = claims
        self._in_use = in_use
        self._leaving = Targets()
        self.allocates: list[Allocate] = []
        self.deallocates: list[Deallocate] = []
        self.unmet: set[BindTarget] = set()
        self.blocked: set[BindTarget] = set()

    def scrub_released(self, target: BindTarget) -> None:
        """Sanitize what was released, unless somebody who shares it goes on to use it."""
        if not self._in_use.touch(target):
            self._ground.scrub(target)

    def free(self, target: BindTarget) -> None:
        """Give a part back once it is unbound and clean; not if somebody wants it (again)."""
        if self._wanted_targets.touch(target) or self._claims.touch(target):
            return
        ground = self._ground
        unknown = ground.silent(target) or ground.pending(target)
        if not unknown and target not in ground.parts:
            return
        self._leaving.add(target)
        if not unknown and ground.scrub(target) and ground.idle(target):
            ground.taken.add(target)
            self.deallocates.append(Deallocate(target))

    def foreign(self, freeing: Iterable[BindTarget]) -> tuple[BindTarget, ...]:
        """Return the parts that exist and that nobody here asked for, or is still giving back."""
        ours, pooled = {*self._wanted, *freeing}, self._ground.physical.pooled
        found = (
            target
            for target in self._ground.parts
            # What may be a late command of ours is not somebody else's.
            if target not in ours and pooled(target) and not self._ground.pending(target)
        )
        return tuple(sorted(found, key=order))

    def allocate(self) -> None:
        """Ask for every wanted part that is not there; wait while its pool is getting some back."""
        for target, part in sorted(self._wanted.items(), key=lambda item: order(item[0])):
            if self._is_there(part):
                continue
            self.unmet.add(target)
            if self._is_blocked(target):
                self.blocked.add(target)
            waits = target in self._ground.parts or self._leaving.behind(target)
            if not waits and self._ground.idle(target):
                self._ground.taken.add(target)
                self.allocates.append(Allocate(target, part.size_mib, part.shareable))

    def ready(self, target: BindTarget, fresh: bool) -> bool:
        """Return whether a target may be bound: it exists, and no other owner's contents do.

        `fresh`: it was never observed bound for who is to have it now. Plans to sanitize it
        where that is what is missing.
        """
        needed = [self._wanted[each] for each in enclosing(target) if each in self._wanted]
        if not all(map(self._is_there, needed)) or (
            self._ground.physical.pooled(target) and not needed
        ):
            return False
        state = self._ground.parts.get(target)
        if state is not None and state.media is Media.SANITIZING:
            return False
        if not fresh or self._in_use.touch(target):
            return True
        # A device that is not there, or has no power, does not say what is in it.
        return not self._ground.silent(target) and self._ground.scrub(target)

    def _is_blocked(self, target: BindTarget) -> bool:
        """Return whether nothing that is planned or open will make room for a wanted part.

        Another part is in its place, which is never given back because the place is wanted; or the
        part is gone (another device, say) while something is still bound there.
        """
        ground = self._ground
        if ground.silent(target) or ground.pending(target):
            return False
        staying = (
            vppb
            for vppb, other in ground.bound(target)
            if (vppb, other) not in ground.leaving and not ground.unsettled(vppb)
        )
        return target in ground.parts or any(staying)

    def _is_there(self, part: Allocation) -> bool:
        state = self._ground.parts.get(part.target)
        wished = (part.size_mib, part.shareable)
        return state is not None and (state.size_mib, state.shareable) == wished

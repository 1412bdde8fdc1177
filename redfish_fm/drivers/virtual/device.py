"""One simulated device: its pool, its parts, what is in them, and what it refuses.

Pure state machine: the time is given (fabric clock), no I/O, and none of our isolation rules.
Hardware does not protect tenants: what is dirty may be bound to anybody, and a device on several
ports serves whoever is bound to any of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from redfish_fm.drivers.virtual.capacity import Extent, carve, without
from redfish_fm.drivers.virtual.contents import (
    Content,
    Key,
    Life,
    Part,
    Residue,
    nested,
    sanitize_s,
)
from redfish_fm.drivers.virtual.refusals import Forgets, Refusal, Refused, describe
from redfish_fm.fabric.model import (
    Allocate,
    BindTarget,
    Deallocate,
    Device,
    DeviceKind,
    Media,
    PartKind,
    PartState,
    PortId,
    Qos,
    Sanitize,
    SetQos,
    VppbId,
)


class SimulatedDevice:
    """The state of one device, reached through `ports` (in the order of the inventory).

    `life`, `parts`, `contents`, `residue` and `qos` (by LD; the usual is left out) are what powered
    hardware keeps; `changed` names the parts whose state was changed since whoever persists it
    last cleared the set.
    """

    def __init__(
        self, facts: Device, ports: tuple[PortId, ...], forgets: frozenset[Forgets] = frozenset()
    ) -> None:
        self.facts = facts
        self.ports = ports
        self.life = Life()
        self.parts: dict[Key, Part] = {}
        self.contents: dict[Key, Content] = {}
        self.residue: tuple[Residue, ...] = ()
        self.qos: dict[int, Qos] = {}
        self.changed: set[Key] = set()
        self._forgets = forgets
        self._attached: dict[VppbId, tuple[Key, str]] = {}
        self._said: dict[BindTarget, PartState] | None = None
        self._fixed = {ld.id: ld for ld in facts.lds if not ld.dynamic and ld.capacity_mib}
        self._dynamic = {ld.id for ld in facts.lds if ld.dynamic}
        self._functions = {function.id for function in facts.functions} or {0}
        self._stores = (
            facts.sanitizes
            or facts.pool is not None
            or facts.kind in (DeviceKind.MEMORY, DeviceKind.NVME)
        )

    # -- what there is ------------------------------------------------------------------------

    @property
    def serial_number(self) -> str:
        """Return the serial number of the device that is there, or was last."""
        return self.life.serial_number or self.facts.serial_number

    @property
    def answers(self) -> bool:
        """Whether it is there and has power."""
        return self.life.present and self.life.powered

    def key(self, target: BindTarget) -> Key:
        """Return which part a target means: heads apart where each serves its own host."""
        return (_scope(target) if self.facts.shared_heads else "", target.path)

    def part(self, target: BindTarget) -> Part | None:
        """Return the allocated part that a target means."""
        return self.parts.get(self.key(target))

    def is_shareable(self, target: BindTarget) -> bool:
        """Whether the part was allocated for several hosts."""
        part = self.part(target)
        return part is not None and part.shareable

    def states(self) -> Mapping[BindTarget, PartState]:
        """Return what it says of its parts, and of itself where it tracks contents."""
        if self._said is None:
            self._said = dict(self._states()) if self.answers else {}
        return self._said

    def bandwidths(self) -> Mapping[BindTarget, Qos]:
        """Return what it says of the bandwidth of its LDs."""
        if not (self.facts.qos and self.answers):
            return {}
        return {
            BindTarget(port.switch, port.port, ld.id): self.qos.get(ld.id, Qos())
            for port in self.ports
            for ld in self.facts.lds
        }

    # -- binding ------------------------------------------------------------------------------

    def target_refusal(self, target: BindTarget) -> Refusal | None:
        """Return why nothing can be bound to `target`, whoever asks; None where it can."""
        if not self.life.present:
            return Refusal.DEVICE_ABSENT
        if target.function is not None:
            return self._function_refusal(target.function)
        if target.namespace is not None:
            return None if self.part(target) else Refusal.PART_NOT_ALLOCATED
        if target.ld is None:
            return self._whole_refusal()
        return self._ld_refusal(target)

    def attach(self, vppb: VppbId, target: BindTarget, host: str) -> frozenset[str]:
        """Note a new binding: from now on it is dirty. Returns other hosts whose data it shows."""
        key = self.key(target)
        self._attached[vppb] = key, host
        if not self._stores:
            return frozenset()
        found, others = self.contents.get(key, Content()), self.strangers(target, host)
        hosts, residue, owners = found.hosts | {host}, found.residue, found.owners
        if self.is_shareable(target):
            residue, owners = residue | others, owners | {host}
        self._set(key, Content(Media.DIRTY, hosts, residue, owners=owners))
        # Who can not sanitize keeps data on purpose: what a volume holds moves with it.
        return others if self.facts.sanitizes else frozenset()

    def strangers(self, target: BindTarget, host: str) -> frozenset[str]:
        """Return the other hosts whose data `host` would see there, and does not share.

        What is for several hosts they share while one of them has it; once all have given it up,
        what is left in it is nobody's to see.
        """
        found = self.contents.get(self.key(target), Content())
        shared = self.is_shareable(target) and bool(found.owners)
        return (found.residue if shared else found.hosts) - {host}

    def reattach(self, vppb: VppbId, target: BindTarget, host: str) -> None:
        """Note a binding that was there before (restored state)."""
        self._attached[vppb] = self.key(target), host

    def detach(self, vppb: VppbId, *, given_up: bool) -> None:
        """Note that a binding is gone; its contents stay.

        `given_up`: by command. Whoever has lost it otherwise, with a restart of the switch or by a
        stranger's doing, owns it still: only the contents of a part that is shared tell.
        """
        key, host = self._attached.pop(vppb, (None, ""))
        content = None if key is None else self.contents.get(key)
        if key is None or content is None or host not in content.owners:
            return
        if given_up and (key, host) not in self._attached.values():
            self._set(key, replace(content, owners=content.owners - {host}))

    # -- commands -----------------------------------------------------------------------------

    def allocate(self, step: Allocate) -> bool:
        """Cut a part out of the pool; returns whether that was new. Raises Refused."""
        refusal = self._allocate_refusal(step)
        if refusal is not None:
            raise Refused(refusal, describe(step))
        pool, key = self.facts.pool, self.key(step.target)
        if key in self.parts or pool is None:
            return False
        used = [extent for part in self.parts.values() for extent in part.extents]
        extents = carve(pool.capacity_mib, pool.granularity_mib, used, step.size_mib)
        if extents is None:
            raise Refused(Refusal.POOL_EXHAUSTED, describe(step))
        self.parts[key] = Part(step.target, step.size_mib, step.shareable, extents)
        left, writers = self._left_in(extents), self._writers(key)
        known = bool(left) and Forgets.DEALLOCATE_DIRTY not in self._forgets
        # Who is bound under this name from before writes into it from now on.
        media = Media.DIRTY if known or writers else Media.CLEAN
        owners = writers if step.shareable else frozenset[str]()
        self._set(key, Content(media, left | writers, residue=left, owners=owners))
        return True

    def deallocate(self, step: Deallocate) -> bool:
        """Give a part back to the pool; returns whether it was there. Raises Refused."""
        refusal = self._deallocate_refusal(step)
        if refusal is not None:
            raise Refused(refusal, describe(step))
        key = self.key(step.target)
        part = self.parts.pop(key, None)
        if part is None:
            return False
        content = self.contents.pop(key, Content())
        # Deleting a namespace overwrites it; of the others the contents stay where they were.
        if content.hosts and not self._cleared_by_deletion(step.target):
            left = (Residue(extent, content.hosts) for extent in part.extents)
            self.residue = (*self.residue, *left)
        self._touch(key)
        return True

    def sanitize(self, step: Sanitize, now_s: float) -> bool:
        """Begin to overwrite a part; returns whether it was not clean. Raises Refused."""
        refusal = self._sanitize_refusal(step)
        if refusal is not None:
            raise Refused(refusal, describe(step))
        key = self.key(step.target)
        found = self.contents.get(key, Content())
        if found.media is not Media.DIRTY:
            return False
        done_s = now_s + sanitize_s(self._size_mib(step.target))
        self._set(key, replace(found, media=Media.SANITIZING, done_s=done_s))
        return True

    def set_qos(self, step: SetQos) -> bool:
        """Give an LD bandwidth; returns whether it had another. Raises Refused."""
        refusal = self._silent() or self._qos_refusal(step)
        if refusal is not None:
            raise Refused(refusal, describe(step))
        ld = step.target.path[-1][1]
        if self.qos.get(ld, Qos()) == step.qos:
            return False
        self.qos[ld] = step.qos
        return True

    # -- time and life ------------------------------------------------------------------------

    def next_s(self) -> float | None:
        """Return when the first sanitizing ends, None if there is none."""
        times = [c.done_s for c in self.contents.values() if c.done_s is not None]
        return min(times, default=None)

    def cap_sanitizing(self, now_s: float) -> None:
        """Let nothing under way end later than if it began now: clocks may have been set."""
        for key, content in self.contents.items():
            if content.done_s is not None:
                latest_s = now_s + sanitize_s(self._size_mib(self._name(key)))
                self.contents[key] = replace(content, done_s=min(content.done_s, latest_s))

    def advance(self, now_s: float) -> list[BindTarget]:
        """End what has been sanitized by now; returns what that was."""
        done = [k for k, c in self.contents.items() if c.done_s is not None and c.done_s <= now_s]
        for key in done:
            before, writers = self.contents[key], self._writers(key)
            left = before.hosts if Forgets.SANITIZE in self._forgets else frozenset[str]()
            # Whoever is bound meanwhile (careless hardware) goes on writing.
            media = Media.DIRTY if writers else Media.CLEAN
            residue, owners = before.residue & left, before.owners & writers
            self._set(key, Content(media, left | writers, residue, owners=owners))
        return [self._name(key) for key in done]

    def live(self, life: Life) -> None:
        """Change presence, power, identity or health. Without power nothing is sanitized."""
        if not (life.present and life.powered):
            self._interrupt()
        replaced = (life.serial_number or self.facts.serial_number) != self.serial_number
        self.life = life
        self._said = None
        if replaced:
            self._blank()

    # -- the rest -----------------------------------------------------------------------------

    def _states(self) -> Iterator[tuple[BindTarget, PartState]]:
        for key, part in self.parts.items():
            laid = tuple((extent.start_mib, extent.size_mib) for extent in part.extents)
            yield part.target, PartState(part.size_mib, self._reported(key), part.shareable, laid)
        if self.facts.sanitizes:
            for target, size_mib in self._whole():
                yield target, PartState(size_mib, self._reported(self.key(target)))

    def _interrupt(self) -> None:
        for key, content in list(self.contents.items()):
            if content.done_s is not None:
                self._set(key, replace(content, media=Media.DIRTY, done_s=None))

    def _blank(self) -> None:
        """Another device of the same kind: nothing is allocated, nothing is in it.

        The switch knows nothing of that: whoever is bound to what is not cut out of a pool reaches
        the new one at once, and writes.
        """
        self.changed |= {*self.parts, *self.contents}
        self.parts.clear()
        self.contents.clear()
        self.residue = ()
        self.qos.clear()
        for key in {self.key(target) for target, _ in self._whole()} if self._stores else ():
            writers = self._writers(key)
            if writers:
                self._set(key, Content(Media.DIRTY, writers))

    def _set(self, key: Key, content: Content) -> None:
        self.contents[key] = content
        self._touch(key)

    def _touch(self, key: Key) -> None:
        self.changed.add(key)
        self._said = None

    def _reported(self, key: Key) -> Media:
        if not self.facts.sanitizes:
            return Media.CLEAN
        return self.contents.get(key, Content()).media

    @staticmethod
    def _cleared_by_deletion(target: BindTarget) -> bool:
        return target.namespace is not None

    def _whole(self) -> Iterator[tuple[BindTarget, int]]:
        """Yield what is not cut out of a pool, by every port, with its size."""
        for port in self.ports:
            if self._fixed:
                for ld in self._fixed.values():
                    yield BindTarget(port.switch, port.port, ld.id), ld.capacity_mib
            elif self.facts.pool is None:
                for number in self.facts.functions if self.facts.binds_functions else ():
                    target = BindTarget(port.switch, port.port, function=number.id)
                    yield target, self.facts.capacity_mib
                if not self.facts.binds_functions:
                    yield BindTarget(port.switch, port.port), self.facts.capacity_mib

    def _size_mib(self, target: BindTarget) -> int:
        part = self.part(target)
        if part is not None:
            return part.size_mib
        fixed = self._fixed.get(-1 if target.ld is None else target.ld)
        return self.facts.capacity_mib if fixed is None else fixed.capacity_mib

    def _name(self, key: Key) -> BindTarget:
        """Return a target that means the part."""
        if key in self.parts:
            return self.parts[key].target
        scope, path = key
        port = next(p for p in self.ports if scope in ("", f"{p.switch} {p.port}"))
        return BindTarget(port.switch, port.port, **dict(path))

    def _is_bound(self, key: Key) -> bool:
        """Whether any vPPB, through any port, reaches something of the part."""
        return any(nested(key, other) for other, _ in self._attached.values())

    def _writers(self, key: Key) -> frozenset[str]:
        """Return the hosts that reach something of the part now."""
        return frozenset(host for other, host in self._attached.values() if nested(key, other))

    def _left_in(self, extents: tuple[Extent, ...]) -> frozenset[str]:
        """Take the residue out of what is allocated now, and return whose it is."""
        hosts: frozenset[str] = frozenset()
        kept = []
        for left in self.residue:
            if any(left.extent.overlaps(extent) for extent in extents):
                hosts |= left.hosts
                kept += [Residue(rest, left.hosts) for rest in without(left.extent, extents)]
            else:
                kept.append(left)
        self.residue = tuple(kept)
        return hosts

    def _function_refusal(self, number: int) -> Refusal | None:
        if not self.facts.binds_functions:
            return Refusal.FUNCTIONS_TOGETHER
        return None if number in self._functions else Refusal.NO_SUCH_FUNCTION

    def _whole_refusal(self) -> Refusal | None:
        pool = self.facts.pool
        if self.facts.lds:
            return Refusal.MLD_WHOLE
        if pool is not None:
            namespaces = pool.kind is PartKind.NAMESPACE
            return Refusal.SUBSYSTEM_WHOLE if namespaces else Refusal.MLD_WHOLE
        return None

    def _ld_refusal(self, target: BindTarget) -> Refusal | None:
        pool = self.facts.pool
        if not self.facts.lds and (pool is None or pool.kind is PartKind.NAMESPACE):
            return Refusal.NOT_MLD
        if target.region is not None:
            return None if self.part(target) else Refusal.PART_NOT_ALLOCATED
        if target.ld in self._dynamic:
            return Refusal.LD_DYNAMIC
        if target.ld in self._fixed or self.part(target):
            return None
        return Refusal.LD_NOT_ALLOCATED

    def _silent(self) -> Refusal | None:
        if not self.life.present:
            return Refusal.DEVICE_ABSENT
        return None if self.life.powered else Refusal.NO_POWER

    def _pool_refusal(self, target: BindTarget) -> Refusal | None:
        """Return why `target` can be no part of the pool."""
        pool = self.facts.pool
        names = {
            PartKind.LD: ("ld",),
            PartKind.REGION: ("ld", "region"),
            PartKind.NAMESPACE: ("namespace",),
        }
        if self._fixed.get(-1 if target.ld is None else target.ld):
            return Refusal.FIXED
        if pool is None or tuple(name for name, _ in target.path) != names[pool.kind]:
            return Refusal.NO_SUCH_PART
        if pool.kind is PartKind.REGION and target.ld not in self._dynamic:
            return Refusal.NO_SUCH_PART
        number = target.path[-1][1]
        # Namespaces are counted from 1, LDs and regions from 0.
        first = 1 if pool.kind is PartKind.NAMESPACE else 0
        known = first <= number < first + pool.part_count_max
        return None if known else Refusal.NO_SUCH_PART

    def _allocate_refusal(self, step: Allocate) -> Refusal | None:
        refusal = self._silent() or self._pool_refusal(step.target)
        pool = self.facts.pool
        if refusal is not None or pool is None:
            return refusal
        part = self.part(step.target)
        if part is not None and part.size_mib != step.size_mib:
            return Refusal.OTHER_SIZE
        if part is not None and part.shareable != step.shareable:
            return Refusal.OTHER_SHARING
        if step.size_mib <= 0 or step.size_mib % pool.granularity_mib:
            return Refusal.GRANULARITY
        if part is None and self._count(step.target) >= pool.part_count_max:
            return Refusal.TOO_MANY_PARTS
        return None

    def _count(self, target: BindTarget) -> int:
        """Return how many parts there are of which the pool limits the number."""
        if target.region is None:
            return len(self.parts)
        return sum(1 for part in self.parts.values() if part.target.ld == target.ld)

    def _deallocate_refusal(self, step: Deallocate) -> Refusal | None:
        refusal = self._silent() or self._pool_refusal(step.target)
        key = self.key(step.target)
        if refusal is not None or key not in self.parts:
            return refusal
        if self._is_bound(key) and Forgets.DEALLOCATE_BOUND not in self._forgets:
            return Refusal.IN_USE
        media = self._reported(key)
        if media is Media.CLEAN or Forgets.DEALLOCATE_DIRTY in self._forgets:
            return None
        if media is Media.SANITIZING:
            return Refusal.SANITIZING
        return None if self._cleared_by_deletion(step.target) else Refusal.NOT_CLEAN

    def _qos_refusal(self, step: SetQos) -> Refusal | None:
        if not self.facts.qos or step.control is not None:
            return Refusal.NO_QOS
        target, qos = step.target, step.qos
        if target.path != (("ld", target.ld),) or target.ld not in {ld.id for ld in self.facts.lds}:
            return Refusal.NO_SUCH_PART
        others = sum(each.allocated for ld, each in self.qos.items() if ld != target.ld)
        fits = 0 <= qos.allocated <= 100 - others and 0 <= qos.limit <= 100
        return None if fits else Refusal.BANDWIDTH

    def _sanitize_refusal(self, step: Sanitize) -> Refusal | None:
        if self._silent() is not None:
            return self._silent()
        if not self.facts.sanitizes:
            return Refusal.NEVER_SANITIZED
        refusal = self.target_refusal(step.target)
        if refusal is not None:
            return refusal
        bound = self._is_bound(self.key(step.target))
        return Refusal.IN_USE if bound and Forgets.SANITIZE_BOUND not in self._forgets else None


def _scope(target: BindTarget) -> str:
    """Return the name of the head that a target is reached through."""
    return f"{target.switch} {target.port}"

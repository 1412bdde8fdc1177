"""What one look says of an open operation: done, or which of its steps are still owed.

Pure. Trusts observations behind a barrier only; ends nothing itself (control.operations does).
"""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field

from redfish_fm.fabric.ground import Targets, silent
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Media,
    Observation,
    Place,
    PortId,
    Qos,
    Sanitize,
    SetQos,
    Step,
    Unbind,
    VppbId,
)
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.fabric.targets import overlaps, part_kind, part_name
from redfish_fm.fabric.values import Allocation, Binding, QosWish
from redfish_fm.mapping.operations import Operation

Unsettled = Callable[[Place], bool]
"""Tells of places with a command of unknown outcome behind them."""


@dataclass(frozen=True, slots=True)
class Look:
    """One observation beside what is wanted at that moment.

    `bindings` are the wanted pairs; `in_use` the targets among them that their owner has been
    given already; `allocations` the parts that are freed and wanted again; `bandwidth` what LDs
    are to have, `controls` what whole devices are to do; `keeping` the targets that have ever told
    what is in them; `foreign` the bindings of other managers, which are undone with `enforce`;
    `under_way` the places of steps that are being carried out; `displaced` the parts that are to be
    given back by devices in whose place there is none any more, or another one.
    """

    seen: Observation
    bindings: frozenset[tuple[VppbId, BindTarget]]
    in_use: Targets
    allocations: Mapping[BindTarget, Allocation]
    unsettled: Unsettled
    bandwidth: Mapping[BindTarget, Qos] = field(default_factory=dict)
    keeping: Container[BindTarget] = frozenset()
    controls: Mapping[BindTarget, QosControl] = field(default_factory=dict)
    foreign: tuple[tuple[VppbId, BindTarget], ...] = ()
    under_way: Container[Place] = frozenset()
    enforce: bool = False
    displaced: frozenset[BindTarget] = frozenset()

    def holder(self, target: BindTarget) -> VppbId | None:
        """Return a vPPB at which another manager has the target, or a part or whole of it."""
        return next((vppb for vppb, theirs in self.foreign if overlaps(theirs, target)), None)


def grant_steps(operation: Operation) -> tuple[Step, ...]:
    """Return the steps whose refusal takes the operation back."""
    allocates = (
        Allocate(part.target, part.size_mib, part.shareable) for part in operation.allocated
    )
    bandwidth = (_step_of(wish) for _before, wish in operation.bandwidth)
    binds = (Bind(each.vppb, each.target) for each in operation.granted)
    return (*allocates, *binds, *bandwidth)


def release_steps(operation: Operation) -> Iterator[Step]:
    """Yield the steps that are tried until they succeed, whoever refuses them."""
    for released in operation.released:
        yield Unbind(released.vppb, released.target)
    freed = [part.target for part in operation.freed]
    dirty = (*(each.target for each in (*operation.released, *operation.granted)), *freed)
    yield from map(Sanitize, dict.fromkeys(dirty))
    yield from map(Deallocate, freed)
    yield from map(_step_of, operation.restoring)


def achieved(operation: Operation, look: Look) -> bool:
    """Return whether everything the operation is about was observed."""
    return (
        not missing(operation, look)
        and not any(look.unsettled(each.vppb) for each in operation.granted)
        and not any(look.unsettled(each.target) for each in operation.allocated)
        and not any(look.unsettled(wish.target) for _before, wish in operation.bandwidth)
        and all(is_restored(each, look) for each in operation.restoring)
        and all(is_released(each, look) for each in operation.released)
        and all(is_freed(each, look) for each in operation.freed)
    )


def work_of(operation: Operation) -> int:
    """Return how many parts an operation has. A release has two: it is unbound, and it is clean."""
    asked = (operation.granted, operation.allocated, operation.bandwidth)
    return sum(map(len, (*asked, operation.freed, operation.restoring))) + 2 * len(
        operation.released
    )


def done_of(operation: Operation, look: Look) -> int:
    """Return how many of those are observed."""
    done = len(grant_steps(operation)) - len(missing(operation, look))
    done += sum(_unbound(each, look) + is_released(each, look) for each in operation.released)
    done += sum(is_freed(each, look) for each in operation.freed)
    return done + sum(is_restored(each, look) for each in operation.restoring)


def missing(operation: Operation, look: Look) -> tuple[Step, ...]:
    """Return the granting steps whose effect is not observed."""
    return tuple(step for step in grant_steps(operation) if not _is_seen(step, look.seen))


def owed(operation: Operation, look: Look) -> Iterator[Step]:
    """Yield the releasing steps that are still to be observed; of a release, the next one."""
    for each in operation.released:
        if not is_released(each, look):
            bound = look.unsettled(each.vppb) or not _unbound(each, look)
            yield Unbind(each.vppb, each.target) if bound else Sanitize(each.target)
    yield from (Deallocate(each.target) for each in operation.freed if not is_freed(each, look))
    yield from (_step_of(each) for each in operation.restoring if not is_restored(each, look))


def _is_seen(step: Step, seen: Observation) -> bool:
    # A vPPB is told by its own switch, whichever switch its target is behind.
    place = step.vppb if isinstance(step, Bind) else step.target
    if place.switch in seen.unreachable:
        return False
    if isinstance(step, Allocate):
        state = seen.parts.get(step.target)
        wished = (step.size_mib, step.shareable)
        return state is not None and (state.size_mib, state.shareable) == wished
    if isinstance(step, SetQos):
        if step.control is not None:
            return step.control.met_by(_control(seen, step.target))
        return seen.qos.get(step.target) == step.qos
    return isinstance(step, Bind) and seen.bindings.get(step.vppb) == step.target


def is_restored(wish: QosWish, look: Look) -> bool:
    """Return whether an LD has for certain what it is to have, its operation being taken back."""
    target = wish.target
    if target.switch in look.seen.unreachable or look.unsettled(target):
        return False
    if wish.control is not None:
        return look.controls.get(target, wish.control).met_by(_control(look.seen, target))
    return look.seen.qos.get(target) == look.bandwidth.get(target, wish.qos)


def _step_of(wish: QosWish) -> SetQos:
    return SetQos(wish.target, wish.qos, wish.control)


def _control(seen: Observation, target: BindTarget) -> QosControl | None:
    state = seen.ports.get(PortId(target.switch, target.port))
    return None if state is None else state.control


def is_released(binding: Binding, look: Look) -> bool:
    """Return whether it is certainly unbound, and scrubbed; what is wanted again need not be."""
    if (binding.vppb, binding.target) in look.bindings:
        return True
    if not _unbound(binding, look):
        return False
    if look.unsettled(binding.vppb) or look.unsettled(binding.target):
        return False
    target = binding.target
    return look.in_use.touch(target) or _scrubbed(target, look) or _in_other_hands(binding, look)


def _unbound(binding: Binding, look: Look) -> bool:
    """Whether the vPPB has nothing of the target, unless that is wanted there.

    One that its switch does not have, or whose switch is none of the fabric any more, has nothing.
    """
    vppb, seen = binding.vppb, look.seen
    if vppb.switch in seen.unreachable:
        return False
    now = seen.bindings.get(vppb)
    return now is None or (vppb, now) in look.bindings or not overlaps(now, binding.target)


def _in_other_hands(binding: Binding, look: Look) -> bool:
    """Whether some vPPB has the target, so that nobody can scrub it now.

    Who is to have it after that gets it scrubbed first, like all that is dirty.
    """
    bound, dark = look.seen.bindings.items(), look.seen.unreachable
    return any(
        now is not None and overlaps(now, binding.target) and vppb.switch not in dark
        for vppb, now in bound
    )


def _scrubbed(target: BindTarget, look: Look) -> bool:
    """Whether nothing of its last owner is in a target, as far as anybody tells."""
    if silent(look.seen, target):
        # Nobody waits for a device to come back that never said anything of its contents.
        return part_kind(target) is None and target not in look.keeping
    state = look.seen.parts.get(target)
    return state is None or state.media is Media.CLEAN


def is_freed(part: Allocation, look: Look) -> bool:
    """Return whether it is certainly gone; what is wanted again, or is in use, is kept.

    What another manager has bound is in use, unless that is undone: it is theirs from then on.
    """
    if part.target in look.allocations:
        return True
    if part.target in look.displaced:
        return False
    if not look.enforce and look.holder(part.target) is not None:
        return not look.unsettled(part.target)
    gone = not silent(look.seen, part.target) and part.target not in look.seen.parts
    return gone and not look.unsettled(part.target)


def is_only_cleaning(operation: Operation, look: Look) -> bool:
    """Return whether nothing of it is bound any more: what is left is to clean and give back."""
    return not operation.grants and all(
        (each.vppb, each.target) in look.bindings
        or (_unbound(each, look) and not look.unsettled(each.vppb))
        for each in operation.released
    )


def place_of(step: Step, operation: Operation) -> str | None:
    """Return the JSON pointer to what a request named, where that is what a step binds or makes."""
    if isinstance(step, Allocate):
        made = (each for each in operation.allocated if each.target == step.target)
        return next((operation.places.get(each.holder) for each in made), None)
    if not isinstance(step, Bind):
        return None
    meant = (each for each in operation.granted if each.vppb == step.vppb)
    return next((operation.places.get(each.unit) for each in meant), None)


def described(step: Step) -> str:
    """Return a step in words, for the message that says what hardware refused."""
    verb = type(step).__name__
    part = part_name(step.target)
    if isinstance(step, Bind | Unbind):
        if step.target.namespace is not None:
            # There is no vPPB: it stands for one of a host's attachments to the subsystem.
            attaching = isinstance(step, Bind)
            verb, towards = ("Attachment", "to") if attaching else ("Detachment", "from")
            return f"{verb} of {part} of {step.vppb.switch} {towards} {step.vppb.vcs}"
        vppb = f"vPPB {step.vppb.switch}/{step.vppb.vcs}/{step.vppb.vppb}"
        towards = "to" if isinstance(step, Bind) else "from"
        return f"{verb} of {part} {towards} {vppb}" if part else f"{verb} of {vppb}"
    if isinstance(step, SetQos):
        if step.control is not None:
            return f"{verb} of the whole device"
        return f"{verb} of {part} to {step.qos.allocated} %, at most {step.qos.limit} %"
    size = f" with {step.size_mib} MiB" if isinstance(step, Allocate) else ""
    return f"{verb} of {part or 'the whole device'}{size}"

"""What simulated hardware says when it refuses, and the words for commands.

Knows steps and nothing of who refuses; every refusal is the hardware's own, none is a rule of ours.
"""

from enum import Enum

from redfish_fm.errors import FmError
from redfish_fm.fabric.model import Allocate, Bind, BindTarget, Sanitize, SetQos, Step, Unbind


class Refusal(Enum):
    """Why hardware says no; the values are what it says."""

    UNKNOWN_VPPB = "no such vPPB"
    UNKNOWN_PORT = "no such physical port"
    NOT_DOWNSTREAM = "the port is not a downstream port"
    VPPB_BOUND = "the vPPB is already bound to something else"
    PORT_BOUND = "the port is already bound to another vPPB"
    LD_BOUND = "the LD is already bound to another vPPB"
    FUNCTION_BOUND = "the function is already bound to another vPPB"
    PART_BOUND = "the part is already bound to another vPPB and can not be shared"
    LD_NOT_ALLOCATED = "the LD is not allocated"
    PART_NOT_ALLOCATED = "the part is not allocated"
    LD_FM_OWNED = "LD FFFFh is owned by the fabric manager"
    NOT_MLD = "the device has no LDs"
    MLD_WHOLE = "an MLD is bound one LD at a time"
    LD_DYNAMIC = "a dynamic LD is bound one region at a time"
    SUBSYSTEM_WHOLE = "of a subsystem one namespace at a time is attached"
    NO_SUCH_PART = "the device has no such part"
    NO_SUCH_FUNCTION = "the device has no such function"
    FUNCTIONS_TOGETHER = "the switch binds all functions of a device together"
    DEVICE_ABSENT = "no device is present at the port"
    NO_POWER = "the device has no power"
    FIXED = "the part is fixed and can not be allocated or deallocated"
    POOL_EXHAUSTED = "the pool has not that much free capacity"
    GRANULARITY = "the size is no multiple of the pool's granularity"
    OTHER_SIZE = "the part is allocated with another size"
    OTHER_SHARING = "the part is allocated with other sharing"
    TOO_MANY_PARTS = "the pool can not hold more parts"
    IN_USE = "it is bound"
    NOT_CLEAN = "its contents are not clean"
    SANITIZING = "it is being sanitized"
    NO_QOS = "bandwidth of its LDs can not be set"
    BANDWIDTH = "its LDs would have more bandwidth than there is"
    NEVER_SANITIZED = "the device can not sanitize"


class Refused(FmError):
    """The hardware said no; `refusal` is the reason, the text what it was about."""

    def __init__(self, refusal: Refusal, about: str) -> None:
        self.refusal = refusal
        super().__init__(f"{about}: {refusal.value}")


class Forgets(Enum):
    """One check each that careless hardware leaves out; a run of the simulation names some."""

    DOUBLE_BIND = "binds a target that is bound elsewhere"
    VPPB_BOUND = "binds a vPPB anew without unbinding it"
    TARGET = "binds whatever is said to be behind an existing port"
    SHAREABLE = "binds several vPPBs to a part that is not shareable"
    DEALLOCATE_BOUND = "deallocates what is bound"
    DEALLOCATE_DIRTY = "deallocates what is not clean, and reports it clean when it is used again"
    SANITIZE_BOUND = "sanitizes what is bound"
    SANITIZE = "says that it sanitized, and overwrote nothing"


PERMISSIVE = frozenset(
    {
        Forgets.DOUBLE_BIND,
        Forgets.VPPB_BOUND,
        Forgets.TARGET,
        Forgets.SHAREABLE,
        Forgets.DEALLOCATE_BOUND,
        Forgets.SANITIZE_BOUND,
    }
)
"""What hardware without any admission check leaves out; emulators measured do. It lies of nothing,
and it keeps what is not clean."""


def switch_of(step: Step) -> str:
    """Return which switch a command is sent to."""
    return step.vppb.switch if isinstance(step, Bind | Unbind) else step.target.switch


def describe(step: Step) -> str:
    """Return a step in words, for errors."""
    what = describe_target(step.target)
    if isinstance(step, Bind | Unbind):
        vppb = step.vppb
        where = f"{vppb.switch} VCS {vppb.vcs} vPPB {vppb.vppb}"
        return (
            f"bind {where} to {what}" if isinstance(step, Bind) else f"unbind {where} from {what}"
        )
    if isinstance(step, Allocate):
        shared = " shareable" if step.shareable else ""
        return f"allocate {step.size_mib} MiB{shared} as {step.target.switch} {what}"
    if isinstance(step, SetQos):
        share = f"{step.qos.allocated} % of the bandwidth, at most {step.qos.limit} %"
        return f"give {step.target.switch} {what} {share}"
    verb = "sanitize" if isinstance(step, Sanitize) else "deallocate"
    return f"{verb} {step.target.switch} {what}"


def describe_target(target: BindTarget) -> str:
    """Return a target in words, without its switch."""
    words = {"function": "function", "ld": "LD", "namespace": "namespace", "region": "region"}
    return " ".join((f"port {target.port}", *(f"{words[what]} {n}" for what, n in target.path)))

"""All faults that users may order, by name, and what each does to the hardware.

Knows hardware and fault plans; checks nothing, that is done in `orders` by the parameters given
here.
"""

from collections.abc import Callable

from redfish_fm.drivers.virtual.fault_kinds import Act, Bench, FaultKind, Given, Parameter
from redfish_fm.drivers.virtual.faults import (
    Dropped,
    Fault,
    Late,
    Lost,
    Pretend,
    Refuse,
    Restart,
    Slow,
)
from redfish_fm.drivers.virtual.host_faults import HOST_FAULTS
from redfish_fm.drivers.virtual.objects import Object, ObjectKind, find
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Media,
    PartState,
    PortId,
    Sanitize,
    SetQos,
    Step,
    Unbind,
    VppbId,
)

HEALTHS = ("OK", "Warning", "Critical")
STEPS: dict[str, type[Step]] = {
    "bind": Bind,
    "unbind": Unbind,
    "allocate": Allocate,
    "deallocate": Deallocate,
    "sanitize": Sanitize,
    "set-qos": SetQos,
}


def _on_port(**changes: bool) -> Act:
    def act(bench: Bench, found: Object, _: Given) -> None:
        bench.hardware.set_port(_port(found), **changes)  # type: ignore[arg-type]

    return act


def _degrade(bench: Bench, found: Object, given: Given) -> None:
    width, gen = (int(given[n]) if n in given else None for n in ("width", "gen"))
    bench.hardware.set_port(_port(found), width=width, gen=gen)


def _flap(bench: Bench, found: Object, given: Given) -> None:
    bench.flap(_port(found), int(given.get("times", 3)), float(given.get("period_s", 1.0)))


def _health(bench: Bench, found: Object, given: Given) -> None:
    health = str(given["health"])
    if isinstance(found, PortId):
        bench.hardware.set_port(found, health=health)
    elif str(found) in bench.hardware.switches:
        bench.hardware.set_switch_health(str(found), health)
    else:
        bench.hardware.set_device_health(str(found), health)


def _lost(bench: Bench, found: Object, _: Given) -> None:
    for device in _devices(bench, found):
        bench.hardware.remove_device(device)


def _back(bench: Bench, found: Object, given: Given) -> None:
    serial = given.get("serial_number")
    bench.hardware.return_device(str(found), None if serial is None else str(serial))


def _domain_back(bench: Bench, found: Object, _: Given) -> None:
    for device in bench.hardware.domain(str(found)):
        bench.hardware.return_device(device)


def _power(on: bool) -> Act:
    def act(bench: Bench, found: Object, _: Given) -> None:
        for device in _devices(bench, found):
            bench.hardware.power_device(device, on)

    return act


def _restart(bench: Bench, found: Object, given: Given) -> None:
    keeps = given.get("keeps_bindings")
    down_s = float(given.get("down_s", 0.0))
    bench.hardware.restart(
        str(found), down_s, keeps_bindings=None if keeps is None else bool(keeps)
    )


def _cut(bench: Bench, found: Object, given: Given) -> None:
    bench.hardware.cut(str(found), float(given.get("down_s", "inf")))


def _struck(make: Callable[[Given], Fault]) -> Act:
    """Return what lets the next commands fail as `make` says."""

    def act(bench: Bench, found: Object, given: Given) -> None:
        switch = str(found) if str(found) in bench.hardware.switches else None
        step, times = given.get("step"), int(given.get("times", 1))
        only = None if step is None else (STEPS[str(step)],)
        bench.plan.next_apply(switch, make(given), times=times or None, only=only)

    return act


def _late(bench: Bench, found: Object, given: Given) -> None:
    # No switch runs a command later than the driver's bound says: more than that means the bound.
    longest_s = bench.hardware.late_max_s
    delay_s = min(float(given["delay_s"]), longest_s) if "delay_s" in given else None
    _struck(lambda _: Late(delay_s))(bench, found, given)


def _lie(bench: Bench, found: Object, given: Given) -> None:
    if isinstance(found, BindTarget):
        media = Media(given.get("media", Media.CLEAN.value))
        size_mib = int(given.get("size_mib", 0))
        shareable = bool(given.get("shareable", False))
        bench.plan.lie_part(found, PartState(size_mib, media, shareable) if size_mib else None)
        return
    assert isinstance(found, VppbId)  # noqa: S101 - the fault's row applies to these two only
    kinds = (ObjectKind.PORT, ObjectKind.PART)
    told = find(bench.hardware, kinds, str(given["target"])) if "target" in given else None
    if isinstance(told, PortId):
        told = BindTarget(told.switch, told.port)
    bench.plan.lie(found, told if isinstance(told, BindTarget) else None)


def _truth(bench: Bench, found: Object, _: Given) -> None:
    bench.plan.tell_truth(found if isinstance(found, VppbId | BindTarget) else None)


def _looks(bench: Bench, _: Object, given: Given) -> None:
    bench.plan.observe_s = float(given["delay_s"])


def _port(found: Object) -> PortId:
    assert isinstance(found, PortId)  # noqa: S101 - the fault's row applies to ports only
    return found


def _devices(bench: Bench, found: Object) -> tuple[str, ...]:
    id_ = str(found)
    return (id_,) if id_ in bench.hardware.devices else bench.hardware.domain(id_)


_SWITCH = (ObjectKind.SWITCH,)
_PORT = (ObjectKind.PORT,)
_DEVICE = (ObjectKind.DEVICE,)
_BOX = (ObjectKind.DEVICE, ObjectKind.DOMAIN)
_COMMANDS = (ObjectKind.SWITCH, ObjectKind.FABRIC)

_WHICH = {
    "times": Parameter(int, "how many commands it strikes (1); 0: all that follow"),
    "step": Parameter(str, "which commands only", one_of=tuple(STEPS)),
}
_RESET = {"reset": Parameter(bool, "whether the management link goes with it (false)")}
_HEALTH = {"health": Parameter(str, "Redfish Status.Health", required=True, one_of=HEALTHS)}

FAULTS: dict[str, FaultKind] = {
    "link-down": FaultKind(_PORT, "the link goes down", {}, _on_port(link_up=False)),
    "link-up": FaultKind(
        _PORT, "the link comes back, and trains", {}, _on_port(link_up=True, present=True)
    ),
    "link-flap": FaultKind(
        _PORT,
        "the link goes down and up, again and again",
        {
            "times": Parameter(int, "how often (3)"),
            "period_s": Parameter(float, "seconds of the fabric clock for each (1)"),
        },
        _flap,
    ),
    "link-degrade": FaultKind(
        _PORT,
        "the link trains to fewer lanes or a lower generation; 0 ends it",
        {"width": Parameter(int, "lanes"), "gen": Parameter(int, "PCIe generation")},
        _degrade,
    ),
    "link-reset": FaultKind(
        _PORT, "the link trains anew", {}, lambda bench, o, _: bench.hardware.reset_link(_port(o))
    ),
    "cable-pulled": FaultKind(_PORT, "nothing is plugged in any more", {}, _on_port(present=False)),
    "health": FaultKind(
        (ObjectKind.SWITCH, ObjectKind.PORT, ObjectKind.DEVICE), "it feels so", _HEALTH, _health
    ),
    "lost": FaultKind(_BOX, "pulled out with all its ports; bindings stay", {}, _lost),
    "back": FaultKind(
        _DEVICE,
        "plugged in again",
        {"serial_number": Parameter(str, "of another device, which is blank")},
        _back,
    ),
    "all-back": FaultKind((ObjectKind.DOMAIN,), "all its devices are back", {}, _domain_back),
    "power-off": FaultKind(_BOX, "loses its power; links go down", {}, _power(on=False)),
    "power-on": FaultKind(_BOX, "gets its power back; links train", {}, _power(on=True)),
    "restart": FaultKind(
        _SWITCH,
        "the switch restarts and forgets what it was sent",
        {
            "down_s": Parameter(float, "seconds of the service clock until it answers (0)"),
            "keeps_bindings": Parameter(bool, "whether it still has its bindings"),
        },
        _restart,
    ),
    "cut": FaultKind(
        _SWITCH,
        "its management link is down",
        {"down_s": Parameter(float, "seconds of the service clock (until healed)")},
        _cut,
    ),
    "healed": FaultKind(
        _SWITCH, "its management link is back", {}, lambda bench, o, _: bench.hardware.heal(str(o))
    ),
    "refused": FaultKind(
        _COMMANDS,
        "the next command is refused",
        {**_WHICH, "reason": Parameter(str, "what the switch says")},
        _struck(lambda given: Refuse(str(given.get("reason", Refuse().reason)))),
    ),
    "slow": FaultKind(
        _COMMANDS,
        "the next command takes longer",
        {**_WHICH, "delay_s": Parameter(float, "seconds of the fabric clock", required=True)},
        _struck(lambda given: Slow(float(given["delay_s"]))),
    ),
    "answer-lost": FaultKind(
        _COMMANDS,
        "the next command is carried out, its answer is lost",
        {**_WHICH, **_RESET},
        _struck(lambda given: Lost(bool(given.get("reset", False)))),
    ),
    "dropped": FaultKind(
        _COMMANDS,
        "the next command is never carried out nor answered",
        {**_WHICH, **_RESET},
        _struck(lambda given: Dropped(bool(given.get("reset", False)))),
    ),
    "late": FaultKind(
        _COMMANDS,
        "the link is reset, the next command is carried out later",
        {
            **_WHICH,
            "delay_s": Parameter(
                float, "seconds of the service clock, within the driver's bound (drawn)"
            ),
        },
        _late,
    ),
    "restart-during": FaultKind(
        _COMMANDS,
        "the switch restarts while it has the next command",
        {
            **_WHICH,
            "executed": Parameter(bool, "whether it was carried out before (false)"),
            "down_s": Parameter(float, "seconds of the service clock until it answers (0)"),
        },
        _struck(lambda g: Restart(bool(g.get("executed", False)), float(g.get("down_s", 0.0)))),
    ),
    "pretended": FaultKind(
        _COMMANDS,
        "the switch says yes to the next command and does nothing",
        {**_WHICH, "claim": Parameter(bool, "whether it also reports that it had (true)")},
        _struck(lambda given: Pretend(bool(given.get("claim", True)))),
    ),
    "lie": FaultKind(
        (ObjectKind.VPPB, ObjectKind.PART),
        "another state is reported",
        {
            "target": Parameter(str, "of a vPPB: a port or part it is bound to (free)"),
            "size_mib": Parameter(int, "of a part: what is allocated (not allocated)"),
            "media": Parameter(
                str, "of a part: its contents (clean)", one_of=tuple(m.value for m in Media)
            ),
            "shareable": Parameter(bool, "of a part: whether it is for several hosts (false)"),
        },
        _lie,
    ),
    "truth": FaultKind(
        (ObjectKind.VPPB, ObjectKind.PART, ObjectKind.FABRIC),
        "what is true is reported again",
        {},
        _truth,
    ),
    "slow-looks": FaultKind(
        (ObjectKind.FABRIC,),
        "every look takes longer",
        {"delay_s": Parameter(float, "seconds of the fabric clock", required=True)},
        _looks,
    ),
    "calm": FaultKind(
        (ObjectKind.FABRIC,),
        "planned faults, rates, slowness and lies end; hardware stays as it is",
        {},
        lambda bench, _object, _: bench.plan.clear(),
    ),
    **HOST_FAULTS,
}
"""All faults by name."""

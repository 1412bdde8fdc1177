"""The faults that users may order for hosts and their BMCs: rows of fault_table.FAULTS.

What strikes the next command to a host is one fault at a time; another order replaces it.
"""

from redfish_fm.drivers.virtual.fault_kinds import Act, Bench, FaultKind, Given, Parameter
from redfish_fm.drivers.virtual.faults import Dropped, Fault, Lost, Refuse, Slow
from redfish_fm.drivers.virtual.objects import Object, ObjectKind

_HOST = (ObjectKind.HOST,)


def _next(bench: Bench, found: Object, fault: Fault) -> None:
    bench.machines.next_fault[str(found)] = fault


def _refused(bench: Bench, found: Object, given: Given) -> None:
    _next(bench, found, Refuse(str(given.get("reason", Refuse().reason))))


def _slow(bench: Bench, found: Object, given: Given) -> None:
    _next(bench, found, Slow(float(given["delay_s"])))


def _lost(bench: Bench, found: Object, given: Given) -> None:
    _next(bench, found, Lost() if given.get("executed", True) else Dropped())


def _hangs(*, hangs: bool) -> Act:
    def act(bench: Bench, found: Object, _: Given) -> None:
        hanging = bench.machines.hanging
        (hanging.add if hangs else hanging.discard)(str(found))

    return act


def _cut(bench: Bench, found: Object, given: Given) -> None:
    bench.machines.silence(str(found), float(given.get("down_s", "inf")))


HOST_FAULTS: dict[str, FaultKind] = {
    "reset-refused": FaultKind(
        _HOST,
        "its BMC refuses the next command",
        {"reason": Parameter(str, "what the BMC says")},
        _refused,
    ),
    "reset-slow": FaultKind(
        _HOST,
        "its BMC takes longer over the next command",
        {"delay_s": Parameter(float, "seconds of the fabric clock", required=True)},
        _slow,
    ),
    "reset-answer-lost": FaultKind(
        _HOST,
        "its BMC does not answer the next command",
        {"executed": Parameter(bool, "whether it is carried out (true)")},
        _lost,
    ),
    "shutdown-hangs": FaultKind(
        _HOST, "it does not shut down when asked to: only by force", {}, _hangs(hangs=True)
    ),
    "shutdown-works": FaultKind(
        _HOST, "it shuts down again when asked to", {}, _hangs(hangs=False)
    ),
    "mains-lost": FaultKind(
        _HOST,
        "it loses its mains for a moment, and stays off",
        {},
        lambda bench, found, _: bench.machines.lose_power(str(found)),
    ),
    "bmc-lost": FaultKind(
        _HOST,
        "its BMC does not answer; the host runs on",
        {"down_s": Parameter(float, "seconds of the fabric clock (until it is back)")},
        _cut,
    ),
    "bmc-back": FaultKind(
        _HOST, "its BMC answers again", {}, lambda bench, found, _: bench.machines.heal(str(found))
    ),
}

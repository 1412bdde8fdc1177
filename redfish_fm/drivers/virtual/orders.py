"""Faults that a user orders, by name, object id and parameters: the check, and the desk.

    desk = FaultDesk(hardware, plan, fabric_clock, machines)
    desk.order("link-degrade", "cxl1/D1", {"width": 4})

A face (HTTP, command line) gives names and values; fault_table.FAULTS says what there is to give,
ids of objects are explained in `objects`. Knows nothing of either face.
"""

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.fault_kinds import Bench, FaultKind, Given, Parameter, Value
from redfish_fm.drivers.virtual.fault_table import FAULTS
from redfish_fm.drivers.virtual.faults import FaultPlan
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.machines import Machines
from redfish_fm.drivers.virtual.objects import find
from redfish_fm.errors import FmError


class UnknownFault(FmError):
    """There is no fault of that name; the text lists those there are."""


class BadOrder(FmError):
    """A fault can not be ordered like that; `problems` are all its reasons."""

    def __init__(self, name: str, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__(f"fault {name}: {'; '.join(problems)}")


class FaultDesk:
    """Carries out orders on one fabric. Call it where an event loop runs; close it at the end."""

    def __init__(
        self, hardware: Hardware, plan: FaultPlan, fabric_clock: Clock, machines: Machines
    ) -> None:
        self._bench = Bench(hardware, plan, fabric_clock, machines)
        self._closed = False

    def order(self, name: str, object_id: str, parameters: Given | None = None) -> None:
        """Let fault `name` befall an object; none does once the desk is closed.

        Raises UnknownFault, or BadOrder with all reasons.
        """
        kind = FAULTS.get(name)
        if kind is None:
            raise UnknownFault(_unknown(name))
        given = parameters or {}
        found = find(self._bench.hardware, kind.applies_to, object_id)
        problems = problems_of(name, object_id, given, found is not None)
        if found is None or problems:
            raise BadOrder(name, problems)
        if not self._closed:
            kind.act(self._bench, found, given)

    def knows(self, name: str, object_id: str) -> bool:
        """Return whether fault `name` could befall the object in this fabric."""
        kinds = FAULTS[name].applies_to if name in FAULTS else ()
        return find(self._bench.hardware, kinds, object_id) is not None

    async def close(self) -> None:
        """Stop what is under way and let nothing more befall. Safe to repeat."""
        self._closed = True
        await self._bench.close()


def problems_of(name: str, object_id: str, given: Given, known: bool) -> tuple[str, ...]:
    """Return all that is wrong with an order; `known` tells whether there is such an object."""
    kind = FAULTS.get(name)
    if kind is None:
        return (_unknown(name),)
    kinds = " or ".join(each.value for each in kind.applies_to)
    missing = () if known else (f"there is no {kinds} {object_id!r}",)
    return (*missing, *_problems(kind, given))


def _unknown(name: str) -> str:
    return f"there is no fault {name!r}; there are: {', '.join(FAULTS)}"


def _problems(kind: FaultKind, given: Given) -> tuple[str, ...]:
    unknown = (f"there is no parameter {name!r}" for name in given if name not in kind.parameters)
    missing = (
        f"parameter {name!r} is missing"
        for name, parameter in kind.parameters.items()
        if parameter.required and name not in given
    )
    wrong = (
        f"parameter {name!r} {problem}"
        for name, value in given.items()
        if name in kind.parameters and (problem := _wrong(kind.parameters[name], value))
    )
    return (*unknown, *missing, *wrong)


def _wrong(parameter: Parameter, value: Value) -> str:
    """Return what is wrong with a value, "" if nothing."""
    wanted = (int, float) if parameter.type is float else parameter.type
    if not isinstance(value, wanted) or (isinstance(value, bool) and parameter.type is not bool):
        return f"is no {parameter.type.__name__}: {value!r}"
    if isinstance(value, int | float) and not value >= 0:  # not a number is neither
        return f"is negative: {value}"
    if parameter.one_of and value not in parameter.one_of:
        return f"is none of {', '.join(parameter.one_of)}: {value!r}"
    return ""

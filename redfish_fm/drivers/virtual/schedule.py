"""Faults ordered beforehand: a YAML file that says what befalls which object, and when.

    faults:
      - {at_s: 5, fault: link-down, object: cxl1/D1}
      - {at_s: 20, fault: link-up, object: cxl1/D1}

Knows files, the desks that take orders, and the fabric clock. `at_s` counts seconds of that clock
from when `Schedule.run` begins. Every error of a file is reported at once, each with its line.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.fault_kinds import Value
from redfish_fm.drivers.virtual.orders import FaultDesk, problems_of
from redfish_fm.drivers.virtual.source import Problem, Problems, convert, parse
from redfish_fm.errors import FmError


class FaultSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One fault that is ordered beforehand."""

    at_s: Annotated[float, msgspec.Meta(ge=0, le=1e9)]
    """Seconds of the fabric clock."""
    fault: str
    object: str
    parameters: dict[str, Value] = {}


class ScheduleSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """All of a file."""

    faults: Annotated[tuple[FaultSpec, ...], msgspec.Meta(min_length=1)]


class ScheduleError(FmError):
    """A schedule can not be used; `problems` are all its reasons, `source` its file."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"faults {source}:{lines}")


@dataclass(frozen=True, slots=True)
class _Order:
    at_s: float
    spec: FaultSpec
    desks: tuple[FaultDesk, ...]


class Schedule:
    """A checked schedule. Made by `load`; `run` carries it out once."""

    def __init__(self, orders: Iterable[_Order], clock: Clock) -> None:
        self._orders = sorted(orders, key=lambda order: order.at_s)
        self._clock = clock

    async def run(self) -> None:
        """Order each fault in its time, those of one time as the file has them."""
        begin_s = self._clock.now_s()
        for order in self._orders:
            await self._clock.sleep(begin_s + order.at_s - self._clock.now_s())
            for desk in order.desks:
                desk.order(order.spec.fault, order.spec.object, order.spec.parameters)


def load(path: Path, desks: Sequence[FaultDesk], clock: Clock) -> Schedule:
    """Return the schedule in a file, for the fabrics of `desks`. Raises ScheduleError.

    A fault befalls its object in every fabric that has it: a failure domain may be in several.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        told = Problem("", None, f"can not be read: {error.strerror}")
        raise ScheduleError(str(path), (told,)) from error
    except UnicodeDecodeError as error:
        told = Problem("", None, f"is not UTF-8: {error}")
        raise ScheduleError(str(path), (told,)) from error
    return read(text, str(path), desks, clock)


def read(text: str, source: str, desks: Sequence[FaultDesk], clock: Clock) -> Schedule:
    """Return the schedule that a YAML text describes. Raises ScheduleError with every reason."""
    problems = Problems()
    value = parse(text, problems)
    spec: ScheduleSpec | None = None
    if not problems.count or value is not None:
        spec = convert(value, ScheduleSpec, "", problems)
    orders = []
    for position, fault in enumerate(() if spec is None else spec.faults):
        struck = tuple(desk for desk in desks if desk.knows(fault.fault, fault.object))
        for problem in problems_of(fault.fault, fault.object, fault.parameters, bool(struck)):
            problems.add(f"faults[{position}]", problem)
        orders.append(_Order(fault.at_s, fault, struck))
    if problems.count or spec is None:
        raise ScheduleError(source, problems.found)
    return Schedule(orders, clock)

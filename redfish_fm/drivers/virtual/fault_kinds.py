"""What a fault is that users may order: what it applies to, what may be given with it.

Knows hardware and fault plans; the faults themselves are in `fault_table`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.faults import FaultPlan, flap
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.machines import Machines
from redfish_fm.drivers.virtual.objects import Object, ObjectKind
from redfish_fm.fabric.model import PortId

Value = str | int | float | bool
Given = Mapping[str, Value]


@dataclass(slots=True)
class Bench:
    """One fabric as faults get at it. `clock` is the fabric clock; `machines` are its hosts.

    Several fabrics have the same host: what befalls one does no more when it is ordered again.
    """

    hardware: Hardware
    plan: FaultPlan
    clock: Clock
    machines: Machines
    _running: set[asyncio.Task[None]] = field(default_factory=set)

    def flap(self, port: PortId, times: int, period_s: float) -> None:
        """Begin to take a link down and up."""
        task = asyncio.create_task(flap(self.hardware, port, self.clock, times, period_s))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Stop what is under way. Safe to repeat."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


Act = Callable[[Bench, Object, Given], None]


@dataclass(frozen=True, slots=True)
class Parameter:
    """What may be given with a fault. A number is never negative; `one_of` lists what a text
    may be."""

    type: type[str] | type[int] | type[float] | type[bool]
    text: str
    required: bool = False
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One fault: to what it applies, what may be given with it, and what it does."""

    applies_to: tuple[ObjectKind, ...]
    text: str
    parameters: Mapping[str, Parameter]
    act: Act

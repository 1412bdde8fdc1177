"""A service that kills itself at a named point: python -m tests.e2e.dying POINT N COMMAND.

SIGKILL at the N-th time that the point is reached; nothing is closed, flushed or told after it.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from redfish_fm.cli import main
from redfish_fm.control.operations import Operations
from redfish_fm.control.writer import Writer
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.fabric.model import Allocate, Bind, Deallocate, Step, Unbind
from redfish_fm.redfish.changes import Space

_left = 0


def reached() -> None:
    """Die, if this is the time."""
    global _left
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def _opens(batch: list[Any]) -> bool:
    """Whether a change in a batch begins the work of an operation."""
    edits = (edit for flight in batch for edit in flight.change.edits)
    return any(edit.space is Space.OPERATION and edit.pre is None for edit in edits)


def _publishing(*, before: bool) -> Any:
    publish = vars(Writer)["_publish"]

    def mutant(self: Any, batch: list[Any]) -> None:
        opens = _opens(batch)
        if opens and before:
            reached()
        publish(self, batch)
        if opens and not before:
            reached()

    return patch.object(Writer, "_publish", mutant)


def _applying(kind: type, *, before: bool) -> Any:
    apply = VirtualDriver.apply

    async def mutant(self: VirtualDriver, step: Step, deadline_s: float) -> None:
        if before and isinstance(step, kind):
            reached()
        await apply(self, step, deadline_s)
        if not before and isinstance(step, kind):
            reached()

    return patch.object(VirtualDriver, "apply", mutant)


def _around(name: str, *, before: bool) -> Any:
    work = vars(Operations)[name]

    async def mutant(self: Any, *given: Any) -> None:
        if before:
            reached()
        await work(self, *given)
        if not before:
            reached()

    return patch.object(Operations, name, mutant)


POINTS: dict[str, Callable[[], Any]] = {
    "stored, not published": lambda: _publishing(before=True),
    "published, nothing sent": lambda: _publishing(before=False),
    "part about to be allocated": lambda: _applying(Allocate, before=True),
    "part allocated": lambda: _applying(Allocate, before=False),
    "about to bind": lambda: _applying(Bind, before=True),
    "bound": lambda: _applying(Bind, before=False),
    "all bound, end not stored": lambda: _around("_end", before=True),
    "end stored, not answered": lambda: _around("_end", before=False),
    "refused, not taken back": lambda: _around("take_back", before=True),
    "taken back, nothing sent": lambda: _around("take_back", before=False),
    "about to unbind": lambda: _applying(Unbind, before=True),
    "unbound": lambda: _applying(Unbind, before=False),
    "part about to be given back": lambda: _applying(Deallocate, before=True),
    "part given back": lambda: _applying(Deallocate, before=False),
}
"""Every step of a composition that a process may not come back from."""


if __name__ == "__main__":
    point, _left = sys.argv[1], int(sys.argv[2])
    # What the command was: PYTHON -m redfish_fm serve …
    sys.argv = ["redfish-fm", *sys.argv[6:]]
    POINTS[point]().start()
    main()

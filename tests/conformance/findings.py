"""What a validator found, and whether that is within bounds. Pure: no process, no file."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a validator. `level`: FAIL, WARN or NOT_TESTED; `where`: URI or assertion."""

    level: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.level} {self.where} {self.text}"


@dataclass(frozen=True, slots=True)
class Report:
    """The totals and findings of one run, the URIs it looked at, the states of Tasks it saw."""

    passed: int
    warned: int
    failed: int
    untested: int
    findings: tuple[Finding, ...] = ()
    visited: frozenset[str] = frozenset()
    task_states: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is too much; None: any number will do."""

    failed: int | None = 0
    warned: int | None = None


def excess(
    report: Report,
    bounds: Bounds,
    made: Collection[str] = (),
    task_states: Collection[str] = (),
) -> list[str]:
    """Return why a report is not good enough.

    It is worthless where the URIs `made`, or a Task in one of `task_states`, were not seen.
    """
    reasons = []
    if report.passed == 0:
        reasons.append("nothing passed")
    for word, count, most in (
        ("FAIL", report.failed, bounds.failed),
        ("WARN", report.warned, bounds.warned),
    ):
        if most is not None and count > most:
            reasons.append(f"{count} {word}, at most {most} allowed")
    reasons += [f"{uri} was not looked at" for uri in sorted(set(made) - report.visited)]
    unseen = sorted(set(task_states) - report.task_states)
    reasons += [f"no Task was seen {state}" for state in unseen]
    return reasons

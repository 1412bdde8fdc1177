"""The runs: what is served, what is done to it, how many complaints are too many."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance import (
    compositions,
    content,
    protocol_validator,
    service_validator,
    use_cases,
    wires,
)
from tests.conformance.findings import Bounds, Report, excess
from tests.e2e.service import Client, serving


@dataclass(frozen=True, slots=True)
class Run:
    """One service under one validator.

    `mockup`: `name` is one, not a topology. `before`: it is validated before the script as well.
    `task_states`: what Tasks the script leaves behind must be seen in. `topology`: what is served
    where that is not `name`. `faults`: a file of what befalls it.
    """

    name: str
    bounds: Bounds
    script: content.Script | None = None
    mockup: bool = False
    before: bool = False
    settings: tuple[str, ...] = ()
    task_states: tuple[str, ...] = ()
    topology: str = ""
    faults: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """One look of a validator, and what is wrong with it."""

    name: str
    report: Report
    took_s: float
    problems: list[str] = field(default_factory=list)


_TASKS = ("sync_budget_s = 0",)
_SLOW = ("sync_budget_s = 0", f"time_scale = {content.SLOW_TIME_SCALE}")
_STRICT = Bounds(failed=0, warned=0)
# The mockups themselves use deprecated properties: their WARN are not ours.
_IMPORTED = Bounds(failed=0, warned=None)

# The longest first, so that two at once end together.
RUNS = (
    Run(
        "ai-pod-composed",
        _STRICT,
        compositions.ai_pod,
        settings=_TASKS,
        task_states=("Completed",),
        topology="ai-pod",
        faults=compositions.AI_POD_FAULTS,
    ),
    Run("ai-pod", _STRICT, content.ai_pod),
    Run("mixed", _STRICT, content.mixed, before=True),
    Run(
        "two-hosts",
        _STRICT,
        content.two_hosts,
        settings=_SLOW,
        task_states=("Running", "Completed", "Cancelled"),
    ),
    Run("ex5410p", _STRICT, content.ex5410p, settings=_TASKS, task_states=("Completed",)),
    Run(
        "ex5410p-composed",
        _STRICT,
        compositions.ex5410p,
        settings=_TASKS,
        task_states=("Completed",),
        topology="ex5410p",
        faults=compositions.EX5410P_FAULTS,
    ),
    Run("nvmeof-jbof", _STRICT, content.nvmeof_jbof, settings=_TASKS, task_states=("Completed",)),
    Run("scale:hosts=2,gpus=3,switches=2,memory=1", _STRICT, content.scale),
    Run("public-cxl", _IMPORTED, content.public_cxl, mockup=True, before=True),
    Run("public-sasfabric", _IMPORTED, content.public_sasfabric, mockup=True, before=True),
    Run("public-nvmeof-jbof", _IMPORTED, content.public_nvmeof_jbof, mockup=True, before=True),
    Run("public-composability", _IMPORTED, content.public_composability, mockup=True, before=True),
)
PROTOCOL = "protocol"
USE_CASES = "use-cases"
_CASES = (
    (USE_CASES, ("QueryParameters", "PowerControl"), True),
    # New accounts are enabled, and their passwords not due: two steps have nothing to do.
    (f"{USE_CASES} accounts", ("AccountManagement",), False),
    # Our hosts boot from no UEFI path of a client's.
    (f"{USE_CASES} boot", ("BootOverride",), False),
)


def perform(run: Run, place: Path, csdl: Path, mockups: dict[str, Path]) -> Iterator[Result]:
    """Serve, validate, write, validate again. `place` is a folder of its own."""
    place.mkdir()
    settings = place / "settings.toml"
    settings.write_text("\n".join(run.settings), encoding="utf-8")
    topology = run.topology or run.name
    source = ("--mockup", str(mockups[run.name])) if run.mockup else ("--topology", topology)
    state = place / "state"
    arguments = ["--config", str(settings), "--state", str(state), *source]
    if run.faults:
        faults = place / "faults.yaml"
        faults.write_text(run.faults, encoding="utf-8")
        arguments += ["--faults", str(faults)]
    with serving(*arguments, tls=True) as (_, url):
        if run.before or run.script is None:
            yield _validated(run, run.name, url, csdl, place / "before", [])
        if run.script is not None:
            client = Client(url, cafile=state / "tls" / "ca.pem")
            made = run.script(client)
            client.close()
            yield _validated(run, f"{run.name}, written to", url, csdl, place / "after", made)


def perform_wires(place: Path, csdl: Path) -> Result:
    """Serve two switches on sockets, drive them, validate the service that does."""
    place.mkdir()
    run = Run(wires.NAME, _STRICT)
    with wires.served(place) as (url, made):
        return _validated(run, run.name, url, csdl, place / "after", made)


def perform_protocol(place: Path) -> Result:
    """Run the protocol validator on a fresh `two-hosts` that is found by SSDP."""
    start_s = time.monotonic()
    report = protocol_validator.validate(place, "--topology", "two-hosts")
    problems = protocol_validator.problems_of(report)
    return Result(PROTOCOL, report, time.monotonic() - start_s, problems)


def perform_use_cases(place: Path) -> Iterator[Result]:
    """Run the use case checkers on a fresh `two-hosts`; all must pass, and be tested but for what
    hosts do not offer."""
    arguments = ("--topology", "two-hosts", "--state", str(place / "state"))
    with serving(*arguments, tls=True) as (_, url):
        for name, cases, whole in _CASES:
            start_s = time.monotonic()
            report = use_cases.check(url, place / name, cases)
            problems = excess(report, _STRICT)
            if whole and report.untested:
                problems.append(f"{report.untested} not tested")
            yield Result(name, report, time.monotonic() - start_s, problems)


def _validated(run: Run, name: str, url: str, csdl: Path, place: Path, made: list[str]) -> Result:
    start_s = time.monotonic()
    report = service_validator.validate(url, csdl, place)
    states = run.task_states if made else ()
    problems = excess(report, run.bounds, made, states)
    return Result(name, report, time.monotonic() - start_s, problems)

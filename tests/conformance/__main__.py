"""Run the DMTF validators over TLS and say what they found.

Exit 0: within bounds, or skipped because the packs or the tools are absent (said in the last
line); 1: a bound is exceeded or a tool gave no result; 2: wrong usage.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conformance import packs, wires
from tests.conformance.findings import Finding
from tests.conformance.processes import ToolFailed
from tests.conformance.runs import (
    PROTOCOL,
    RUNS,
    USE_CASES,
    Result,
    Run,
    perform,
    perform_protocol,
    perform_use_cases,
    perform_wires,
)
from tests.e2e import namespaces

_AT_ONCE = 2
_LINE = "{:<34} {:>6} {:>6} {:>6} {:>11} {:>7}  {}"
_FURTHER = (wires.NAME, PROTOCOL, USE_CASES)
_printing = threading.Lock()
# AssertionError: a script was answered otherwise than it should be, or no service came up.
_BROKEN = (ToolFailed, AssertionError, subprocess.SubprocessError, OSError)


def main(arguments: list[str] | None = None) -> int:
    """Perform the named runs, or all; return the exit code."""
    names = [*(run.name for run in RUNS), *_FURTHER]
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("run", nargs="*", help=f"{', '.join(names)}; default: all")
    parser.add_argument("--untested", action="store_true", help="list NOT_TESTED assertions too")
    options = parser.parse_args(arguments)
    if unknown := set(options.run) - set(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    reason = packs.absent()
    if reason is not None:
        print(f"conformance: SKIPPED, nothing was checked: {reason}")
        return 0
    chosen = [run for run in RUNS if not options.run or run.name in options.run]
    further = {name for name in _FURTHER if name in options.run or not options.run}
    start_s = time.monotonic()
    print(_LINE.format("run", "PASS", "WARN", "FAIL", "NOT TESTED", "time", ""))
    with tempfile.TemporaryDirectory(prefix="conformance-") as place:
        good = _perform_all(chosen, further, Path(place), options.untested)
    verdict = "all within bounds" if good else "NOT within bounds"
    print(f"conformance: {verdict}, {time.monotonic() - start_s:.0f} s")
    return 0 if good else 1


def _perform_all(chosen: list[Run], further: set[str], place: Path, untested: bool) -> bool:
    csdl = packs.unpack_csdl(place / "csdl")
    mockups = packs.unpack_mockups(place / "mockups")

    def whole(run: Run) -> bool:
        try:
            results = perform(run, place / run.name, csdl, mockups)
            return all([_show(result, untested) for result in results])
        except _BROKEN as error:
            return _broken(run.name, error)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        verdicts = [pool.submit(whole, run) for run in chosen]
        if wires.NAME in further:
            verdicts.append(pool.submit(_wires, place / wires.NAME, csdl, untested))
        if PROTOCOL in further:
            verdicts.append(pool.submit(_protocol, place / PROTOCOL, untested))
        if USE_CASES in further:
            verdicts.append(pool.submit(_use_cases, place / USE_CASES, untested))
        return all([verdict.result() for verdict in verdicts])


def _wires(place: Path, csdl: Path, untested: bool) -> bool:
    try:
        return _show(perform_wires(place, csdl), untested)
    except _BROKEN as error:
        return _broken(wires.NAME, error)


def _protocol(place: Path, untested: bool) -> bool:
    """Run it where a network namespace can be made, or say why it is not run."""
    reason = namespaces.unavailable()
    if reason is not None:
        with _printing:
            print(f"{PROTOCOL}: SKIPPED, {reason}", flush=True)
        return True
    try:
        return _show(perform_protocol(place), untested)
    except _BROKEN as error:
        return _broken(PROTOCOL, error)


def _use_cases(place: Path, untested: bool) -> bool:
    try:
        return all([_show(result, untested) for result in perform_use_cases(place)])
    except _BROKEN as error:
        return _broken(USE_CASES, error)


def _broken(name: str, error: BaseException) -> bool:
    """Say that a run gave no result, which is not within bounds."""
    with _printing:
        print(f"{name}: {error or type(error).__name__}", flush=True)
    return False


def _show(result: Result, untested: bool) -> bool:
    """Print one row and its lines; return whether it is within bounds."""
    report = result.report
    counts = (report.passed, report.warned, report.failed, report.untested)
    verdict = "ok" if not result.problems else "; ".join(result.problems)
    with _printing:
        print(_LINE.format(result.name, *counts, f"{result.took_s:.0f} s", verdict), flush=True)
        for finding in report.findings:
            if finding.level != "NOT_TESTED" or untested:
                print(f"    {_short(finding)}", flush=True)
    return not result.problems


def _short(finding: Finding) -> str:
    return " ".join(str(finding).split())


if __name__ == "__main__":
    sys.exit(main())

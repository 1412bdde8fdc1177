"""Figures, and how they are printed."""

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

_TARGET = re.compile(r"(<=|<|>=)? ?([0-9.]+)")


@dataclass(frozen=True)
class Figure:
    """One line of the table. `value` None: not available, and `note` says why."""

    row: str
    what: str
    value: float | None
    unit: str
    target: str = ""
    note: str = ""

    @property
    def held(self) -> bool | None:
        """Whether the target is held; None without a value or a target."""
        match = _TARGET.match(self.target)
        if self.value is None or match is None:
            return None
        bound = float(match.group(2))
        held = {"<": self.value < bound, "<=": self.value <= bound, ">=": self.value >= bound}
        return held.get(match.group(1), self.value == bound)


def missing(row: str, what: str, why: str, target: str = "") -> Figure:
    """Return a figure that could not be taken."""
    return Figure(row, what, None, "", target, why)


def ratio(row: str, ours_s: list[float], bare_s: list[float], target: str) -> list[Figure]:
    """Return both medians and the median of the rounds' ratios.

    A round's two runs lie next to each other in time, so what disturbs one disturbs the other.
    """
    ratios = [ours / bare for ours, bare in zip(ours_s, bare_s, strict=True)]
    spread = f"{len(ratios)} rounds, {min(ratios):.2f}-{max(ratios):.2f}"
    return [
        Figure(row, "CPU per request", round(median(ours_s) * 1e6, 1), "us"),
        Figure(row, "bare application", round(median(bare_s) * 1e6, 1), "us"),
        Figure(row, "ratio", round(median(ratios), 3), "x", target, spread),
    ]


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as aligned text."""
    head = ("row", "figure", "value", "target", "note")
    lines = [head, *(_cells(figure) for figure in figures)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cells(figure: Figure) -> tuple[str, ...]:
    value = "not available" if figure.value is None else f"{figure.value:g} {figure.unit}"
    return (figure.row, figure.what, value, figure.target, figure.note)


def about(now: datetime, **how: object) -> dict[str, Any]:
    """Return what has to be known of a run to judge its figures, with `how` it was made."""
    return {
        "date": f"{now.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": f"{os.cpu_count()} x {_processor()}, {platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "aiohttp": version("aiohttp"),
        "redfish_fm": version("redfish_fm"),
        "load": round(os.getloadavg()[0], 2),
        **how,
    }


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else platform.processor() or "processor"


def write_json(path: Path, figures: Iterable[Figure], run: Mapping[str, Any]) -> None:
    """Write the figures, and of which run they are, for `tests.bench.document`."""
    content = {"run": dict(run), "figures": [asdict(figure) for figure in figures]}
    path.write_text(json.dumps(content, indent=1) + "\n")


def read_json(path: Path) -> tuple[dict[str, Any], list[Figure]]:
    """Return what `write_json` wrote: the run and its figures."""
    content = json.loads(path.read_text())
    return content["run"], [Figure(**each) for each in content["figures"]]

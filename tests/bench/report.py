"""Figures, and how they are printed."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One line of the table. `value` None: not available, and `note` says why."""

    row: str
    what: str
    value: float | None
    unit: str
    target: str = ""
    note: str = ""


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


def write_json(path: Path, figures: Iterable[Figure]) -> None:
    """Write the figures for a machine."""
    path.write_text(json.dumps([asdict(figure) for figure in figures], indent=1) + "\n")

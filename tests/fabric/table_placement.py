"""The form of the placement tables: a question of a pod, and what must be answered.

A row asks one question of one pod and says what must be chosen (or why it is refused). Twins differ
in one thing and end differently. test_placement_rules runs all tables, and breaks every rule once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from redfish_fm.fabric.placement_values import MemoryWish, Wish

Answer = object
ROWS: "list[Row]" = []
GPU = Wish("GPU")


@dataclass(frozen=True)
class Row:
    """A question and its answer."""

    name: str
    ask: Callable[[], Answer]
    expected: Answer


def row(expected: Answer) -> Callable[[Callable[[], Answer]], None]:
    """Note the decorated question with what must be answered."""
    return lambda ask: ROWS.append(Row(ask.__name__, ask, expected))


def gpus(count: int, **more: object) -> Wish:
    return Wish("GPU", count, **more)  # type: ignore[arg-type]


def memory(capacity: int, count: int = 1, **more: object) -> MemoryWish:
    return MemoryWish(capacity, count, **more)  # type: ignore[arg-type]

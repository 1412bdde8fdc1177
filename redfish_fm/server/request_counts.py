"""How many requests there were and how long they took, by route, method and class of status.

Accumulators: a request costs one look-up and two additions. Routes are templates, which are finite;
what no route fits is counted together, so no client can make the figures many.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PATCH", "PUT", "DELETE"})
OTHER = "other"
"""Route or method of what has none."""

KNOWN_MAX = 4096
"""Paths remembered with their route; whoever asks for more pays for finding it each time."""

RouteOf = Callable[[str], str | None]
"""Gives the route that a path without its query belongs to."""


@dataclass(slots=True)
class Cell:
    """What was counted under one route, method and class of status ("2xx")."""

    route: str
    method: str
    status: str
    count: int = 0
    seconds: float = 0.0


class RequestCounts:
    """Counts requests; `cells` gives what there is."""

    def __init__(self, route_of: RouteOf) -> None:
        self._route_of = route_of
        self._cells: dict[tuple[str, str, str], Cell] = {}
        self._known: dict[tuple[str, str, int], Cell] = {}

    def note(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count one request that was answered."""
        key = (method, path, status)
        cell = self._known.get(key)
        if cell is None:
            cell = self._found(key)
        cell.count += 1
        cell.seconds += seconds

    def cells(self) -> Iterator[Cell]:
        """Yield everything that was counted."""
        yield from self._cells.values()

    @property
    def total(self) -> int:
        """How many requests there were."""
        return sum(cell.count for cell in self._cells.values())

    def _found(self, key: tuple[str, str, int]) -> Cell:
        method, path, status = key
        known = (
            self._route_of(path) or OTHER,
            method if method in METHODS else OTHER,
            f"{status // 100}xx",
        )
        cell = self._cells.get(known)
        if cell is None:
            cell = self._cells[known] = Cell(*known)
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[key] = cell
        return cell

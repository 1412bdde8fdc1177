"""Whether several wishes can be met at once out of what they share: a small flow problem.

Pure. Knows neither fabrics nor wishes: demands are met by suppliers, suppliers stand behind gates
(the vPPBs of a switch), and each of the three has a limit.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Node = tuple[str, Hashable]
Gate = TypeVar("Gate", bound=Hashable)

_SOURCE: Node = ("source", "")
_SINK: Node = ("sink", "")


@dataclass(frozen=True, slots=True)
class Supplier(Generic[Gate]):
    """Something that several demands may draw on: at most `limit`, through one gate."""

    name: Hashable
    gate: Gate
    limit: int


def can_supply(
    demands: Sequence[tuple[int, Sequence[tuple[Supplier[Gate], int]]]], gates: Mapping[Gate, int]
) -> bool:
    """Return whether all demands can be met together.

    A demand is (amount, what it may draw on and how much of each at most).
    """
    edges: dict[Node, dict[Node, int]] = {_SOURCE: {}, _SINK: {}}
    for number, (amount, offers) in enumerate(demands):
        wish: Node = ("wish", number)
        _edge(edges, _SOURCE, wish, amount)
        for supplier, most in offers:
            shelf: Node = ("supplier", supplier.name)
            gate: Node = ("gate", supplier.gate)
            _edge(edges, wish, shelf, most)
            _edge(edges, shelf, gate, supplier.limit)
            _edge(edges, gate, _SINK, gates.get(supplier.gate, 0))
    wanted = sum(amount for amount, _ in demands)
    while wanted:
        path = _path(edges)
        if path is None:
            return False
        least = min(edges[one][other] for one, other in path)
        for one, other in path:
            edges[one][other] -= least
            edges[other][one] += least
        wanted -= least
    return True


def _edge(edges: dict[Node, dict[Node, int]], one: Node, other: Node, limit: int) -> None:
    edges.setdefault(one, {})[other] = limit
    edges.setdefault(other, {}).setdefault(one, 0)


def _path(edges: dict[Node, dict[Node, int]]) -> list[tuple[Node, Node]] | None:
    """Return the edges of a shortest way from source to sink on which something is left."""
    before: dict[Node, Node] = {_SOURCE: _SOURCE}
    todo = [_SOURCE]
    for one in todo:
        for other, left in edges[one].items():
            if left and other not in before:
                before[other] = one
                todo.append(other)
    if _SINK not in before:
        return None
    path: list[tuple[Node, Node]] = []
    at = _SINK
    while at != _SOURCE:
        path.append((before[at], at))
        at = before[at]
    return path

"""A one-to-many relation of hashable values that forgets its empty rows.

Knows nothing of fabrics. Forgetting empty rows makes two relations with equal pairs equal, however
they came about.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Relation(Generic[K, V]):
    """Pairs (key, value). Adding or removing one pair costs the same at any size."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[K, set[V]] = {}

    def add(self, keys: Iterable[K], value: V) -> None:
        """Relate every key to `value`."""
        rows = self._rows
        for key in keys:
            row = rows.get(key)
            if row is None:
                rows[key] = {value}
            else:
                row.add(value)

    def remove(self, keys: Iterable[K], value: V) -> None:
        """Undo `add`. Pairs that do not exist are ignored."""
        for key in keys:
            row = self._rows.get(key)
            if row is not None:
                row.discard(value)
                if not row:
                    del self._rows[key]

    def get(self, key: K) -> frozenset[V]:
        """Return all values of `key`."""
        return frozenset(self._rows.get(key, ()))

    def has(self, key: K, value: V) -> bool:
        """Return whether `key` has `value`."""
        return value in self._rows.get(key, ())

    def each(self, key: K) -> Iterator[V]:
        """Yield the values of `key` without copying them; no change may come between."""
        return iter(self._rows.get(key, ()))

    def count(self, key: K) -> int:
        """Return how many values `key` has, without copying them."""
        return len(self._rows.get(key, ()))

    def plain(self) -> dict[K, frozenset[V]]:
        """Return a copy that can be compared."""
        return {key: frozenset(row) for key, row in self._rows.items()}

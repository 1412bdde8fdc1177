"""Who is told of what was published, each only of what can concern it.

Nearly every batch concerns nobody but the stream of events and one fabric; to have each of ten
parts look through each batch for what is theirs cost a thirtieth of a small write.
"""

from collections.abc import Callable, Sequence

from redfish_fm.redfish.changes import Change, Space
from redfish_fm.values import value_class

Told = Callable[[Sequence[Change]], None]
"""Takes note of a batch that has just been published: at once, without raising and waiting."""

_ANYTHING = ("",)


@value_class
class _Follower:
    told: Told
    spaces: frozenset[Space]
    below: tuple[str, ...]


class Followers:
    """Tells each batch to those it concerns, in the order in which they were added."""

    def __init__(self) -> None:
        self._all: list[_Follower] = []

    def add(
        self,
        told: Told,
        *,
        spaces: frozenset[Space] | None = None,
        below: Sequence[str] = _ANYTHING,
    ) -> None:
        """Tell `told` of batches with an edit in one of `spaces` (None: in any) whose key begins
        with one of `below`. It is told of whole batches.
        """
        self._all.append(_Follower(told, spaces or frozenset(Space), tuple(below)))

    def remove(self, told: Told) -> None:
        """Tell `told` nothing any more. Raises ValueError where it was told nothing."""
        known = [each for each in self._all if each.told == told]
        if not known:
            raise ValueError(f"{told!r} follows nothing")
        self._all.remove(known[0])

    def tell(self, changes: Sequence[Change]) -> None:
        """Tell a batch that has just been published."""
        places = [(edit.space, edit.key) for change in changes for edit in change.edits]
        spaces = {space for space, _ in places}
        for each in self._all:
            if spaces.isdisjoint(each.spaces):
                continue
            if each.below is _ANYTHING or _concerns(places, each):
                each.told(changes)


def _concerns(places: Sequence[tuple[Space, str]], follower: _Follower) -> bool:
    spaces, below = follower.spaces, follower.below
    return any(key.startswith(below) and space in spaces for space, key in places)

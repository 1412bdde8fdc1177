"""The links of the health graph by whoever they belong to, brought up to date owner by owner.

Pure and mutable; knows nothing of what the nodes are. An import may go in circles: a link that
would close one is left out, and made when its owner is asked again after the circle is broken.
"""

from collections.abc import Iterable, Iterator

from redfish_fm.fabric.health import HealthGraph
from redfish_fm.mapping.dependencies import Links

_NONE: Links = frozenset()


class GraphLinks:
    """What each owner has linked in one graph. Iterates over the owners that have any link.

    `left_out` are the owners with a link that would close a circle.
    """

    def __init__(self, graph: HealthGraph) -> None:
        self.left_out: set[str] = set()
        self._graph = graph
        self._made: dict[str, Links] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __contains__(self, owner: str) -> bool:
        return owner in self._made

    def put(self, owner: str, links: Iterable[tuple[str, str]]) -> None:
        """Let the owner have exactly these links, made in this order."""
        wished, before = dict.fromkeys(links), self._made.get(owner, _NONE)
        if before:
            for _ in self.put_in_steps(owner, wished):
                pass
        else:
            made = [link for link in wished if self._linked(*link)]
            self._note(owner, frozenset(made), len(wished))

    def put_in_steps(self, owner: str, links: Iterable[tuple[str, str]]) -> Iterator[None]:
        """Do what `put` does, and yield after each link, that others may have a turn."""
        before, wished = self._made.get(owner, _NONE), dict[tuple[str, str], None]()
        for link in links:
            wished[link] = None
            yield
        made = set(before & wished.keys())
        for child, parent in before - wished.keys():
            self._graph.unlink(child, parent)
            yield
        for child, parent in wished:
            if (child, parent) not in before:
                if self._linked(child, parent):
                    made.add((child, parent))
                yield
        self._note(owner, frozenset(made), len(wished))

    def _linked(self, child: str, parent: str) -> bool:
        """Make a link; return False where it would close a circle."""
        try:
            self._graph.link(child, parent)
        except ValueError:
            return False
        return True

    def _note(self, owner: str, made: Links, wished: int) -> None:
        if made:
            self._made[owner] = made
        else:
            self._made.pop(owner, None)
        if len(made) < wished:
            self.left_out.add(owner)
        else:
            self.left_out.discard(owner)

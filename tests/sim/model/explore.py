"""Breadth-first exploration of every state of a protocol; finds the shortest way to harm."""

from collections import deque
from dataclasses import dataclass

from tests.sim.model.protocol import Protocol, State, broken


@dataclass(frozen=True)
class Exploration:
    """What was found: all states, or the shortest path to a broken promise."""

    states: dict[State, tuple[State, str] | None]
    harm: str | None = None
    path: tuple[str, ...] = ()

    def summary(self, protocol: Protocol) -> str:
        name = type(protocol).__name__
        if self.harm is None:
            return f"{name}: {len(self.states)} states, all promises hold in all of them"
        steps = " -> ".join(self.path)
        return f"{name}: {self.harm} after {len(self.states)} states: {steps}"


def explore(protocol: Protocol, start: State | None = None) -> Exploration:
    """Visit every reachable state, nearest first; stop at the first broken promise."""
    first = start or State()
    states: dict[State, tuple[State, str] | None] = {first: None}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        for word, following in protocol.moves(state):
            if following in states:
                continue
            states[following] = (state, word)
            harm = broken(following)
            if harm is not None:
                return Exploration(states, harm, _path(states, following))
            queue.append(following)
    return Exploration(states)


def _path(states: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    words: list[str] = []
    came = states[state]
    while came is not None:
        state, word = came
        words.append(word)
        came = states[state]
    return tuple(reversed(words))

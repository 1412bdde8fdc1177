"""The binding protocol of DESIGN section 4 as a state machine small enough to explore fully.

Two hosts A and B, each with one vPPB, and one exclusive unit. The switch is permissive: it
executes whatever it is told, may refuse, may lose the answer, and may execute a command late.
Planning is the real `fabric.binding.plan`; everything around it (commits, outcomes, barrier,
crash) is modelled here, each decision in a method of its own, so that a mutant is one overridden
method. An observation and what is concluded from it are two moves, and so are a plan and its
execution: anything may happen in between.

A barrier stands for "link reset and late_max passed": afterwards nothing that was sent before can
still execute. Time is not modelled beyond that.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from redfish_fm.fabric.binding import plan
from redfish_fm.fabric.model import Bind, BindTarget, Observation, VppbId
from redfish_fm.fabric.values import Binding

HOSTS = ("A", "B")
UNIT = BindTarget("SW", "P")
Hosts = frozenset[str]
NOBODY: Hosts = frozenset()


class Command(NamedTuple):
    """One step on its way to the switch."""

    verb: str
    host: str


class View(NamedTuple):
    """One observation: what the switch said, and whose commands a barrier had proved by then."""

    bound: Hosts
    proved: Hosts


class State(NamedTuple):
    """Everything: what is true, what is durable, what the manager believes."""

    bound: Hosts = NOBODY
    """Truth: hosts to which the switch has the unit bound."""
    late: frozenset[Command] = frozenset()
    """Truth: commands that may still execute."""
    wanted: Hosts = NOBODY
    """Durable: committed claims."""
    releasing: Hosts = NOBODY
    """Durable: claims given up, whose release has not been observed (open operations too)."""
    starting: Hosts = NOBODY
    """Durable: claims whose grant is an open operation."""
    unsettled: Hosts = NOBODY
    """Volatile: hosts whose vPPB has a command of unknown outcome behind it."""
    proved: Hosts = NOBODY
    """Volatile: the unsettled hosts for which a barrier has passed; an observation must follow."""
    view: View | None = None
    """Volatile: an observation that has been made and not yet been thought about."""
    steps: tuple[Command, ...] = ()
    """Volatile: planned from the last observation, not yet handed to the switch."""


Move = tuple[str, State]


class Protocol:
    """The protocol as designed. Mutants override one method each."""

    loses_bindings = True
    """Whether the switch may drop a binding by itself (power cycle, technician)."""

    # -- decisions of the manager -------------------------------------------------------------

    def may_grant(self, state: State) -> bool:
        """Rule 1: the unit is claimed by nobody; a release under way makes the grant wait."""
        return not state.wanted

    def take_back(self, state: State, host: str) -> State:
        """A release, or a grant that failed: it stays a claim until it is seen gone."""
        return state._replace(
            wanted=state.wanted - {host},
            starting=state.starting - {host},
            releasing=state.releasing | {host},
        )

    def plan(self, state: State, seen: Hosts) -> tuple[Command, ...]:
        """The steps of the real planner."""
        return real_plan(state.wanted, state.releasing, seen, state.unsettled)

    def settled(self, state: State, view: View) -> Hosts:
        """What an observation settles: what a barrier had proved before it was made."""
        return view.proved

    def released(self, state: State, seen: Hosts) -> Hosts:
        """A release is over when its vPPB is seen free and nothing can still be under way."""
        return state.releasing - seen - state.unsettled

    def refused(self, state: State, step: Command) -> State:
        """Grants roll back; releases only roll forward."""
        return self.take_back(state, step.host) if step.verb == "bind" else state

    def unknown(self, state: State, step: Command) -> State:
        """No answer: leave the vPPB alone until a barrier."""
        return state._replace(
            unsettled=state.unsettled | {step.host}, proved=state.proved - {step.host}
        )

    def restarted(self, state: State) -> Hosts:
        """After a crash every claim may have a command under way, also a settled one's repair."""
        return state.wanted | state.releasing

    # -- everything that can happen -----------------------------------------------------------

    def moves(self, state: State) -> Iterator[Move]:
        """Yield every possible next state with a word for it."""
        yield from self._clients(state)
        yield from self._manager(state)
        yield from self._switch(state)
        yield from self._crash(state)

    def _clients(self, state: State) -> Iterator[Move]:
        for host in HOSTS:
            if self.may_grant(state):
                starting = state.starting | {host}
                yield (
                    f"grant {host}",
                    state._replace(wanted=state.wanted | {host}, starting=starting),
                )
            if host in state.wanted:
                yield f"release {host}", self.take_back(state, host)

    def _manager(self, state: State) -> Iterator[Move]:
        if state.view is not None:
            yield "think", self._think(state, state.view)
        elif not state.steps:
            yield "observe", state._replace(view=View(state.bound, state.proved))
        else:
            yield from self._apply(state._replace(steps=state.steps[1:]), state.steps[0])

    def _apply(self, sent: State, step: Command) -> Iterator[Move]:
        word = f"{step.verb} {step.host}"
        lost = self.unknown(sent, step)
        yield f"{word} done", execute(sent, step)
        yield f"{word} refused", self.refused(sent, step)
        yield f"{word} lost", lost
        yield f"{word} done, answer lost", execute(lost, step)
        yield f"{word} delayed", delay(lost, step)

    def _think(self, state: State, view: View) -> State:
        settled = self.settled(state, view)
        state = state._replace(
            view=None, unsettled=state.unsettled - settled, proved=state.proved - settled
        )
        done = self.released(state, view.bound)
        started = state.starting & view.bound - state.unsettled - state.releasing
        state = state._replace(releasing=state.releasing - done, starting=state.starting - started)
        return state._replace(steps=self.plan(state, view.bound))

    def _switch(self, state: State) -> Iterator[Move]:
        for command in state.late:
            left = state._replace(late=state.late - {command})
            yield f"late {command.verb} {command.host}", execute(left, command)
            yield f"{command.verb} {command.host} vanishes", left
        if state.unsettled != state.proved and not state.late:
            yield "barrier", state._replace(proved=state.unsettled)
        for host in state.bound if self.loses_bindings else ():
            yield f"switch drops {host}", state._replace(bound=state.bound - {host})

    def _crash(self, state: State) -> Iterator[Move]:
        after = state._replace(view=None, steps=(), proved=NOBODY, unsettled=self.restarted(state))
        yield "crash", after
        for step in state.steps[:1]:
            yield f"crash in {step.verb} {step.host}", delay(after, step)
            yield f"crash after {step.verb} {step.host}", execute(after, step)


def execute(state: State, command: Command) -> State:
    """The permissive switch does what it is told, whoever has the unit."""
    host = {command.host}
    bound = state.bound | host if command.verb == "bind" else state.bound - host
    return state._replace(bound=bound)


def delay(state: State, command: Command) -> State:
    """The switch has the command and may execute it at any time until the next barrier."""
    return state._replace(late=state.late | {command})


def broken(state: State) -> str | None:
    """The three promises; a text where one is broken."""
    if len(state.bound) > 1:
        return "the unit is bound for two hosts at once"
    if len(state.wanted) > 1:
        return "two hosts own the unit"
    strangers = state.bound - state.wanted - state.releasing
    return f"bound for {', '.join(strangers)}, whom no claim names" if strangers else None


@cache
def real_plan(
    wanted: Hosts, releasing: Hosts, seen: Hosts, unsettled: Hosts
) -> tuple[Command, ...]:
    """Ask the product's planner, in the model's words. Cached: it is a pure function."""
    look = Observation("F", 0.0, 0.0, {vppb(h): UNIT if h in seen else None for h in HOSTS})
    dirty = {vppb(host) for host in unsettled}

    def is_unsettled(item: VppbId | BindTarget) -> bool:
        return item in dirty or (item == UNIT and bool(dirty))

    found = plan(map(binding, wanted), map(binding, releasing), look, is_unsettled)
    return tuple(
        Command("bind" if isinstance(step, Bind) else "unbind", step.vppb.vcs)
        for step in found.steps
    )


def vppb(host: str) -> VppbId:
    """The one vPPB of a host, in a VCS named like it."""
    return VppbId("SW", host, 0)


def binding(host: str) -> Binding:
    """The only binding that a host can want."""
    return Binding("F", "U", host, vppb(host), UNIT, frozenset({f"zone of {host}"}))

"""The protocol with one decision made wrong each; exploration must find every one of them."""

from tests.sim.model.protocol import NOBODY, Command, Hosts, Protocol, State, View, real_plan


class NaiveRollback(Protocol):
    """A refused release gives the old claim back, as if nothing had happened."""

    def refused(self, state: State, step: Command) -> State:
        if step.verb == "bind":
            return super().refused(state, step)
        return state._replace(
            wanted=state.wanted | {step.host}, releasing=state.releasing - {step.host}
        )


class NaiveRollbackOfUnknown(Protocol):
    """A release of unknown outcome gives the old claim back."""

    def unknown(self, state: State, step: Command) -> State:
        lost = super().unknown(state, step)
        if step.verb == "bind":
            return lost
        return lost._replace(
            wanted=lost.wanted | {step.host}, releasing=lost.releasing - {step.host}
        )


class NoBarrier(Protocol):
    """Any observation settles what was unknown."""

    def settled(self, state: State, view: View) -> Hosts:
        return state.unsettled


class BarrierAfterTheLook(Protocol):
    """A barrier settles what is unknown, although the observation was made before it."""

    def settled(self, state: State, view: View) -> Hosts:
        return state.proved


class BindBeforeUnbind(Protocol):
    """The planner does not see the bindings that are being released, and binds first."""

    def plan(self, state: State, seen: Hosts) -> tuple[Command, ...]:
        binds = real_plan(state.wanted, NOBODY, seen - state.releasing, state.unsettled)
        return (*binds, *super().plan(state, seen))


class ForgetfulRestart(Protocol):
    """After a restart nothing counts as unsettled."""

    def restarted(self, state: State) -> Hosts:
        return NOBODY


class OnlyOpenOperations(Protocol):
    """After a restart only open operations count: a repair outside of one is forgotten."""

    def restarted(self, state: State) -> Hosts:
        return state.starting | state.releasing


class GrantTakenBackAtOnce(Protocol):
    """A claim that was never seen bound is dropped without waiting for its command's outcome."""

    def take_back(self, state: State, host: str) -> State:
        if host in state.bound:
            return super().take_back(state, host)
        return state._replace(wanted=state.wanted - {host}, starting=state.starting - {host})


class ReleaseBelievedEarly(Protocol):
    """A release is over when the vPPB looks free, whatever may still be under way."""

    def released(self, state: State, seen: Hosts) -> Hosts:
        return state.releasing - seen


MUTANTS: tuple[type[Protocol], ...] = (
    NaiveRollback,
    NaiveRollbackOfUnknown,
    NoBarrier,
    BarrierAfterTheLook,
    BindBeforeUnbind,
    ForgetfulRestart,
    OnlyOpenOperations,
    GrantTakenBackAtOnce,
    ReleaseBelievedEarly,
)

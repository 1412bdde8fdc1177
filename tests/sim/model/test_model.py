"""Exhaustive: the designed protocol keeps its promises, every mutant breaks one."""

import pytest

from redfish_fm.fabric import ground
from tests.sim.model.explore import Exploration, explore
from tests.sim.model.mutants import MUTANTS, OnlyOpenOperations
from tests.sim.model.protocol import Command, Protocol, State, execute, real_plan


@pytest.fixture(scope="module")
def explored() -> Exploration:
    return explore(Protocol())


def test_the_unit_is_never_bound_for_two_hosts_or_for_a_stranger(explored: Exploration) -> None:
    print(explored.summary(Protocol()))
    assert explored.harm is None, explored.summary(Protocol())
    assert len(explored.states) > 500


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_wrong_decision_is_found(mutant: type[Protocol]) -> None:
    found = explore(mutant())
    print(found.summary(mutant()))
    assert found.harm is not None, found.summary(mutant())


def test_open_operations_would_be_enough_if_switches_never_lost_a_binding() -> None:
    """The repair of a binding that the switch dropped is what runs outside of operations."""

    class Careful(OnlyOpenOperations):
        loses_bindings = False

    assert explore(Careful()).harm is None


def test_the_model_runs_the_real_planner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that ignores what is observed bound elsewhere must be found harmful."""
    real_plan.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(ground, "overlaps", lambda one, other: False)
        found = explore(Protocol())
    real_plan.cache_clear()
    assert found.harm == "the unit is bound for two hosts at once", found.summary(Protocol())


def fair(state: State) -> State:
    """What happens when faults stop: late commands run out, then observe and apply in turn."""
    protocol = Protocol()
    for command in sorted(state.late):
        state = execute(state, command)
    state = state._replace(late=frozenset(), proved=state.unsettled, view=None)
    for _ in range(16):
        words = [f"{step.verb} {step.host} done" for step in state.steps[:1]]
        words += ["think" if state.view else "observe"]
        state = dict(protocol.moves(state))[words[0]]
    return state


def test_from_every_state_the_wish_comes_true_once_the_faults_stop(explored: Exploration) -> None:
    for state in explored.states:
        end = fair(state)
        assert end.bound == end.wanted, state
        assert not (end.releasing or end.starting or end.unsettled or end.steps), state


def test_the_exploration_reaches_the_situations_it_is_about(explored: Exploration) -> None:
    states = explored.states
    assert any(state.wanted and state.releasing - state.wanted for state in states)
    assert any(state.unsettled == {"A", "B"} for state in states)
    assert any(state.late and state.view for state in states)
    assert any(state.view and state.view.bound != state.bound for state in states)
    assert any(state.steps == (Command("bind", "B"),) and state.wanted == {"A"} for state in states)

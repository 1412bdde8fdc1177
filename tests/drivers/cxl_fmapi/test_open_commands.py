"""What a look proves of commands without an answer."""

import math

from redfish_fm.drivers.cxl_fmapi.open_commands import OpenCommands

LATE_S = 2.0


def fresh(now_s: float = 10.0) -> OpenCommands:
    """Return the commands of a switch whose predecessor's are settled."""
    commands = OpenCommands(now_s, LATE_S)
    commands.look_begins(now_s + LATE_S, 1)
    commands.prove(now_s + LATE_S, 1)
    return commands


def before(moment_s: float) -> float:
    return math.nextafter(moment_s, -math.inf)


def test_what_a_manager_before_us_sent_is_open_until_it_can_not_run_any_more() -> None:
    commands = OpenCommands(10.0, LATE_S)
    assert commands.look_begins(11.0, 1)
    commands.prove(11.0, 1)
    assert commands.barrier_s(11.0) == -math.inf
    commands.prove(12.0, 1)
    assert commands.barrier_s(12.0) == before(12.0)


def test_a_command_is_open_until_it_is_answered() -> None:
    commands = fresh()
    command = commands.hand(20.0)
    commands.prove(21.0, 1)
    assert commands.barrier_s(22.0) == before(20.0)
    commands.settle(command)
    assert commands.barrier_s(22.0) == before(22.0)


def test_a_lost_answer_is_settled_by_a_later_one_of_the_same_connection_only() -> None:
    commands = fresh()
    commands.lose(commands.hand(20.0), 3)
    assert commands.look_begins(21.0, 3)
    commands.prove(21.0, 2)
    assert commands.barrier_s(21.0) == before(20.0)
    commands.prove(21.0, 3)
    assert commands.barrier_s(21.0) == before(21.0)


def test_a_connection_that_is_gone_counts_from_when_that_is_noticed() -> None:
    commands = fresh()
    commands.lose(commands.hand(20.0), 3)
    for moment_s in (25.0, 26.9):
        assert commands.look_begins(moment_s, 4)
        commands.prove(moment_s, 4)
        assert commands.barrier_s(moment_s) == before(20.0)
    commands.prove(27.0, 4)
    assert commands.barrier_s(27.0) == before(27.0)


def test_time_alone_proves_nothing() -> None:
    commands = fresh()
    commands.lose(commands.hand(20.0), 3)
    assert commands.look_begins(1000.0, 4)
    assert commands.barrier_s(1000.0) == before(20.0)

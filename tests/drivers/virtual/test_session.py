"""What a link proves, and what it does not."""

import math

from redfish_fm.drivers.virtual.session import LinkSession

LATE_S = 2.0


def a_link() -> LinkSession:
    return LinkSession(0.0, LATE_S, had_manager=False)


def look(link: LinkSession, started_s: float) -> float:
    question = link.ask(started_s)
    link.reply(question)
    return link.barrier_s(started_s)


def test_nothing_open_proves_all_before_the_look() -> None:
    assert look(a_link(), 5.0) == math.nextafter(5.0, 0.0)


def test_an_earlier_manager_may_have_left_commands() -> None:
    link = LinkSession(10.0, LATE_S)
    assert look(link, 11.9) == -math.inf
    assert look(link, 12.0) == math.nextafter(12.0, 0.0)


def test_a_command_not_yet_sent_is_not_settled() -> None:
    link = a_link()
    command = link.hand(3.0)
    assert look(link, 5.0) == math.nextafter(3.0, 0.0)
    link.settle(command)
    assert look(link, 5.0) > 3.0


def test_a_lost_answer_is_settled_by_a_later_look_on_the_same_link() -> None:
    link = a_link()
    command = link.hand(3.0)
    link.send(command)
    assert look(link, 4.0) < 3.0
    link.lose(command)
    assert look(link, 5.0) > 3.0


def test_a_look_that_began_before_the_answer_was_lost_settles_nothing() -> None:
    link = a_link()
    command = link.hand(3.0)
    link.send(command)
    question = link.ask(4.0)
    link.lose(command)
    link.reply(question)
    assert link.barrier_s(4.0) < 3.0


def test_a_look_over_a_new_link_settles_nothing_of_the_old_one() -> None:
    link = a_link()
    command = link.hand(3.0)
    link.send(command)
    link.lose(command)
    question = link.ask(4.0)
    link.reset(4.5)
    link.reply(question)
    assert link.barrier_s(4.0) < 3.0
    assert look(link, 6.4) < 3.0
    assert look(link, 6.5) > 3.0


def test_a_restarted_switch_has_forgotten_what_it_was_sent() -> None:
    link = a_link()
    link.send(link.hand(3.0))
    link.reset(4.0, runs_late=False)
    assert look(link, 4.1) > 3.0


def test_a_second_reset_does_not_put_off_what_the_first_settles() -> None:
    link = a_link()
    link.send(link.hand(3.0))
    link.reset(4.0)
    link.reset(5.9)
    assert look(link, 6.0) > 3.0


def test_a_command_waiting_during_a_reset_is_not_settled_by_it() -> None:
    link = a_link()
    command = link.hand(3.0)
    link.reset(4.0)
    assert look(link, 60.0) < 3.0
    link.send(command)
    link.lose(command)
    assert look(link, 61.0) > 3.0


def test_a_command_handed_in_the_instant_of_the_look_is_not_proved() -> None:
    link = a_link()
    barrier_s = look(link, 5.0)
    link.hand(5.0)
    assert barrier_s < 5.0

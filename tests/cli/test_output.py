"""Tables for eyes, tabs for pipes."""

import io
import sys

import pytest

from redfish_fm.cli.output import print_table, progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_tab_separated_lines(capsys) -> None:
    print_table(("uri", "verbs"), [("/redfish/v1/" + "x" * 300, "GET")])
    assert capsys.readouterr().out == "uri\tverbs\n/redfish/v1/" + "x" * 300 + "\tGET\n"


def test_a_terminal_gets_a_table_and_nothing_is_taken_for_markup(monkeypatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    print_table(("name", "detail"), [("[bold]x[/bold]", ":smile:")])
    text = terminal.getvalue()
    assert "[bold]x[/bold]" in text
    assert ":smile:" in text
    assert "\t" not in text


def test_a_bar_shows_on_a_terminal_only(monkeypatch) -> None:
    with progress_bar("reading") as told:  # pytest's stderr is no terminal
        assert told is None
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar("reading") as told:
        assert told is not None
        told(1, 3)


@pytest.mark.parametrize("ends_full", [True, False])
def test_a_bar_is_gone_when_all_is_done_where_more_runs_on(monkeypatch, capsys, ends_full) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar("reading", ends_full=ends_full) as told:
        assert capsys.readouterr().err == ""
        assert told is not None
        told(1, 2)
        told(2, 2)
        # A bar that is there hides the cursor; one that goes shows it again.
        assert ("\x1b[?25h" in capsys.readouterr().err) is ends_full

"""The command itself: version, help, exit codes, and that every command is documented."""

import re
import subprocess
import sys

import click
import pytest

from redfish_fm import __version__
from redfish_fm.cli import main
from redfish_fm.config import KEYS


def commands(group: click.Group, prefix: str = "redfish-fm") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= commands(command, f"{prefix} {name}")
        else:
            found[f"{prefix} {name}"] = command
    return found


def test_the_version_is_the_one_of_the_package(command) -> None:
    assert command("--version").stdout == f"redfish-fm {__version__}\n"


def test_an_unknown_command_is_usage(command) -> None:
    result = command("srve")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Did you mean 'serve'?" in result.stderr


def test_a_command_imports_no_other_command() -> None:
    script = """if True:
        import sys
        from redfish_fm.cli import main
        main(["topology", "list"], standalone_mode=False)
        assert "redfish_fm.cli.topology" in sys.modules
        assert not {"redfish_fm.cli.serve", "redfish_fm.cli.schemas"} & sys.modules.keys()
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_python_m_is_the_same_command() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "redfish_fm", "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert result.stdout == f"redfish-fm {__version__}\n"


@pytest.mark.parametrize("name", list(commands(main)))
def test_every_command_has_a_heading_in_the_guide(repository, name: str) -> None:
    guide = (repository / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert re.search(rf"^## `{re.escape(name)}\b", guide, re.MULTILINE)


@pytest.mark.parametrize("name", list(commands(main)))
def test_every_flag_of_a_command_is_in_the_guide(repository, name: str) -> None:
    guide = (repository / "docs" / "command-line.md").read_text(encoding="utf-8")
    flags = [flag for option in commands(main)[name].params for flag in option.opts]
    missing = [flag for flag in flags if flag.startswith("--") and f"`{flag}" not in guide]
    assert missing == []


def test_every_flag_of_serve_is_a_key_of_the_configuration() -> None:
    flags = {option.name for option in commands(main)["redfish-fm serve"].params}
    assert flags - set(KEYS) == {"config"}


@pytest.mark.parametrize("name", list(commands(main)))
def test_the_help_of_every_command_has_examples_that_are_its_own(command, name: str) -> None:
    words = name.split()
    result = command(*words[1:], "--help")
    assert result.exit_code == 0
    _, _, examples = result.stdout.partition("Examples:\n")
    lines = [line.strip() for line in examples.partition("\n\n")[0].splitlines()]
    assert lines
    assert any(line.partition(name)[1] for line in lines)
    flags = {flag for option in commands(main)[name].params for flag in option.opts}
    used = {word for line in lines for word in re.findall(r"(?<=\s)--[a-z-]+", line)}
    assert used <= flags


@pytest.mark.parametrize("name", list(commands(main)))
def test_wrong_usage_is_exit_code_2_with_nothing_on_stdout(command, name: str) -> None:
    result = command(*name.split()[1:], "--no-such-flag")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No such option" in result.stderr


@pytest.mark.parametrize("name", list(commands(main)))
def test_every_command_has_its_exit_codes_in_the_table(repository, name: str) -> None:
    guide = (repository / "docs" / "command-line.md").read_text(encoding="utf-8")
    word = name.removeprefix("redfish-fm ")
    (row,) = re.findall(rf"^\| `{re.escape(word)}` \|(.*)\|$", guide, re.MULTILINE)
    assert len(re.split(r"(?<!\\)\|", row)) == 3


ANSWERS_IN_JSON_ANYWAY = {"redfish-fm topology schema"}
ANSWERS_NOTHING = {"redfish-fm serve"}


@pytest.mark.parametrize(
    "name", sorted(commands(main).keys() - ANSWERS_IN_JSON_ANYWAY - ANSWERS_NOTHING)
)
def test_every_command_that_answers_can_do_so_in_json(name: str) -> None:
    assert "--json" in {flag for option in commands(main)[name].params for flag in option.opts}

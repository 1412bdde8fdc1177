"""The command `redfish-fm`: words in, one call, words out. No logic of its own lives here.

Exit codes: 0 fine, 1 failed, 2 wrong usage or configuration; the table of docs/command-line.md has
them by command. Answers go to stdout, everything else to stderr. `--json` is there wherever
something is shown.
"""

import gc
from functools import cache
from importlib import import_module

import click

from redfish_fm import __version__

_COMMANDS = ("doctor", "mockup", "routes", "schemas", "serve", "topology")
"""Each is the command of that name in the module of that name."""


class _Commands(click.Group):
    """Imports a command once it is asked for: `serve` does not wait for what others need."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None."""
        if cmd_name in _COMMANDS:
            return _command(cmd_name)
        # Whoever mistypes is told which one may be meant: one of those that are known by then.
        for name in _COMMANDS:
            self.add_command(_command(name))
        return None


@cache
def _command(name: str) -> click.Command:
    """Import a command, without looking for garbage among what stays: a tenth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        command: click.Command = getattr(import_module(f"{__name__}.{name}"), name)
    finally:
        if collecting:
            gc.freeze()
            gc.enable()
    return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="redfish-fm", message="%(prog)s %(version)s")
def main() -> None:
    """Redfish and Swordfish fabric manager, emulator and gateway.

    Each command explains itself with --help. Answers go to stdout, all else to stderr; exit codes
    are 0 fine, 1 failed, 2 wrong usage or configuration.

    \b
    First steps (the password stands in the first line that serve writes):
      redfish-fm doctor
      redfish-fm serve --topology two-hosts --ephemeral
      curl -k -u admin:PASSWORD https://127.0.0.1:8443/redfish/v1/Fabrics
    """

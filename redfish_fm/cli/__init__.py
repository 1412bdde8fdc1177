"""The command `redfish-fm`: words in, one call, words out. No logic of its own lives here.

Exit codes: 0 fine, 1 failed, 2 wrong usage or configuration; the table of docs/command-line.md has
them by command. Answers go to stdout, everything else to stderr. `--json` is there wherever
something is shown.
"""

import click

from redfish_fm import __version__
from redfish_fm.cli import doctor, mockup, routes, schemas, serve, topology


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
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


for command in (
    serve.serve,
    topology.topology,
    mockup.mockup,
    routes.routes,
    schemas.schemas,
    doctor.doctor,
):
    main.add_command(command)

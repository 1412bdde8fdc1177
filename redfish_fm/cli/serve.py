"""`redfish-fm serve`: flags to a Config, a Config to app.serve, its end to an exit code."""

import asyncio
import difflib
import os
import sys
from collections.abc import Callable

import click

from redfish_fm import app
from redfish_fm.cli.options import settings_options
from redfish_fm.cli.output import Failure, Misuse
from redfish_fm.config import Config, ConfigError, load
from redfish_fm.drivers.virtual.topology import TopologyError, names
from redfish_fm.errors import FmError
from redfish_fm.imports import MockupDefective
from redfish_fm.resources import mockups_dir
from redfish_fm.server.listener import ListenError
from redfish_fm.server.tls import TlsError
from redfish_fm.store.base import StoreError, StoreInUse
from redfish_fm.store.mockup_files import MockupError

_DOCTOR = "redfish-fm doctor with the same flags looks for causes"
_HINTS: tuple[tuple[type[FmError], str], ...] = (
    (
        ListenError,
        "choose another port with --port, any free one with --port 0, or an address with --host",
    ),
    (StoreInUse, "give this one a state folder of its own with --state, or use --ephemeral"),
    (StoreError, "choose another state folder with --state, or use --ephemeral"),
    (MockupDefective, "leave out --strict to serve it all the same"),
    (MockupError, "a mockup has an index.json, or redfish/v1/index.json, at its top"),
    (TlsError, "--tls-cert and --tls-key want PEM files that belong together"),
)
"""What helps with which error: the first line that fits."""


@click.command()
@settings_options
def serve(**flags: object) -> None:
    """Serve a fabric over Redfish until SIGTERM or Ctrl-C.

    Without --topology and --mockup the default fabric is served. Every flag can also be an
    environment variable (REDFISH_FM_PORT …) or a key of the --config file. SIGHUP reads all of
    that again and takes over log form and level and the TLS certificate.

    The password of the first administrator comes from REDFISH_FM_ADMIN_PASSWORD; else one is made
    and shown once. The line "redfish-fm ready URL=…" on stdout says that requests are answered.

    Exit codes: 0 ended by SIGTERM or Ctrl-C; 1 could not start, or failed; 2 wrong usage or
    configuration.

    \b
    Examples:
      redfish-fm serve                                  the default fabric, https on 8443
      redfish-fm serve --topology two-hosts --ephemeral --port 0
      redfish-fm serve --topology scale:hosts=4,gpus=16
      redfish-fm serve --mockup ./rack-7 --state /var/lib/rack-7
      redfish-fm serve --config /etc/redfish-fm.toml --log-format json
    """

    def read() -> Config:
        return load(flags, os.environ)

    try:
        config = read()
    except ConfigError as error:
        raise Misuse(str(error), "docs/configuration.md lists every key") from error
    sys.exit(_run(config, read))


def _run(config: Config, again: Callable[[], Config]) -> int:
    """Return the exit code of the service. Raises Failure when it could not start."""
    try:
        return asyncio.run(app.serve(config, again))
    except TopologyError as error:
        problems = (f"topology {error.source}: {problem}" for problem in error.problems)
        raise Failure("\n".join(problems), _near(config)) from error
    except FmError as error:
        hint = next((hint for kind, hint in _HINTS if isinstance(error, kind)), _DOCTOR)
        raise Failure(str(error), hint) from error
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        raise Failure(f"{place}{error.strerror or error}", _DOCTOR) from error


def _near(config: Config) -> str:
    """Return a hint that names the shipped topology that may have been meant."""
    wanted = (config.topology or "").partition(":")[0]
    shipped = names(mockups_dir())
    near = difflib.get_close_matches(wanted, shipped, n=1)
    meant = f"did you mean {near[0]}? " if near and wanted not in shipped else ""
    return (
        f"{meant}redfish-fm topology list names what is shipped, topology validate looks at files"
    )

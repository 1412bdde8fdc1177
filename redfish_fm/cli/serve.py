"""`redfish-fm serve`: flags to a Config, a Config to app.serve, its end to an exit code."""

import asyncio
import errno
import os
import socket
import sys

import click

from redfish_fm import app
from redfish_fm.cli.options import settings_options
from redfish_fm.cli.output import Failure, Misuse
from redfish_fm.config import Config, ConfigError, load
from redfish_fm.errors import FmError
from redfish_fm.store.base import StoreInUse

_LISTEN_ERRORS = {
    errno.EADDRINUSE: (
        "is already in use",
        "choose another port with --port, or any free one with --port 0",
    ),
    errno.EACCES: ("is not open to this user", "choose a port above 1023 with --port"),
    errno.EADDRNOTAVAIL: ("is not an address of this machine", "choose another with --host"),
}


@click.command()
@settings_options
def serve(**flags: object) -> None:
    """Serve a fabric over Redfish until SIGTERM or Ctrl-C.

    Without --topology and --mockup the default fabric is served. Every flag can also be an
    environment variable (REDFISH_FM_PORT …) or a key of the --config file.
    """
    try:
        config = load(flags, os.environ)
    except ConfigError as error:
        raise Misuse(str(error), "docs/configuration.md lists every key") from error
    sys.exit(_run(config))


def _run(config: Config) -> int:
    """Return the exit code of the service. Raises Failure when it could not start."""
    try:
        return asyncio.run(app.serve(config))
    except StoreInUse as error:
        hint = "give this one a state folder of its own with --state, or use --ephemeral"
        raise Failure(str(error), hint) from error
    except FmError as error:
        raise Failure(str(error), "redfish-fm doctor looks for causes") from error
    except OSError as error:
        raise _explain(error, config) from error


def _explain(error: OSError, config: Config) -> Failure:
    if isinstance(error, socket.gaierror):
        return Failure(f"host {config.host} is unknown", "choose another with --host")
    if error.filename is None and error.errno in _LISTEN_ERRORS:
        what, hint = _LISTEN_ERRORS[error.errno]
        return Failure(f"{config.host}:{config.port} {what}", hint)
    place = f"{error.filename}: " if error.filename is not None else ""
    return Failure(f"{place}{error.strerror or error}", "redfish-fm doctor looks for causes")

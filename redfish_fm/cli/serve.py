"""`redfish-fm serve`: flags to a Config, a Config to app.serve, its end to an exit code."""

import asyncio
import os
import sys
from collections.abc import Callable

import click

from redfish_fm import app
from redfish_fm.cli.hints import failure
from redfish_fm.cli.options import settings_options
from redfish_fm.cli.output import Misuse, progress_bar
from redfish_fm.config import Config, ConfigError, load
from redfish_fm.errors import FmError


@click.command()
@settings_options
def serve(**flags: object) -> None:
    """Serve a fabric over Redfish until SIGTERM or Ctrl-C.

    Without --topology and --mockup the default fabric (ai-pod) is served. Every flag can also be
    an environment variable (REDFISH_FM_PORT …) or a key of the --config file. SIGHUP reads all of
    that again and takes over log form and level and the TLS certificate.

    The password of the first administrator comes from REDFISH_FM_ADMIN_PASSWORD; else one is made
    and shown once. The line "redfish-fm ready URL=…" on stdout says that requests are answered.

    Exit codes: 0 ended by SIGTERM or Ctrl-C; 1 could not start, or failed; 2 wrong usage or
    configuration, such as a topology or a parameter that there is not.

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
        with progress_bar("reading", ends_full=True) as told:
            return asyncio.run(app.serve(config, again, told))
    except (FmError, OSError) as error:
        raise failure(error, config.mockup) from error

"""What SIGHUP does: the configuration is read anew, and what can change at run time changes.

Knows the configuration, the log and who serves the certificate; all else of a running service was
built from its configuration and stays. What could not be taken over is said, and never half taken
over.
"""

import logging
from collections.abc import Callable
from typing import Protocol

import msgspec

from redfish_fm import logs
from redfish_fm.config import KEYS, Config
from redfish_fm.config_switches import SwitchStanza
from redfish_fm.errors import FmError

log = logging.getLogger(__name__)

RELOADED = ("log_format", "log_level", "tls_cert", "tls_key")
"""The keys that count from a SIGHUP on; the others count from the next start on."""


class Reloadable(Protocol):
    """Whoever serves the certificate."""

    def load(self, config: Config) -> None:
        """Read the files anew. Raises FmError and keeps what there was."""
        ...


class Reload:
    """Called for each SIGHUP. `certificate` and `switches` are set once there is who takes them.

    `again` reads the configuration where it was read at start: flags, environment and file.
    """

    def __init__(self, config: Config, again: Callable[[], Config]) -> None:
        self.certificate: Reloadable | None = None
        self.switches: Callable[[tuple[SwitchStanza, ...]], None] | None = None
        self._config = config
        self._again = again

    def __call__(self) -> None:
        """Take over what can be; say what was, what was not, and what waits for a restart."""
        try:
            wanted = self._again()
            if self.certificate is not None:
                self.certificate.load(wanted)
        except FmError as error:
            for problem in str(error).splitlines():
                log.warning("not reloaded, everything stays as it was: %s", problem)
            return
        changed = [key for key in KEYS if getattr(wanted, key) != getattr(self._config, key)]
        taken = {key: getattr(wanted, key) for key in changed if key in RELOADED}
        if wanted.switches != self._config.switches and self.switches is not None:
            self.switches(wanted.switches)
            taken["switches"] = wanted.switches
        self._config = msgspec.structs.replace(self._config, **taken)
        logs.configure(self._config.log_format, self._config.log_level)
        words = [*taken, *(["the TLS certificate"] if self.certificate is not None else [])]
        log.warning("reloaded: %s", ", ".join(words) or "nothing has changed")
        waiting = [key for key in changed if key not in RELOADED]
        if waiting:
            log.warning("needs a restart: %s", ", ".join(waiting))

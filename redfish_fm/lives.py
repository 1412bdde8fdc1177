"""Restarts in the same process: what goes on from one life of the service to the next.

A part of the composition root. A restart is a clean stop and a whole new start: configuration,
topology, store and drivers are read and made anew. What goes on is the port, so that who connects
meanwhile waits instead of being refused, and what an ephemeral service has nowhere else.
"""

import contextlib
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path

from redfish_fm.config import Config
from redfish_fm.errors import FmError
from redfish_fm.server.listener import Bound, bind
from redfish_fm.store.memory import DurableState

log = logging.getLogger(__name__)


class Kept:
    """What one life leaves to the next. `stack` is closed after the last one."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._folder: Path | None = None
        self._durable: dict[str, DurableState] = {}
        self._place: tuple[str, int, bool] | None = None
        self._spare: Bound | None = None
        stack.callback(self.let_go)

    async def bound(self, config: Config) -> Bound:
        """Return the port to serve on: the one that was served on, unless another is wanted.

        Raises ListenError. Each life closes its own; a spare of it is held here.
        """
        place = (config.host, config.port, config.http)
        if self._spare is None or place != self._place:
            self.let_go()
            bound = await bind(config.host, config.port, plain=config.http)
        else:
            bound = self._spare
        self._place, self._spare = place, _twin(bound)
        return bound

    def let_go(self) -> None:
        """Hold the port no longer: who connects from now on is refused."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def folder(self, config: Config) -> Path:
        """Return the state folder, or one that lasts as long as the process."""
        if config.state is not None:
            return config.state
        if self._folder is None:
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        return self._folder

    def durable(self, config: Config) -> DurableState:
        """Return what an ephemeral service of this source has written so far."""
        return self._durable.setdefault(config.source_name, DurableState())


def read_again(config: Config, again: Callable[[], Config] | None) -> Config:
    """Return the configuration as it is now; the old one, and say so, where that is unusable."""
    if again is None:
        return config
    try:
        return again()
    except FmError as error:
        for problem in str(error).splitlines():
            log.warning("restarting with the configuration as it was: %s", problem)
        return config


def _twin(bound: Bound) -> Bound:
    return Bound(bound.host, bound.port, tuple(sock.dup() for sock in bound.sockets))

"""Modules of this folder that run inside a network namespace, and what they print."""

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from .namespaces import Network
from .service import ROOT

PATIENCE_S = 30.0


class Module:
    """A module of tests/e2e that runs inside a network."""

    def __init__(self, network: Network, name: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*network.enter, sys.executable, "-m", f"tests.e2e.{name}", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._told: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._told.put(line.rstrip())
        self._told.put("")

    def told(self, word: str) -> None:
        """Wait for a line on stderr."""
        line = self._told.get(timeout=PATIENCE_S)
        assert line == word, line

    def stopped(self) -> Any:
        """Have it end now; return what it printed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.result()

    def result(self) -> Any:
        """Wait for the end; return what it printed."""
        assert self.process.stdout is not None
        output = self.process.stdout.read()
        assert self.process.wait(PATIENCE_S) == 0, list(self._told.queue)
        return json.loads(output)

    def apply(self, **settings: Any) -> None:
        """Have an announcer apply settings; only what is given is not the default."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(settings) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "applied\n", list(self._told.queue)

    def close(self) -> None:
        """Let it end by itself, for a while."""
        streams = (self.process.stdin, self.process.stdout, self.process.stderr)
        assert streams[0] is not None
        with contextlib.suppress(BrokenPipeError):
            streams[0].close()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self._reader.join(PATIENCE_S)
            for stream in streams[1:]:
                assert stream is not None
                stream.close()


@contextlib.contextmanager
def running(network: Network, name: str, *arguments: str) -> Iterator[Module]:
    module = Module(network, name, *arguments)
    try:
        yield module
    finally:
        module.close()


def neighbour(network: Network, *arguments: str) -> Any:
    with running(network, "neighbour", *arguments) as module:
        return module.result()


def headers(message: str) -> dict[str, str]:
    """Return the headers of an SSDP message."""
    lines = message.split("\r\n")[1:-2]
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

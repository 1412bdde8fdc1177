"""Server processes: started, waited for, measured and ended."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
USER, PASSWORD = "admin", "bench-Pa55word-not-secret"
START_TIMEOUT_S = 120.0
_CALM_CPU_S = 0.25
"""Per second: less is what looking again at a big fabric now and then takes."""
_READY = re.compile(r"ready URL=(\S+)")
_TICKS = os.sysconf("SC_CLK_TCK")


class ChildFailed(Exception):
    """A server process ended or said nothing before it was ready."""


class Child:
    """One running Python module that prints `… ready URL=…`; ended on leaving the context."""

    def __init__(self, module: str, *arguments: str) -> None:
        environment = {
            **os.environ,
            "REDFISH_FM_ADMIN_USER": USER,
            "REDFISH_FM_ADMIN_PASSWORD": PASSWORD,
        }
        # An installed package has its bytecode. Where none may be written each start would compile
        # all modules anew, which is a second.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._complaints: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        try:
            self.ready_line = self._wait_ready()
        except ChildFailed:
            self.stop()
            raise
        self.cpu_at_ready_s = self.cpu_s()
        match = _READY.search(self.ready_line)
        assert match is not None
        self.url = urlsplit(match.group(1))

    def __enter__(self) -> "Child":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        assert self.url.port is not None
        return self.url.port

    @property
    def tls(self) -> bool:
        return self.url.scheme == "https"

    def _read_stdout(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._complaints.append(line)
            del self._complaints[:-20]

    def _wait_ready(self) -> str:
        while True:
            try:
                line = self._lines.get(timeout=START_TIMEOUT_S)
            except queue.Empty:
                raise ChildFailed(f"not ready after {START_TIMEOUT_S:.0f} s") from None
            if line is None:
                self._readers[1].join(1)
                words = " ".join(line.strip() for line in self._complaints[-2:])
                raise ChildFailed(words or "ended without a word")
            if _READY.search(line):
                return line

    def cpu_s(self) -> float:
        """Return the CPU seconds of all threads so far, in nanosecond steps where there are."""
        place = Path(f"/proc/{self._process.pid}")
        threads = [entry / "schedstat" for entry in (place / "task").iterdir()]
        if threads and threads[0].exists():
            return sum(int(path.read_text().split()[0]) for path in threads) / 1e9
        fields = (place / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def wait_calm(self, timeout_s: float = 30.0) -> bool:
        """Wait until the first look, which goes on after "ready", is over; False: it never was."""
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            before_s = self._busy_s()
            time.sleep(1)
            if self._busy_s() - before_s < _CALM_CPU_S:
                return True
        return False

    def _busy_s(self) -> float:
        """Return the CPU seconds so far and those waited for: on a busy machine it gets few."""
        threads = [*Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")]
        if not threads:
            return self.cpu_s()
        return sum(sum(map(int, path.read_text().split()[:2])) for path in threads) / 1e9

    def rss_bytes(self) -> int:
        """Return the resident memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert match is not None
        return int(match.group(1)) * 1024

    def stop(self) -> None:
        """End the process by SIGTERM, or by SIGKILL if that does not help."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join(5)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


class Launcher:
    """How to start the service under test: the real one, or the stub."""

    def __init__(self, module: str = "redfish_fm") -> None:
        self.module = module

    def serve(self, *arguments: str, tls: bool = False, state: Path | None = None) -> Child:
        """Start `serve` on a free port; without `state` nothing is kept."""
        where: Sequence[str] = ["--ephemeral"] if state is None else ["--state", str(state)]
        plain = [] if tls else ["--http"]
        return Child(self.module, "serve", *where, *plain, "--port", "0", *arguments)

"""How log lines look: text for people, JSON for machines, both on stderr. A leaf module."""

import contextlib
import datetime
import json
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Literal, TextIO

GATHER_S = 0.05
"""How long a line may wait for others: what a process that is killed may not have written."""
LINES_MAX = 10_000
"""Lines that wait for a stream that takes none."""
_PATIENCE_S = 1.0
"""How long the end of the process is held up by such a stream."""


class _JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class _TextFormatter(logging.Formatter):
    """One line of text; its time is formatted once a second, for busy services write many."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._newest = (-1, "")

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line; what follows an exception as the parent does."""
        if record.exc_info or record.exc_text or record.stack_info:
            return super().format(record)
        moment = self.formatTime(record)
        return f"{moment} {record.levelname} {record.name}: {record.getMessage()}"

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Return the record's local time with milliseconds. Any thread may call it."""
        second, text = self._newest
        if second != int(record.created):
            second = int(record.created)
            text = time.strftime(self.default_time_format, self.converter(second))
            self._newest = (second, text)
        return f"{text},{int(record.msecs):03d}"


class _LineWriter(logging.Handler):
    """Writes lines to a stream from a thread of its own, many at once where many come.

    A line that is an INFO or less waits up to `GATHER_S` for others, one from WARNING on does not:
    a system call a line is a sixth of what a small write costs. Its text is made there, too, where
    nothing in it can change until then. Nobody who logs ever waits for a reader of the stream that
    has stopped; beyond `LINES_MAX` lines are counted instead of kept, and how many is said when
    the stream takes lines again.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: deque[str | logging.LogRecord] = deque()
        self._left_out = 0
        self._some, self._urgent = threading.Event(), threading.Event()
        self._written = threading.Condition()
        self._writing = self._closed = False
        self._thread = threading.Thread(target=self._write_on, name="log lines", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record's line for the thread. Called under the handler's lock."""
        if len(self._lines) >= LINES_MAX:
            self._left_out += 1
            return
        line = record if _is_settled(record) else self._line(record)
        if line is None:
            return
        self._lines.append(line)
        if record.levelno >= logging.WARNING:
            self._urgent.set()
        if not self._some.is_set():
            self._some.set()

    def _line(self, record: logging.LogRecord) -> str | None:
        try:
            return self.format(record)
        except Exception:  # noqa: BLE001 - what logging's own handlers do with a bad call
            self.handleError(record)
            return None

    def _write_on(self) -> None:
        while not self._closed or self._lines:
            self._some.wait()
            self._urgent.wait(GATHER_S)
            self._writing = True
            self._some.clear()
            self._urgent.clear()
            text = "".join(f"{line}\n" for line in self._taken())
            # A reader that has gone is no reason to stop serving.
            with contextlib.suppress(OSError, ValueError):
                self._write(text)
            self._writing = False
            with self._written:
                self._written.notify_all()

    def flush(self) -> None:
        """Have all lines written before this returns, if the stream takes them in `_PATIENCE_S`.

        logging calls it when the process ends.
        """
        self._hurry()
        with self._written:
            self._written.wait_for(lambda: not self._lines and not self._writing, _PATIENCE_S)

    def _hurry(self) -> None:
        self._urgent.set()
        self._some.set()

    def _write(self, text: str) -> None:
        try:
            descriptor = self._stream.fileno()
        except OSError:
            # Not of the operating system: a test's.
            self._stream.write(text)
            return
        # Not through the stream, whose lock would hold up the end of the process.
        rest = memoryview(text.encode(self._stream.encoding, "backslashreplace"))
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def _taken(self) -> Iterator[str]:
        while self._lines:
            kept = self._lines.popleft()
            line = kept if isinstance(kept, str) else self._line(kept)
            if line is not None:
                yield line
        left_out, self._left_out = self._left_out, 0
        if left_out:
            yield f"{left_out} more lines were left out: nobody read these"

    def close(self) -> None:
        """Write what there is and end the thread."""
        self._closed = True
        self._hurry()
        self._thread.join(_PATIENCE_S)
        super().close()


_SETTLED = frozenset({str, int, float, bool, type(None)})


def _is_settled(record: logging.LogRecord) -> bool:
    """Return whether the record's text will be the same whenever it is made."""
    if record.exc_info or record.stack_info or not isinstance(record.args, tuple):
        return False
    return type(record.msg) is str and all(type(each) in _SETTLED for each in record.args)


def configure(log_format: Literal["text", "json"], level: str = "info") -> None:
    """Send the package's log lines from `level` on to stderr; those of libraries from WARNING on.

    `level` is the name of one of logging's levels, in small letters.
    """
    # No line names its thread, process or task; looking them up would cost every write's line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # Nor its place in the source (the logging HOWTO, "Optimization").
    logging._srcfile = None  # noqa: SLF001 - the documented way
    handler = _LineWriter(sys.stderr)
    if log_format == "json":
        handler.setFormatter(_JsonFormatter())
    else:
        handler.setFormatter(_TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("redfish_fm").setLevel(level.upper())

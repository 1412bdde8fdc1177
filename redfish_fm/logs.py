"""How log lines look: text for people, JSON for machines, both on stderr. A leaf module."""

import datetime
import json
import logging
import sys
import time
from typing import Literal, TextIO


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
        self._second = -1
        self._text = ""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line; what follows an exception as the parent does."""
        if record.exc_info or record.exc_text or record.stack_info:
            return super().format(record)
        moment = self.formatTime(record)
        return f"{moment} {record.levelname} {record.name}: {record.getMessage()}"

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Return the record's local time with milliseconds. Called under the handler's lock."""
        second = int(record.created)
        if second != self._second:
            local = self.converter(second)
            self._second, self._text = second, time.strftime(self.default_time_format, local)
        return f"{self._text},{int(record.msecs):03d}"


class _LineHandler(logging.StreamHandler[TextIO]):
    """Writes to a stream that flushes itself at the end of a line, as stderr does (Python 3.9)."""

    def flush(self) -> None:
        """Do nothing: each write has been flushed."""


def configure(log_format: Literal["text", "json"], level: str = "info") -> None:
    """Send the package's log lines from `level` on to stderr; those of libraries from WARNING on.

    `level` is the name of one of logging's levels, in small letters.
    """
    # No line names its thread, process or task; looking them up would cost every write's line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # Nor its place in the source (the logging HOWTO, "Optimization").
    logging._srcfile = None  # noqa: SLF001 - the documented way
    handler = _LineHandler(sys.stderr)
    if log_format == "json":
        handler.setFormatter(_JsonFormatter())
    else:
        handler.setFormatter(_TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("redfish_fm").setLevel(level.upper())

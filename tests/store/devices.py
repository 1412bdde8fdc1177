"""A device that fails on demand, for the SQLite store."""

import sqlite3
from pathlib import Path


def sqlite_error(code: int, text: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


FULL = sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full")
IO_FSYNC = sqlite_error(sqlite3.SQLITE_IOERR | (4 << 8), "disk I/O error")


class ThreadKilled(BaseException):
    """What no code of the store expects."""


class Device:
    """Opens connections whose statements fail on demand.

    `fail(prefix, error, after)`: the next statement beginning with `prefix` raises `error`,
    before it runs or after it has taken effect.
    """

    def __init__(self) -> None:
        self.opened: list[sqlite3.Connection] = []
        self._faults: list[tuple[str, BaseException, bool]] = []

    def fail(self, prefix: str, error: BaseException, after: bool = False) -> None:
        self._faults.append((prefix, error, after))

    def connect(self, path: Path) -> sqlite3.Connection:
        device = self

        class Connection(sqlite3.Connection):
            def execute(self, sql, parameters=()):
                fault = device.take(sql)
                if fault and not fault[2]:
                    raise fault[1]
                result = super().execute(sql, parameters)
                if fault:
                    raise fault[1]
                return result

        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, factory=Connection
        )
        self.opened.append(connection)
        return connection

    def take(self, sql: str) -> tuple[str, BaseException, bool] | None:
        for fault in self._faults:
            if sql.startswith(fault[0]):
                self._faults.remove(fault)
                return fault
        return None

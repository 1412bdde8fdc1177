"""One process per state directory: an advisory lock that dies with its holder.

Knows the file system only. The lock file is never removed: a lock on a removed file would
guard nothing.
"""

import fcntl
import os
from pathlib import Path

from redfish_fm.store.base import StoreFailed, StoreInUse

LOCK_NAME = "lock"


class DirectoryLock:
    """A held flock; its file names the holder's process id for the human who meets it."""

    def __init__(self, directory: Path) -> None:
        """Take the lock of `directory`. Raises StoreInUse, naming the holder where it is known."""
        path = self._path = directory / LOCK_NAME
        self._file: int | None = None
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            _take(descriptor, directory)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(descriptor)
            raise
        self._file = descriptor
        held = os.fstat(descriptor)
        self._held = held.st_dev, held.st_ino

    def guards(self) -> bool:
        """Return whether it still keeps others out: its file is the one they would find."""
        return self._file is not None and identity(self._path) == self._held

    def release(self) -> None:
        """Give the lock back. Safe to repeat."""
        descriptor, self._file = self._file, None
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
            os.close(descriptor)


def identity(path: Path) -> tuple[int, int] | None:
    """Return which file is at `path` now, whatever its content; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _take(descriptor: int, directory: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        pid = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        holder = f"process {pid}" if pid.isdigit() else "another process"
        raise StoreInUse(f"state directory {directory} is in use by {holder}") from error
    except OSError as error:
        raise StoreFailed(f"state directory {directory} cannot be locked: {error}") from error

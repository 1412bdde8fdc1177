"""The files of a mockup, from a folder or a zip archive that nobody vouches for.

Knows file names, sizes and archives; nothing of JSON. Reads nothing outside the tree, follows no
link out of it, and unpacks no more than its limits allow.
"""

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from redfish_fm.errors import FmError

SUFFIXES = (".json", ".xml")
"""What a mockup consists of; pictures and notes beside it are not read."""


class MockupError(FmError):
    """This is no mockup, or it is too large to be one. One clear line for a human."""


class FileRefused(FmError):
    """One file that is not read; the text says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read. The largest public mockups have 10,000 files and 50 MB."""

    file_count: int = 200_000
    file_bytes: int = 16 * 1024 * 1024
    total_bytes: int = 1024 * 1024 * 1024
    ratio: int = 200
    """Unpacked by packed size of one member; JSON of a real service packs 5 to 50 times."""


DEFAULT_LIMITS = Limits()
_RATIO_FREE_BYTES = 1024 * 1024  # a small file may pack as well as it likes: it stays small


class MockupSource(Protocol):
    """Names and contents; names have forward slashes and are relative to what was given."""

    def names(self) -> list[str]:
        """Return all names with one of SUFFIXES, sorted. Raises MockupError beyond file_count."""
        ...

    def refused(self) -> list[tuple[str, str]]:
        """Return (name, reason) of what names() left out for safety."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content. Raises FileRefused, or MockupError beyond total_bytes."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


def open_source(path: Path, limits: Limits = DEFAULT_LIMITS) -> MockupSource:
    """Return the files of the folder or zip archive at `path`. Raises MockupError."""
    if path.is_dir():
        return _Folder(path, limits)
    if not path.is_file():
        raise MockupError(f"{path}: there is no such folder or zip archive")
    try:
        return _Archive(path, limits)
    except (zipfile.BadZipFile, OSError) as error:
        raise MockupError(f"{path}: not a readable zip archive: {error}") from error


class _Counted:
    """Keeps the sum of what was read below the limit."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self.limits = limits
        self._total_bytes = 0

    def add_names(self, count: int) -> None:
        if count > self.limits.file_count:
            raise MockupError(f"{self.path}: more than {self.limits.file_count} files")

    def add_bytes(self, content: bytes) -> bytes:
        if len(content) > self.limits.file_bytes:
            raise FileRefused(f"larger than {self.limits.file_bytes} bytes")
        self._total_bytes += len(content)
        if self._total_bytes > self.limits.total_bytes:
            raise MockupError(f"{self.path}: more than {self.limits.total_bytes} bytes")
        return content


class _Folder:
    def __init__(self, path: Path, limits: Limits) -> None:
        self._root = path.resolve()
        self._counted = _Counted(path, limits)
        self._refused: list[tuple[str, str]] = []

    def names(self) -> list[str]:
        names = []
        for name in self._walk():
            if name.endswith(SUFFIXES):
                names.append(name)
                self._counted.add_names(len(names))
        return sorted(names)

    def refused(self) -> list[tuple[str, str]]:
        return self._refused

    def read(self, name: str) -> bytes:
        try:
            place = (self._root / name).resolve(strict=True)
            if not place.is_relative_to(self._root):
                raise FileRefused("a link that leads out of the mockup")
            return self._counted.add_bytes(_read_regular(place, self._counted.limits.file_bytes))
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links (Python < 3.13)
            raise FileRefused(f"not readable: {error}") from error

    def close(self) -> None:
        pass

    def _walk(self) -> Iterator[str]:
        for folder, subfolders, files in os.walk(self._root):
            place = Path(folder)
            for name in subfolders:
                if (place / name).is_symlink():
                    self._refused.append((self._name(place / name), "a link to a folder"))
            for name in files:
                yield self._name(place / name)

    def _name(self, place: Path) -> str:
        return place.relative_to(self._root).as_posix()


def _read_regular(place: Path, size_bytes_max: int) -> bytes:
    # Not blocking, so that a named pipe in the tree can not hold the service up.
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileRefused("not a regular file")
        return file.read(size_bytes_max + 1)


class _Archive:
    def __init__(self, path: Path, limits: Limits) -> None:
        self._counted = _Counted(path, limits)
        self._zip = zipfile.ZipFile(path)
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._refused: list[tuple[str, str]] = []
        try:
            self._counted.add_names(len(self._zip.infolist()))
        except MockupError:
            self._zip.close()
            raise
        for member in self._zip.infolist():
            self._sort_out(member)

    def names(self) -> list[str]:
        return sorted(self._members)

    def refused(self) -> list[tuple[str, str]]:
        return self._refused

    def read(self, name: str) -> bytes:
        member = self._members[name]
        limits = self._counted.limits
        if member.file_size > max(_RATIO_FREE_BYTES, limits.ratio * member.compress_size):
            raise FileRefused(f"packed more than {limits.ratio} times")
        try:
            with self._zip.open(member) as file:
                return self._counted.add_bytes(file.read(limits.file_bytes + 1))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise FileRefused(f"damaged: {error}") from error
        except (RuntimeError, NotImplementedError) as error:
            raise FileRefused(f"not readable: {error}") from error  # encrypted; unknown method

    def close(self) -> None:
        self._zip.close()

    def _sort_out(self, member: zipfile.ZipInfo) -> None:
        name = member.filename
        if not name.endswith(SUFFIXES):
            return
        reason = _unsafe(member)
        if reason is None and name in self._members:
            reason = "a second member of this name"
        if reason is None:
            self._members[name] = member
        else:
            self._refused.append((name, reason))


def _unsafe(member: zipfile.ZipInfo) -> str | None:
    name = member.filename
    if "\\" in name or name[1:2] == ":" or not {"", ".", ".."}.isdisjoint(name.split("/")):
        return "a name that may lead out of the mockup"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "a link"
    return None

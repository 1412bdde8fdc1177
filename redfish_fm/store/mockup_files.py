"""The files of a mockup, from a folder or a zip archive that nobody vouches for.

Knows file names, sizes and archives; nothing of JSON. Reads nothing outside the tree, follows no
link out of it, and unpacks no more than its limits allow.
"""

import os
import stat
import struct
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
    total_bytes: int = 512 * 1024 * 1024
    ratio: int = 200
    """Unpacked by packed size of one member; JSON of a real service packs 5 to 50 times."""


DEFAULT_LIMITS = Limits()
_ENTRIES_PER_FILE = 4
"""Files and folders of any kind that may be met for each one of `file_count` that is read."""
_DIRECTORY_BYTES_PER_FILE = 256
"""Of an archive's table of contents; 46 and a name that is seldom longer than 150."""
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
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        told = f"{path}: neither a folder nor a readable zip archive: {error}"
        raise MockupError(told) from error


class _Counted:
    """Keeps the sum of what was read below the limit."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self.limits = limits
        self._total_bytes = 0

    def add_names(self, count: int) -> None:
        if count > self.limits.file_count:
            raise MockupError(f"{self.path}: more than {self.limits.file_count} files")

    def add_entries(self, count: int) -> None:
        if count > _ENTRIES_PER_FILE * self.limits.file_count:
            raise MockupError(f"{self.path}: too many files and folders to be a mockup")

    def add_bytes(self, count: int) -> None:
        """Count what is read, whatever becomes of it: reading takes time too."""
        self._total_bytes += count
        if self._total_bytes > self.limits.total_bytes:
            raise MockupError(f"{self.path}: more than {self.limits.total_bytes} bytes")

    def checked(self, content: bytes) -> bytes:
        if len(content) > self.limits.file_bytes:
            raise FileRefused(f"larger than {self.limits.file_bytes} bytes")
        return content


class _Folder:
    def __init__(self, path: Path, limits: Limits) -> None:
        self._root = path.resolve()
        self._place = str(self._root)
        self._counted = _Counted(path, limits)
        self._refused: list[tuple[str, str]] = []
        self._links: set[str] = set()

    def names(self) -> list[str]:
        names = []
        for name in self._walk():
            if name.endswith(SUFFIXES):
                names.append(name)
                self._counted.add_names(len(names))
        return sorted(names)

    def refused(self) -> list[tuple[str, str]]:
        return sorted(self._refused)

    def read(self, name: str) -> bytes:
        try:
            place = self._target(name) if name in self._links else f"{self._place}/{name}"
            content = _read_regular(place, self._counted.limits.file_bytes)
            self._counted.add_bytes(len(content))
            return self._counted.checked(content)
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links (Python < 3.13)
            raise FileRefused(f"not readable: {error}") from error

    def close(self) -> None:
        pass

    def _target(self, name: str) -> Path:
        """Return where a link leads. Only of links: to ask of all files takes as long as to read.

        Folders on the way are none: `_walk` goes into real ones only.
        """
        place = (self._root / name).resolve(strict=True)
        if not place.is_relative_to(self._root):
            raise FileRefused("a link that leads out of the mockup")
        return place

    def _walk(self) -> Iterator[str]:
        """Yield the names of all that is no folder, without a stack that depth could exhaust."""
        folders, met = [""], 0
        while folders:
            inside = folders.pop()
            try:
                with os.scandir(f"{self._place}/{inside}") as entries:
                    for entry in entries:
                        met += 1
                        self._counted.add_entries(met)
                        name = inside + entry.name
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(f"{name}/")
                        elif self._is_taken(name, entry):
                            yield name
            except OSError as error:
                self._refused.append((printable(inside), f"not readable: {error.strerror}"))

    def _is_taken(self, name: str, entry: "os.DirEntry[str]") -> bool:
        if entry.is_symlink():
            self._links.add(name)
            if (self._root / name).is_dir():  # False where it leads nowhere
                self._refused.append((printable(name), "a link to a folder"))
                return False
        if name.endswith(SUFFIXES) and not name.isprintable():
            self._refused.append((printable(name), _NAME_UNUSABLE))
            return False
        return True


def _read_regular(place: Path | str, size_bytes_max: int) -> bytes:
    # Not blocking, so that a named pipe in the tree can not hold the service up; and where a link
    # led has been found out before, so what has become one since is not followed.
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise FileRefused("not a regular file")
        # Python makes room for as many bytes as it is asked for, before it reads any.
        return file.read(min(found.st_size, size_bytes_max) + 1)


class _Archive:
    def __init__(self, path: Path, limits: Limits) -> None:
        self._counted = _Counted(path, limits)
        if _directory_bytes(path) > _DIRECTORY_BYTES_PER_FILE * limits.file_count:
            raise MockupError(f"{path}: more than {limits.file_count} files")
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
        return sorted(self._refused)

    def read(self, name: str) -> bytes:
        member = self._members[name]
        limits = self._counted.limits
        if member.file_size > max(_RATIO_FREE_BYTES, limits.ratio * member.compress_size):
            raise FileRefused(f"packed more than {limits.ratio} times")
        self._counted.add_bytes(min(member.file_size, limits.file_bytes + 1))
        try:
            with self._zip.open(member) as file:
                return self._counted.checked(file.read(limits.file_bytes + 1))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise FileRefused(f"damaged: {error}") from error
        except (RuntimeError, NotImplementedError) as error:
            raise FileRefused(f"not readable: {error}") from error  # encrypted; unknown flags

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
            self._refused.append((printable(name), reason))


_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"


def _directory_bytes(path: Path) -> int:
    """Return how long an archive says its table of contents is, before it is read into memory.

    Where two places say it (APPNOTE "end of central directory record", zip64), the larger counts.
    """
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _TAIL_BYTES))
        tail = file.read()
    found = [0]
    for mark, offset, form in ((_END, 12, "<L"), (_END_64, 40, "<Q")):
        place = tail.rfind(mark)
        size = tail[place + offset :][: struct.calcsize(form)]
        if place >= 0 and len(size) == struct.calcsize(form) and size.strip(b"\xff"):
            found.append(struct.unpack(form, size)[0])
    return max(found)


_TAIL_BYTES = (1 << 16) + 22 + 20 + 56  # the longest comment, and the records before it


def printable(name: str) -> str:
    """Return a file's name as it can stand in one line of a report."""
    return name if name.isprintable() else ascii(name)


_NAME_UNUSABLE = "a name with characters that can not be shown"
"""Control characters, halves of surrogate pairs: such a name can stand in no URI."""


def _unsafe(member: zipfile.ZipInfo) -> str | None:
    name = member.filename
    if "\\" in name or name[1:2] == ":" or not {"", ".", ".."}.isdisjoint(name.split("/")):
        return "a name that may lead out of the mockup"
    if not name.isprintable():
        return _NAME_UNUSABLE
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "packed by another method than deflate"  # LZMA asks for up to 4 GiB of memory
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):  # 0: packed where files have no such kinds
        return "a link" if kind == stat.S_IFLNK else "no regular file"
    return None

"""Reads files out of bundles: folders, zip and tar archives, archives inside folders.

Knows archives and file names only. Nothing is unpacked to disk, so an archive can not write
anywhere; a file is read whole into memory only if its name is asked for and its size is sane.
"""

import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from redfish_fm.redfish.schema_build.errors import SchemaBuildError

# The largest schema of the 2025.4 bundles has 0.6 MB; more than this is not a schema.
FILE_BYTES_MAX = 16 << 20

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def read_files(sources: Iterable[Path], wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (file name, content) of every file whose name fits `wanted`, wherever it lies.

    Order: sources as given, inside each by path. Raises SchemaBuildError for a source that is
    absent or neither folder nor archive, and for a broken archive.
    """
    for source in sources:
        if source.is_dir():
            yield from _folder(source, wanted)
        elif source.is_file():
            yield from _archive(source, wanted)
        else:
            raise SchemaBuildError(f"{source} does not exist")


def _folder(folder: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if wanted.fullmatch(path.name):
            _check_size(path.name, path.stat().st_size)
            yield path.name, path.read_bytes()
        elif path.name.endswith(_ARCHIVES):
            yield from _archive(path, wanted)


def _archive(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    if not path.name.endswith(_ARCHIVES):
        raise SchemaBuildError(f"{path} is neither a folder nor one of {', '.join(_ARCHIVES)}")
    members = _zip_members if path.name.endswith(".zip") else _tar_members
    try:
        yield from sorted(members(path, wanted))
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise SchemaBuildError(f"{path} can not be read: {error}") from error


def _zip_members(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = PurePosixPath(entry.filename).name
            if not entry.is_dir() and wanted.fullmatch(name):
                _check_size(name, entry.file_size)
                yield name, archive.read(entry)


def _tar_members(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for entry in archive:
            name = PurePosixPath(entry.name).name
            if entry.isreg() and wanted.fullmatch(name):
                _check_size(name, entry.size)
                if (content := archive.extractfile(entry)) is not None:
                    yield name, content.read()


def _check_size(name: str, size: int) -> None:
    if size > FILE_BYTES_MAX:
        raise SchemaBuildError(f"{name} has {size} bytes; more than {FILE_BYTES_MAX} is no schema")

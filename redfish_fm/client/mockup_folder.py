"""Writing a mockup (DSP2043): a folder of index.json files, which is there whole or not at all.

Knows files and URIs; what is written is for others to decide. All files are made in a temporary
folder beside the wanted one, which is renamed at the end.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from redfish_fm.errors import FmError

INDEX, INDEX_XML, HEADERS = "index.json", "index.xml", "headers.json"
_OURS = frozenset({INDEX, INDEX_XML, HEADERS, "time.json"})
_NAME_BYTES_MAX = 255
"""Of one folder's name, on the usual file systems."""
_PATH_BYTES_MAX = 2048
"""Of all folders below the mockup's own; the systems' limit is 4096 with what stands before."""


class FolderError(FmError):
    """The folder can not be written, or may not be replaced; one line for people."""


class NoFileName(FmError):
    """A URI that no file can stand for; says why."""


class MockupFolder:
    """A mockup in the making. As a context: leaving it without finish() leaves nothing behind.

    Raises FolderError where `folder` can not be made, or is there and not empty, unless `replace`
    is given and it is a mockup.
    """

    def __init__(self, folder: Path, replace: bool = False) -> None:
        self.files = 0
        self._folder = Path(os.path.abspath(folder)).resolve()
        _check(self._folder, replace)
        try:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            place = tempfile.mkdtemp(dir=self._folder.parent, prefix=f".{self._folder.name}.")
        except OSError as error:
            raise FolderError(f"{folder} can not be written: {error.strerror}") from error
        self._place = Path(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._place, ignore_errors=True)

    def write_json(self, uri: str, document: object) -> None:
        """Write a resource as the index.json of its URI. Raises NoFileName and FolderError."""
        self._write(uri, INDEX, _text(document))

    def write_xml(self, uri: str, content: bytes) -> None:
        """Write a document as the index.xml of its URI. Raises as write_json()."""
        self._write(uri, INDEX_XML, content)

    def write_headers(self, uri: str, headers: Mapping[str, str]) -> None:
        """Write the headers of a GET beside a resource. Raises as write_json()."""
        self._write(uri, HEADERS, _text({"GET": dict(headers)}))

    def write_plain(self, uri: str, content: bytes) -> None:
        """Write what has a file's name itself, such as a schema. Raises as write_json()."""
        folder, _, name = uri.rpartition("/")
        parts_of(uri)
        self._write(folder, name, content)

    def finish(self) -> None:
        """Put the mockup in its place. Raises FolderError."""
        old = None
        try:
            mask = os.umask(0)
            os.umask(mask)
            self._place.chmod(0o777 & ~mask)
            if self._folder.exists() and any(self._folder.iterdir()):
                old = self._place.with_name(f"{self._place.name}.old")
                self._folder.rename(old)
            self._place.rename(self._folder)
        except OSError as error:
            if old is not None and old.exists() and not self._folder.exists():
                old.rename(self._folder)
            raise FolderError(f"{self._folder} can not be written: {error.strerror}") from error
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)

    def _write(self, uri: str, name: str, content: bytes) -> None:
        folder = self._place.joinpath(*parts_of(uri))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Never over another one: where file systems know no capitals, two URIs are one file.
            with (folder / name).open("xb") as file:
                file.write(content)
        except (FileExistsError, NotADirectoryError) as error:
            raise NoFileName("another resource has the same file name") from error
        except OSError as error:
            raise FolderError(f"{folder / name} can not be written: {error.strerror}") from error
        self.files += 1


def parts_of(uri: str) -> tuple[str, ...]:
    """Return the names of the folders that a URI's file lies in.

    The names are as in the URI, percent-encoding and all, for readers make the URI from them.
    Raises NoFileName where a part is no name, or means another place.
    """
    path, query, _ = uri.partition("?")
    if query:
        raise NoFileName("a query, which is no part of a resource's URI")
    parts = tuple(path.strip("/").split("/"))
    for part in parts:
        _check_part(part)
    if len(path.encode()) > _PATH_BYTES_MAX:
        raise NoFileName(f"longer than {_PATH_BYTES_MAX} bytes")
    return parts


def _check_part(part: str) -> None:
    if part in ("", ".", ".."):
        raise NoFileName(f"{part!r} is no name of a folder")
    if part.lower() in _OURS:
        raise NoFileName(f"{part!r} is a name that mockups need for themselves")
    if "\\" in part or not part.isprintable():
        raise NoFileName("characters that file names can not have everywhere")
    if len(part.encode()) > _NAME_BYTES_MAX:
        raise NoFileName(f"a name of more than {_NAME_BYTES_MAX} bytes")


def _check(folder: Path, replace: bool) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FolderError(f"{folder} is a file")
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise FolderError(f"{folder} can not be read: {error.strerror}") from error
    if not names:
        return
    if not replace:
        raise FolderError(f"{folder} is not empty")
    # What was typed by mistake, such as a home folder, is not deleted.
    if not any((folder / place / INDEX).is_file() for place in ("", "redfish/v1")):
        raise FolderError(f"{folder} is not empty and no mockup, so it is not replaced")


def _text(document: Any) -> bytes:
    """Return JSON in one form: sorted, for the order that a service answers in means nothing."""
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False)
    # Lone surrogates are legal in JSON and not in UTF-8: they are kept as escapes.
    return (text + "\n").encode("utf-8", "backslashreplace")

"""Reading a mockup (DSP2043): a tree of index.json files as a service's documents.

Lenient: what is wrong is reported with its file and place, and the rest is read. The documents
are as the files have them; what to make of their defects is for the importer to decide.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redfish_fm.store.mockup_checks import ROOT, Documents, check_documents
from redfish_fm.store.mockup_files import (
    DEFAULT_LIMITS,
    FileRefused,
    Limits,
    MockupError,
    MockupSource,
    open_source,
)
from redfish_fm.store.mockup_headers import HEADERS_FILE, read_headers
from redfish_fm.store.mockup_parse import Defect, DefectKind, parse_document

INDEX = "index.json"
INDEX_XML = "index.xml"
_LONG_FORM = "redfish/v1/"
_NO_RESOURCES = frozenset({f"odata/{INDEX}", f"$metadata/{INDEX}"})
"""OData's own documents: JSON below the root, but no resources with an @odata.id."""


@dataclass(frozen=True, slots=True)
class MockupTree:
    """What was read, and what was wrong.

    `documents` by URI (without trailing slash, the root is "/redfish/v1"), `files` the file of
    each; `headers` those to send with a GET, by URI; `others` all further JSON and XML files by
    name, such as "$metadata/index.xml", "odata/index.json" or a registry. Names are relative to
    the folder of the service root.
    """

    documents: dict[str, dict[str, Any]]
    files: dict[str, str]
    others: dict[str, bytes]
    defects: tuple[Defect, ...]
    headers: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def xml(self) -> dict[str, bytes]:
        """The index.xml files by the URI that each stands for."""
        return {
            uri_of(name): content
            for name, content in self.others.items()
            if name.rpartition("/")[2] == INDEX_XML
        }


Progress = Callable[[int, int], None]
"""Called with (files read, files there are), once for each file."""


def read_mockup(
    path: Path, limits: Limits = DEFAULT_LIMITS, progress: Progress | None = None
) -> MockupTree:
    """Return the mockup in a folder or zip archive, short form or long (…/redfish/v1).

    Blocks for as long as reading takes. Raises MockupError where there is no mockup at all.
    """
    source = open_source(path, limits)
    try:
        names = source.names()
        root = find_root(names)
        if root is None:
            raise MockupError(
                f"{path}: no mockup: neither {INDEX} nor {_LONG_FORM}{INDEX} is there"
            )
        inside = [name for name in names if name.startswith(root)]
        return _read_tree(source, root, inside, progress or _silent)
    finally:
        source.close()


def _silent(done: int, total: int) -> None:
    """Show no progress."""


def find_root(names: list[str]) -> str | None:
    """Return the prefix of the service root's files, such as "" or "redfish/v1/", or None.

    Single folders around everything, as archives have them, are looked through.
    """
    around = ""
    for _ in range(_FOLDERS_AROUND_MAX):
        present = set(names)
        for prefix in (_LONG_FORM, ""):
            if prefix + INDEX in present:
                return around + prefix
        if any(name.startswith(_LONG_FORM) for name in names):
            return around + _LONG_FORM
        folders = {name.partition("/")[0] for name in names}
        if len(folders) != 1 or names == [next(iter(folders))]:
            return None
        folder = f"{folders.pop()}/"
        names = [name.removeprefix(folder) for name in names]
        around += folder
    return None


_FOLDERS_AROUND_MAX = 8


def _read_tree(source: MockupSource, root: str, names: list[str], progress: Progress) -> MockupTree:
    tree = MockupTree({}, {}, {}, ())
    found = _Found()
    found.add(_refused(name.removeprefix(root), reason) for name, reason in source.refused())
    for done, name in enumerate(names, 1):
        file = name.removeprefix(root)
        try:
            content = source.read(name)
        except FileRefused as error:
            found.add([_refused(file, str(error))])
        else:
            found.add(_place(tree, file, content))
        progress(done, len(names))
    others = {uri_of(file) for file in tree.others}
    found.add(check_documents(Documents(tree.documents, tree.files, others)))
    return MockupTree(tree.documents, tree.files, tree.others, found.all(), tree.headers)


def _refused(file: str, reason: str) -> Defect:
    return Defect(DefectKind.REFUSED, file, "", None, None, reason)


def _place(tree: MockupTree, file: str, content: bytes) -> list[Defect]:
    """Put one file where it belongs; return what is wrong with its text."""
    folder, _, name = file.rpartition("/")
    if name == HEADERS_FILE:
        headers, defects = read_headers(file, content)
        if headers:
            tree.headers[uri_of(f"{folder}/{INDEX}" if folder else INDEX)] = headers
        return defects
    if file in _NO_RESOURCES or name != INDEX:
        tree.others[file] = content
        return []
    parsed = parse_document(file, content)
    if parsed.document is not None:
        uri = uri_of(file)
        tree.documents[uri] = parsed.document
        tree.files[uri] = file
    return parsed.defects


DEFECTS_MAX = 100_000
"""More than anybody reads; a hostile tree could have millions."""


class _Found:
    """Defects in the order they were found, as many as are listed; the rest is counted."""

    def __init__(self) -> None:
        self._defects: list[Defect] = []
        self._unlisted = 0

    def add(self, defects: Iterable[Defect]) -> None:
        for defect in defects:
            if len(self._defects) < DEFECTS_MAX:
                self._defects.append(defect)
            else:
                self._unlisted += 1

    def all(self) -> tuple[Defect, ...]:
        if not self._unlisted:
            return tuple(self._defects)
        text = f"{self._unlisted} further defects are not listed"
        return (*self._defects, Defect(DefectKind.UNLISTED, INDEX, "", None, None, text))


def uri_of(file: str) -> str:
    """Return the URI that a file of the mockup stands for."""
    folder, _, name = file.rpartition("/")
    place = folder if name.startswith("index.") else file
    return f"{ROOT}/{place}" if place else ROOT

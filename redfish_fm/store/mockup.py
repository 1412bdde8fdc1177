"""Reading a mockup (DSP2043): a tree of index.json files as a service's documents.

Lenient: what is wrong is reported with its file and place, and the rest is read. The documents
are as the files have them; what to make of their defects is for the importer to decide.
"""

from dataclasses import dataclass
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
from redfish_fm.store.mockup_parse import Defect, DefectKind, parse_document

INDEX = "index.json"
_LONG_FORM = "redfish/v1/"
_NO_RESOURCES = frozenset({f"odata/{INDEX}", f"$metadata/{INDEX}"})
"""OData's own documents: JSON below the root, but no resources with an @odata.id."""


@dataclass(frozen=True, slots=True)
class MockupTree:
    """What was read, and what was wrong.

    `documents` by URI (without trailing slash, the root is "/redfish/v1"), `files` the file of
    each; `others` all further JSON and XML files by name, such as "$metadata/index.xml",
    "odata/index.json" or a registry. Names are relative to the folder of the service root.
    """

    documents: dict[str, dict[str, Any]]
    files: dict[str, str]
    others: dict[str, bytes]
    defects: tuple[Defect, ...]


def read_mockup(path: Path, limits: Limits = DEFAULT_LIMITS) -> MockupTree:
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
        return _read_tree(source, root, [name for name in names if name.startswith(root)])
    finally:
        source.close()


def find_root(names: list[str]) -> str | None:
    """Return the prefix of the service root's files, such as "" or "redfish/v1/", or None.

    A single folder around everything, as archives have it, is looked through.
    """
    present = set(names)
    for prefix in (_LONG_FORM, ""):
        if prefix + INDEX in present:
            return prefix
    if any(name.startswith(_LONG_FORM) for name in names):
        return _LONG_FORM
    folders = {name.partition("/")[0] for name in names}
    if len(folders) != 1 or names == [next(iter(folders))]:
        return None
    around = f"{folders.pop()}/"
    inner = find_root([name.removeprefix(around) for name in names])
    return None if inner is None else around + inner


def _read_tree(source: MockupSource, root: str, names: list[str]) -> MockupTree:
    tree = MockupTree({}, {}, {}, ())
    defects = [
        Defect(DefectKind.REFUSED, name.removeprefix(root), "", None, None, reason)
        for name, reason in source.refused()
    ]
    for name in names:
        file = name.removeprefix(root)
        try:
            content = source.read(name)
        except FileRefused as error:
            defects.append(Defect(DefectKind.REFUSED, file, "", None, None, str(error)))
        else:
            defects += _place(tree, file, content)
    others = {_uri_of(file) for file in tree.others}
    defects += check_documents(Documents(tree.documents, tree.files, others))
    return MockupTree(tree.documents, tree.files, tree.others, tuple(defects))


def _place(tree: MockupTree, file: str, content: bytes) -> list[Defect]:
    """Put one file where it belongs; return what is wrong with its text."""
    if file in _NO_RESOURCES or file.rpartition("/")[2] != INDEX:
        tree.others[file] = content
        return []
    parsed = parse_document(file, content)
    if parsed.document is not None:
        uri = _uri_of(file)
        tree.documents[uri] = parsed.document
        tree.files[uri] = file
    return parsed.defects


def _uri_of(file: str) -> str:
    folder, _, name = file.rpartition("/")
    place = folder if name.startswith("index.") else file
    return f"{ROOT}/{place}" if place else ROOT

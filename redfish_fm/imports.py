"""A mockup on its way to being served: its files read, its documents understood, its faults listed.

The one place where what the store knows (files, lines, pointers) and what mapping knows (what
documents mean) are put together: for `serve` and for `mockup check` alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redfish_fm.errors import FmError
from redfish_fm.mapping.facts import enclosing
from redfish_fm.mapping.imported import Imported, analyse, is_replaced
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_shapes import well_shaped
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.store.mockup import INDEX, MockupTree, Progress, read_mockup
from redfish_fm.store.mockup_files import DEFAULT_LIMITS
from redfish_fm.store.mockup_parse import Defect, Severity


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a mockup, or was assumed. Lines and columns count from 1.

    `kind` is that of a DefectKind or FindingKind; `line` and `column` are None where `pointer`
    (a JSON pointer, "" for the whole document) says the place.
    """

    severity: Severity
    kind: str
    file: str
    pointer: str
    line: int | None
    column: int | None
    text: str

    @property
    def place(self) -> str:
        """FILE:LINE:COLUMN or FILE#POINTER."""
        if self.line is not None:
            return f"{self.file}:{self.line}:{self.column}"
        return _shown(f"{self.file}#{self.pointer}")

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class MockupDefective(FmError):
    """A mockup with problems where none are accepted. `problems` are those that count."""

    def __init__(self, path: Path, problems: tuple[Problem, ...]) -> None:
        lines = [f"{path}: {len(problems)} problems, which strict import does not accept"]
        super().__init__("\n".join([*lines, *map(str, problems)]))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Import:
    """A mockup, read and understood. `documents` are all that it has, by URI, well-shaped."""

    tree: MockupTree
    documents: Mapping[str, Mapping[str, Any]]
    meaning: Imported
    problems: tuple[Problem, ...]

    @property
    def xml(self) -> dict[str, bytes]:
        """The index.xml files to serve, by URI: those that the service has no own one for."""
        return {uri: text for uri, text in self.tree.xml.items() if not is_replaced(uri)}

    @property
    def defects(self) -> tuple[Problem, ...]:
        """The problems without mere notes: what strict import does not accept."""
        return tuple(each for each in self.problems if each.severity is not Severity.NOTE)


def read_import(path: Path, catalog: Catalog, progress: Progress | None = None) -> Import:
    """Read the folder or zip at `path`. Blocks. Raises MockupError where there is no mockup."""
    return understood(read_mockup(path, DEFAULT_LIMITS, progress), catalog)


def understood(tree: MockupTree, catalog: Catalog) -> Import:
    """Return what the documents of `tree` mean, and all problems: of files first, then of meaning.

    What is wrong with documents is told in the order of the files, errors first.
    """
    documents, shapes = well_shaped(tree.documents, catalog)
    meaning = analyse(documents)
    problems = [_of_defect(each) for each in tree.defects]
    problems += [_of_finding(each, tree.files) for each in (*shapes, *meaning.findings)]
    problems.sort(key=lambda each: (_ORDER[each.severity], each.file))
    return Import(tree, documents, meaning, tuple(problems))


_ORDER = {severity: place for place, severity in enumerate(Severity)}
_NOTES = frozenset({FindingKind.COMPLETED})


def _of_defect(defect: Defect) -> Problem:
    return Problem(
        defect.kind.severity,
        defect.kind.value,
        defect.file,
        defect.pointer,
        defect.line,
        defect.column,
        _shown(defect.text),
    )


def _of_finding(finding: Finding, files: Mapping[str, str]) -> Problem:
    severity = Severity.NOTE if finding.kind in _NOTES else Severity.WARNING
    file = next((files[uri] for uri in enclosing(finding.uri) if uri in files), INDEX)
    text = finding.text if files.get(finding.uri) else f"{finding.uri}: {finding.text}"
    return Problem(severity, finding.kind.value, file, finding.pointer, None, None, _shown(text))


_TEXT_CHARS_MAX = 500


def _shown(text: str) -> str:
    """Return `text` as one line for eyes: documents may hold whole pages and control sequences."""
    if len(text) > _TEXT_CHARS_MAX:
        text = f"{text[:_TEXT_CHARS_MAX]}…"
    return text if text.isprintable() else text.encode("unicode_escape").decode()

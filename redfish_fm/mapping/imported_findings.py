"""What was noticed while a mockup was understood: values, one per thing.

Pure. Names resources by URI; which file that is, whoever read the files knows.
"""

from dataclasses import dataclass
from enum import Enum

from redfish_fm.fabric.values import Violation


class FindingKind(Enum):
    """What sort of thing it is; each kind is one row of docs/mockups.md."""

    SHAPE = "shape"
    """An object or a list where the schema has something else, or the reverse: left out."""
    TYPE = "type"
    """An @odata.type that is missing or unknown where the place says which it is."""
    CONTRADICTION = "contradiction"
    """Documents that say different things of one; which one counts is told."""
    ISOLATION = "isolation"
    """Zones or connections that break a rule of isolation; they are kept, new ones may not."""
    COMPLETED = "completed"
    """The documents do not say what hardware would know: what is assumed, or does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing, said of the resource at `uri`, or of a place in it (a JSON pointer)."""

    kind: FindingKind
    uri: str
    text: str
    pointer: str = ""

    def __str__(self) -> str:
        return f"{self.uri}{'#' if self.pointer else ''}{self.pointer}: {self.text}"


def of_violation(violation: Violation) -> Finding:
    """Return a finding that says which rule is broken, by whom and with whom."""
    others = [each for each in (violation.holder, *violation.others) if each is not None]
    named = [violation.subject, *others]
    place = next((each for each in named if each.startswith("/")), violation.subject)
    number, _, rule = violation.rule.value.partition(": ")
    told = [each for each in dict.fromkeys(named) if each != place]
    text = f"{violation.rule.name} (rule {number}): {rule}" + (
        f" ({', '.join(told)})" if told else ""
    )
    return Finding(FindingKind.ISOLATION, place, text)

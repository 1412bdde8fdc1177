"""A mockup's documents with two ways to look them up: by type, and by what they lie under.

Pure. Made once per import, so that understanding 100,000 documents does not search all of them for
each.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from redfish_fm.mapping.domain import type_name

Documents = Mapping[str, Mapping[str, Any]]


class Tree(dict[str, Mapping[str, Any]]):
    """Documents by URI, which no longer change."""

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)
        self._of_type: dict[str, list[str]] = {}
        self._below: dict[str, list[str]] = {}
        for uri, document in self.items():
            self._of_type.setdefault(type_name(document), []).append(uri)
            self._below.setdefault(uri.rpartition("/")[0], []).append(uri)

    def of_type(self, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (URI, document) of every resource of one type, in the order of the documents."""
        for uri in self._of_type.get(name, ()):
            yield uri, self[uri]

    def below(self, uri: str) -> tuple[str, ...]:
        """Return the URIs one segment below `uri`, in the order of the documents."""
        return tuple(self._below.get(uri, ()))

    def below_of_type(self, uri: str, name: str) -> list[str]:
        """Return those of `below` that are of one type."""
        return [each for each in self._below.get(uri, ()) if type_name(self[each]) == name]

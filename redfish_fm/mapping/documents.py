"""Documents by URI while a world is made: those that nothing is added to any more are bytes.

Pure, mutable. As objects a document takes five times the memory of its bytes, and the memory of a
big inventory is what its start waits for. Knows JSON and `@odata.type`, nothing else.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import msgspec

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Finished(NamedTuple):
    """A document as the bytes that are served, and its type."""

    odata_type: str
    raw: bytes


class Documents(MutableMapping[str, dict[str, Any]]):
    """A mapping of URI to document, in the order of their making.

    A finished one is parsed anew whenever it is asked for: changing what is returned changes
    nothing here, unless it is put back.
    """

    def __init__(self, documents: Mapping[str, dict[str, Any]] | None = None) -> None:
        self._kept: dict[str, dict[str, Any] | Finished] = {**(documents or {})}

    def __getitem__(self, uri: str) -> dict[str, Any]:
        found = self._kept[uri]
        return _decode(found.raw) if isinstance(found, Finished) else found

    def __setitem__(self, uri: str, document: dict[str, Any]) -> None:
        self._kept[uri] = document

    def __delitem__(self, uri: str) -> None:
        del self._kept[uri]

    def __contains__(self, uri: object) -> bool:
        return uri in self._kept

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def copy(self) -> "Documents":
        """Return another one with the same documents, those not finished in common."""
        made = Documents()
        made._kept.update(self._kept)
        return made

    def add(self, uri: str, document: dict[str, Any], finished: bool = False) -> bool:
        """Put a document; False, and nothing done, where a different one is there.

        To a `finished` one nothing is added any more.
        """
        new: dict[str, Any] | Finished = document
        if finished:
            new = Finished(document["@odata.type"], _encode(document))
        return self._kept.setdefault(uri, new) == new

    def odata_types(self) -> set[str]:
        """Return every @odata.type there is; "" for documents without."""
        return {
            each.odata_type if isinstance(each, Finished) else str(each.get("@odata.type", ""))
            for each in self._kept.values()
        }

    def handed_over(self) -> Iterator[tuple[str, dict[str, Any] | Finished]]:
        """Yield every document in its order, and let go of it: nothing is left in the end."""
        for uri in [*self._kept]:
            yield uri, self._kept.pop(uri)

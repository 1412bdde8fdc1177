"""Documents by URI while a world is made, and their bytes once it is served.

What nothing is added to any more is bytes, or a recipe of how they are made when somebody asks.
As objects a document takes five times the memory of its bytes, and to make all of a big inventory
is most of what its start waits for. Knows JSON and `@odata.type`, nothing else.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import msgspec

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_UNFINISHED = b""
"""Stands for the bytes of a document that is not finished yet, and keeps its place."""


def document_of(
    uri: str, odata_type: str, name: str, properties: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a resource. Empty strings and None are left out: they are not known."""
    document: dict[str, Any] = {
        "@odata.id": uri,
        "@odata.type": odata_type,
        "Id": uri[uri.rfind("/") + 1 :],
        "Name": name,
    }
    for key, value in properties.items():
        # Most are true, which is told faster than what they are not.
        if value or (value is not None and value != ""):
            document[key] = value
    return document


class Recipe(msgspec.Struct, frozen=True, gc=False):
    """How a resource is made: `make(*args)` returns its properties, always the same."""

    uri: str
    odata_type: str
    name: str
    make: Callable[..., dict[str, Any]]
    args: tuple[Any, ...]

    def raw(self) -> bytes:
        """Return the bytes of the resource."""
        return _encode(document_of(self.uri, self.odata_type, self.name, self.make(*self.args)))


class RawDocuments(Mapping[str, bytes]):
    """Bytes by URI, in the order of their making; those of a recipe are made when asked for."""

    def __init__(self, kept: dict[str, bytes | Recipe]) -> None:
        self._kept = kept

    def __getitem__(self, uri: str) -> bytes:
        found = self._kept[uri]
        if isinstance(found, Recipe):
            found = self._kept[uri] = found.raw()
        return found

    def __contains__(self, uri: object) -> bool:
        return uri in self._kept

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


class Handed(NamedTuple):
    """All documents, given to whoever serves them.

    `kept` has all, in the order of their making; the bytes of those `unfinished` are still to be
    put there. `finished` are the URIs of the others by @odata.type.
    """

    kept: dict[str, bytes | Recipe]
    finished: dict[str, list[str]]
    unfinished: dict[str, dict[str, Any]]


class Documents(MutableMapping[str, dict[str, Any]]):
    """A mapping of URI to document, in the order of their making.

    A finished one is parsed anew whenever it is asked for: changing what is returned changes
    nothing here, unless it is put back.
    """

    def __init__(self, documents: Mapping[str, dict[str, Any]] | None = None) -> None:
        self._unfinished: dict[str, dict[str, Any]] = {**(documents or {})}
        self._kept: dict[str, bytes | Recipe] = dict.fromkeys(self._unfinished, _UNFINISHED)
        self._finished: dict[str, list[str]] = {}

    def __getitem__(self, uri: str) -> dict[str, Any]:
        found = self._unfinished.get(uri)
        return found if found is not None else _decode(self._bytes(uri))

    def __setitem__(self, uri: str, document: dict[str, Any]) -> None:
        self._unlist(uri)
        self._unfinished[uri] = document
        self._kept[uri] = _UNFINISHED

    def __delitem__(self, uri: str) -> None:
        self._unlist(uri)
        self._unfinished.pop(uri, None)
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
        made._kept = {**self._kept}
        made._unfinished = {**self._unfinished}
        made._finished = {name: [*uris] for name, uris in self._finished.items()}
        return made

    def add(self, uri: str, document: dict[str, Any], finished: bool = False) -> bool:
        """Put a document; False, and nothing done, where a different one is there.

        To a `finished` one nothing is added any more.
        """
        if uri in self._kept:
            known = self._unfinished.get(uri)
            return known == document if known is not None else self._bytes(uri) == _encode(document)
        if finished:
            self._kept[uri] = _encode(document)
            self._list(uri, document["@odata.type"])
        else:
            self._unfinished[uri] = document
            self._kept[uri] = _UNFINISHED
        return True

    def add_later(self, recipe: Recipe) -> bool:
        """Put a finished document that is made when it is asked for, as `add` does."""
        if recipe.uri in self._kept:
            known = self._unfinished.get(recipe.uri)
            return (self._bytes(recipe.uri) if known is None else _encode(known)) == recipe.raw()
        self._kept[recipe.uri] = recipe
        self._list(recipe.uri, recipe.odata_type)
        return True

    def odata_types(self) -> set[str]:
        """Return every @odata.type there is; "" for documents without."""
        unfinished = {str(each.get("@odata.type", "")) for each in self._unfinished.values()}
        return unfinished.union(name for name, uris in self._finished.items() if uris)

    def handed_over(self) -> Handed:
        """Return all documents, and let go of them: nothing is left in the end."""
        handed = Handed(self._kept, self._finished, self._unfinished)
        self._kept, self._finished, self._unfinished = {}, {}, {}
        return handed

    def _bytes(self, uri: str) -> bytes:
        found = self._kept[uri]
        return found.raw() if isinstance(found, Recipe) else found

    def _list(self, uri: str, odata_type: str) -> None:
        listed = self._finished.get(odata_type)
        if listed is None:
            listed = self._finished[odata_type] = []
        listed.append(uri)

    def _unlist(self, uri: str) -> None:
        if uri in self._kept and uri not in self._unfinished:
            self._finished[self[uri]["@odata.type"]].remove(uri)

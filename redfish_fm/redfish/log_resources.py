"""The entries of one log as resources: the collection, which holds its members whole, and each.

An entry comes, and goes when the log has too many or is cleared. All that changes of it meanwhile
is that it links what it is about only while that is there. Rendered when asked for.
Redfish: LogEntry.v1_21_0.
"""

from collections.abc import Callable, Iterable

from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.event_entries import origin_of, unlinked
from redfish_fm.redfish.representations import encode, represent_bytes
from redfish_fm.redfish.view import Representation


class LogTable:
    """Satisfies redfish.tables.Table. `name` is what the collection is called.

    `exists` tells whether something is served at a URI; None: no entry links anything. `words`
    makes of what is kept the properties of a LogEntry as JSON, a non-empty object without those
    properties that every resource has.
    """

    def __init__(
        self,
        catalog: Catalog,
        collection_uri: str,
        name: str,
        exists: Callable[[str], bool] | None = None,
        *,
        words: Callable[[bytes], bytes],
    ) -> None:
        self._words = words
        self._exists = exists
        self._about: dict[str, set[int]] = {}
        self._uri = collection_uri
        self._name = name
        self._type = encode(catalog.types["LogEntry"].odata_type)
        self._collection_type = encode(catalog.types["LogEntryCollection"].odata_type)
        self._values: dict[int, bytes] = {}
        self._rendered: dict[int, Representation] = {}
        self._collection: Representation | None = None

    @property
    def collection_uri(self) -> str:
        """The URI of the entries."""
        return self._uri

    @property
    def numbers(self) -> Iterable[int]:
        """The numbers of all entries, oldest first."""
        return self._values.keys()

    @property
    def newest(self) -> bytes | None:
        """The newest entry as it was appended, or None where there is none."""
        return next(reversed(self._values.values()), None)

    def append(self, number: int, value: bytes) -> None:
        """Add an entry; `number` is higher than all there were, `value` what is kept of it."""
        self._values[number] = value
        origin = self._origin(value)
        if origin is not None:
            self._about.setdefault(origin, set()).add(number)
        self._collection = None

    def drop_through(self, number: int) -> None:
        """Forget all entries up to `number`. Costs the entries that go."""
        gone = []
        for each in self._values:
            if each > number:
                break
            gone.append(each)
        for each in gone:
            origin = self._origin(self._values.pop(each))
            if origin is not None:
                self._about[origin].discard(each)
                if not self._about[origin]:
                    del self._about[origin]
            self._rendered.pop(each, None)
        if gone:
            self._collection = None

    def came_or_went(self, uri: str) -> None:
        """Show anew whether the entries about `uri` link it. Costs nothing where there are none."""
        for number in self._about.get(uri, ()):
            self._rendered.pop(number, None)
            self._collection = None

    def _origin(self, value: bytes) -> str | None:
        return None if self._exists is None else origin_of(value)

    def get(self, uri: str) -> Representation | None:
        """Return the collection or one entry, or None."""
        if uri == self._uri:
            return self.collection()
        collection, _, name = uri.rpartition("/")
        if collection != self._uri or not (name.isascii() and name.isdecimal()):
            return None
        number = int(name) if len(name) < _DIGITS_MAX else 0
        return self._entry(number) if str(number) == name and number in self._values else None

    def collection(self) -> Representation:
        """Return the collection as it is now."""
        if self._collection is None:
            entries = [self._entry(number) for number in self._values]
            ends = [entry.etag for entry in (*entries[:1], *entries[-1:])]
            raw = b'{"@odata.id":%b,"@odata.type":%b,"Name":%b,"Members":[%b],%b:%d}' % (
                encode(self._uri),
                self._collection_type,
                encode(self._name),
                b",".join(entry.body for entry in entries),
                b'"Members@odata.count"',
                len(entries),
            )
            # No number is given twice: what lies between two entries is always the same, but for
            # what they link.
            content = encode([self._uri, len(entries), ends])
            content = content if self._exists is None else raw
            self._collection = represent_bytes(self._uri, "LogEntryCollection", raw, content)
        return self._collection

    def _entry(self, number: int) -> Representation:
        found = self._rendered.get(number)
        if found is None:
            uri = f"{self._uri}/{number}"
            kept = self._values[number]
            value, origin = self._words(kept), self._origin(kept)
            if origin is not None and self._exists is not None and not self._exists(origin):
                value = unlinked(value)
            raw = b'{"@odata.id":%b,"@odata.type":%b,"Id":"%d","Name":"Log entry %d",%b' % (
                encode(uri),
                self._type,
                number,
                number,
                value[1:],
            )
            found = self._rendered[number] = represent_bytes(uri, "LogEntry", raw)
        return found


_DIGITS_MAX = 20
"""No number has so many; Python would refuse to read some thousand."""

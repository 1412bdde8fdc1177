"""$expand: resources in place of the links to them.

A link is an object that holds "@odata.id" and nothing else, outside of Oem: what stands there may
be a client's own, and elsewhere a client can put a link only where the schema has one (cleaning).
What the client may not read, what is gone and what no longer fits into the answer stays a link, so
every answer is complete in the sense that nothing is missing from it that a GET could not fetch.

Levels are worked off one after the other (what is near first). The number of resources looked up
for one answer is bounded, and so is what they weigh; cycles of links therefore end by themselves.
Works in steps, so that the caller can let others run in between.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from redfish_fm.redfish.query import Expand
from redfish_fm.redfish.view import Representation

EXPANDED_MAX = 500
"""Resources put into one answer (DESIGN section 12): 10,000 would block the loop for 137 ms."""

BYTES_MAX = 8 << 20
"""No further resource is put into an answer of this size. Four times what 500 usually weigh: only
resources that link to thousands of others meet it."""

_STEP = 25
"""Resources between two pauses: half a millisecond when none of them is cached."""

Find = Callable[[str], Representation | None]
"""What the client may read at a URI as links spell it; None where that is nothing."""

Body = Callable[[Representation, int], Any]
"""A resource as it goes into an answer, with the number of levels still to expand below it."""


class Expansion:
    """One answer under construction. `left` and `left_bytes` are what may still go into it."""

    def __init__(
        self,
        expand: Expand,
        find: Find,
        body: Body,
        left: int = EXPANDED_MAX,
        left_bytes: int = BYTES_MAX,
    ) -> None:
        self.left = left
        self.left_bytes = left_bytes
        self._expand = expand
        self._find = find
        self._body = body
        self._short = False

    def grow(self, document: Any) -> Iterator[None]:
        """Expand `document` in place, yielding now and then."""
        levels, layer = self._expand.levels, self._links(document)
        while layer and levels:
            levels -= 1
            below: list[_Place] = []
            for holder, key in layer:
                if self._full:
                    self._short = True
                    return
                grown = self._grown(holder[key]["@odata.id"], levels)
                if grown is not None:
                    holder[key] = grown
                    if levels:
                        below += self._links(grown)
                if self.left % _STEP == 0:
                    yield
            layer = below

    def grow_members(self, members: list[Any], shown: list[Any]) -> Iterator[None]:
        """Expand one member after the other into `shown`, as many as fit whole; at least one.

        A member larger than a whole answer is expanded in part.
        """
        for member in members:
            if self._full and shown:
                return
            place = [member]
            yield from self.grow(place)
            if self._short and shown:
                return
            shown.append(place[0])

    @property
    def _full(self) -> bool:
        return self.left <= 0 or self.left_bytes <= 0

    def _grown(self, link: str, levels: int) -> Any:
        self.left -= 1
        uri, _, pointer = link.partition("#")
        found = self._find(uri)
        if found is None:
            return None
        self.left_bytes -= len(found.body)
        if pointer:
            return _part(found, pointer)
        return self._body(found, levels)

    def _links(self, document: Any) -> list["_Place"]:
        places: list[_Place] = []
        self._collect(document, False, places)
        return places

    def _collect(self, value: Any, in_links: bool, places: list["_Place"]) -> None:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if not isinstance(each, dict | list) or key == "Oem":
                continue
            inside = in_links or key == "Links"
            if not _is_link(each):
                self._collect(each, inside, places)
            elif self._expand.links if inside else self._expand.subordinate:
                places.append((value, key))


_Place = tuple[Any, Any]
"""The object or array that holds a link, and its key there."""


def _is_link(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    return isinstance(value.get("@odata.id"), str)


def _part(found: Representation, pointer: str) -> Any:
    """Return the object inside a resource that a link with a fragment names, or None."""
    value = msgspec.json.decode(found.body)
    for name in pointer.removeprefix("/").split("/"):
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value if isinstance(value, dict) else None

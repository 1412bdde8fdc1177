"""A set of documents under construction, together with the facts they stand for.

Pure, mutable while an inventory is rendered. Knows the common form of resources and collections.
"""

from collections.abc import Callable, Iterable
from typing import Any

from redfish_fm.mapping.documents import Documents, Recipe, document_of
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.links import forward_links
from redfish_fm.mapping.types import ODATA_TYPES, collection_type

GT_PER_LANE = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Raw bit rate of one PCIe lane by generation, Gbit/s."""

FINISHED = frozenset(
    {
        "Endpoint",
        "MemoryDomain",
        "PCIeDevice",
        "PCIeFunction",
        "ResourceBlock",
        "VirtualCXLSwitch",
        "VirtualPCI2PCIBridge",
    }
)
"""Types of which a big fabric has many, and which nothing is added to once they are put."""
LINKED_BACK = frozenset({"CXLLogicalDevice", "MemoryChunks", "Port", "Processor"})
"""Types of which it has many, too, and which nothing but the links of endpoints and cables are
added to."""


def ref(uri: str) -> dict[str, str]:
    """Return a link to `uri`."""
    return {"@odata.id": uri}


def refs(uris: Iterable[str]) -> list[dict[str, str]]:
    """Return links to all `uris`, in order."""
    return [{"@odata.id": uri} for uri in uris]


class Rendering:
    """Documents by URI and the Facts that belong to them. `put` refuses to overwrite silently.

    `finished` are types that nothing is added to once they are put.
    """

    def __init__(self, finished: frozenset[str] = FINISHED) -> None:
        self._finished = finished
        self.documents = Documents()
        self.with_status: dict[str, None] = {}
        """URIs of all that has a Status, in their order."""
        self.facts = Facts()
        self._endpoints: list[str] = []

    def put(self, uri: str, type_name: str, name: str, **properties: Any) -> dict[str, Any]:
        """Add a resource. Empty strings and None are left out: they are not known.

        Raises ValueError when another document is there: the inventory's ids are not unique.
        """
        document = document_of(uri, ODATA_TYPES[type_name], name, properties)
        if not self.documents.add(uri, document, type_name in self._finished):
            raise ValueError(f"two different resources at {uri}: ids of the inventory collide")
        self._note(uri, type_name, "Status" in document)
        return document

    def put_later(
        self,
        uri: str,
        type_name: str,
        name: str,
        make: Callable[..., dict[str, Any]],
        *args: Any,
        status: bool = True,
    ) -> None:
        """Add a resource as `put` does; `make(*args)` says its properties once it is asked for.

        For types of which a big fabric has many. `make` puts nothing and says the same whenever it
        is called; `status`: there is one among what it says.
        """
        if type_name not in self._finished:
            self.put(uri, type_name, name, **make(*args))
            return
        if not self.documents.add_later(Recipe(uri, ODATA_TYPES[type_name], name, make, args)):
            raise ValueError(f"two different resources at {uri}: ids of the inventory collide")
        self._note(uri, type_name, status)

    def _note(self, uri: str, type_name: str, status: bool) -> None:
        if status:
            self.with_status[uri] = None
        if type_name == "Endpoint":
            self._endpoints.append(uri)

    def collection(self, uri: str, member: str, name: str) -> dict[str, str]:
        """Add a collection without Members, which are derived; return a link to it."""
        odata_type = collection_type(member)
        document = {"@odata.id": uri, "@odata.type": odata_type, "Name": name}
        self.documents.add(uri, document, finished=True)
        return ref(uri)

    def link_back(self) -> None:
        """Write the inverse links of all discovered endpoints into what they link to."""
        for uri in self._endpoints:
            document = self.documents[uri]
            for target, pointer in forward_links("Endpoint", document, self.facts.port_aliases):
                self._append(target, pointer.rpartition("/")[2], uri)

    def _append(self, target: str, name: str, uri: str) -> None:
        found = self.documents.get(target)
        if found is not None:
            present = found.setdefault("Links", {}).setdefault(name, [])
            if ref(uri) not in present:
                present.append(ref(uri))

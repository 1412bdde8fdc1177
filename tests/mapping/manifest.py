"""What ai-pod shows, as lines of type and property: kept in a file, so that no loss goes unnoticed.

That is what inventory knows and what a look at its virtual hardware, to which nothing has happened,
lays over it.
`python -m tests.mapping.manifest` writes the file anew; the difference shows in the commit.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from redfish_fm.drivers.virtual.driver import create
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.model import Inventory, Observation
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.mapping.observed import ObservedFabric
from redfish_fm.mapping.sights import FabricSight
from redfish_fm.mapping.statuses import Statuses
from redfish_fm.redfish.patch import merge
from tests.mapping.builders import MemoryTip
from tests.virtual_time import VirtualClock, run

REPOSITORY = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("ai_pod_manifest.txt")
COMMAND = "python -m tests.mapping.manifest"


def pairs(documents: Iterable[dict[str, Any]]) -> set[str]:
    """Return "Type path" of every property, down to the innermost, arrays looked through."""
    return {
        f"{document['@odata.type'].rsplit('.', 1)[-1]} {path}"
        for document in documents
        for path in _paths(document, "")
    }


def _paths(value: object, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for member in value:
            yield from _paths(member, path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if "@odata." not in name:
                below = f"{path}.{name}" if path else name
                yield below
                yield from _paths(inner, below)


def shown() -> set[str]:
    """Return what ai-pod shows now."""
    inventories = load("ai-pod", REPOSITORY / "mockups").inventories()
    found = render_inventories(inventories)
    tip, statuses = MemoryTip(found.documents, found.facts), Statuses()
    laid: dict[str, Any] = {}
    for inventory in inventories:
        sight = FabricSight(inventory.fabric, look(inventory))
        laid |= ObservedFabric(inventory.fabric, statuses).look(tip.facts, tip.index, sight)
    known = found.documents.items()
    return pairs(merge(document, laid.get(uri) or {}) for uri, document in known)


def look(inventory: Inventory) -> Observation:
    """Return what a driver sees of virtual hardware to which nothing has happened."""
    return run(_look(inventory))


async def _look(inventory: Inventory) -> Observation:
    driver = create(inventory, VirtualClock(), VirtualClock())
    seen = await driver.observe()
    await driver.close()
    return seen


def kept() -> set[str]:
    """Return what the file says that it shows."""
    return set(FILE.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in sorted(shown())), encoding="utf-8")

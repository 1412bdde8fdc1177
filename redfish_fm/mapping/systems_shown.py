"""What a system of resource blocks shows of its host and of its blocks, when it is read.

Pure. Nothing of it is stored: a composed system's document has its name and its blocks, and all
that is in it follows from those; a physical host that is expanded shows what it was given beside
its own. Members of its collections stand where their device is. Redfish: ComputerSystem.v1_27_0.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, Protocol

from redfish_fm.fabric.blast_radius import parts_of
from redfish_fm.fabric.composition import Composition
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.mapping.facts import enclosing
from redfish_fm.mapping.read import members
from redfish_fm.mapping.rendering import ref, refs
from redfish_fm.mapping.types import ODATA_TYPES, collection_type
from redfish_fm.mapping.uris import COMPOSITION_SERVICE, SYSTEM_COLLECTION
from redfish_fm.redfish import oem

ADD, REMOVE = "ComputerSystem.AddResourceBlock", "ComputerSystem.RemoveResourceBlock"
"""The actions of a system that can be made of other blocks."""
RESET = "ComputerSystem.Reset"
COMPOSE = "CompositionService.Compose"
"""The action of the CompositionService."""
ODATA_TYPE = "#RedfishFMComposition.v1_0_0.Composed"
"""Of Oem.RedfishFM in a system of blocks."""
ACTION_INFO = "/redfish/v1/ActionInfos/{action}"
MIB_PER_GIB = 1024

COLLECTIONS = {
    "Processors": "Processor",
    "Memory": "Memory",
    "MemoryDomains": "MemoryDomain",
    "Storage": "Storage",
    "EthernetInterfaces": "EthernetInterface",
    "NetworkInterfaces": "NetworkInterface",
    "FabricAdapters": "FabricAdapter",
}
"""Collections that every composed system has, empty or not -> what is in them."""
RARE = {"SimpleStorage": "SimpleStorage"}
"""Collections that it has where its blocks bring any."""

OF_HOST = (
    "Manufacturer", "Model", "PartNumber", "SerialNumber", "SKU", "UUID", "HostName", "PowerState",
    "Boot", "BootProgress", "BiosVersion", "Bios", "SecureBoot", "PowerRestorePolicy",
    "LastResetTime", "ProcessorSummary", "MemorySummary", "PCIeDevices", "PCIeFunctions",
)  # fmt: skip
"""What a composed system has because the host that it runs on has it."""
_LINKS_OF_HOST = ("Chassis", "ManagedBy", "PoweredBy", "CooledBy", "Endpoints")
_SHARED = frozenset({"Memory", "Storage"})
"""What a block that others share links, and no system has for itself."""

HELD = "Composed"
"""Id of the Storage that a system has for drives and volumes which are in no Storage of its own."""
_HELD = f"Storage/{HELD}"
_HELD_VOLUMES = f"{_HELD}/Volumes"


class Inventory(Protocol):
    """What is there: fixed members by collection, documents parsed anew (control.state)."""

    @property
    def members(self) -> Mapping[str, Set[str]]:
        """Fixed members of every collection."""
        ...

    def parsed(self, uri: str) -> Mapping[str, Any] | None:
        """Return the document at `uri`."""
        ...


def collection_shown(index: FabricIndex, inventory: Inventory, uri: str) -> str | None:
    """Return the type of the collection that a composed system has at `uri`, or None."""
    found = _place(index, uri)
    if found is None:
        return None
    composition, below = found
    if below == _HELD_VOLUMES:
        return collection_type("Volume").rpartition(".")[2]
    member = None if composition.expands else COLLECTIONS.get(below)
    if below in RARE and _from_blocks(index, inventory, composition, below):
        member = RARE[below]
    return None if member is None else collection_type(member).rpartition(".")[2]


def collection_document(name: str, uri: str) -> dict[str, Any]:
    """Return a collection of that type without its members."""
    system, _, what = uri.removeprefix(f"{SYSTEM_COLLECTION}/").partition("/")
    return {
        "@odata.id": uri,
        "@odata.type": f"#{name}.{name}",
        "Name": f"{what.rpartition('/')[2]} of {system}",
    }


def members_shown(index: FabricIndex, inventory: Inventory, uri: str) -> set[str]:
    """Return what a system of blocks adds to a collection of its own."""
    found = _place(index, uri)
    if found is None:
        return set()
    composition, below = found
    if below == _HELD_VOLUMES:
        return {each for each in composition.holdings if each in index.volumes}
    if below not in COLLECTIONS and below not in RARE:
        return set()
    added = _from_blocks(index, inventory, composition, below)
    if not composition.expands and composition.host is not None:
        added |= inventory.members.get(f"{composition.host}/{below}", frozenset())
    if below == "MemoryDomains":
        added |= set(_domains(index, composition))
    if below == "Storage" and _held(index, inventory, composition) is not None:
        added.add(f"{composition.id}/{_HELD}")
    return added


def document_shown(index: FabricIndex, inventory: Inventory, uri: str) -> dict[str, Any] | None:
    """Return the resource that a system of blocks has at `uri` because of them, or None."""
    found = _place(index, uri)
    if found is None or found[1] != _HELD:
        return None
    return _held(index, inventory, found[0])


def is_shown(index: FabricIndex, inventory: Inventory, uri: str) -> bool:
    """Return whether anything is at `uri` because of a system of blocks."""
    if collection_shown(index, inventory, uri) is not None:
        return True
    return document_shown(index, inventory, uri) is not None


def types_shown(known: Set[str]) -> set[str]:
    """Return the @odata.type of all that may be shown below systems of blocks.

    `known` are those of what their blocks can bring.
    """
    collections = {**COLLECTIONS, **_rare(known)}
    below = (*collections.values(), "Volume")
    return {ODATA_TYPES["Storage"], *map(collection_type, below)}


def names_shown(known: Set[str]) -> list[str]:
    """Return the path of all that may be shown below a system of blocks, of `known` types."""
    return [*COLLECTIONS, *_rare(known), _HELD, _HELD_VOLUMES]


def _rare(known: Set[str]) -> dict[str, str]:
    names = {each.rpartition(".")[2] for each in known}
    return {name: member for name, member in RARE.items() if member in names}


def parts_shown(system: str) -> list[str]:
    """Return all below the system that may show something else once it changes."""
    return [f"{system}/{name}" for name in (*COLLECTIONS, *RARE, _HELD, _HELD_VOLUMES)]


def system_shown(
    index: FabricIndex, inventory: Inventory, uri: str, host: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return what a system shows because of its blocks; None where it is in no composition.

    `host` is the system that it runs on, or that is expanded, as shown itself. What the client
    wrote in the system's own document stays.
    """
    composition = index.compositions.get(uri)
    if composition is None:
        return None
    host = host or {}
    shown: dict[str, Any] = {}
    if not composition.expands:
        shown = {name: host[name] for name in OF_HOST if name in host}
        shown |= {
            name: ref(f"{uri}/{name}")
            for name in (*COLLECTIONS, *RARE)
            if collection_shown(index, inventory, f"{uri}/{name}") is not None
        }
        shown["Status"] = {"State": (host.get("Status") or {}).get("State", "Enabled")}
        shown["Status"]["Health"] = "OK"
        shown["Actions"] = _actions(uri, host)
    devices = _devices(index, inventory, composition)
    if devices:
        shown["PCIeDevices"] = [*(host.get("PCIeDevices") or ()), *refs(devices)]
    summary = _memory_summary(index, composition, host)
    if summary is not None:
        shown["MemorySummary"] = summary
    shown["Links"] = _links(index, inventory, composition, host)
    shown["Oem"] = {oem.NAME: {"@odata.type": ODATA_TYPE}}
    return shown


def host_shown(index: FabricIndex, uri: str) -> dict[str, Any] | None:
    """Return what a host shows of the composed systems that run on it; None without any."""
    if not uri.startswith(_PREFIX):
        # A block of an import that computes, and of whose system nothing is known.
        return None
    found = [
        each
        for each in sorted(index.compositions_of_host(uri))
        if not index.compositions[each].expands
    ]
    return {"Links": {"ConsumingComputerSystems": refs(found)}} if found else None


def service_actions() -> dict[str, Any]:
    """Return the Actions by which a CompositionService composes."""
    return {
        f"#{COMPOSE}": {
            "target": f"{COMPOSITION_SERVICE}/Actions/{COMPOSE}",
            "@Redfish.ActionInfo": ACTION_INFO.format(action=COMPOSE),
        }
    }


def block_actions(uri: str) -> dict[str, Any]:
    """Return the Actions by which a system is given blocks and gives them back."""
    return {
        f"#{action}": {
            "target": f"{uri}/Actions/{action}",
            "@Redfish.ActionInfo": ACTION_INFO.format(action=action),
        }
        for action in (ADD, REMOVE)
    }


def _place(index: FabricIndex, uri: str) -> tuple[Composition, str] | None:
    """Return the composition whose system `uri` lies in, and the path below that system."""
    if not uri.startswith(_PREFIX):
        return None
    name, _, below = uri[len(_PREFIX) :].partition("/")
    composition = index.compositions.get(f"{_PREFIX}{name}") if below else None
    return None if composition is None else (composition, below)


_PREFIX = f"{SYSTEM_COLLECTION}/"


def _blocks(
    index: FabricIndex, inventory: Inventory, composition: Composition
) -> Iterator[tuple[bool, Mapping[str, Any]]]:
    """Yield whether it is shared part by part, and the document, of each block of the system."""
    for uri in index.components(composition.blocks):
        document = inventory.parsed(uri)
        if document is not None:
            block = index.blocks.get(uri)
            yield block is not None and bool(block.pools), document


def _from_blocks(
    index: FabricIndex, inventory: Inventory, composition: Composition, name: str
) -> set[str]:
    return {
        link
        for shared, document in _blocks(index, inventory, composition)
        if not (shared and name in _SHARED)
        for link in members(document, name)
    }


def _domains(index: FabricIndex, composition: Composition) -> Iterator[str]:
    chunks = (index.chunks.get(each) for each in composition.holdings)
    return (chunk.domain for chunk in chunks if chunk is not None and chunk.domain in index.domains)


def _held(
    index: FabricIndex, inventory: Inventory, composition: Composition
) -> dict[str, Any] | None:
    drives = [
        link
        for _, document in _blocks(index, inventory, composition)
        if not document.get("Storage")
        for link in members(document, "Drives")
    ]
    volumes = any(each in index.volumes for each in composition.holdings)
    if not drives and not volumes:
        return None
    uri = f"{composition.id}/{_HELD}"
    document: dict[str, Any] = {
        "@odata.id": uri,
        "@odata.type": ODATA_TYPES["Storage"],
        "Id": HELD,
        "Name": "Drives and volumes of resource blocks",
        "Status": {"State": "Enabled", "Health": "OK"},
        "Drives": refs(drives),
        "Drives@odata.count": len(drives),
    }
    if volumes:
        document["Volumes"] = ref(f"{composition.id}/{_HELD_VOLUMES}")
    return document


def _devices(index: FabricIndex, inventory: Inventory, composition: Composition) -> list[str]:
    """Return the PCIe devices that the blocks bring whole, or in part by their functions."""
    known = (index.blocks.get(uri) for uri in index.components(composition.blocks))
    units = (unit for block in known if block and not block.sharing for unit in sorted(block.units))
    found = (next(filter(_is_device, enclosing(unit)), None) for unit in units)
    return [*dict.fromkeys(uri for uri in found if uri and inventory.parsed(uri) is not None)]


def _is_device(uri: str) -> bool:
    return uri.rpartition("/")[0].endswith("/PCIeDevices")


def _memory_summary(
    index: FabricIndex, composition: Composition, host: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the host's memory with that of its parts of pools; None where there are none.

    Copies of each other count once; what it shares with others counts for each of them.
    """
    copies = {part for mirror in composition.mirrors for part in sorted(mirror)[1:]}
    held = parts_of(index, composition) - copies
    parts = (index.chunks.get(each) or index.regions.get(each) for each in held)
    pooled_mib = sum(part.size_mib for part in parts if part is not None)
    if not pooled_mib:
        return None
    summary = host.get("MemorySummary") or {}
    own_gib = summary.get("TotalSystemMemoryGiB") or 0
    return {**summary, "TotalSystemMemoryGiB": own_gib + pooled_mib / MIB_PER_GIB}


def _links(
    index: FabricIndex, inventory: Inventory, composition: Composition, host: Mapping[str, Any]
) -> dict[str, Any]:
    own, blocks = host.get("Links") or {}, index.components(composition.blocks)
    chassis = [*members(host, "Links/Chassis"), *_chassis(inventory, blocks)]
    shown: dict[str, Any] = {}
    if not composition.expands:
        shown = {name: own[name] for name in _LINKS_OF_HOST if name in own}
        if composition.host is not None and composition.host.startswith(_PREFIX):
            shown["SupplyingComputerSystems"] = refs([composition.host])
    if chassis:
        shown["Chassis"] = refs(dict.fromkeys(chassis))
    return shown


def _chassis(inventory: Inventory, blocks: Iterable[str]) -> Iterator[str]:
    for block in blocks:
        yield from members(inventory.parsed(block) or {}, "Links/Chassis")


def _actions(uri: str, host: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Actions of a composed system; it is reset as the host is that it runs on."""
    reset = (host.get("Actions") or {}).get(f"#{RESET}")
    found = block_actions(uri)
    if isinstance(reset, Mapping):
        found[f"#{RESET}"] = {**reset, "target": f"{uri}/Actions/{RESET}"}
    return found

"""What is in the resource blocks of a mockup, and which of them work together: for wishes.

Pure. Nobody discovers what an import composes, so its documents say it: the devices that a block
links tell its kind, model and size, and blocks that are in one zone reach each other. A block is
one device to a wish, whatever is in it. Redfish: ResourceBlock.v1_4_3, Zone.v1_6_3
(ZoneOfResourceBlocks).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.composition import Block, BlockType
from redfish_fm.fabric.paths import BESIDE, SwitchKey
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.read import members
from redfish_fm.mapping.systems_shown import MIB_PER_GIB

Document = Mapping[str, Any]

_BLOCKS = "Links/ResourceBlocks"
_COMPUTING = frozenset({BlockType.COMPUTE, BlockType.COMPUTER_SYSTEM})
_ACCELERATORS = frozenset({"GPU", "FPGA"})
_PROTOCOLS = frozenset({"NVMe", "SAS", "SATA"})
BYTES_PER_MIB = 1 << 20
BITS_PER_BYTE = 8


def places(tree: Tree) -> dict[str, tuple[SwitchKey, ...]]:
    """Return block -> the zones that it is in, which stand for the switches nobody knows of.

    Blocks of a mockup without such zones all work together.
    """
    found: dict[str, list[SwitchKey]] = {}
    for uri, document in tree.of_type("Zone"):
        for block in members(document, _BLOCKS):
            found.setdefault(block, []).append((BESIDE, uri))
    if not found:
        return {uri: ((BESIDE, BESIDE),) for uri, _ in tree.of_type("ResourceBlock")}
    return {block: tuple(dict.fromkeys(keys)) for block, keys in found.items()}


def described(block: Block, tree: Tree, switches: tuple[SwitchKey, ...]) -> Block:
    """Return a block with what its devices say of it."""
    document = tree[block.id]
    if block.types & _COMPUTING:
        return replace(_host(block, document, tree), switches=switches)
    for read in (_accelerator, _storage, _memory, _network):
        found = read(block, document, tree)
        if found is not None:
            return replace(found, switches=switches)
    return replace(block, switches=switches)


def _linked(document: Document, name: str, tree: Tree) -> list[Document]:
    return [tree[uri] for uri in members(document, name) if uri in tree]


def _whole(value: object) -> int:
    """Return a number that counts something; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _text(document: Document, name: str) -> str:
    value = document.get(name)
    return value if isinstance(value, str) else ""


def _mib(memory: Iterable[Document]) -> int:
    return sum(_whole(each.get("CapacityMiB")) for each in memory)


def _of(document: Document, name: str) -> Document:
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def _host(block: Block, document: Document, tree: Tree) -> Block:
    """Return what computes: its processors and memory modules, else what its system sums up."""
    cpus = [
        each
        for each in _linked(document, "Processors", tree)
        if each.get("ProcessorType") not in _ACCELERATORS
    ]
    cores = sum(_whole(each.get("TotalCores")) for each in cpus)
    memory_mib = _mib(_linked(document, "Memory", tree))
    models = [_text(each, "Model") for each in cpus]
    for system in _linked(document, "ComputerSystems", tree):
        processors, memory = _of(system, "ProcessorSummary"), _of(system, "MemorySummary")
        cores = cores or _whole(processors.get("CoreCount"))
        memory_mib = memory_mib or _gib(memory.get("TotalSystemMemoryGiB"))
        models.append(_text(processors, "Model"))
    model = next(filter(None, models), "")
    return replace(block, kind="Host", model=model, core_count=cores, capacity_mib=memory_mib)


def _gib(value: object) -> int:
    """Return the MiB of an amount in GiB, which may be a fraction."""
    known = isinstance(value, int | float) and 0 < value < float("inf")
    return int(value * MIB_PER_GIB) if known and isinstance(value, int | float) else 0


def _accelerator(block: Block, document: Document, tree: Tree) -> Block | None:
    for each in _linked(document, "Processors", tree):
        kind = each.get("ProcessorType")
        if isinstance(kind, str) and kind in _ACCELERATORS:
            memory = each.get("ProcessorMemory")
            rows = memory if isinstance(memory, list) else []
            return replace(
                block,
                kind=kind,
                model=_text(each, "Model"),
                manufacturer=_text(each, "Manufacturer"),
                capacity_mib=_mib(row for row in rows if isinstance(row, Mapping)),
                core_count=_whole(each.get("TotalCores")),
            )
    return None


def _storage(block: Block, document: Document, tree: Tree) -> Block | None:
    """Return a block of drives: known by the largest of them."""
    drives = [*_drives(document, tree)]
    if not drives:
        return None
    largest = max(drives, key=lambda each: _whole(each.get("CapacityBytes")))
    protocol = largest.get("Protocol")
    known = isinstance(protocol, str) and protocol in _PROTOCOLS
    return replace(
        block,
        kind=str(protocol) if known else "NVMe",
        model=_text(largest, "Model"),
        manufacturer=_text(largest, "Manufacturer"),
        capacity_mib=_whole(largest.get("CapacityBytes")) // BYTES_PER_MIB,
    )


def _drives(document: Document, tree: Tree) -> Iterator[Document]:
    yield from _linked(document, "Drives", tree)
    for storage in _linked(document, "Storage", tree):
        yield from _linked(storage, "Drives", tree)
    for tray in _linked(document, "SimpleStorage", tree):
        devices = tray.get("Devices")
        rows = devices if isinstance(devices, list) else []
        yield from (row for row in rows if isinstance(row, Mapping))


def _memory(block: Block, document: Document, tree: Tree) -> Block | None:
    modules = _linked(document, "Memory", tree)
    return replace(block, kind="Memory", capacity_mib=_mib(modules)) if modules else None


def _network(block: Block, document: Document, tree: Tree) -> Block | None:
    """Return a card, as fast as the fastest of its interfaces."""
    interfaces = _linked(document, "EthernetInterfaces", tree)
    if not interfaces and not members(document, "NetworkInterfaces"):
        return None
    fastest = max((_whole(each.get("SpeedMbps")) for each in interfaces), default=0)
    return replace(block, kind="NIC", bandwidth_mb_s=-(-fastest // BITS_PER_BYTE) or None)

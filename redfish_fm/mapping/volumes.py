"""Volume writes: POST and DELETE; a PATCH changes names only and is generic.

Pure. Swordfish: Volume.v1_10_2. A volume is an NVMe namespace that the subsystem makes out of a
storage pool; the service picks its NamespaceId. Its size, who may share it and what may be done
with it are said once. Whichever collection it is asked for in, it is one resource under
Storage/{}/Volumes, which the pool's AllocatedVolumes shows too. Sizes in MiB inside, in bytes
outside.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.values import CapacityPool, Rule, Violation
from redfish_fm.fabric.zoning import check_volume, check_volume_removal
from redfish_fm.mapping import uris
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.granting import to_draft
from redfish_fm.mapping.parts import given_back, incorrect, made, unable
from redfish_fm.mapping.read import BYTES_PER_MIB, durable_names, members, read_volume
from redfish_fm.mapping.rendering import ref
from redfish_fm.mapping.resources import new_document, stored
from redfish_fm.mapping.uris import storage_of
from redfish_fm.mapping.violations import refuse, to_error
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import Write

ABLE: dict[str, tuple[object, ...]] = {"ProvisioningPolicy": ("Fixed", None)}
"""Property -> all that it can be here."""

ACCESS = ("Read", "Write")
"""What AccessCapabilities may name: a namespace is neither written once nor only appended to."""

NAMES = {
    "EUI": re.compile(r"([0-9A-Fa-f]{2}[:-]?){7}[0-9A-Fa-f]{2}"),
    "NGUID": re.compile(r"([0-9A-Fa-f]{2}){16}"),
    "UUID": re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
}
"""DurableNameFormat -> what a name of a namespace in that format looks like."""

_POOL = "Links/ProvidingStoragePool"
_IN_DATA = "Capacity/Data/AllocatedBytes"


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Volumes, or of POST AllocatedVolumes of a pool."""
    storage = storage_of(write.uri) or ""
    collection = uris.VOLUMES.format(storage=storage.rsplit("/", 1)[-1])
    uri, document = new_document("Volume", collection, write.body, tip)
    named, told = _pool(document, write.uri, storage, tip)
    pool = tip.index.pools.get(named or "")
    if pool is None or pool.port is None:
        # No driver makes namespaces there: a mockup's storage.
        raise to_error([Violation(Rule.NOT_CARVABLE, uri, storage)])
    told += [*unable(document, ABLE), *_access(document), *_names(document, collection, tip)]
    size = _size_bytes(document)
    told += _size(document, size)
    number = tip.index.free_part(pool.id, tip.occupied)
    _complete(document, pool, size, pool.parts[0] if number is None else number, tip)
    volume = read_volume(uri, document, tip.facts)
    if volume is None:
        raise to_error([Violation(Rule.NOT_CARVABLE, uri, pool.id)])
    if number is None:
        # The rules take what can not be allocated for the pool being exhausted.
        volume = replace(volume, allocation=None)
    found = check_volume(tip.index, volume, None)
    if size is None or size % BYTES_PER_MIB:
        # Told already; what the rules judge is another size than the client's.
        found = [each for each in found if each.rule is not Rule.PART_SIZE]
    refuse(told, found)
    return to_draft(made(uri, pool.fabric, document, volume.allocation), tip)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE: its capacity goes back; 409 naming the connections with it."""
    stored(tip, write.uri)
    refuse([], check_volume_removal(tip.index, write.uri))
    volume = tip.index.volumes.get(write.uri)
    allocation = None if volume is None else volume.allocation
    fabric = "" if allocation is None else allocation.fabric
    return to_draft(given_back(write.uri, fabric, allocation), tip)


# -- what a new volume says --------------------------------------------------------------------


def _pool(
    document: Mapping[str, Any], asked: str, storage: str, tip: Tip
) -> tuple[str | None, list[Message]]:
    """Return the pool it comes from, and what is wrong with how the client says so."""
    name = storage.rsplit("/", 1)[-1]
    pools = tip.members(uris.STORAGE_POOLS.format(storage=name))
    here = asked.removesuffix("/AllocatedVolumes")
    chosen = [here] if here in pools else list(pools)
    named = next(iter(members(document, _POOL)), None)
    if named is None:
        missing = [messages.property_missing("ProvidingStoragePool", f"#/{_POOL}")]
        return next(iter(chosen), None), missing if len(chosen) > 1 else []
    if named in chosen or not chosen:
        return named, []
    conflict = messages.property_value_resource_conflict(_POOL, named, asked, f"#/{_POOL}")
    return chosen[0], [conflict]


def _size_bytes(document: Mapping[str, Any]) -> int | None:
    """Return the size asked for, in either of the two places where Swordfish has it."""
    plain = document.get("CapacityBytes")
    return plain if isinstance(plain, int) else _data_bytes(document)


def _data_bytes(document: Mapping[str, Any]) -> int | None:
    found: Any = document
    for name in _IN_DATA.split("/"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, int) else None


def _size(document: Mapping[str, Any], size: int | None) -> Iterator[Message]:
    other = _data_bytes(document)
    if size is None:
        yield messages.property_missing("CapacityBytes", "#/CapacityBytes")
    elif size % BYTES_PER_MIB:
        yield incorrect("CapacityBytes", size)
    if other is not None and other != size:
        conflict = messages.property_value_conflict
        yield conflict("CapacityBytes", "AllocatedBytes", "#/CapacityBytes", f"#/{_IN_DATA}")


def _access(document: Mapping[str, Any]) -> Iterator[Message]:
    given = document.get("AccessCapabilities")
    if given is None:
        return
    if not given or any(each not in ACCESS for each in given):
        yield incorrect("AccessCapabilities", given)


def _names(document: Mapping[str, Any], collection: str, tip: Tip) -> Iterator[Message]:
    """Yield what is wrong with names that the client gives: their form, or that they are taken."""
    given = document.get("Identifiers") or ()
    for position, each in enumerate(given):
        name, form = each.get("DurableName"), each.get("DurableNameFormat")
        place = f"Identifiers/{position}"
        if form not in NAMES:
            yield incorrect(f"{place}/DurableNameFormat", form)
        elif not isinstance(name, str) or NAMES[form].fullmatch(name) is None:
            yield incorrect(f"{place}/DurableName", name)
    wished = frozenset(durable_names(document))
    for other in tip.members(collection) if wished else ():
        if wished & frozenset(durable_names(tip.document(other) or {})):
            conflict = messages.property_value_resource_conflict
            yield conflict("Identifiers", sorted(wished)[0], other, "#/Identifiers")


def _complete(
    document: dict[str, Any], pool: CapacityPool, size: int | None, number: int, tip: Tip
) -> None:
    """Say in a new volume what the client may leave out and what only the service knows."""
    shareable = (document.get("NVMeNamespaceProperties") or {}).get("IsShareable") is True
    storage = storage_of(document["@odata.id"]) or ""
    name = hashlib.blake2b(f"{storage} {tip.next_id}".encode(), digest_size=16).hexdigest()
    document |= {
        "CapacityBytes": size or 0,
        "Capacity": {"Data": {"AllocatedBytes": size or 0}, "IsThinProvisioned": False},
        "AccessCapabilities": document.get("AccessCapabilities") or list(ACCESS),
        "ProvisioningPolicy": "Fixed",
        "NVMeNamespaceProperties": {"NamespaceId": f"{number:#x}", "IsShareable": shareable},
        # A sequence number is never used again, so no later namespace gets the same name.
        "Identifiers": document.get("Identifiers")
        or [{"DurableName": name, "DurableNameFormat": "NGUID"}],
        "Links": {
            **(document.get("Links") or {}),
            "OwningStorageResource": ref(storage),
            "ProvidingStoragePool": ref(pool.id),
        },
    }

"""Resource blocks that clients make: of other blocks, or of resources that no block has yet.

Pure. Redfish: ResourceBlock.v1_4_3 Links.SupplyingResourceBlocks; Manifest.v1_1_2 ComposeResource,
DecomposeResource and RegisterResourceBlock. A composed block is one choice for a system, with all
that its components bring; these are nobody else's from then on. Hosts and what is shared part by
part are not put into blocks of blocks: a host is what a system runs on, and parts are cut anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redfish_fm.fabric.block_rules import check_blocks
from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.values import Rule
from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.facts import enclosing
from redfish_fm.mapping.read import members
from redfish_fm.mapping.read_compositions import DEVICES, read_block
from redfish_fm.mapping.rendering import refs
from redfish_fm.mapping.resources import document_edit, new_document, stored
from redfish_fm.mapping.uris import RESOURCE_BLOCKS
from redfish_fm.mapping.violations import to_error
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write

SUPPLYING = "Links/SupplyingResourceBlocks"
_STATUS = {
    "CompositionState": "Unused",
    "Reserved": False,
    "NumberOfCompositions": 0,
    "SharingCapable": False,
    "MaxCompositions": 1,
}


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST ResourceBlocks: of other blocks, or of resources in none."""
    if members(write.body, SUPPLYING) or "ResourceBlockType" not in write.body:
        return compose(write.body, tip)
    return register(write.body, tip)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE of a client's block."""
    return decompose(write.uri, tip)


def compose(body: Mapping[str, Any], tip: Tip) -> Draft:
    """Return the draft of a block made of others. Raises RedfishError with every reason."""
    uri, document = _document(body, tip)
    supplying = members(body, SUPPLYING)
    if not supplying:
        told = messages.property_missing("SupplyingResourceBlocks", f"#/{SUPPLYING}")
        raise refusals.bad_content(told)
    # What it brings are its components' things; another's would be in two blocks.
    more = (name for name in DEVICES if members(body, name))
    unfit = [*_unfit(supplying, tip), *(messages.property_not_writable(n, f"#/{n}") for n in more)]
    violations = check_blocks(
        tip.index,
        "",
        supplying,
        supplying,
        expands=True,
        now_s=tip.wall_s(),
        reservation=None,
        status=tip.status,
        at=f"/{SUPPLYING}",
    )
    # That a physical host would get a second one says nothing where there is no host.
    violations = [each for each in violations if each.rule is not Rule.BLOCK_COMPUTE]
    if unfit:
        taken = to_error(violations).messages if violations else ()
        raise refusals.bad_content(*unfit, *taken)
    if violations:
        raise to_error(violations)
    types = {kind.value for each in supplying for kind in tip.index.blocks[each].types}
    document["ResourceBlockType"] = sorted(types)
    document["Links"] = {
        **(document.get("Links") or {}),
        "SupplyingResourceBlocks": refs(supplying),
    }
    document |= _linked(supplying, tip)
    return _made(uri, document, tip)


def register(body: Mapping[str, Any], tip: Tip) -> Draft:
    """Return the draft of a block for resources that are in none. Raises RedfishError."""
    if not body.get("ResourceBlockType"):
        raise refusals.bad_content(
            messages.property_missing("ResourceBlockType", "#/ResourceBlockType")
        )
    if members(body, SUPPLYING):
        told = messages.property_not_writable("SupplyingResourceBlocks", f"#/{SUPPLYING}")
        raise refusals.bad_content(told)
    uri, document = _document(body, tip)
    block = read_block(uri, document, tip.facts)
    named = [(name, link) for name in DEVICES for link in members(body, name)]
    if not named:
        raise refusals.bad_content(messages.property_missing("Processors", "#/Processors"))
    lost = [(name, link) for name, link in named if not tip.exists(link)]
    if lost:
        raise refusals.bad_content(
            *(refusals.missing_reference(link, f"#/{n}") for n, link in lost)
        )
    _refuse_had(block, named, tip)
    strange = [(name, link) for name, link in named if _type_of(link, tip) != _LINKED_TYPES[name]]
    if strange:
        wrong = messages.property_value_incorrect
        raise refusals.bad_content(*(wrong(name, link, f"#/{name}") for name, link in strange))
    return _made(uri, document, tip)


_LINKED_TYPES = {
    "Processors": "Processor",
    "Memory": "Memory",
    "Drives": "Drive",
    "Storage": "Storage",
    "NetworkInterfaces": "NetworkInterface",
    "EthernetInterfaces": "EthernetInterface",
}
"""Property of a block, as in read_compositions.DEVICES -> the type of what it links."""


def _type_of(uri: str, tip: Tip) -> str:
    """Return the type of the resource at a URI."""
    return str((tip.document(uri) or {}).get("@odata.type", "")).lstrip("#").partition(".")[0]


def decompose(uri: str, tip: Tip) -> Draft:
    """Return the draft that deletes a client's block. Raises RedfishError (409) while in use."""
    stored(tip, uri)
    if not tip.is_wanted(uri):
        raise refusals.not_deletable()
    index = tip.index
    for holder in sorted(index.compositions_of_block(uri) | index.consumers_of_block(uri)):
        told = messages.property_value_resource_conflict("@odata.id", uri, holder, "#/@odata.id")
        raise RedfishError(409, (told, messages.resource_in_use()))
    for holder in index.reservations_of_block(uri, tip.wall_s()):
        told = messages.property_value_resource_conflict("@odata.id", uri, holder, "#/@odata.id")
        raise RedfishError(409, (told, messages.resource_in_use()))
    return Draft(OutcomeKind.DELETED, uri, (document_edit(tip, uri, None),))


def _document(body: Mapping[str, Any], tip: Tip) -> tuple[str, dict[str, Any]]:
    uri, document = new_document("ResourceBlock", RESOURCE_BLOCKS, body, tip)
    document |= {
        "CompositionStatus": dict(_STATUS),
        "Status": {"State": "Enabled", "Health": "OK"},
    }
    return uri, document


def _made(uri: str, document: Mapping[str, Any], tip: Tip) -> Draft:
    return Draft(OutcomeKind.CREATED, uri, (document_edit(tip, uri, document),))


def _unfit(supplying: Sequence[str], tip: Tip) -> Iterator[Message]:
    """Tell which blocks can be no component of another one."""
    for position, name in enumerate(supplying):
        block = tip.index.blocks.get(name)
        if block is not None and (block.computes or block.sharing or block.supplying):
            place = f"{SUPPLYING}/{position}"
            yield messages.property_value_incorrect(place, name, f"#/{place}")


def _linked(supplying: Sequence[str], tip: Tip) -> dict[str, Any]:
    """Return what the components link, together."""
    found: dict[str, Any] = {}
    for name in DEVICES:
        links = [link for each in supplying for link in members(tip.document(each) or {}, name)]
        if links:
            found[name] = refs(dict.fromkeys(links))
    return found


def _refuse_had(block: Block, named: Sequence[tuple[str, str]], tip: Tip) -> None:
    """Raise RedfishError (409) where another block has what this one is to bring, or part of it."""
    index = tip.index
    units = {each for unit in block.units for each in (unit, *index.units_around(unit))}
    found = {each for unit in units for each in index.blocks_of_unit(unit)}
    found |= {each for name, link in named for each in _of_host(name, link, tip)}
    if had := sorted(found):
        name = "ResourceBlockType"
        told = [
            messages.property_value_resource_conflict(name, block.id, each, f"#/{name}")
            for each in had
        ]
        raise RedfishError(409, (*told, messages.resource_in_use()))


def _of_host(name: str, link: str, tip: Tip) -> Iterator[str]:
    """Yield the blocks of the host that a resource is built into, where they list it."""
    hosts = (tip.facts.entity_hosts.get(place) for place in enclosing(link))
    for host in filter(None, hosts):
        for block in tip.index.blocks_of_host(host):
            if link in members(tip.document(block) or {}, name):
                yield block

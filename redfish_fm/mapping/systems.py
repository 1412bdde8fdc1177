"""Writes on systems: which of them are compositions, and which resets or settings of a host.

Pure. Redfish: ComputerSystem.v1_27_0. Reads the request; mapping.compositions carries it out.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.mapping import composed_hosts, power, refusals
from redfish_fm.mapping.assembly import Recipe
from redfish_fm.mapping.compositions import (
    act,
    change,
    compose,
    dissolve,
    target_of,
)
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.read import members
from redfish_fm.mapping.systems_shown import ADD, REMOVE
from redfish_fm.redfish import messages
from redfish_fm.redfish.writes import Write

_BLOCKS = "Links/ResourceBlocks"


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Systems. Raises RedfishError with every reason against it."""
    blocks = members(write.body, _BLOCKS)
    if not blocks:
        told = messages.property_missing("ResourceBlocks", f"#/{_BLOCKS}")
        raise refusals.bad_content(told)
    return compose(Recipe(_host_of(blocks, tip), blocks), _own(write.body), tip, write.actor)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE of a composed system: everything is given back."""
    return dissolve(target_of(write.uri, tip), tip, write.actor)


def action(write: Write, tip: Tip) -> Draft:
    """Return the draft of an action of a composed or physical system."""
    if write.action in (ADD, REMOVE):
        return act(write, tip)
    return composed_hosts.reset(write, tip)


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH: of its blocks, or of what an owner notes about it."""
    links = write.body.get("Links")
    if not isinstance(links, Mapping) or "ResourceBlocks" not in links:
        return _settings(write, tip)
    target = target_of(write.uri, tip)
    return change(target, members(write.body, _BLOCKS), tip, write.actor)


def _settings(write: Write, tip: Tip) -> Draft:
    return composed_hosts.patch(write, tip) if tip.is_wanted(write.uri) else power.patch(write, tip)


def _host_of(blocks: tuple[str, ...], tip: Tip) -> str:
    known = (tip.index.blocks.get(block) for block in blocks)
    return next((block.host for block in known if block is not None and block.host), "")


def _own(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a POST the system's own document keeps; the rest follows from its blocks."""
    kept = ("Id", "Name", "Description", "AssetTag", "HostName", "Oem", "Links")
    return {name: value for name, value in body.items() if name in kept}

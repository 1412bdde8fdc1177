"""Writes on systems: which of them are compositions, and which resets or settings of a host.

Pure. Redfish: ComputerSystem.v1_27_0. Reads the request; mapping.compositions carries it out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from redfish_fm.mapping import composed_hosts, power, refusals
from redfish_fm.mapping.compositions import (
    act,
    change,
    compose,
    dissolve,
    target_of,
)
from redfish_fm.mapping.constrained import BLOCKS, own, recipe_for, recipe_of, refuse_outside
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.systems_shown import ADD, REMOVE
from redfish_fm.mapping.transactions import transaction
from redfish_fm.mapping.wishes import AFFINITY, DESCRIBED, OVERPROVISIONING, describes
from redfish_fm.redfish import messages
from redfish_fm.redfish.writes import OutcomeKind, Write


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Systems. Raises RedfishError with every reason against it."""
    return compose(recipe_of(write.body, tip), own(write.body), tip, write.actor)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE of a composed system: everything is given back."""
    return dissolve(target_of(write.uri, tip), tip, write.actor)


def action(write: Write, tip: Tip) -> Draft:
    """Return the draft of an action of a composed or physical system."""
    if not tip.is_wanted(write.uri) and not tip.facts.is_host(write.uri):
        raise refusals.action_not_supported(write.action or "")
    if write.action in (ADD, REMOVE):
        return act(write, tip)
    return composed_hosts.reset(write, tip)


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH: of its blocks, what it shall have, what an owner notes of it.

    What the system lacks of the members that are described is added; nothing is taken away for
    them.
    """
    links = write.body.get("Links")
    named = isinstance(links, Mapping) and "ResourceBlocks" in links
    if not named and not describes(write.body):
        _refuse_unheeded(write.body)
        return _settings(write, tip)
    if not tip.is_wanted(write.uri) and not tip.facts.is_host(write.uri):
        told = messages.property_not_writable("ResourceBlocks", f"#/{BLOCKS}")
        raise refusals.bad_content(told)
    rest = _without_blocks(write.body)
    _refuse_beside(rest, write, tip)
    with transaction(tip) as laid:
        if rest:
            laid.add(_settings(replace(write, body=rest), tip))
        laid.add(_changed(write, named=named, tip=tip))
        return laid.merged(OutcomeKind.CHANGED, write.uri)


def _changed(write: Write, *, named: bool, tip: Tip) -> Draft:
    target = target_of(write.uri, tip)
    places = _listed(write.body, target.blocks) if named else None
    blocks = None if places is None else tuple(block for block, _ in places)
    added = {block: at for block, at in reversed(places or ()) if block not in target.blocks}
    refuse_outside(write.body, added, tip)
    if not describes(write.body):
        return change(target, blocks or (), tip, write.actor, places=dict(reversed(places or ())))
    recipe = recipe_for(write.body, write.uri, target.blocks, blocks, tip)
    parts = recipe if recipe.carvings or recipe.parts or recipe.shared else None
    return change(target, recipe.blocks, tip, write.actor, carvings=parts)


def _listed(body: Mapping[str, Any], present: Sequence[str]) -> list[tuple[str, str]]:
    """Return the blocks that a PATCH lists, each with its place there.

    As in every array (DSP0266): {} keeps the block at its place, null takes it out.
    """
    found = []
    for position, value in enumerate(body["Links"]["ResourceBlocks"]):
        kept = present[position : position + 1] if value == {} else ()
        found += [(block, f"/{BLOCKS}/{position}") for block in (*uris_at(value, ()), *kept)]
    return found


def _without_blocks(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a PATCH is about neither blocks nor wishes."""
    rest = {
        name: value
        for name, value in body.items()
        if name not in DESCRIBED and not name.startswith("@Redfish.")
    }
    links = {
        name: value
        for name, value in (rest.pop("Links", None) or {}).items()
        if name != "ResourceBlocks"
    }
    return {**rest, "Links": links} if links else rest


def _refuse_beside(rest: Mapping[str, Any], write: Write, tip: Tip) -> None:
    """Raise RedfishError (400) where a PATCH of blocks also sets what is kept of a host.

    Where hardware refuses the blocks, only the system's own document is as it was before.
    """
    composed = tip.is_wanted(write.uri)
    names = [name for name in rest if name == "Boot" or not composed]
    if told := [messages.property_value_conflict(each, BLOCKS, f"#/{each}") for each in names]:
        raise refusals.bad_content(*told)


def _refuse_unheeded(body: Mapping[str, Any]) -> None:
    """Raise RedfishError (400) where a request says how to choose, and asks for nothing."""
    names = [name for name in (AFFINITY, OVERPROVISIONING) if name in body]
    if told := [messages.property_unknown(each, f"#/{each}") for each in names]:
        raise refusals.bad_content(*told)


def _settings(write: Write, tip: Tip) -> Draft:
    return composed_hosts.patch(write, tip) if tip.is_wanted(write.uri) else power.patch(write, tip)

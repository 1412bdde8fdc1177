"""Systems made of resource blocks: how they are composed, changed and given back.

Pure. Redfish: ComputerSystem.v1_27_0 Links.ResourceBlocks. A composed system is a document of its
own; a physical host that is expanded keeps its document and gets an overlay. Whatever way a request
comes, it becomes a Recipe here, and mapping.assembly makes the zones, connections and parts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from redfish_fm.fabric.block_rules import check_blocks
from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.part_index import origin_of
from redfish_fm.mapping import refusals
from redfish_fm.mapping.assembly import (
    Assembly,
    Holdings,
    Recipe,
    binds,
    fabrics_of,
    home_of,
    kind_of,
    whole_units,
)
from redfish_fm.mapping.dependencies import granted
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.hot_plug import refuse_while_on
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import members
from redfish_fm.mapping.read_compositions import expansion
from redfish_fm.mapping.rendering import refs
from redfish_fm.mapping.resources import new_document, stored
from redfish_fm.mapping.systems_shown import ADD
from redfish_fm.mapping.transactions import Transaction, transaction
from redfish_fm.mapping.violations import to_error
from redfish_fm.redfish import messages, oem
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write


@dataclass(frozen=True, slots=True)
class Target:
    """The system a change is about: as it is, and whether it is a physical host."""

    uri: str
    document: Mapping[str, Any]
    physical: bool

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks it is made of, or was given, in order."""
        return members(self.document, "Links/ResourceBlocks")


def compose(
    recipe: Recipe,
    body: Mapping[str, Any],
    tip: Tip,
    actor: str,
    *,
    reservation: str | None = None,
    at: str = "/Links/ResourceBlocks",
) -> Draft:
    """Return the draft of a new composed system; raises RedfishError with every reason."""
    with transaction(tip) as laid:
        uri = lay_composition(laid, recipe, body, tip, actor, reservation=reservation, at=at)
        return laid.merged(OutcomeKind.CREATED, uri)


def lay_composition(
    laid: Transaction,
    recipe: Recipe,
    body: Mapping[str, Any],
    tip: Tip,
    actor: str,
    *,
    reservation: str | None = None,
    at: str = "/Links/ResourceBlocks",
) -> str:
    """Lay a new composed system on the tip, inside a transaction; return its URI."""
    uri, document = new_document("ComputerSystem", _SYSTEMS, body, tip)
    violations = check_blocks(
        tip.index,
        uri,
        recipe.blocks,
        recipe.blocks,
        expands=False,
        now_s=tip.wall_s(),
        reservation=reservation,
        status=tip.status,
        at=at,
        named=recipe.places,
    )
    if violations:
        raise to_error(violations)
    refuse_while_on(recipe.host, recipe.blocks, tip)
    document["SystemType"] = "Composed"
    # It is made of nothing yet; what is assembled is what is new in it.
    document["Links"] = {**(document.get("Links") or {}), "ResourceBlocks": []}
    _assemble(laid, Target(uri, document, physical=False), recipe, tip, actor, at)
    return uri


_SYSTEMS = "/redfish/v1/Systems"


def change(
    target: Target,
    blocks: Sequence[str],
    tip: Tip,
    actor: str,
    *,
    at: str = "/Links/ResourceBlocks",
    carvings: Recipe | None = None,
    places: Mapping[str, str] | None = None,
) -> Draft:
    """Return the draft after which the system is made of `blocks`; the rest stays untouched.

    `places` tells where the request names blocks that are not in a list at `at`.
    """
    before = target.blocks
    added = [block for block in blocks if block not in before]
    gone = [block for block in before if block not in blocks]
    violations = check_blocks(
        tip.index,
        target.uri,
        blocks,
        added,
        expands=target.physical,
        now_s=tip.wall_s(),
        reservation=None,
        status=tip.status,
        at=at,
        named=places,
    )
    if violations:
        raise to_error(violations)
    if not added and not gone and carvings is None:
        return Draft(OutcomeKind.NO_OPERATION, target.uri)
    refuse_while_on(_host_of(target, target.blocks, tip), (*added, *gone, *_cut_of(carvings)), tip)
    with transaction(tip) as laid:
        if gone:
            target = _give_back(laid, target, gone, tip, actor)
        recipe = carvings or Recipe(_host_of(target, blocks, tip), tuple(blocks))
        recipe = replace(recipe, places={**recipe.places, **(places or {})})
        _assemble(laid, target, recipe, tip, actor, at)
        return laid.merged(OutcomeKind.CHANGED, target.uri, added)


def dissolve(target: Target, tip: Tip, actor: str) -> Draft:
    """Return the draft that gives everything back, with the composed system itself."""
    refuse_while_on(_host_of(target, target.blocks, tip), target.blocks, tip)
    with transaction(tip) as laid:
        assembly = Assembly(laid, tip, target.uri, actor)
        holdings = Holdings.of(target.document)
        for name in ("Connections", "Zones", "MemoryChunks", "MemoryRegions", "Volumes"):
            for uri in holdings.uris[name]:
                assembly.delete(uri)
        _store(laid, target, None, tip)
        return laid.merged(OutcomeKind.DELETED, target.uri)


def _cut_of(recipe: Recipe | None) -> tuple[str, ...]:
    """Return the blocks that parts are cut from, or that bring what is there already."""
    return () if recipe is None else recipe.blocks


def _assemble(
    laid: Transaction, target: Target, recipe: Recipe, tip: Tip, actor: str, at: str
) -> None:
    """Lay what is new of the recipe on the tip: parts, the system, its zones and connections."""
    assembly = Assembly(laid, tip, target.uri, actor)
    holdings = Holdings.of(target.document)
    index = tip.index
    known = [index.blocks[block] for block in recipe.blocks if block in index.blocks]
    parts = {part: home_of(part, tip) for part in recipe.parts}
    told = ToldOfBlocks(known, at, recipe.places, assembly, tip)
    with told:
        parts |= assembly.carve(recipe.carvings)
    for part, place in zip(parts, recipe.asked, strict=False):
        told.add((part, parts[part]), place)
    holdings.mirror([*parts], recipe.mirrors)
    for part in parts:
        holdings.uris[kind_of(part, tip)].append(part)
    present = frozenset(target.blocks)
    added = index.components(block.id for block in known if block.id not in present)
    fresh = [index.blocks[block] for block in added if block in index.blocks]
    units = fabrics_of(whole_units(fresh, recipe.host, tip), tip)
    shared = {each.region: each.access for each in recipe.shared}
    parts |= {region: home_of(region, tip) for region in shared}
    for each in recipe.shared:
        told.add((each.region, parts[each.region]), each.name)
    for unit in parts.values():
        for fabric in fabrics_of((unit,), tip):
            if binds(fabric, tip):
                units.setdefault(fabric, []).append(unit)
    joined = {fabric: assembly.zone_in(fabric, holdings) for fabric in units if binds(fabric, tip)}
    granted = _connections(parts, holdings, tip)
    for unit, place in told.places():
        laid.tell(unit, place)
    _store(laid, target, _made_of(target, recipe.blocks, holdings), tip)
    with told:
        for fabric, zone in joined.items():
            assembly.join(zone, fabric, recipe.host, units[fabric])
        for part, connection in granted.items():
            access = shared.get(part, _ALL_ACCESS)
            assembly.connect(connection, recipe.host, part, parts[part], access)


_ALL_ACCESS = ("Read", "Write")


def _connections(parts: Mapping[str, str], holdings: Holdings, tip: Tip) -> dict[str, str]:
    """Return part -> a free URI for the connection that grants it, noted among the holdings."""
    found: dict[str, str] = {}
    taken: dict[str, int] = {}
    for part, unit in parts.items():
        fabric = next(iter(fabrics_of((unit,), tip)), "")
        collection = f"/redfish/v1/Fabrics/{fabric}/Connections"
        number = taken[collection] = taken.get(collection, -1) + 1
        wish = tip.next_id if number == 0 else tip.new_id(number)
        while tip.exists(f"{collection}/{wish}"):
            number = taken[collection] = number + 1
            wish = tip.new_id(number)
        found[part] = f"{collection}/{wish}"
    holdings.uris["Connections"] += found.values()
    return found


def _give_back(
    laid: Transaction, target: Target, gone: Sequence[str], tip: Tip, actor: str
) -> Target:
    """Lay the removal of blocks on the tip; return the system as it is without them."""
    assembly = Assembly(laid, tip, target.uri, actor)
    holdings = Holdings.of(target.document)
    index = tip.index
    leaving = [index.blocks[block] for block in index.components(gone) if block in index.blocks]
    units = {unit for block in leaving if not block.sharing for unit in block.units}
    units |= _parts_given_back(assembly, holdings, leaving, tip)
    ends = frozenset().union(*(index.endpoints_of_unit(unit) for unit in units))
    for zone in [*holdings.uris["Zones"]]:
        named = frozenset(index.zones[zone].endpoints) if zone in index.zones else frozenset()
        if not named & ends and _has_targets(zone, tip):
            continue
        if not assembly.leave(zone, ends):
            assembly.delete(zone)
            holdings.drop(zone)
    stay = [block for block in target.blocks if block not in gone]
    after = _made_of(target, stay, holdings)
    _store(laid, target, after, tip)
    return Target(target.uri, after, target.physical)


def _parts_given_back(
    assembly: Assembly, holdings: Holdings, leaving: Sequence[Block], tip: Tip
) -> set[str]:
    """Lay the end of all parts of these blocks on the tip; return what need not be reached now."""
    index = tip.index
    pools = frozenset[str]().union(*(block.pools for block in leaving))
    left: set[str] = set()
    for connection in [*holdings.uris["Connections"]]:
        known = index.connections.get(connection)
        parts = () if known is None else tuple(granted(known))
        if not any(_pool_of(part, index) in pools for part in parts):
            continue
        left |= {home_of(part, tip) for part in parts}
        assembly.delete(connection)
        holdings.drop(connection)
        for part in parts:
            if part in holdings.all():
                assembly.delete(part)
                holdings.drop(part)
    return left


def _pool_of(part: str, index: FabricIndex) -> str:
    """Return the pool or fixed domain that a part comes from, as blocks name them."""
    found = index.chunks.get(part) or index.regions.get(part) or index.volumes.get(part)
    origin = "" if found is None else origin_of(found) or ""
    domain = index.domains.get(origin)
    return origin if domain is None else domain.pool or domain.id


def _has_targets(zone: str, tip: Tip) -> bool:
    known = tip.index.endpoints
    ends = tip.index.zones[zone].endpoints if zone in tip.index.zones else ()
    return any(known[uri].host is None for uri in ends if uri in known)


def _host_of(target: Target, blocks: Sequence[str], tip: Tip) -> str:
    if target.physical:
        return target.uri
    known = (tip.index.blocks.get(block) for block in blocks)
    return next((block.host for block in known if block is not None and block.host), target.uri)


def _made_of(target: Target, blocks: Sequence[str], holdings: Holdings) -> dict[str, Any]:
    links = {**(target.document.get("Links") or {}), "ResourceBlocks": refs(blocks)}
    ours = {**((target.document.get("Oem") or {}).get(oem.NAME) or {})}
    ours.update(holdings.shown()[oem.NAME])
    return {
        **target.document,
        "Links": links,
        "Oem": {**(target.document.get("Oem") or {}), oem.NAME: ours},
    }


def _store(laid: Transaction, target: Target, document: Mapping[str, Any] | None, tip: Tip) -> None:
    """Lay the system's document on the tip; of a physical host only what is laid over it."""
    if not target.physical:
        post = None if document is None else msgspec.json.encode(document)
        laid.edit(Edit(Space.DOCUMENT, target.uri, tip.wanted(target.uri), post))
        return
    raw = tip.overlay(target.uri)
    overlay: dict[str, Any] = {} if raw is None else msgspec.json.decode(raw)
    after = expansion(overlay, document)
    post = msgspec.json.encode(after, order="sorted") if after else None
    laid.edit(Edit(Space.OVERLAY, target.uri, raw, post))


class ToldOfBlocks:
    """Word refusals of zones and connections, which no client wrote, by the blocks it named."""

    def __init__(
        self,
        blocks: Sequence[Block],
        at: str,
        named: Mapping[str, str],
        assembly: Assembly,
        tip: Tip,
    ) -> None:
        self._at = at
        self._assembly = assembly
        self._tip = tip
        self._places: dict[str, str] = {}
        for position, block in enumerate(blocks):
            self.add(block.units, named.get(block.id, f"{at}/{position}"))

    def add(self, units: Iterable[str], place: str) -> None:
        """Note where the request asks for units, and for the endpoints that lead to them."""
        for unit in units:
            for end in (unit, *self._tip.index.endpoints_of_unit(unit)):
                self._places[end] = place

    def places(self) -> Iterable[tuple[str, str]]:
        """Return everything that was noted with its JSON pointer."""
        return self._places.items()

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise the refusal with the places of the request in the place of the zone's."""
        if isinstance(error, RedfishError):
            told = tuple(dict.fromkeys(map(self._placed, error.messages)))
            raise RedfishError(error.status, told, error.headers) from error

    def _placed(self, message: Message) -> Message:
        if not message.related:
            return message
        named = message.related[0].lstrip("#/")
        where = self._places.get(self._meant(message, named), self._at)
        args = tuple(where.lstrip("/") if arg == named else arg for arg in message.args)
        return Message(message.key, args, (f"#{where}",))

    def _meant(self, message: Message, named: str) -> str:
        """Return the endpoint or unit that a refusal is about."""
        head, _, position = named.rpartition("/")
        if head == "Links/Endpoints" and position.isdecimal():
            return self._assembly.named[int(position)]
        return next((arg for arg in message.args if arg in self._places), "")


# -- requests ----------------------------------------------------------------------------------


def target_of(uri: str, tip: Tip) -> Target:
    """Return the system at `uri` as a composition sees it. Raises RedfishError (404)."""
    return Target(uri, stored(tip, uri), physical=not tip.is_wanted(uri))


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of AddResourceBlock or RemoveResourceBlock."""
    target = target_of(write.uri, tip)
    block = next(uris_at(write.body, ["ResourceBlock"]), None)
    if block is None:
        told = messages.action_parameter_missing(
            write.action or "", "ResourceBlock", "#/ResourceBlock"
        )
        raise refusals.bad_content(told)
    present = target.blocks
    if write.action == ADD:
        after = present if block in present else (*present, block)
    elif block in present:
        after = tuple(each for each in present if each != block)
    else:
        conflict = messages.action_parameter_value_conflict
        raise refusals.bad_content(conflict("ResourceBlock", block, "#/ResourceBlock"))
    return change(target, after, tip, write.actor, at=_PARAMETER, places={block: _PARAMETER})


_PARAMETER = "/ResourceBlock"
"""Where AddResourceBlock and RemoveResourceBlock name their only block."""


def refuse_held(uri: str, tip: Tip) -> None:
    """Raise RedfishError (409) where a composition holds the resource: it is changed through it."""
    holder = tip.index.composition_holding(uri)
    if holder is not None:
        told = messages.property_value_resource_conflict("@odata.id", uri, holder)
        raise RedfishError(409, (told, messages.resource_in_use()))

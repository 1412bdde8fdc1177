"""Systems by what they need: wishes are placed, and what is chosen becomes a recipe.

Pure. Redfish: constrained composition (DSP0266, @Redfish.RequestedCount, @Redfish.ZoneAffinity,
@Redfish.AllowOverprovisioning). Reads the request and words what can not be met; where things go is
fabric.placement's to decide, and mapping.compositions makes the system.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.block_rules import check_blocks
from redfish_fm.fabric.composition import Composition
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.placement import place
from redfish_fm.fabric.placement_values import (
    Cut,
    Found,
    Group,
    Placement,
    Reason,
    Rejection,
    Rejections,
    Request,
)
from redfish_fm.fabric.values import Access
from redfish_fm.mapping import refusals, uris
from redfish_fm.mapping.assembly import Carving, Recipe
from redfish_fm.mapping.drafts import Tip
from redfish_fm.mapping.read import members
from redfish_fm.mapping.violations import to_error
from redfish_fm.mapping.wishes import (
    AFFINITY,
    DRIVE,
    DRIVES,
    LATENCY,
    OVERPROVISIONING,
    POLICY,
    REGION,
    Asked,
    SharedWish,
    read_wishes,
)
from redfish_fm.redfish import messages, oem
from redfish_fm.redfish.errors import Message, RedfishError

BLOCKS = "Links/ResourceBlocks"
CANDIDATES_MAX = 16
"""Candidates that one message tells of: each more would only repeat what was wrong."""

_MIB = frozenset({Reason.CAPACITY, Reason.GRANULARITY, Reason.HOST_MEMORY})
_NS = frozenset({Reason.LATENCY})


def own(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a request the system's document keeps; the rest follows from its blocks."""
    kept = {name: value for name, value in body.items() if name in _KEPT}
    return oem.without_own(kept)


_KEPT = frozenset({"Id", "Name", "Description", "AssetTag", "HostName", "Oem", "Links"})


def recipe_of(body: Mapping[str, Any], tip: Tip, *, among: frozenset[str] | None = None) -> Recipe:
    """Return what a new system is to be made of: named blocks, and what is chosen for its wishes.

    `among`: only these blocks, beside those that the request itself confines it to. Raises
    RedfishError: 400 for what can not be read, 409 with a message for each requirement that is not
    met.
    """
    named, asked = members(body, BLOCKS), read_wishes(body)
    if not asked.wishes and not named and not asked.told:
        told = messages.property_missing("ResourceBlocks", f"#/{BLOCKS}")
        raise refusals.bad_content(told)
    known = (tip.index.blocks.get(block) for block in named)
    host = next((block.host for block in known if block is not None and block.host), None)
    asked.told += (*_unheeded(asked, named, tip), *_outside(body, _positions(named), tip))
    if not asked.wishes and not asked.told:
        return Recipe(host or "", named)
    _refuse(asked, named, body, tip, system="", expands=host is None)
    shared, homes = _shared(asked, "", (), tip)
    request = _request(body, asked, tip, among, blocks=tuple(dict.fromkeys((*named, *homes))))
    found = _placed(request, tip)
    chosen = dict.fromkeys((*(() if host else _some(found.compute)), *named, *found.blocks))
    places = {**homes, **_places(named, request, found)}
    recipe = _recipe(found, tuple(chosen), places, tip)
    return replace(recipe, shared=shared)


def recipe_for(
    body: Mapping[str, Any],
    system: str,
    present: Sequence[str],
    named: Sequence[str] | None,
    tip: Tip,
) -> Recipe:
    """Return what a running system is to be made of afterwards: `named`, and what is wished for.

    `present` are its blocks now; `named` None: all of them stay. What it has besides the named ones
    counts for the wishes, so that the same request finds nothing to do the second time. Raises
    RedfishError as `recipe_of`.
    """
    held = tuple(block for block in present if named is None or block not in named)
    named = present if named is None else named
    asked = read_wishes(body)
    more = tuple(block for block in named if block not in present)
    composition = tip.index.compositions.get(system)
    expands = composition is None or composition.expands
    _refuse(asked, more, body, tip, system=system, expands=True)
    known = composition.host if composition is not None else None
    host = system if expands or known is None else known
    shared, homes = _shared(asked, system, present, tip)
    fresh = tuple(each for each in shared if not _has(composition, each, tip))
    added = tuple(each for each in homes if each not in present and each not in named)
    request = _request(body, asked, tip, None, blocks=(*more, *added), system=system, held=held)
    found = _placed(request, tip)
    kept = (each for each in present if each in (*homes, *found.kept))
    blocks = tuple(dict.fromkeys((*named, *kept, *found.blocks)))
    places = {**homes, **_places(named, request, found)}
    recipe = _recipe(found, blocks, places, tip)
    return replace(recipe, host=host, shared=fresh)


def _has(composition: Composition | None, wish: SharedWish, tip: Tip) -> bool:
    """Return whether the system was granted a region already, with that access or more."""
    wished = frozenset(map(Access, wish.access))
    held = frozenset() if composition is None else composition.holdings
    known = (tip.index.connections.get(each) for each in held)
    granted = (row for each in known if each is not None for row in each.regions)
    return any(row.region == wish.region and wished <= row.access for row in granted)


def _shared(
    asked: Asked, system: str, present: Sequence[str], tip: Tip
) -> tuple[tuple[SharedWish, ...], dict[str, str]]:
    """Return the regions to share, and block -> where the request asks for one that is in it.

    Raises RedfishError: 400 also where one region is asked for twice, so that no access is passed
    over; 409 for blocks that the system has not, and that are not to be had.
    """
    told: list[Message] = []
    homes: dict[str, str] = {}
    seen: set[str] = set()
    for wish in asked.shared:
        region = tip.index.regions.get(wish.region)
        place = f"{wish.name}/Oem/{oem.NAME}/{REGION}"
        if region is None or not region.shareable or wish.region in seen:
            told.append(messages.property_value_incorrect(REGION, wish.region, f"#{place}"))
        else:
            for block in sorted(tip.index.blocks_of_pool(region.pool)):
                homes.setdefault(block, wish.name)
        seen.add(wish.region)
    if told:
        raise refusals.bad_content(*told)
    violations = check_blocks(
        tip.index,
        system,
        (),
        tuple(block for block in homes if block not in present),
        expands=True,
        now_s=tip.wall_s(),
        reservation=None,
        status=tip.status,
        named=homes,
    )
    if violations:
        raise to_error(violations)
    return tuple(asked.shared), homes


def _some(compute: str | None) -> tuple[str, ...]:
    return () if compute is None else (compute,)


# -- the request -----------------------------------------------------------------------------


def _request(
    body: Mapping[str, Any],
    asked: Asked,
    tip: Tip,
    among: frozenset[str] | None,
    **more: Any,
) -> Request:
    zone = _zone(body, tip)
    if zone is not None:
        among = zone if among is None else among & zone
    service = tip.document(uris.COMPOSITION_SERVICE) or {}
    allowed = service.get("AllowOverprovisioning") is not False
    overprovisioning = allowed and body.get(OVERPROVISIONING) is True
    asked = _by_what_there_is(asked, tip.index)
    return asked.request(among=among, allow_overprovisioning=overprovisioning, **more)


def _by_what_there_is(asked: Asked, index: FabricIndex) -> Asked:
    """Return the wishes in the terms of this service's blocks.

    A drive of any protocol is one of the first protocol that it has. Where no memory is pooled,
    memory is what the host brings.
    """
    drive = next((kind for kind in DRIVES if index.blocks_like(kind, None)), DRIVES[0])
    devices = [replace(w, kind=drive) if w.kind == DRIVE else w for w in asked.devices]
    if index.blocks_like("Memory", None):
        return replace(asked, devices=devices)
    own = [wish for wish in asked.memory if wish.kind == "Memory"]
    compute = asked.compute
    if own:
        least = compute.memory_mib_min + sum(wish.capacity_mib * wish.count for wish in own)
        name = compute.name or own[0].name
        compute = replace(compute, memory_mib_min=least, name=name)
    rest = [wish for wish in asked.memory if wish not in own]
    return replace(asked, devices=devices, memory=rest, compute=compute)


def _zone(body: Mapping[str, Any], tip: Tip) -> frozenset[str] | None:
    """Return the blocks of the zone that the request is confined to; None: any. Raises (400)."""
    wished = body.get(AFFINITY)
    if wished is None:
        return None
    zone = tip.document(uris.RESOURCE_ZONE.format(zone=wished))
    if zone is None:
        raise refusals.bad_content(_no_zone(wished))
    found = frozenset(members(zone, BLOCKS))
    # A block made of blocks is where those are; zones list what was discovered.
    made = (uri for uri in members(body, BLOCKS) if found.issuperset(tip.index.components((uri,))))
    return found.union(made)


def _no_zone(wished: object) -> Message:
    return messages.property_value_incorrect(AFFINITY, str(wished), f"#/{AFFINITY}")


def refuse_outside(body: Mapping[str, Any], places: Mapping[str, str], tip: Tip) -> None:
    """Raise RedfishError (400) where a request names blocks outside the zone that it asks for.

    `places` is block -> JSON pointer to where it is named.
    """
    told = tuple(_outside(body, places, tip))
    if told:
        raise refusals.bad_content(*told)


def _outside(body: Mapping[str, Any], places: Mapping[str, str], tip: Tip) -> Iterator[Message]:
    """Tell of a zone that is none, and of named blocks that are not in it."""
    wished = body.get(AFFINITY)
    if wished is None:
        return
    zone = tip.document(uris.RESOURCE_ZONE.format(zone=wished))
    if zone is None:
        yield _no_zone(wished)
        return
    found = frozenset(members(zone, BLOCKS))
    for block, at in places.items():
        if block in tip.index.blocks and not found.issuperset(tip.index.components((block,))):
            yield messages.property_value_conflict(at.lstrip("/"), AFFINITY, f"#{at}")


def _unheeded(asked: Asked, named: Sequence[str], tip: Tip) -> Iterator[Message]:
    """Tell which wishes about the whole system nothing heeds: named blocks are held to none."""
    known = (tip.index.blocks.get(block) for block in named)
    whole = [each for each in known if each is not None and not (each.computes or each.sharing)]
    for name in asked.ours:
        at = f"#/Oem/{oem.NAME}/{name}"
        heeded = bool(asked.devices and name != POLICY)
        heeded |= bool(asked.memory and name in (POLICY, LATENCY))
        if whole and (name == LATENCY or not heeded):
            yield messages.property_value_conflict(name, BLOCKS, at)
        elif not heeded:
            yield messages.property_unknown(name, at)


def _refuse(
    asked: Asked,
    named: Sequence[str],
    body: Mapping[str, Any],
    tip: Tip,
    *,
    system: str,
    expands: bool,
) -> None:
    """Raise RedfishError with what can not be read, and why named blocks can not be taken."""
    violations = check_blocks(
        tip.index,
        system,
        named,
        named,
        expands=expands,
        now_s=tip.wall_s(),
        reservation=None,
        status=tip.status,
        named=_positions(members(body, BLOCKS)),
    )
    if asked.told:
        told = to_error(violations).messages if violations else ()
        raise RedfishError(400, tuple(dict.fromkeys((*asked.told, *told))))
    if violations:
        raise to_error(violations)


def _placed(request: Request, tip: Tip) -> Placement:
    found = place(
        tip.index,
        request,
        now_s=tip.wall_s(),
        status=tip.status,
        occupied=tip.occupied,
        elsewhere=tip.bound_elsewhere,
    )
    if isinstance(found, Rejections):
        raise RedfishError(409, tuple(unmet(found)))
    return found


# -- what was chosen -------------------------------------------------------------------------


def _recipe(
    found: Placement, blocks: tuple[str, ...], places: Mapping[str, str], tip: Tip
) -> Recipe:
    carvings = tuple(Carving(cut.block, _collection(cut, tip), cut.size_mib) for cut in found.cuts)
    parts = tuple(each.chunk for each in found.chunks)
    every: tuple[Cut | Found, ...] = (*found.chunks, *found.cuts)
    asked = tuple(each.wish for each in every)
    return Recipe(found.host, blocks, carvings, parts, _mirrors(found), (), places, asked)


def _places(named: Sequence[str], request: Request, found: Placement) -> dict[str, str]:
    """Return block -> JSON pointer to where the request names it, or wishes for it."""
    every: tuple[Cut | Found, ...] = (*found.chunks, *found.cuts)
    places = {each.block: each.wish for each in every}
    for wish, blocks in zip(found.wished, found.devices, strict=True):
        places |= dict.fromkeys(blocks, wish)
    if found.compute is not None:
        places[found.compute] = request.compute.name or f"/{BLOCKS}"
    return places | _positions(named)


def _positions(named: Sequence[str]) -> dict[str, str]:
    """Return block -> JSON pointer to where a list names it first."""
    return {block: f"/{BLOCKS}/{n}" for n, block in reversed([*enumerate(named)])}


def _collection(cut: Cut, tip: Tip) -> str:
    """Return where a part is made: under its logical device, its storage pool or its domain."""
    if cut.ld is not None:
        return f"{cut.ld}/MemoryRegions"
    pool = tip.index.pools.get(cut.pool)
    if cut.pool in tip.index.domains:
        return f"{cut.pool}/MemoryChunks"
    return f"{cut.pool if pool is None else pool.id}/AllocatedVolumes"


def _mirrors(found: Placement) -> tuple[tuple[int, ...], ...]:
    """Return which positions are copies of each other: the n-th part of each copy of a wish."""
    rows: dict[tuple[str, int], list[int]] = {}
    counts: dict[tuple[str, int], int] = {}
    every: tuple[Cut | Found, ...] = (*found.chunks, *found.cuts)
    mirrored = {each.wish for each in every if each.copy}
    for position, each in enumerate(every):
        if each.wish in mirrored:
            number = counts.get((each.wish, each.copy), 0)
            counts[each.wish, each.copy] = number + 1
            rows.setdefault((each.wish, number), []).append(position)
    return tuple(tuple(row) for row in rows.values())


# -- what can not be met ---------------------------------------------------------------------


def unmet(found: Rejections) -> Iterator[Message]:
    """Yield a message for each requirement that is not met: requested, available, and why."""
    for row in found.unmet:
        where = row.wish.lstrip("/")
        named = where or "the host"
        about = [each for each in found.candidates if each.wish == row.wish]
        told = [_candidate(each) for each in about[:CANDIDATES_MAX] if each.candidate]
        if len(about) > CANDIDATES_MAX:
            told.append(f"{len(about) - CANDIDATES_MAX} more")
        pointer = (f"#/{where}",) if where else ()
        yield messages.requirement_unmet(
            named,
            _amount(row, row.requested),
            _amount(row, row.available),
            row.reason.value,
            "; ".join(told) or "none",
            *pointer,
        )


def _candidate(row: Rejection) -> str:
    """Return why one candidate was rejected, as a clause."""
    name = f"{row.group.value} {row.candidate}" if row.group is not Group.REQUEST else row.candidate
    alike = f" and {row.alike} alike" if row.alike else ""
    if row.requested is None:
        return f"{name}{alike}: {row.reason.value}"
    have, wanted = _amount(row, row.available), _amount(row, row.requested)
    return f"{name}{alike}: {have} of {wanted}, {row.reason.value}"


def _amount(row: Rejection, number: int | None) -> str:
    if number is None:
        return "not counted"
    unit = " MiB" if row.reason in _MIB else " ns" if row.reason in _NS else ""
    return f"{number}{unit}"

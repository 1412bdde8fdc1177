"""Which resource blocks a system can be made of: rule 5 before anything is zoned.

Pure. Judges blocks; what becomes of them in the fabric (zones, connections, parts) is judged by the
rules of those. DESIGN section 5, rule 5, and section 6. Redfish: ResourceBlock.v1_4_3.
"""

from collections.abc import Iterator, Mapping, Sequence

from redfish_fm.fabric.cases import TargetStatus
from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.member_rules import UNAVAILABLE_STATES
from redfish_fm.fabric.values import Rule, Violation

OUT_OF_USE = UNAVAILABLE_STATES | {"StandbyOffline"}
"""States of devices that no system can use: also without power, which a host may well be."""


def check_blocks(
    index: FabricIndex,
    composition: str,
    blocks: Sequence[str],
    added: Sequence[str],
    *,
    expands: bool,
    now_s: float,
    reservation: str | None,
    status: TargetStatus,
    at: str = "/Links/ResourceBlocks",
    named: Mapping[str, str] | None = None,
) -> list[Violation]:
    """Return why the system can not be made of `blocks`, of which `added` are new in it.

    `expands`: it is a physical host, which brings its own compute. `reservation` is the one whose
    client asks. `now_s` is wall time; `at` the JSON pointer of the list in the request, `named`
    that of blocks which it names elsewhere.
    """
    places = {block: f"{at}/{position}" for position, block in reversed([*enumerate(blocks)])}
    places.update(named or {})
    found = [*_twice(blocks, at)]
    known = [index.blocks[block] for block in dict.fromkeys(blocks) if block in index.blocks]
    found += _computes(index, composition, known, places, expands, at)
    found += _consumed(index, composition, at) if expands else ()
    for name in dict.fromkeys(added):
        block = index.blocks.get(name)
        if block is None:
            found.append(Violation(Rule.BLOCK_UNKNOWN, name, None, places.get(name)))
            continue
        place = places.get(name)
        found += _taken(index, composition, block, place)
        found += _reserved(index, block, place, now_s, reservation)
        found += _in_use(index, block, place)
        found += _unavailable(index, block, place, status)
    return found


def _twice(blocks: Sequence[str], at: str) -> Iterator[Violation]:
    known: set[str] = set()
    for position, name in enumerate(blocks):
        if name in known:
            yield Violation(Rule.BLOCK_TWICE, name, None, f"{at}/{position}")
        known.add(name)


def _computes(
    index: FabricIndex,
    composition: str,
    blocks: Sequence[Block],
    places: dict[str, str],
    expands: bool,
    at: str,
) -> Iterator[Violation]:
    """A composed system runs on exactly one host, and stays there; a physical one brings its own.

    What it has is bound to that host: on another one it would be a new system.
    """
    # What a physical system itself computes with may be listed among its blocks.
    computing = [block for block in blocks if block.computes and block.host != composition]
    before = index.compositions.get(composition)
    host = None if before is None else before.host
    for position, block in enumerate(computing):
        if expands or position or host not in (None, block.host):
            yield Violation(Rule.BLOCK_COMPUTE, block.id, composition, places.get(block.id))
    if not computing and not expands:
        yield Violation(Rule.BLOCK_COMPUTE, composition, None, at)


def _consumed(index: FabricIndex, host: str, at: str) -> Iterator[Violation]:
    """A physical host is expanded in place or used up by a composed system, never both."""
    consumer = index.composition_consuming(host)
    if consumer is not None:
        yield Violation(
            Rule.BLOCK_TAKEN, min(index.blocks_of_host(host), default=host), consumer, at
        )


def _taken(
    index: FabricIndex, composition: str, block: Block, place: str | None
) -> Iterator[Violation]:
    for consumer in sorted(index.consumers_of_block(block.id)):
        yield Violation(Rule.BLOCK_TAKEN, block.id, consumer, place)
    others = index.compositions_of_block(block.id) - {composition}
    if others and (not block.sharing or len(others) >= (block.compositions_max or len(others) + 1)):
        yield Violation(Rule.BLOCK_TAKEN, block.id, min(others), place)
    if block.host is not None:
        # Expanded in place or used up by a composed system, never both.
        for other in sorted(index.compositions_of_host(block.host) - others - {composition}):
            yield Violation(Rule.BLOCK_TAKEN, block.id, other, place)


def _reserved(
    index: FabricIndex, block: Block, place: str | None, now_s: float, reservation: str | None
) -> Iterator[Violation]:
    for holder in index.reservations_of_block(block.id, now_s):
        if holder != reservation:
            yield Violation(Rule.BLOCK_TAKEN, block.id, holder, place)


def _in_use(index: FabricIndex, block: Block, place: str | None) -> Iterator[Violation]:
    """What somebody zoned, connected or bound by hand is not taken from under them."""
    if not block.sharing:
        for holder in sorted(holders_outside(index, block)):
            # What another composition holds is told by its system.
            if index.composition_holding(holder) is None:
                yield Violation(Rule.BLOCK_IN_USE, block.id, holder, place)


def holders_outside(index: FabricIndex, block: Block) -> set[str]:
    """Return the zones, connections and vPPBs that have what is in the block, or a part of it.

    A host is had by whoever names one of its endpoints: rule 5 leaves them to the composition.
    """
    found = index.holders_of_units(block.units)
    return found if block.host is None else found | index.holders_of_host(block.host)


def _unavailable(
    index: FabricIndex, block: Block, place: str | None, status: TargetStatus
) -> Iterator[Violation]:
    if block.withdrawn:
        yield Violation(Rule.BLOCK_UNAVAILABLE, block.id, block.id, place)
        return
    for unit in sorted(block.units):
        for endpoint in sorted(index.endpoints_of_unit(unit)):
            state, health = status(endpoint)
            if state in OUT_OF_USE or health == "Critical":
                told = tuple(text for text in (state, health) if text is not None)
                yield Violation(Rule.BLOCK_UNAVAILABLE, block.id, endpoint, place, told)
                return

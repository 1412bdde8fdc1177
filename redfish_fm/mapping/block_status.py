"""What resource blocks show of the compositions and reservations that they are in.

Pure. Redfish: ResourceBlock.v1_4_3 CompositionStatus and Pool, CompositionService.v1_2_3 FreePool
and ActivePool. Everything here is derived when it is read, never stored.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any

from redfish_fm.fabric.block_rules import OUT_OF_USE, holders_outside
from redfish_fm.fabric.composition import Block, Composition, CompositionState, Reservation
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.member_rules import UNAVAILABLE_STATES
from redfish_fm.fabric.values import Connection, EndpointGroup, VppbGrant, Zone, ZoneType
from redfish_fm.mapping.read_compositions import UNASSIGNED
from redfish_fm.mapping.rendering import refs
from redfish_fm.mapping.uris import ACTIVE_POOL, FREE_POOL

POOLS = frozenset({ACTIVE_POOL, FREE_POOL})
"""Collections whose members follow from what is composed."""


def block_shown(
    index: FabricIndex, uri: str, status: Mapping[str, Any], busy: Callable[[str], str | None]
) -> dict[str, Any] | None:
    """Return CompositionStatus, Pool and, where it is in none, the empty list of its systems.

    None where there is no block. `status` is the block's Status as shown; `busy` tells the Task
    that a system is under.
    """
    block = index.blocks.get(uri)
    if block is None:
        return None
    compositions = index.compositions_of_block(uri)
    shown: dict[str, Any] = {
        "CompositionState": _state(index, block, compositions, status, busy).value,
        "NumberOfCompositions": len(compositions | index.consumers_of_block(uri)),
    }
    if index.is_reserved(uri):
        # Else it is what clients note about it.
        shown["Reserved"] = True
    patch: dict[str, Any] = {
        "CompositionStatus": shown,
        "Pool": _pool(index, block, compositions),
    }
    links: dict[str, Any] = {} if compositions else {"ComputerSystems": []}
    if consumers := sorted(index.consumers_of_block(uri)):
        links["ConsumingResourceBlocks"] = refs(consumers)
    if links:
        patch["Links"] = links
    return patch


def _state(
    index: FabricIndex,
    block: Block,
    compositions: frozenset[str],
    status: Mapping[str, Any],
    busy: Callable[[str], str | None],
) -> CompositionState:
    # A host that is off can be composed all the same; a device without power can not.
    gone = UNAVAILABLE_STATES if block.computes else OUT_OF_USE
    if status.get("State") in gone or status.get("Health") == "Critical":
        return CompositionState.UNAVAILABLE
    if any(busy(composition) for composition in compositions):
        return CompositionState.COMPOSING
    if not compositions and not index.consumers_of_block(block.id):
        free = _pool(index, block, compositions) != UNASSIGNED
        return CompositionState.UNUSED if free else CompositionState.UNAVAILABLE
    most = block.compositions_max
    if block.sharing and (most is None or len(compositions) < most):
        return CompositionState.COMPOSED_AND_AVAILABLE
    return CompositionState.COMPOSED


def _pool(index: FabricIndex, block: Block, compositions: frozenset[str]) -> str:
    """Active in a composition, Free where one can take it, Unassigned where none is to."""
    if compositions or index.consumers_of_block(block.id):
        return "Active"
    outside = not block.sharing and holders_outside(index, block)
    # A host that was given more in place is not taken whole besides.
    expanded = block.host is not None and index.compositions_of_host(block.host)
    return UNASSIGNED if outside or expanded or block.withdrawn else "Free"


def pool_members(index: FabricIndex, uri: str) -> list[str]:
    """Return the blocks that FreePool or ActivePool has now; costs all blocks."""
    wanted = "Active" if uri == ACTIVE_POOL else "Free"
    return [
        name
        for name, block in index.blocks.items()
        if _pool(index, block, index.compositions_of_block(name)) == wanted
    ]


def pool_counts(index: FabricIndex) -> dict[tuple[str, str], int]:
    """Return how many blocks there are by type and Pool; costs all blocks."""
    found: dict[tuple[str, str], int] = {}
    for name, block in index.blocks.items():
        pool = _pool(index, block, index.compositions_of_block(name))
        kind = "+".join(sorted(each.value for each in block.types))
        found[kind, pool] = found.get((kind, pool), 0) + 1
    return found


def blocks_concerned(value: object) -> set[str]:
    """Return the blocks that show something else once `value` comes or goes."""
    if isinstance(value, Block):
        return set(value.supplying)
    return set(value.blocks) if isinstance(value, Composition | Reservation) else set()


def blocks_of_endpoints(index: FabricIndex, endpoints: Set[str]) -> set[str]:
    """Return the blocks that have what the endpoints give access to, a part of it or all."""
    known = [index.endpoints[uri] for uri in endpoints if uri in index.endpoints]
    hosts = {endpoint.host for endpoint in known if endpoint.host is not None}
    near = blocks_near(index, {unit for endpoint in known for unit in endpoint.units})
    return near.union(*map(index.blocks_of_host, hosts))


def endpoints_meant(index: FabricIndex, pre: object, post: object) -> set[str]:
    """Return the endpoints that a value comes to mean otherwise, whose links stay as they are.

    Those of a Default zone that routes from now on, or no more, or to others; those that a
    Connection names by groups, and all targets of one that grants them to others or in parts;
    those of a group, and all whom connections reach that name it.
    """
    if isinstance(pre, Zone) and isinstance(post, Zone):
        return set() if _same_reach(pre, post) else {*pre.endpoints, *post.endpoints}
    if isinstance(pre, EndpointGroup) or isinstance(post, EndpointGroup):
        return _meant_by_group(index, pre, post)
    if not isinstance(pre, Connection) and not isinstance(post, Connection):
        return set()
    if isinstance(pre, Connection) and isinstance(post, Connection):
        before, after = (
            (each.initiators, each.initiator_groups, each.by_parts) for each in (pre, post)
        )
        if before != after:
            targets = {*pre.targets, *post.targets}
            return targets | endpoints_meant(index, pre, None) | endpoints_meant(index, post, None)
    named = [
        group
        for value in (pre, post)
        if isinstance(value, Connection)
        for group in (*value.initiator_groups, *value.target_groups)
    ]
    known = (index.groups[name] for name in named if name in index.groups)
    return {endpoint for group in known for endpoint in group.endpoints}


def _meant_by_group(index: FabricIndex, pre: object, post: object) -> set[str]:
    """Return who comes or goes with a group, and all whom connections reach that name it."""
    groups = [each for each in (pre, post) if isinstance(each, EndpointGroup)]
    found = {endpoint for group in groups for endpoint in group.endpoints}
    for name in set().union(*(index.connections_of_group(group.id) for group in groups)):
        connection = index.connections[name]
        found |= {*connection.initiators, *connection.targets}
        found |= endpoints_meant(index, None, connection)
    return found


def _same_reach(pre: Zone, post: Zone) -> bool:
    """Return whether those that stay in a zone have there what they had."""
    if pre.routing is not post.routing:
        return False
    return post.zone_type is not ZoneType.DEFAULT or pre.endpoints == post.endpoints


def blocks_by_hand(index: FabricIndex, grant: VppbGrant | None) -> set[str]:
    """Return the blocks of what a client bound to a vPPB itself: of the unit and of the host."""
    if grant is None:
        return set()
    return blocks_near(index, {grant.unit}) | index.blocks_of_host(grant.host)


def blocks_near(index: FabricIndex, units: Set[str]) -> set[str]:
    """Return the blocks of the units, and of what is taken with them."""
    near = {each for unit in units for each in (unit, *index.units_around(unit))}
    return {block for unit in near for block in index.blocks_of_unit(unit)}

"""What clients may say of a resource block: who it is for, and whether it may be composed.

Pure. Redfish: ResourceBlock.v1_4_3 Client, Pool and CompositionStatus.Reserved. In which pool a
block is follows from compositions; a client only takes one out of them ("Unassigned") and puts it
back ("Free"). Reserved and Client are notes between clients; what keeps blocks for one of them is a
CompositionReservation.
"""

from redfish_fm.mapping import generic, refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.writes import Write

_ACTIVE = "Active"
_WITHDRAWN = "Unassigned"


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH of a block. Raises RedfishError with every reason against it."""
    index = tip.index
    holders = sorted(index.compositions_of_block(write.uri) | index.consumers_of_block(write.uri))
    pool = write.body.get("Pool", _ACTIVE if holders else None)
    if holders and pool != _ACTIVE:
        told = messages.property_value_resource_conflict("Pool", str(pool), holders[0], "#/Pool")
        raise RedfishError(409, (told, messages.resource_in_use()))
    if pool == _WITHDRAWN:
        for keeper in index.reservations_of_block(write.uri, tip.wall_s()):
            told = messages.property_value_resource_conflict("Pool", pool, keeper, "#/Pool")
            raise RedfishError(409, (told, messages.resource_in_use()))
    if not holders and pool == _ACTIVE:
        raise refusals.bad_content(_not_by_hand())
    return generic.patch(write, tip)


def _not_by_hand() -> Message:
    """Say that a block is in the active pool because of its compositions alone."""
    return messages.property_value_not_in_list(_ACTIVE, "Pool", "#/Pool")

"""The Default zone of a discovered fabric: made by the service where there is none, and kept.

Pure. It begins empty, for an endpoint that no zone names reaches nothing (decision 0009). Clients
change its endpoints and its routing; its type and its existence are the service's.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from redfish_fm.fabric.values import ZoneType
from redfish_fm.mapping import uris
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.resources import document_edit
from redfish_fm.mapping.types import ODATA_TYPES
from redfish_fm.redfish.changes import Edit
from redfish_fm.redfish.writes import OutcomeKind

ID = "Default"


def is_default(document: Mapping[str, Any]) -> bool:
    """Return whether a Zone's document is that of a Default zone."""
    return document.get("ZoneType") == ZoneType.DEFAULT.value


def keep_default_zones(fabrics: Iterable[str], tip: Tip) -> Draft:
    """Return the draft that gives each of `fabrics` its Default zone; nothing where all have one.

    Costs the zones of all fabrics: for the start, once.
    """
    present = {
        zone.fabric for zone in tip.index.zones.values() if zone.zone_type is ZoneType.DEFAULT
    }
    edits = [_made(fabric, tip) for fabric in fabrics if fabric not in present]
    kind = OutcomeKind.CREATED if edits else OutcomeKind.NO_OPERATION
    return Draft(kind, edits[0].key if edits else uris.FABRIC_COLLECTION, tuple(edits))


def _made(fabric: str, tip: Tip) -> Edit:
    collection = uris.ZONES.format(fabric=fabric)
    # A client of an older state may have taken the name.
    taken = tip.exists(f"{collection}/{ID}") or tip.busy(f"{collection}/{ID}") is not None
    resource_id = f"{ID}-{tip.next_id}" if taken else ID
    document = {
        "@odata.id": f"{collection}/{resource_id}",
        "@odata.type": ODATA_TYPES["Zone"],
        "Id": resource_id,
        "Name": "Default zone",
        "Description": "Endpoints that no other zone names; they reach nothing unless routed.",
        "ZoneType": ZoneType.DEFAULT.value,
        "DefaultRoutingEnabled": False,
        "Links": {"Endpoints": []},
    }
    return document_edit(tip, f"{collection}/{resource_id}", document)

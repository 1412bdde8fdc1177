"""Reservations of resource blocks: made by a preview, taken by who made them, over in time.

Pure. Redfish: CompositionReservation.v1_0_2. A reservation holds for as long as its document is
there: control deletes it when its ExpirationTime has come, and Apply in the commit that uses it.
How long it lasts is CompositionService.ReservationDuration, on the fabric clock; what is stored is
the moment on the wall, so a restart changes nothing about it.
"""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from redfish_fm.fabric.composition import Reservation
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.mapping import generic, refusals, uris
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.read_compositions import EXPIRES
from redfish_fm.mapping.rendering import refs
from redfish_fm.mapping.resources import document_edit, new_document
from redfish_fm.redfish import messages, oem
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.roles import ADMINISTRATOR
from redfish_fm.redfish.writes import OutcomeKind, Write

ODATA_TYPE = "#RedfishFMComposition.v1_0_0.Reserved"
"""Of Oem.RedfishFM in a reservation."""
WHOLE = "ManifestJsonBody"
"""The name under it of the manifest as the client sent it."""

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)
_SECONDS = (86400, 3600, 60, 1)
_DEFAULT_S = 600.0
"""Where the service does not say how long: an imported one, say."""
DURATION_S_MAX = 366 * 86400.0
"""A year: what is longer is no reservation, and dates have an end."""


def duration_s(text: object) -> float | None:
    """Return the seconds of an ISO 8601 duration as Redfish writes it; None where it is none."""
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if found is None or not any(found.groups()):
        return None
    parts = zip(found.groups(), _SECONDS, strict=True)
    return float(sum(float(part) * unit for part, unit in parts if part))


def patch_service(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH of the CompositionService."""
    if "ReservationDuration" in write.body:
        wished = write.body["ReservationDuration"]
        lasting_s = duration_s(wished)
        if lasting_s is None or not 0 < lasting_s <= DURATION_S_MAX:
            told = messages.property_value_out_of_range
            name = "ReservationDuration"
            raise refusals.bad_content(told(str(wished), name, f"#/{name}"))
    return generic.patch(write, tip)


def new_reservation(
    blocks: Sequence[str], manifest: Mapping[str, Any], client: str, tip: Tip
) -> tuple[str, dict[str, Any]]:
    """Return URI and document of a reservation of these blocks that begins now."""
    service = tip.document(uris.COMPOSITION_SERVICE) or {}
    lasting_s = duration_s(service.get("ReservationDuration")) or _DEFAULT_S
    uri, document = new_document("CompositionReservation", uris.RESERVATIONS, {}, tip)
    document |= {
        "Name": f"Reservation of {client}",
        "ReservationTime": _exactly(tip.wall_s()),
        "Client": client,
        "ReservedResourceBlocks": refs(blocks),
        "Manifest": _without_requests(manifest),
        "Oem": {
            oem.NAME: {
                "@odata.type": ODATA_TYPE,
                WHOLE: msgspec.json.encode(manifest).decode(),
                EXPIRES.rpartition("/")[2]: _exactly(tip.ends_s(lasting_s)),
            }
        },
    }
    return uri, document


def _without_requests(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest as it can be shown in a resource.

    Manifest.v1_1_2 leaves open what a Request holds, so nobody who reads by the schemas can tell
    what is in one; the whole manifest stands beside it as JSON, as a Task's Payload has a body.
    """
    stanzas = [
        {name: value for name, value in stanza.items() if name != "Request"}
        for stanza in manifest.get("Stanzas") or ()
    ]
    return {**manifest, "Stanzas": stanzas}


def manifest_of(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the whole manifest that a reservation was made for; None where it has none.

    One of an imported mockup may have its requests in Manifest.
    """
    ours = (document.get("Oem") or {}).get(oem.NAME) or {}
    whole = ours.get(WHOLE)
    found: dict[str, Any] | None
    found = document.get("Manifest") if whole is None else msgspec.json.decode(whole)
    return found


def taken(reservation_id: str, client: str, tip: Tip) -> tuple[str, Mapping[str, Any]]:
    """Return URI and document of the reservation that a client may take.

    Raises RedfishError: 400 where there is none with that Id (any more), 403 for another client's,
    unless who asks is an administrator.
    """
    uri = f"{uris.RESERVATIONS}/{reservation_id}"
    document = tip.document(uri)
    held = tip.index.reservations.get(uri)
    if document is None or held is None or held.expires_s <= tip.wall_s():
        told = messages.action_parameter_value_conflict
        raise refusals.bad_content(told("ReservationId", reservation_id, "#/ReservationId"))
    if document.get("Client") != client and not _administers(client, tip):
        raise RedfishError(403, (messages.insufficient_privilege(),))
    return uri, document


def _exactly(wall_s: float) -> str:
    """Return a moment with milliseconds: a reservation may last for a second only."""
    moment = datetime.datetime.fromtimestamp(wall_s, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _administers(client: str, tip: Tip) -> bool:
    accounts = (tip.document(uri) or {} for uri in tip.members(ACCOUNTS))
    return any(
        each.get("UserName") == client and each.get("RoleId") == ADMINISTRATOR for each in accounts
    )


# -- the end ---------------------------------------------------------------------------------


def expired(index: FabricIndex, wall_s: float) -> list[Reservation]:
    """Return the reservations whose time is over."""
    return [each for each in index.reservations.values() if each.expires_s <= wall_s]


def ended(uris_of: Sequence[str], tip: Tip) -> Draft:
    """Return the draft that deletes these reservations, as far as they are still there."""
    there = [uri for uri in uris_of if tip.is_wanted(uri)]
    if not there:
        return Draft(OutcomeKind.NO_OPERATION, uris.RESERVATIONS)
    edits = tuple(document_edit(tip, uri, None) for uri in there)
    return Draft(OutcomeKind.DELETED, there[0], edits)

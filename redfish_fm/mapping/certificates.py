"""Certificate writes: the service's own certificate, keys that wait for one, trusted authorities.

Pure. Redfish: CertificateService.v1_2_1, Certificate.v1_11_0. Certificates were read and judged
before (Write.material); here they become edits. The service's own certificate is what is laid over
its inventory resource, its private key an edit of SECRET space in the same change: a crash leaves
both or neither. The key of a GenerateCSR waits in SECRET space under the collection's URI.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from redfish_fm.fabric.health import Condition, Health, worst
from redfish_fm.mapping import refusals
from redfish_fm.mapping.conditions import condition_document, trouble
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.resources import document_edit, new_document, stored
from redfish_fm.mapping.uris import HTTPS_CERTIFICATE
from redfish_fm.redfish import messages
from redfish_fm.redfish.certificates import CLIENT_AUTHORITIES, GENERATE, Material
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.client_certificates import UserMapping
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.times import date_time
from redfish_fm.redfish.writes import OutcomeKind, Write

_MAPPINGS = frozenset(each.value for each in UserMapping)
DAY_S = 86_400.0
EXPIRY: tuple[tuple[float, Health, str], ...] = (
    (0.0, Health.CRITICAL, "the certificate has expired"),
    (7 * DAY_S, Health.CRITICAL, "the certificate expires in less than 7 days"),
    (30 * DAY_S, Health.WARNING, "the certificate expires in less than 30 days"),
)
"""Time left in seconds -> what is wrong from there on, the shortest first."""
NOT_YET = (Health.CRITICAL, "the certificate is not valid yet")

_OWN = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(HTTPS_CERTIFICATE)))


def is_own(uri: str) -> bool:
    """Return whether `uri` is where a service's own HTTPS certificate stands."""
    return _OWN.fullmatch(uri) is not None


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of an action of the CertificateService."""
    material = write.material
    if material is None:
        raise refusals.action_not_supported(write.action or "")
    if write.action == GENERATE:
        return _pending(write, material, tip)
    uri = linked(write.body, "CertificateUri")
    if not tip.exists(uri):
        raise refusals.bad_content(refusals.missing_reference(uri, "#/CertificateUri"))
    if is_own(uri):
        return _replace_own(uri, material, tip)
    return _replace_authority(uri, material, tip)


def linked(body: Mapping[str, Any], name: str) -> str:
    """Return the URI that a parameter links to, without trailing slash; "" where it has none."""
    link = body.get(name)
    uri = link.get("@odata.id") if isinstance(link, Mapping) else None
    return uri.rstrip("/") if isinstance(uri, str) else ""


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST to the trusted authorities. Each of them stands there once."""
    if write.material is None:
        raise refusals.not_allowed()
    uri, document = new_document("Certificate", write.uri, write.body, tip)
    properties = write.material.properties
    _refuse_twin(uri, properties, tip)
    if write.body.get("Name") is None:
        document["Name"] = f"Authority {document['Id']}"
    after = {**document, **properties}
    return Draft(OutcomeKind.CREATED, uri, (document_edit(tip, uri, after),))


def _pending(write: Write, material: Material, tip: Tip) -> Draft:
    """Keep a new key until its certificate comes; one that waited there before is given up."""
    uri = linked(write.body, "CertificateCollection")
    edit = Edit(Space.SECRET, uri, tip.secret(uri), material.key)
    return Draft(OutcomeKind.CHANGED, uri, (edit,))


def _replace_own(uri: str, material: Material, tip: Tip) -> Draft:
    shown = {name: material.properties[name] for name in ("CertificateString", "CertificateType")}
    edits = [
        Edit(Space.OVERLAY, uri, tip.overlay(uri), msgspec.json.encode(shown, order="sorted")),
        Edit(Space.SECRET, uri, tip.secret(uri), material.key),
    ]
    waiting = uri.rpartition("/")[0]
    if material.pending is not None and material.pending == tip.secret(waiting):
        edits.append(Edit(Space.SECRET, waiting, material.pending, None))
    return Draft(OutcomeKind.CHANGED, uri, tuple(edits))


def _replace_authority(uri: str, material: Material, tip: Tip) -> Draft:
    before = stored(tip, uri)
    _refuse_twin(uri, material.properties, tip)
    kept = ("@odata.id", "@odata.type", "Id", "Name", "Description", "Oem")
    after = {**{name: before[name] for name in kept if name in before}, **material.properties}
    if after == dict(before):
        return Draft(OutcomeKind.NO_OPERATION, uri)
    return Draft(OutcomeKind.CHANGED, uri, (document_edit(tip, uri, after),))


def _refuse_twin(uri: str, properties: Mapping[str, Any], tip: Tip) -> None:
    """Raise RedfishError 409 where another resource is the same certificate."""
    fingerprint = str(properties.get("Fingerprint"))
    for other in tip.members(CLIENT_AUTHORITIES):
        document = tip.document(other)
        if other != uri and document is not None and document.get("Fingerprint") == fingerprint:
            exists = messages.resource_already_exists
            told = exists("Certificate", "Fingerprint", fingerprint, "#/CertificateString")
            raise RedfishError(409, (told,))


def wrong_client_settings(body: Mapping[str, Any]) -> Iterator[Message]:
    """Yield what a PATCH of AccountService asks of client certificates and can not have."""
    settings = (body.get("MultiFactorAuth") or {}).get("ClientCertificate") or {}
    for name, value in settings.items():
        place = f"#/MultiFactorAuth/ClientCertificate/{name}"
        if value is None:
            yield messages.property_value_type_error("null", name, place)
        elif name == "CertificateMappingAttribute" and value not in _MAPPINGS:
            yield messages.property_value_not_in_list(value, name, place)


# -- health -----------------------------------------------------------------------------------


def ailment(uri: str, valid: tuple[float, float], now_s: float) -> Condition | None:
    """Return what is wrong with a certificate, valid from and until, because of the time."""
    start_s, end_s = valid
    if now_s < start_s:
        return trouble(NOT_YET[0], uri, NOT_YET[1])
    for left_s, severity, told in EXPIRY:
        if end_s - now_s <= left_s:
            return trouble(severity, uri, told)
    return None


def next_change_s(valid: tuple[float, float], now_s: float) -> float | None:
    """Return when `ailment` will say something else, in seconds since 1970; None: never."""
    start_s, end_s = valid
    times = [start_s, *(end_s - left_s for left_s, _, _ in EXPIRY)]
    return min((each for each in times if each > now_s), default=None)


def rollup(ailing: Collection[Condition], told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the Status of whoever uses the certificates shows; `told` as in theirs."""
    shown: dict[str, Any] = {"HealthRollup": worst(each.severity for each in ailing).value}
    if told:
        shown["Conditions"] = list(told)
    return shown


def status(condition: Condition | None, valid: tuple[float, float]) -> dict[str, Any]:
    """Return the Status that shows it; when it began follows from the certificate."""
    if condition is None:
        return {"State": "Enabled", "Health": "OK"}
    began_s = next(
        (valid[1] - left_s for left_s, _, told in EXPIRY if told in condition.told), None
    )
    since = None if began_s is None else date_time(began_s)
    return {
        "State": "Enabled",
        "Health": condition.severity.value,
        "Conditions": [condition_document(condition, since)],
    }

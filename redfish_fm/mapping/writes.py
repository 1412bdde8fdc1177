"""Judges one write against the tip: preconditions first, then the rules of its type.

Pure and synchronous: control calls it between two awaits, so nothing moves underneath. Raises
RedfishError with every reason; returns the Draft to commit otherwise. Order of refusals
(DESIGN section 10): 404, 412, 428, what can never be right (400), 409 busy, 409 conflicts.
"""

from collections.abc import Callable

from redfish_fm.mapping import (
    account_holdings,
    address_pools,
    bandwidth,
    blast_radius,
    block_writes,
    certificates,
    chunks,
    composed_blocks,
    congestion,
    connections,
    endpoints,
    event_service,
    generic,
    groups,
    log_services,
    login_services,
    manifests,
    port_resets,
    power,
    refusals,
    regions,
    reservations,
    roles,
    service_protocols,
    subscriptions,
    systems,
    volumes,
    vppbs,
    zones,
)
from redfish_fm.mapping.compositions import refuse_held
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.judging import DocumentRules, unless_busy
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.systems_shown import ADD, REMOVE
from redfish_fm.mapping.uris import RESOURCE_BLOCKS, SUBSCRIPTIONS, SYSTEM_COLLECTION, fabric_of
from redfish_fm.redfish import etag
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.certificates import CLIENT_AUTHORITIES
from redfish_fm.redfish.roles import ROLES
from redfish_fm.redfish.writes import Write, WriteKind

_Preparer = Callable[[Write, Tip], Draft]

RULES: tuple[DocumentRules, ...] = (
    address_pools.RULES,
    connections.RULES,
    endpoints.RULES,
    groups.RULES,
    zones.RULES,
)
"""Types whose documents are judged whole, however they are changed."""


def _judged(rules: DocumentRules) -> dict[tuple[str, WriteKind], _Preparer]:
    name = rules.type_name
    return {
        (name, WriteKind.CREATE): rules.create,
        (name, WriteKind.PATCH): rules.patch,
        (name, WriteKind.DELETE): rules.delete,
    }


PREPARERS: dict[tuple[str, WriteKind], _Preparer] = {
    **{key: prepared for rules in RULES for key, prepared in _judged(rules).items()},
    ("Connection", WriteKind.ACTION): connections.act,
    ("Zone", WriteKind.ACTION): zones.act,
    ("MemoryChunks", WriteKind.CREATE): chunks.create,
    ("MemoryChunks", WriteKind.DELETE): chunks.delete,
    ("MemoryRegion", WriteKind.CREATE): regions.create,
    ("MemoryRegion", WriteKind.DELETE): regions.delete,
    ("Volume", WriteKind.CREATE): volumes.create,
    ("Volume", WriteKind.DELETE): volumes.delete,
    ("ComputerSystem", WriteKind.CREATE): systems.create,
    ("ComputerSystem", WriteKind.PATCH): systems.patch,
    ("ComputerSystem", WriteKind.DELETE): systems.delete,
    ("ComputerSystem", WriteKind.ACTION): systems.action,
    ("ResourceBlock", WriteKind.CREATE): composed_blocks.create,
    ("ResourceBlock", WriteKind.PATCH): block_writes.patch,
    ("ResourceBlock", WriteKind.DELETE): composed_blocks.delete,
    ("Certificate", WriteKind.CREATE): certificates.create,
    ("EventDestination", WriteKind.CREATE): subscriptions.create,
    ("EventDestination", WriteKind.PATCH): subscriptions.patch,
    ("EventDestination", WriteKind.DELETE): subscriptions.delete,
    ("EventDestination", WriteKind.ACTION): subscriptions.act,
    ("ManagerAccount", WriteKind.CREATE): account_holdings.create,
    ("ManagerAccount", WriteKind.PATCH): account_holdings.patch,
    ("ManagerAccount", WriteKind.DELETE): account_holdings.delete,
    ("Role", WriteKind.CREATE): roles.create,
    ("Role", WriteKind.PATCH): roles.patch,
    ("Role", WriteKind.DELETE): roles.delete,
}
"""What has rules of its own, in DOCUMENT space; the rest is generic."""

LAID_OVER: dict[tuple[str, WriteKind], _Preparer] = {
    ("AccountService", WriteKind.PATCH): login_services.patch_accounts,
    ("CXLLogicalDevice", WriteKind.PATCH): bandwidth.patch,
    ("CertificateService", WriteKind.ACTION): certificates.act,
    ("CompositionService", WriteKind.ACTION): manifests.act,
    ("CompositionService", WriteKind.PATCH): reservations.patch_service,
    ("ComputerSystem", WriteKind.ACTION): systems.action,
    ("ComputerSystem", WriteKind.PATCH): systems.patch,
    ("EventService", WriteKind.ACTION): event_service.act,
    ("EventService", WriteKind.PATCH): event_service.patch,
    ("LogService", WriteKind.ACTION): log_services.clear,
    ("Manager", WriteKind.ACTION): power.reset_manager,
    ("Port", WriteKind.ACTION): port_resets.act,
    ("Port", WriteKind.PATCH): congestion.patch,
    ("SessionService", WriteKind.PATCH): login_services.patch_sessions,
    ("ManagerNetworkProtocol", WriteKind.PATCH): service_protocols.patch,
    ("ResourceBlock", WriteKind.PATCH): block_writes.patch,
    ("VirtualPCI2PCIBridge", WriteKind.PATCH): vppbs.patch,
}
"""What has rules of its own where it is laid over inventory; the rest is generic too."""

HOMES = {
    "Certificate": CLIENT_AUTHORITIES,
    "ComputerSystem": SYSTEM_COLLECTION,
    "EventDestination": SUBSCRIPTIONS,
    "ManagerAccount": ACCOUNTS,
    "ResourceBlock": RESOURCE_BLOCKS,
    "Role": ROLES,
}
"""Type -> the one collection it has rules in; other types of PREPARERS have theirs in fabrics."""

ANYWHERE = frozenset({"MemoryChunks", "MemoryRegion", "Volume"})
"""Types of PREPARERS with rules in every collection that the catalog lets them be made in."""

OEM_ACTIONS: dict[str, _Preparer] = {blast_radius.ACTION: blast_radius.act}
"""Our own actions, which are the same wherever they stand."""

ETAG_PARAMETERS: dict[str, tuple[tuple[str, str | None], ...]] = {
    "Zone.AddEndpoint": (("ZoneETag", None), ("EndpointETag", "Endpoint")),
    "Zone.RemoveEndpoint": (("ZoneETag", None), ("EndpointETag", "Endpoint")),
    **dict.fromkeys(
        (ADD, REMOVE), (("ComputerSystemETag", None), ("ResourceBlockETag", "ResourceBlock"))
    ),
}
"""Action -> (ETag parameter, parameter that names the resource it is of; None: the target)."""


def prepare(write: Write, tip: Tip) -> Draft:
    """Return the draft of `write`, or raise RedfishError with every reason against it."""
    if not tip.exists(write.uri):
        raise refusals.missing(write.uri)
    if write.if_match is not None:
        _check_if_match(write, tip)
    if write.action is not None:
        _check_etag_parameters(write, tip)
    if write.kind is not WriteKind.CREATE:
        refuse_held(write.uri, tip)
    task = tip.busy(write.uri) if write.kind in _BLOCKED else None
    if task is None:
        return _preparer(write, tip)(write, tip)
    return unless_busy(task, lambda: _preparer(write, tip)(write, tip))


_BLOCKED = frozenset({WriteKind.PATCH, WriteKind.ACTION})
"""What a resource under change does not take. DELETE stays open: it only ever releases."""


def _check_if_match(write: Write, tip: Tip) -> None:
    if write.if_match is None:
        return
    if not etag.matches(write.if_match, tip.wanted_tag(write.uri) or ""):
        raise refusals.stale()


def _check_etag_parameters(write: Write, tip: Tip) -> None:
    for parameter, of in ETAG_PARAMETERS.get(write.action or "", ()):
        given = write.body.get(parameter)
        if not isinstance(given, str) or not given or given == "*":
            continue
        uri = write.uri if of is None else _uri_of(write.body.get(of))
        if etag.split(given)[0] != tip.wanted_tag(uri):
            raise refusals.precondition_required(parameter)


def _uri_of(value: object) -> str:
    if isinstance(value, str):
        return value.rstrip("/")
    return next(iter(uris_at(value, [])), "")


def _at_home(name: str, uri: str) -> bool:
    """Return whether a type's own rules hold at `uri`: its collection, or a resource in it."""
    home = HOMES.get(name)
    if home is None:
        return name in ANYWHERE or fabric_of(uri) is not None
    return uri == home or uri.startswith(f"{home}/")


def _preparer(write: Write, tip: Tip) -> _Preparer:
    name = write.type_name.removesuffix("Collection")
    if write.action in OEM_ACTIONS:
        return OEM_ACTIONS[write.action]
    if write.kind is WriteKind.CREATE:
        if not _at_home(name, write.uri) or (name, write.kind) not in PREPARERS:
            raise refusals.not_allowed()
        return PREPARERS[name, write.kind]
    in_documents = tip.is_wanted(write.uri)
    if in_documents and (name, write.kind) in PREPARERS and _at_home(name, write.uri):
        return PREPARERS[name, write.kind]
    if not in_documents and (name, write.kind) in LAID_OVER:
        return LAID_OVER[name, write.kind]
    if write.kind is WriteKind.ACTION:
        raise refusals.action_not_supported(write.action or "")
    if write.kind is WriteKind.DELETE:
        if not in_documents:
            raise refusals.not_deletable()
        return generic.delete
    return generic.patch

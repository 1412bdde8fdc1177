"""The manager that this service is, with its network protocols and its logs.

Pure. It stands beside whatever is served, imports too. What it manages are the resources that say
so; an import's own resources keep the managers they came with. Redfish: Manager.v1_24_0,
ManagerNetworkProtocol.v1_12_0, LogService.v1_9_0.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.mapping import uris
from redfish_fm.mapping.log_services import CLEAR_LOG
from redfish_fm.mapping.observed_hosts import ACTION_INFO, MANAGER_RESET, reset_action
from redfish_fm.mapping.rendering import Rendering, ref, refs
from redfish_fm.mapping.types import ODATA_TYPES, collection_type
from redfish_fm.mapping.uris import fabric_of

MODEL = "redfish-fm"
"""Tells our own manager, in a recording of this service, from one of somebody else's."""
MANAGER_TYPE = "Service"
AUDIT_LOG = "AuditLog"
EVENT_LOG = "EventLog"
SSDP_PORT, MDNS_PORT = 1900, 5353
_OK = {"State": "Enabled", "Health": "OK"}

Documents = MutableMapping[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class AboutService:
    """What the service says of itself. Ports are TCP; None: nothing is served so.

    `redirect_port` is where plain HTTP only leads to HTTPS; `interfaces`: those of the machine are
    shown; `persistent`: the log survives a restart of the process.
    """

    uuid: str
    version: str
    host_name: str
    http_port: int | None = None
    https_port: int | None = None
    redirect_port: int | None = None
    ssdp: bool = False
    mdns: bool = False
    interfaces: bool = False
    certificates: bool = False
    log_entries_max: int = 5000
    event_entries_max: int = 5000
    persistent: bool = True
    resets: frozenset[str] = frozenset({"GracefulRestart"})


@dataclass(frozen=True, slots=True)
class OwnUris:
    """Where the service's own manager stands, and what belongs to it."""

    manager: str
    protocols: str
    log: str
    entries: str
    event_log: str
    event_entries: str
    interfaces: str

    @property
    def manager_id(self) -> str:
        """The Id of the manager."""
        return self.manager.rpartition("/")[2]

    @classmethod
    def of(cls, manager: str) -> "OwnUris":
        """Return the URIs of the manager of that Id."""
        place = {"manager": manager, "log": AUDIT_LOG}
        events = {"manager": manager, "log": EVENT_LOG}
        return cls(
            uris.MANAGER.format(**place),
            uris.MANAGER_PROTOCOLS.format(**place),
            uris.MANAGER_LOG.format(**place),
            uris.MANAGER_LOG_ENTRIES.format(**place),
            uris.MANAGER_LOG.format(**events),
            uris.MANAGER_LOG_ENTRIES.format(**events),
            uris.MANAGER_ETHERNETS.format(**place),
        )


def put_manager(out: Rendering) -> None:
    """Add to a discovered inventory the manager of all that nobody else manages."""
    facts, manager = out.facts, OwnUris.of(uris.FABRIC_MANAGER).manager
    chassis = [
        uri
        for uri in (*facts.switch_chassis.values(), *dict.fromkeys(facts.containers.values()))
        if ref(manager) in out.documents[uri].get("Links", {}).get("ManagedBy", ())
    ]
    switches = [uri for uri in facts.switch_uris.values() if fabric_of(uri) is not None]
    links = {
        "ManagerForFabrics": refs(uris.FABRIC.format(fabric=each.id) for each in facts.fabrics),
        "ManagerForSwitches": refs(switches),
        "ManagerForChassis": refs(dict.fromkeys(chassis)),
    }
    links = {name: found for name, found in links.items() if found}
    out.put(manager, "Manager", "Fabric manager", **_itself(), Links=links)


def add_service(documents: Documents, about: AboutService) -> OwnUris:
    """Add what the service says of itself; return where it stands.

    What an import has of the service that it was recorded from makes way. Another manager of the
    same Id stays, and ours gets another one.
    """
    own = OwnUris.of(_free_id(documents))
    links = documents.get(own.manager, {}).get("Links", {})
    below = f"{own.manager}/"
    for uri in [uri for uri in documents if uri == own.manager or uri.startswith(below)]:
        del documents[uri]
    _collection(documents, uris.MANAGER_COLLECTION, "Manager", "Managers")
    documents[own.manager] = _document(
        own.manager,
        "Manager",
        "Fabric manager",
        **_itself(),
        UUID=about.uuid,
        ServiceEntryPointUUID=about.uuid,
        FirmwareVersion=about.version,
        **_below(documents, own, about),
        Actions=reset_action(MANAGER_RESET, own.manager, about.resets),
        Links=dict(_standing(links, documents)),
    )
    documents[own.protocols] = _protocols(own, about)
    documents[own.log] = _log(
        own.log,
        "Audit log",
        own.entries,
        about.log_entries_max,
        "Security",
        persistent=about.persistent,
    )
    documents[own.event_log] = _log(
        own.event_log,
        "Event log",
        own.event_entries,
        about.event_entries_max,
        "Operations",
        persistent=about.persistent,
    )
    return own


def _itself() -> dict[str, Any]:
    return {
        "ManagerType": MANAGER_TYPE,
        "Model": MODEL,
        "PowerState": "On",
        "Status": _OK,
    }


def _free_id(documents: Documents) -> str:
    """Return the Id for our manager: the usual one, unless a manager of somebody else has it."""
    name, number = uris.FABRIC_MANAGER, 1
    while (found := documents.get(OwnUris.of(name).manager)) is not None:
        if found.get("ManagerType") == MANAGER_TYPE and found.get("Model") == MODEL:
            break
        number += 1
        name = f"{uris.FABRIC_MANAGER}{number}"
    return name


def _standing(links: Mapping[str, Any], documents: Documents) -> Iterator[tuple[str, Any]]:
    """Yield the lists of links, each with those that lead somewhere."""
    for name, found in links.items():
        kept = [each for each in found if each.get("@odata.id") in documents]
        if kept:
            yield name, kept


def _below(documents: Documents, own: OwnUris, about: AboutService) -> dict[str, Any]:
    """Add the collections below the manager; return its links to all that is below it."""
    logs = own.log.rpartition("/")[0]
    _collection(documents, logs, "LogService", "Logs of the fabric manager")
    _collection(documents, own.entries, "LogEntry", "Entries of the audit log")
    _collection(documents, own.event_entries, "LogEntry", "Entries of the event log")
    found = {"NetworkProtocol": ref(own.protocols), "LogServices": ref(logs)}
    if about.interfaces:
        name = "Network interfaces of the fabric manager"
        _collection(documents, own.interfaces, "EthernetInterface", name)
        found["EthernetInterfaces"] = ref(own.interfaces)
    return found


def _protocols(own: OwnUris, about: AboutService) -> dict[str, Any]:
    """Return what the service speaks at this machine's addresses."""
    http_port = about.http_port or about.redirect_port
    name, dot, _ = about.host_name.partition(".")
    https: dict[str, Any] = {"ProtocolEnabled": about.https_port is not None}
    if about.certificates:
        https["Certificates"] = ref(f"{own.protocols}/HTTPS/Certificates")
    return _document(
        own.protocols,
        "ManagerNetworkProtocol",
        "Network protocols of the fabric manager",
        HostName=name,
        **({"FQDN": about.host_name} if dot else {}),
        HTTP=_with_port({"ProtocolEnabled": http_port is not None}, http_port),
        HTTPS=_with_port(https, about.https_port),
        SSDP={
            "ProtocolEnabled": about.ssdp,
            "Port": SSDP_PORT,
            "NotifyMulticastIntervalSeconds": 600,
            "NotifyTTL": 2,
            "NotifyIPv6Scope": "Link",
        },
        mDNS={"ProtocolEnabled": about.mdns, "Port": MDNS_PORT},
        Status=_OK,
    )


def _log(
    uri: str, name: str, entries: str, entries_max: int, purpose: str, *, persistent: bool
) -> dict[str, Any]:
    return _document(
        uri,
        "LogService",
        name,
        LogEntryType="Event",
        LogPurposes=[purpose],
        OverWritePolicy="WrapsWhenFull",
        MaxNumberOfRecords=entries_max,
        Overflow=False,
        Persistency=persistent,
        ServiceEnabled=True,
        Status=_OK,
        Entries=ref(entries),
        Actions={
            f"#{CLEAR_LOG}": {
                "target": f"{uri}/Actions/{CLEAR_LOG}",
                "@Redfish.ActionInfo": ACTION_INFO.format(action=CLEAR_LOG),
            }
        },
    )


def _with_port(protocol: dict[str, Any], port: int | None) -> dict[str, Any]:
    return protocol if port is None else {**protocol, "Port": port}


def _document(uri: str, type_name: str, name: str, **properties: Any) -> dict[str, Any]:
    return {
        "@odata.id": uri,
        "@odata.type": ODATA_TYPES[type_name],
        "Id": uri.rpartition("/")[2],
        "Name": name,
        **properties,
    }


def _collection(documents: Documents, uri: str, member: str, name: str) -> None:
    if uri not in documents:
        documents[uri] = {
            "@odata.id": uri,
            "@odata.type": collection_type(member),
            "Name": name,
        }

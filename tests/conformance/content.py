"""What clients have done by the time a validator looks: scripts of writes, one per source.

Each takes a client and returns the URIs that a validator must then have visited.
"""

import time
from collections.abc import Callable
from typing import Any

from tests.e2e.service import PASSWORD, USER, Client, links, zone_body

Script = Callable[[Client], list[str]]

FABRICS = "/redfish/v1/Fabrics"
TASKS = "/redfish/v1/TaskService/Tasks"
SYSTEMS = "/redfish/v1/Systems"
BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
SLOW_TIME_SCALE = 0.0005
"""At this scale a command of the virtual switch takes 4 s: long enough to be seen running."""

_TASK_TIMEOUT_S = 60.0
_POLL_S = 0.25


def two_hosts(client: Client) -> list[str]:
    """Fill `two-hosts` with every kind of thing; the last Tasks run while the validator reads.

    The service must answer at once (sync_budget_s 0) and be slow (SLOW_TIME_SCALE).
    """
    cxl, pcie = f"{FABRICS}/CXL", f"{FABRICS}/PCIe"
    host = f"{cxl}/Endpoints/host1-2"
    lds = [f"{cxl}/Endpoints/mem1-ld{number}" for number in (0, 1)]
    made = [_created(client, f"{cxl}/Zones", zone_body(host, *lds, Name="Memory of host 1"))]
    made.append(_created(client, f"{cxl}/Zones", _zone_of(made[0])))
    # Its bind by zone is not done when it is deleted, so that its Task ends as Cancelled.
    other = zone_body(f"{cxl}/Endpoints/host2-2", f"{cxl}/Endpoints/mem2")
    cancelled = _task(client("POST", f"{cxl}/Zones", other))
    zones = _members(client, f"{cxl}/Zones?$filter=ZoneType%20ne%20'Default'")
    finished = [cancelled, _task(client("DELETE", zones[-1]))]
    chunk, second = (
        f"/redfish/v1/Chassis/mem1/MemoryDomains/{number}/MemoryChunks/1" for number in (0, 1)
    )
    finished.append(_task(client("POST", f"{cxl}/Connections", _memory(host, lds[0], chunk))))
    states = [_ended(client, task) for task in finished]
    assert states == ["Cancelled", "Completed", "Completed"], states
    made += finished + _members(client, f"{cxl}/Connections")
    made += [*_people(client), *_subscriptions(client)]
    devices = (f"{pcie}/Endpoints/{name}" for name in ("gpu1", "gpu2", "nvme1", "nvme2"))
    body = zone_body(f"{pcie}/Endpoints/host1-1", *devices, Name="Devices of host 1")
    running = _task(client("POST", f"{pcie}/Zones", body))
    lasting = _scrubbing(client, f"{cxl}/Connections", _memory(host, lds[1], second))
    assert {client.get(task)["TaskState"] for task in (running, lasting)} == {"Running"}
    return [*made, running, lasting, *_members(client, f"{pcie}/Zones")]


def _scrubbing(client: Client, collection: str, body: dict[str, Any]) -> str:
    """Make a connection and delete it: its memory is scrubbed, which takes minutes here."""
    made = _task(client("POST", collection, body))
    assert _ended(client, made) == "Completed"
    (connection,) = client.get(made)["Links"]["CreatedResources"]
    return _task(client("DELETE", connection["@odata.id"]))


def _subscriptions(client: Client) -> list[str]:
    """Subscribe as clients do; one is suspended, and nobody is where events are sent to."""
    push = {"Destination": "https://192.0.2.50/events", "Protocol": "Redfish"}
    more = {
        "Context": "all there is",
        "OriginResources": links(FABRICS),
        "SubordinateResources": True,
        "RegistryPrefixes": ["ResourceEvent", "Fabric"],
        "ExcludeMessageIds": ["ResourceEvent.ResourceChanged"],
        "ResourceTypes": ["Zone", "Port"],
        "Severities": ["OK", "Critical"],
        "SendHeartbeat": True,
        "HttpHeaders": [{"X-Key": "invented"}],
        "DeliveryRetryPolicy": "SuspendRetries",
    }
    service = "/redfish/v1/EventService"
    made = [
        _created(client, f"{service}/Subscriptions", body)
        for body in (push, {**push, **more}, {**push, "Context": ""})
    ]
    suspend = f"{made[2]}/Actions/EventDestination.SuspendSubscription"
    assert client("POST", suspend, {}).status == 204
    return [service, *made]


def ai_pod(client: Client) -> list[str]:
    """Zones on both PCIe switches of `ai-pod`, memory of an appliance for one host."""
    made = []
    for fabric in _members(client, FABRICS):
        endpoints = [client.get(uri) for uri in _members(client, f"{fabric}/Endpoints")]
        initiators = [each["@odata.id"] for each in endpoints if _role(each) == "Initiator"]
        targets = [each["@odata.id"] for each in endpoints if _role(each) == "Target"]
        for number, initiator in enumerate(initiators[:2]):
            body = zone_body(initiator, *targets[2 * number : 2 * number + 2])
            made.append(_created(client, f"{fabric}/Zones", body))
    made.append(_composed(client, "host3", "gpu9", "gpu10", "nvme9", "nic1-h3"))
    return [*made, _expanded(client, "host4", "gpu11"), _session(client)]


def mixed(client: Client) -> list[str]:
    """Carve a chunk, a region and volumes out of `mixed`, and grant each to a host."""
    cxl, network = f"{FABRICS}/CXL", f"{FABRICS}/NVMeoF"
    modules, storage = "/redfish/v1/Chassis", "/redfish/v1/Storage/jbof1"
    chunks = f"{modules}/pooled1/MemoryDomains/1/MemoryChunks"
    lds = f"{modules}/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices"
    chunk = _created(client, chunks, {"MemoryChunkSizeMiB": 1024})
    wanted = {"RegionType": "Dynamic", "RegionSizeMiB": 1024, "ShareableRegion": True}
    region = _created(client, f"{lds}/0/MemoryRegions", wanted)
    size = {"CapacityBytes": 8 << 30}
    own = _created(client, f"{storage}/Volumes", {**size, "Name": "Scratch"})
    shareable = {**size, "NVMeNamespaceProperties": {"IsShareable": True}}
    pool = f"{storage}/StoragePools/jbof1-pool"
    shared = _created(client, f"{pool}/AllocatedVolumes", shareable)
    made = [chunk, region, own, shared]
    # On the switch that the two memory devices are plugged into.
    first, second = _initiators(client, f"{cxl}/Endpoints", "/Switches/cxl1/")[:2]
    ld, dynamic = (f"{cxl}/Endpoints/{name}" for name in ("pooled1-ld0", "dynamic1-ld0"))
    made.append(_created(client, f"{cxl}/Zones", zone_body(first, ld)))
    made.append(_created(client, f"{cxl}/Zones", zone_body(second, dynamic)))
    made.append(_created(client, f"{cxl}/Connections", _memory(first, ld, chunk)))
    regional = _grant("Memory", "MemoryRegion", region, [second], dynamic)
    made.append(_created(client, f"{cxl}/Connections", regional))
    hosts = [f"{network}/Endpoints/{name}" for name in ("host1", "host2")]
    target = f"{network}/Endpoints/jbof1"
    for volume, initiators in ((own, hosts[:1]), (shared, hosts)):
        body = _grant("Storage", "Volume", volume, initiators, target)
        made.append(_created(client, f"{network}/Connections", body))
    group = {"GroupType": "Initiator", "Links": {"Endpoints": links(*hosts)}}
    made.append(_created(client, f"{network}/EndpointGroups", group))
    made.append(_created(client, f"{network}/Zones", zone_body(*hosts, target)))
    return [*made, storage, pool, f"{storage}/Controllers/1", target, *hosts]


def ex5410p(client: Client) -> list[str]:
    """Cut memory of two drawers and give it to two hosts; GPUs and functions of the NIC, too.

    The service must answer at once (sync_budget_s 0), so that Tasks stay behind.
    """
    box, pool = f"{FABRICS}/Box", f"{FABRICS}/Pool"
    made, connections = [], []
    for drawer, node, size_mib in (("memory1", "node1-2", 2048), ("memory6", "node2-3", 1024)):
        chunks = f"/redfish/v1/Chassis/{drawer}/MemoryDomains/1/MemoryChunks"
        task, chunk = _by_task(client, chunks, {"MemoryChunkSizeMiB": size_mib})
        host, ld = f"{pool}/Endpoints/{node}", f"{pool}/Endpoints/{drawer}-ld0"
        made.append(_created(client, f"{pool}/Zones", zone_body(host, ld)))
        connections += _by_task(client, f"{pool}/Connections", _memory(host, ld, chunk))
        made += [task, chunk, ld]
    for node, targets in (("node1-1", ("gpu1", "gpu2", "nic1-f0")), ("node2-1", ("nic1-f6",))):
        body = zone_body(*(f"{box}/Endpoints/{name}" for name in (node, *targets)))
        made += _by_task(client, f"{box}/Zones", body)
    lds = "/redfish/v1/Chassis/memory1/PCIeDevices/memory1/CXLLogicalDevices"
    share = {"QoS": {"AllocatedBandwidth": 25, "LimitPercent": 50}}
    shared = _task(client("PATCH", f"{lds}/0", share))
    assert _ended(client, shared) == "Completed"
    made += [shared, f"{lds}/0"]
    group = {"GroupType": "Initiator", "Links": {"Endpoints": links(f"{pool}/Endpoints/node3-2")}}
    made.append(_created(client, f"{pool}/EndpointGroups", group))
    return [*made, *connections, *_people(client)]


def nvmeof_jbof(client: Client) -> list[str]:
    """Volumes of two enclosures, one for one host and one that two share, and a volume given back.

    The service must answer at once (sync_budget_s 0), so that Tasks stay behind.
    """
    network = f"{FABRICS}/NVMeoF"
    hosts = [f"{network}/Endpoints/{name}" for name in ("archive1", "archive2")]
    shareable = {"CapacityBytes": 16 << 30, "NVMeNamespaceProperties": {"IsShareable": True}}
    made = []
    for name, body, initiators in (
        ("jbof1", {"CapacityBytes": 8 << 30, "Name": "Scratch"}, hosts[:1]),
        ("jbof3", shareable, hosts),
    ):
        storage, target = f"/redfish/v1/Storage/{name}", f"{network}/Endpoints/{name}"
        pool = f"{storage}/StoragePools/{name}-pool"
        task, volume = _by_task(client, f"{pool}/AllocatedVolumes", body)
        made.append(_created(client, f"{network}/Zones", zone_body(*initiators, target)))
        grant = _grant("Storage", "Volume", volume, initiators, target)
        made += [task, volume, *_by_task(client, f"{network}/Connections", grant)]
        made += [storage, pool, target]
    _, given_back = _by_task(client, "/redfish/v1/Storage/jbof2/Volumes", shareable)
    deleted = _task(client("DELETE", given_back))
    assert _ended(client, deleted) == "Completed"
    return [*made, deleted, *hosts]


def scale(client: Client) -> list[str]:
    """Zones on every switch of a small `scale`, and a Connection to a slice of its memory."""
    cxl, pcie = f"{FABRICS}/CXL", f"{FABRICS}/PCIe"
    host, ld = f"{cxl}/Endpoints/host1-2", f"{cxl}/Endpoints/box1-ld0"
    made = [_created(client, f"{cxl}/Zones", zone_body(host, ld))]
    chunk = "/redfish/v1/Chassis/box1/MemoryDomains/0/MemoryChunks/1"
    made.append(_created(client, f"{cxl}/Connections", _memory(host, ld, chunk)))
    for initiator, targets in (("host1-1", ("gpu1", "gpu2")), ("host2-1", ("gpu3",))):
        body = zone_body(*(f"{pcie}/Endpoints/{name}" for name in (initiator, *targets)))
        made.append(_created(client, f"{pcie}/Zones", body))
    return [*made, _session(client)]


def public_cxl(client: Client) -> list[str]:
    """A zone and a Connection for endpoints that the mockup leaves free for them."""
    fabric = f"{FABRICS}/CXL"
    initiator, target = f"{fabric}/Endpoints/I3", f"{fabric}/Endpoints/T5"
    chunk = "/redfish/v1/Chassis/CXLType3/MemoryDomains/1/MemoryChunks/1"
    return [
        _created(client, f"{fabric}/Zones", zone_body(f"{fabric}/Endpoints/I1", target)),
        _created(client, f"{fabric}/Connections", _memory(initiator, target, chunk)),
    ]


def public_sasfabric(client: Client) -> list[str]:
    """Two zones: SAS lets a target be in several."""
    endpoints = f"{FABRICS}/SAS/Endpoints"
    pairs = (("Initiator1", "TapeDrive"), ("Initiator2", "Drive1"))
    return [
        _created(client, f"{FABRICS}/SAS/Zones", zone_body(f"{endpoints}/{a}", f"{endpoints}/{b}"))
        for a, b in pairs
    ]


def public_nvmeof_jbof(client: Client) -> list[str]:
    """An initiator; this fabric has no Zones."""
    body = {
        "EndpointProtocol": "NVMeOverFabrics",
        "Identifiers": [
            {"DurableName": "nqn.2014-08.org.example:host-3", "DurableNameFormat": "NQN"}
        ],
        "ConnectedEntities": [{"EntityType": "NetworkController", "EntityRole": "Initiator"}],
    }
    return [_created(client, f"{FABRICS}/NVMeoF/Endpoints", body)]


def public_composability(client: Client) -> list[str]:
    """People; a composed system given back, another one made of its blocks, a host expanded."""
    assert client("DELETE", f"{SYSTEMS}/ComposedSystem").status == 204
    body = _made_of(f"{BLOCKS}/ComputeBlock1", f"{BLOCKS}/DriveBlock4", Name="Other")
    expanded = f"{SYSTEMS}/SystemAfterResourceBlock"
    given = {"ResourceBlock": {"@odata.id": f"{BLOCKS}/OffloadBlock9"}}
    action = f"{expanded}/Actions/ComputerSystem.AddResourceBlock"
    assert client("POST", action, given).status == 204
    return [*_people(client), _created(client, SYSTEMS, body), expanded]


def _made_of(*blocks: str, **more: Any) -> dict[str, Any]:
    return {"Links": {"ResourceBlocks": links(*blocks)}, **more}


def _composed(client: Client, *blocks: str) -> str:
    """Compose a system; return its URI."""
    return _created(
        client, SYSTEMS, _made_of(*(f"{BLOCKS}/{each}" for each in blocks), Name="Made")
    )


def _expanded(client: Client, host: str, block: str) -> str:
    """Give a host a block; return the URI of its system."""
    given = {"ResourceBlock": {"@odata.id": f"{BLOCKS}/{block}"}}
    action = f"{SYSTEMS}/{host}/Actions/ComputerSystem.AddResourceBlock"
    assert client("POST", action, given).status == 204
    return f"{SYSTEMS}/{host}"


def _created(client: Client, collection: str, body: dict[str, Any]) -> str:
    answer = client("POST", collection, body)
    assert answer.status == 201, answer
    return answer.headers["location"]


def _task(answer: Any) -> str:
    assert answer.status == 202, answer
    return str(answer.json["@odata.id"])


def _by_task(client: Client, collection: str, body: dict[str, Any]) -> list[str]:
    """Create a resource of which the hardware has to know; return its Task's URI, and its own."""
    answer = client("POST", collection, body)
    task = _task(answer)
    assert _ended(client, task) == "Completed", client.get(task)
    done = client("GET", answer.headers["location"])
    assert done.status == 201, done
    return [task, done.headers["location"]]


def _ended(client: Client, task: str) -> str:
    """Wait for the end of a Task; return its state."""
    end_s = time.monotonic() + _TASK_TIMEOUT_S
    while "EndTime" not in (document := client.get(task)):
        assert time.monotonic() < end_s, document
        time.sleep(_POLL_S)
    return str(document["TaskState"])


def _people(client: Client) -> list[str]:
    """Make a role, an account that has it, one that must change its password, and a session."""
    accounts, roles = "/redfish/v1/AccountService/Accounts", "/redfish/v1/AccountService/Roles"
    role = {"RoleId": "Zoner", "AssignedPrivileges": ["Login", "ConfigureComponents"]}
    made = [_created(client, roles, role)]
    for name, role_id, must_change in (("zoe", "Zoner", False), ("rob", "ReadOnly", True)):
        body = {"UserName": name, "Password": PASSWORD, "RoleId": role_id}
        made.append(_created(client, accounts, {**body, "PasswordChangeRequired": must_change}))
    return [*made, _session(client)]


def _session(client: Client) -> str:
    body = {"UserName": USER, "Password": PASSWORD}
    return _created(client, "/redfish/v1/SessionService/Sessions", body)


def _members(client: Client, collection: str) -> list[str]:
    return [member["@odata.id"] for member in client.get(collection)["Members"]]


def _initiators(client: Client, collection: str, port: str) -> list[str]:
    """Return an initiator endpoint of each host among those with such a port, by host."""
    found: dict[str, str] = {}
    for uri in _members(client, collection):
        endpoint = client.get(uri)
        if _role(endpoint) == "Initiator" and port in str(endpoint["Links"]["ConnectedPorts"]):
            found.setdefault(str(endpoint["ConnectedEntities"][0]["EntityLink"]), uri)
    return [found[host] for host in sorted(found)]


def _role(endpoint: dict[str, Any]) -> str:
    return str(endpoint["ConnectedEntities"][0]["EntityRole"])


def _zone_of(zone: str) -> dict[str, Any]:
    return {"ZoneType": "ZoneOfZones", "Links": {"ContainsZones": links(zone)}}


def _memory(initiator: str, target: str, chunk: str) -> dict[str, Any]:
    return {
        "ConnectionType": "Memory",
        "MemoryChunkInfo": [
            {"AccessCapabilities": ["Read", "Write"], "MemoryChunk": {"@odata.id": chunk}}
        ],
        "Links": {"InitiatorEndpoints": links(initiator), "TargetEndpoints": links(target)},
    }


def _grant(
    connection_type: str, kind: str, part: str, initiators: list[str], target: str
) -> dict[str, Any]:
    row = {"AccessCapabilities": ["Read", "Write"], kind: {"@odata.id": part}}
    ends = {"InitiatorEndpoints": links(*initiators), "TargetEndpoints": links(target)}
    return {"ConnectionType": connection_type, f"{kind}Info": [row], "Links": ends}

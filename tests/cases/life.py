"""What clients do to two-hosts in these tests: names, bodies, and a service with a past."""

import json
from typing import Any

from redfish_fm.drivers.virtual.faults import Refuse, Slow
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.roles import ROLES
from tests.cases.stack import Stack
from tests.control.builders import (
    CXL_FABRIC,
    CXL_ZONES,
    PCIE_FABRIC,
    PCIE_ZONES,
    cxl,
    links,
    pcie,
    zone_body,
)
from tests.redfish.house import FIRST

HOST1, HOST2, GPU1, GPU2, NVME1, NVME2 = (
    pcie(name) for name in ("host1-1", "host2-1", "gpu1", "gpu2", "nvme1", "nvme2")
)
CXL_HOST1, LD0 = cxl("host1-2"), cxl("mem1-ld0")
PCIE_ENDPOINTS = f"{PCIE_FABRIC}/Endpoints"
PCIE_PORTS = f"{PCIE_FABRIC}/Switches/pcie1/Ports"
CXL_CONNECTIONS = f"{CXL_FABRIC}/Connections"
PCIE_CONNECTIONS = f"{PCIE_FABRIC}/Connections"
PCIE_GROUPS = f"{PCIE_FABRIC}/EndpointGroups"
PCIE_POOLS = f"{PCIE_FABRIC}/AddressPools"
PCIE_DEFAULT = f"{PCIE_ZONES}/Default"
CHUNK0 = "/redfish/v1/Chassis/mem1/MemoryDomains/0/MemoryChunks/1"
TASKS = "/redfish/v1/TaskService/Tasks"
SYSTEMS = "/redfish/v1/Systems"
BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"


def endpoint_body(port: str = "D3", **more: Any) -> dict[str, Any]:
    """Return the body of a second target endpoint on a port of the PCIe switch."""
    entity = {
        "EntityType": "Drive",
        "EntityRole": "Target",
        "EntityLink": {"@odata.id": "/redfish/v1/Chassis/nvme1/Drives/nvme1"},
    }
    ports = links(f"{PCIE_PORTS}/{port}")
    return {"Name": "again", "ConnectedEntities": [entity], "Links": {"ConnectedPorts": ports}} | (
        more
    )


def connection_body(**more: Any) -> dict[str, Any]:
    """Return the body of a connection that grants LD 0 of the MLD to host1."""
    access = {"AccessCapabilities": ["Read", "Write"], "MemoryChunk": {"@odata.id": CHUNK0}}
    ends = {"InitiatorEndpoints": links(CXL_HOST1), "TargetEndpoints": links(LD0)}
    return {"ConnectionType": "Memory", "MemoryChunkInfo": [access], "Links": ends, **more}


def group_body(name: str = "us", *endpoints: str) -> dict[str, Any]:
    return {"Name": name, "Links": {"Endpoints": links(*(endpoints or (HOST1,)))}}


def system_body(*blocks: str, **more: Any) -> dict[str, Any]:
    """Return the body of a system composed of these blocks."""
    return {"Links": {"ResourceBlocks": links(*(f"{BLOCKS}/{each}" for each in blocks))}} | more


def account_body(name: str = "made", **more: Any) -> dict[str, Any]:
    return {"UserName": name, "Password": FIRST, "RoleId": "ReadOnly", **more}


def role_body(name: str = "Made") -> dict[str, Any]:
    return {"RoleId": name, "AssignedPrivileges": ["Login"]}


async def lived(stack: Stack) -> dict[str, str]:
    """Let one of everything come to be; return the URIs by what they are."""
    made = {
        "zone": await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1, Name="first")),
        "empty": await stack.made(PCIE_ZONES, {"Name": "empty"}),
        "cxl zone": await stack.made(CXL_ZONES, zone_body(CXL_HOST1, LD0)),
        "endpoint": await stack.made(PCIE_ENDPOINTS, endpoint_body()),
        "connection": await stack.made(CXL_CONNECTIONS, connection_body()),
        "system": await stack.made(SYSTEMS, system_body("host2", "gpu2")),
        "account": await stack.made(ACCOUNTS, account_body()),
        "role": await stack.made(ROLES, role_body()),
        "session": (await stack.login("admin", "admin-password")).headers["Location"],
    }
    faults = stack.rig.faults()
    faults.next_apply(None, Slow(6.0))
    faults.next_apply(None, Refuse("bay is locked"))
    failed = await slowly(stack, "POST", PCIE_ZONES, zone_body(HOST1, NVME2, NVME1))
    made["failed"] = failed["task"]
    await stack.rig.until(lambda: not stack.kernel.operations.open_of("PCIe"))
    faults.next_apply(None, Slow(200.0))
    return made | await slowly(stack, "POST", PCIE_ZONES, zone_body(HOST1, NVME1, Name="slow"))


async def slowly(stack: Stack, method: str, uri: str, body: Any = None) -> dict[str, str]:
    """Ask for something that takes longer than the service waits; return its task and monitor."""
    response = await stack.ask(method, uri, body)
    assert response.status == 202, response.body
    task = json.loads(response.body)["@odata.id"]
    return {"monitor": response.headers["Location"], "task": task}

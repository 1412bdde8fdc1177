"""Two independent faults in one body are both told, whichever check finds them, and whatever wins.

DESIGN section 5: no refusal hides another. 400 wins over 409 (section 10), and both kinds are
listed. Only a body that has not the form of its type is not judged further.
"""

import copy
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from redfish_fm.redfish.requests import Response
from tests.cases.small_world import CXL, PCIE, small_world
from tests.cases.stack import ROOT, Stack, a_stack
from tests.control.builders import links
from tests.virtual_time import in_virtual_time

Body = dict[str, Any]

HOST1, HOST2, GPU, NIC = (
    f"{PCIE}/Endpoints/{name}" for name in ("host1-1", "host2-1", "gpu1", "nic1-f0")
)
CXL_HOST1, CXL_HOST2, LD0, MEM = (
    f"{CXL}/Endpoints/{name}" for name in ("host1-2", "host2-2", "fixed1-ld0", "mem1")
)
HELD, NOWHERE = f"{PCIE}/Zones/held", f"{PCIE}/Endpoints/none"
SHY = f"{PCIE}/Endpoints/shy"
FULL = tuple(
    f"{PCIE}/Endpoints/{name}"
    for name in ("nic1-f1", "mhnic1-h1", "mhnic1-h2", "drive1-p1", "drive1-p2")
)
"""More than the host's virtual switch has vPPBs."""
CONFLICT = "PropertyValueResourceConflict"


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a body: how it comes in, and the message that it must bring.

    `names` stand among the arguments and pointers of that message. `not_with` are the faults
    beside which it is none, or is not to be judged.
    """

    name: str
    spoil: Callable[[Body], None]
    key: str
    names: tuple[str, ...]
    status: int = 400
    not_with: frozenset[str] = frozenset()


def into(path: str, *values: Any) -> Callable[[Body], None]:
    """Append to the list at a dotted path."""

    def spoil(body: Body) -> None:
        *above, name = path.split(".")
        for each in above:
            body = body.setdefault(each, {})
        body[name] = [*body.get(name, []), *values]

    return spoil


def put(path: str, value: Any) -> Callable[[Body], None]:
    """Set the property at a dotted path."""

    def spoil(body: Body) -> None:
        *above, name = path.split(".")
        for each in above:
            body = body.setdefault(each, {})
        body[name] = value

    return spoil


def entity(link: str, role: str | None, kind: str = "RootComplex") -> Body:
    found: Body = {"EntityType": kind, "EntityLink": {"@odata.id": link}}
    return found if role is None else {**found, "EntityRole": role}


def members(*uris: str) -> Callable[[Body], None]:
    return into("Links.Endpoints", *links(*uris))


def overlap(body: Body) -> None:
    """Let one address have two purposes."""
    for name in ("HostAddressRange", "LoopbackAddressRange"):
        put(f"{IPV4}.{name}", {"Lower": "10.1.0.1", "Upper": "10.1.0.9"})(body)


def taken(name: str, type_name: str) -> Fault:
    return Fault("id", put("Id", name), "ResourceAlreadyExists", (type_name, "#/Id"), 409)


HOST, SECOND = f"{ROOT}/Systems/host1", f"{ROOT}/Systems/host2"
ENTITIES = "ConnectedEntities"
PORT = f"{PCIE}/Switches/pcie1/Ports/U1"
IPV4 = "Ethernet.IPv4"

UNKNOWN = Fault("unknown", members(NOWHERE), "ResourceMissingAtURI", (NOWHERE,))

CASES: dict[str, tuple[str, Body, tuple[Fault, ...]]] = {
    "Zone": (
        f"{PCIE}/Zones",
        {"Name": "z", "Links": {"Endpoints": links(HOST1)}},
        (
            UNKNOWN,
            Fault("foreign", members(LD0), CONFLICT, (LD0, CXL)),
            Fault("twice", members(HOST1), "PropertyValueIncorrect", (HOST1,)),
            Fault("held", members(GPU), CONFLICT, (GPU, HELD), 409),
            Fault("excluded", members(SHY, NIC), CONFLICT, (SHY, NIC), 409),
            Fault("full", members(*FULL), "ResourceExhaustion", (), 409),
            Fault("access", put("ExternalAccessibility", "GloballyAccessible"),
                  "PropertyValueNotInList", ("#/ExternalAccessibility",)),
            # A Default zone that does not route gives nobody anything, nor takes it.
            Fault("type", put("ZoneType", "Default"), "PropertyValueError", ("#/ZoneType",),
                  not_with=frozenset({"held", "full"})),
            Fault("nested", into("Links.ContainsZones", *links(HELD)), CONFLICT,
                  (HELD, "#/Links/ContainsZones/0")),
            taken("empty", "Zone"),
        ),
    ),
    "Endpoint": (
        f"{PCIE}/Endpoints",
        {"Name": "e", ENTITIES: [entity(HOST, "Initiator")]},
        (
            Fault("lost port", into("Links.LocalPorts", *links(f"{PORT}x")),
                  "ResourceMissingAtURI", (f"{PORT}x", "#/Links/LocalPorts/0")),
            Fault("lost entity", into(ENTITIES, entity("/redfish/v1/Systems/none", "Both")),
                  "ResourceMissingAtURI", ("/redfish/v1/Systems/none",)),
            Fault("no role", into(ENTITIES, entity(HOST, None)), "PropertyMissing",
                  ("EntityRole",)),
            Fault("stranger", into("Links.MutuallyExclusiveEndpoints", *links(HOST)),
                  CONFLICT, (HOST, "#/Links/MutuallyExclusiveEndpoints/0")),
            Fault("two hosts", into(ENTITIES, entity(SECOND, "Initiator")),
                  "PropertyValueConflict", ("#/ConnectedEntities/0",)),
            Fault("no device", into(ENTITIES, entity(HOST, "Both")), "PropertyValueConflict",
                  ("EntityRole", "EntityLink"), not_with=frozenset({"foreign"})),
            Fault("foreign", into(ENTITIES, entity(f"{ROOT}/Chassis/mem1/PCIeDevices/mem1",
                                                   "Target", "MediaController")),
                  CONFLICT, (f"{ROOT}/Chassis/mem1/PCIeDevices/mem1", CXL)),
            Fault("port", into("Links.ConnectedPorts", *links(PORT)), CONFLICT,
                  (PORT, HOST1, "#/Links/ConnectedPorts"), 409),
            taken("shy", "Endpoint"),
        ),
    ),
    "EndpointGroup": (
        f"{CXL}/EndpointGroups",
        {"Name": "g", "Links": {"Endpoints": links(CXL_HOST1)}},
        (
            UNKNOWN,
            Fault("foreign", members(GPU), CONFLICT, (GPU, PCIE)),
            Fault("twice", members(CXL_HOST1), "PropertyValueIncorrect", (CXL_HOST1,)),
            taken("us", "EndpointGroup"),
        ),
    ),
    "AddressPool": (
        f"{PCIE}/AddressPools",
        {"Name": "p", "Links": {"Endpoints": links(HOST1)}},
        (
            UNKNOWN,
            Fault("foreign", members(LD0), CONFLICT, (LD0, CXL)),
            Fault("twice", members(HOST1), "PropertyValueIncorrect", (HOST1,)),
            Fault("no zone", into("Links.Zones", *links(f"{HELD}x")), "ResourceMissingAtURI",
                  (f"{HELD}x",)),
            Fault("upside down", put(f"{IPV4}.VLANIdentifierAddressRange",
                                     {"Lower": 9, "Upper": 1}),
                  "PropertyValueConflict", ("#/Ethernet/IPv4/VLANIdentifierAddressRange/Lower",)),
            Fault("half", put(f"{IPV4}.IBGPAddressRange", {"Lower": "10.0.0.1"}),
                  "PropertyMissing", ("#/Ethernet/IPv4/IBGPAddressRange/Upper",)),
            Fault("address", put(f"{IPV4}.EBGPAddressRange",
                                 {"Lower": "10.0.0.300", "Upper": "10.0.1.1"}),
                  "PropertyValueFormatError", ("#/Ethernet/IPv4/EBGPAddressRange/Lower",)),
            Fault("limit", put("GenZ", {"MinCID": 1, "MaxCID": 5000}),
                  "PropertyValueOutOfRange", ("#/GenZ/MaxCID",)),
            Fault("overlap", overlap, "PropertyValueConflict",
                  ("#/Ethernet/IPv4/HostAddressRange",)),
            taken("pool", "AddressPool"),
        ),
    ),
}  # fmt: skip
"""Type -> collection, a body without fault, and what can be wrong with it."""

HELD_GROUP_FAULTS = (
    Fault("unknown", members(NOWHERE), "ResourceMissingAtURI", (NOWHERE,)),
    Fault("foreign", members(GPU), CONFLICT, (GPU, PCIE)),
    Fault("twice", members(CXL_HOST1), "PropertyValueIncorrect", (CXL_HOST1,)),
    Fault("second host", members(CXL_HOST2), CONFLICT, (CXL_HOST2,), 409),
    Fault("side", put("GroupType", "Target"), CONFLICT, ("#/GroupType",)),
)
"""What can be wrong with a change of a group that a connection names."""


async def a_past(stack: Stack) -> None:
    """Let things be there that a new one can collide with."""
    shy = {"Id": "shy", ENTITIES: [entity(f"{ROOT}/Chassis/gpu1/PCIeDevices/gpu1", "Target")],
           "Links": {"MutuallyExclusiveEndpoints": links(NIC)}}  # fmt: skip
    await stack.made(f"{PCIE}/Zones", {"Id": "held", "Links": {"Endpoints": links(HOST2, GPU)}})
    await stack.made(f"{PCIE}/Zones", {"Id": "empty", "Name": "e"})
    await stack.made(f"{PCIE}/Endpoints", {"Name": "shy", **shy})
    await stack.made(f"{PCIE}/AddressPools", {"Id": "pool", "Name": "p"})
    group = {"Id": "us", "Name": "g", "Links": {"Endpoints": links(CXL_HOST1)}}
    await stack.made(f"{CXL}/EndpointGroups", group)


def told(response: Response) -> list[tuple[str, str]]:
    """Return (key, arguments and pointers) of every message."""
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return [
        (each["MessageId"].rsplit(".", 1)[-1],
         json.dumps([each["MessageArgs"], each.get("RelatedProperties")]))
        for each in entries
    ]  # fmt: skip


def tells(response: Response, fault: Fault) -> bool:
    return any(
        key == fault.key and all(name in text for name in fault.names)
        for key, text in told(response)
    )


def pairs(faults: tuple[Fault, ...]) -> list[tuple[Fault, ...]]:
    """Return each fault alone, and every two that do not exclude each other."""
    return [
        *((each,) for each in faults),
        *(
            (one, other)
            for one, other in itertools.combinations(faults, 2)
            if one.name not in other.not_with and other.name not in one.not_with
        ),
    ]


async def refuses_all(
    stack: Stack, method: str, uri: str, good: Body, faults: tuple[Fault, ...]
) -> list[str]:
    """Send the body with each fault and each pair; return what was not told as it should be."""
    wrong = []
    for some in pairs(faults):
        body = copy.deepcopy(good)
        for each in some:
            each.spoil(body)
        response = await stack.ask(method, uri, body)
        name = " + ".join(each.name for each in some)
        if response.status != min(each.status for each in some):
            wrong.append(f"{name}: {response.status} {response.body!r}")
        else:
            wrong += [
                f"{name}: no {each.name} in {told(response)}"
                for each in some
                if not tells(response, each)
            ]
    return wrong


@pytest.mark.parametrize("type_name", sorted(CASES))
@in_virtual_time
async def test_two_faults_in_what_is_to_be_made_are_both_told(type_name: str) -> None:
    collection, good, faults = CASES[type_name]
    async with a_stack(small_world()) as stack:
        await a_past(stack)
        before = stack.tags()
        assert await refuses_all(stack, "POST", collection, good, faults) == []
        assert stack.tags() == before
        await stack.made(collection, good)


@in_virtual_time
async def test_two_faults_in_a_change_of_a_group_are_both_told() -> None:
    async with a_stack(small_world()) as stack:
        await a_past(stack)
        group = f"{CXL}/EndpointGroups/us"
        await stack.made(
            f"{CXL}/Zones", {"Name": "z", "Links": {"Endpoints": links(CXL_HOST1, MEM)}}
        )
        ends = {"InitiatorEndpointGroups": links(group), "TargetEndpoints": links(MEM)}
        await stack.made(f"{CXL}/Connections", {"Name": "c", "Links": ends})
        before = stack.tags()
        good = {"Links": {"Endpoints": links(CXL_HOST1)}}
        assert await refuses_all(stack, "PATCH", group, good, HELD_GROUP_FAULTS) == []
        assert stack.tags() == before


@in_virtual_time
async def test_two_faults_in_a_change_of_a_zone_are_both_told() -> None:
    _collection, good, faults = CASES["Zone"]
    async with a_stack(small_world()) as stack:
        await a_past(stack)
        zone = await stack.made(f"{PCIE}/Zones", good)
        before = stack.tags()
        some = tuple(each for each in faults if each.name != "id")
        assert await refuses_all(stack, "PATCH", zone, {"Links": good["Links"]}, some) == []
        assert stack.tags() == before


@in_virtual_time
async def test_what_rests_on_a_link_that_leads_nowhere_is_not_told_as_well() -> None:
    """It would be news of the missing resource, or of a fabric where the member is not bound."""
    async with a_stack(small_world()) as stack:
        lost = entity(f"{ROOT}/Systems/none", "Both")
        body = {"Name": "e", ENTITIES: [lost]}
        response = await stack.ask("POST", f"{PCIE}/Endpoints", body)
        assert [key for key, _text in told(response)] == ["ResourceMissingAtURI"]
        for strange in (NOWHERE, MEM):
            body = {"Name": "z", "Links": {"Endpoints": links(HOST1, strange)}}
            response = await stack.ask("POST", f"{PCIE}/Zones", body)
            assert (response.status, len(told(response))) == (400, 1)


@in_virtual_time
async def test_a_foreign_device_is_told_by_its_own_uri_and_routing_by_its_value() -> None:
    async with a_stack(small_world()) as stack:
        device = f"{ROOT}/Chassis/mem1/PCIeDevices/mem1"
        body = {"Name": "e", ENTITIES: [entity(device, "Target", "MediaController")]}
        response = await stack.ask("POST", f"{PCIE}/Endpoints", body)
        assert arguments(response) == [[ENTITIES, device, CXL]]
        default = f"{PCIE}/Zones/Default"
        held = {"Links": {"Endpoints": links(GPU)}}
        assert (await stack.ask("PATCH", default, held)).status == 200
        response = await stack.ask("PATCH", default, {"DefaultRoutingEnabled": True})
        assert arguments(response) == [["DefaultRoutingEnabled", "true", GPU]]


def arguments(response: Response) -> list[list[str]]:
    """Return the arguments of every message that has some."""
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return [each["MessageArgs"] for each in entries if each["MessageArgs"]]

"""Bodies of POST, for every type that can be made: each fault is told, all at once, nothing made.

What a type takes stands in schemas; the tests read it there, so a type that becomes creatable and
has no good body here fails. Semantic rules have tests of their own.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from redfish_fm.redfish.bodies import MESSAGES_MAX
from redfish_fm.redfish.catalog import TypeInfo
from redfish_fm.redfish.properties import Kind, PropertyInfo
from redfish_fm.redfish.requests import Response
from redfish_fm.redfish.values import chars_max
from tests.cases.small_world import small_world
from tests.cases.stack import ROOT, Stack, a_stack
from tests.control.builders import links
from tests.redfish.builders import CATALOG, related
from tests.virtual_time import in_virtual_time

PCIE = f"{ROOT}/Fabrics/PCIe"
BLOCKS = f"{ROOT}/CompositionService/ResourceBlocks"
HOST, GPU = f"{PCIE}/Endpoints/host1-1", f"{PCIE}/Endpoints/gpu1"
ENTITY = {
    "EntityType": "Processor",
    "EntityRole": "Target",
    "EntityLink": {"@odata.id": f"{ROOT}/Chassis/gpu1/PCIeDevices/gpu1"},
}
NAMED = {"Name": "made", "Description": "for a test", "Oem": {"Contoso": {"Note": "ours"}}}
UUID = {"DurableName": "6a1b9c52-1f2e-4d3c-8b4a-000000000001", "DurableNameFormat": "UUID"}

GOOD: dict[str, tuple[str, dict[str, Any]]] = {
    "Zone": (
        f"{PCIE}/Zones",
        {**NAMED, "ZoneType": "ZoneOfEndpoints", "Identifiers": [UUID],
         "Links": {"Endpoints": links(HOST, GPU)}},
    ),
    "Endpoint": (
        f"{PCIE}/Endpoints",
        {**NAMED, "EndpointProtocol": "PCIe", "ConnectedEntities": [ENTITY],
         "HostReservationMemoryBytes": 0, "Links": {"MutuallyExclusiveEndpoints": links(HOST)}},
    ),
    "Connection": (
        f"{ROOT}/Fabrics/NVMeoF/Connections",
        {**NAMED, "ConnectionType": "Storage",
         "VolumeInfo": [{"AccessCapabilities": ["Read"], "LUN": 1,
                         "Volume": {"@odata.id": f"{ROOT}/Storage/jbof1/Volumes/given"}}],
         "Links": {"InitiatorEndpoints": links(f"{ROOT}/Fabrics/NVMeoF/Endpoints/host1"),
                   "TargetEndpoints": links(f"{ROOT}/Fabrics/NVMeoF/Endpoints/jbof1")}},
    ),
    "EndpointGroup": (
        f"{PCIE}/EndpointGroups",
        {**NAMED, "GroupType": "Target", "TargetEndpointGroupIdentifier": 7,
         "Links": {"Endpoints": links(GPU)}},
    ),
    "AddressPool": (
        f"{PCIE}/AddressPools",
        {**NAMED, "GenZ": {"MinCID": 1, "MaxCID": 9}, "Links": {"Endpoints": links(GPU)}},
    ),
    "MemoryChunks": (
        f"{ROOT}/Chassis/pooled1/MemoryDomains/1/MemoryChunks",
        {**NAMED, "MemoryChunkSizeMiB": 256, "AddressRangeType": "Volatile", "IsSpare": False},
    ),
    "MemoryRegion": (
        f"{ROOT}/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices/0/MemoryRegions",
        {**NAMED, "RegionType": "Dynamic", "RegionSizeMiB": 256, "ShareableRegion": False},
    ),
    "Volume": (
        f"{ROOT}/Storage/jbof1/Volumes",
        {**NAMED, "CapacityBytes": 1 << 30, "ProvisioningPolicy": "Fixed",
         "AccessCapabilities": ["Read", "Write"],
         "NVMeNamespaceProperties": {"IsShareable": True}},
    ),
    "ComputerSystem": (
        f"{ROOT}/Systems",
        {**NAMED, "HostName": "made", "AssetTag": "for a test", "SystemType": "Composed",
         "Links": {"ResourceBlocks": links(f"{BLOCKS}/host2", f"{BLOCKS}/mhnic1-h1")}},
    ),
    "ResourceBlock": (
        BLOCKS,
        {**NAMED, "Client": "whom it is for",
         "Links": {"SupplyingResourceBlocks": links(f"{BLOCKS}/mhnic1-h2")}},
    ),
    "ManagerAccount": (
        f"{ROOT}/AccountService/Accounts",
        {"UserName": "made", "Password": "a long password", "RoleId": "Operator",
         "Enabled": True, "AccountTypes": ["Redfish"]},
    ),
    "Role": (
        f"{ROOT}/AccountService/Roles",
        {"RoleId": "Made", "AssignedPrivileges": ["Login"], "Description": "for a test"},
    ),
    "EventDestination": (
        f"{ROOT}/EventService/Subscriptions",
        {**NAMED, "Destination": "https://192.0.2.50/events", "Protocol": "Redfish",
         "Context": "for a test", "SendHeartbeat": True, "HeartbeatIntervalMinutes": 5,
         "OriginResources": links(f"{PCIE}/Zones"), "SubordinateResources": True,
         "HttpHeaders": [{"X-Made": "1"}], "RegistryPrefixes": ["Fabric"]},
    ),
}  # fmt: skip
"""Type -> collection, and a body that it takes. Sessions are made by logins; see their tests."""

ODD = (
    None, True, 0, -1, 7, 1 << 63, (1 << 64) - 1, 1.0, 2.5, "", " ", "x", "日本", "x" * 5_000,
    "/nowhere", [], [None], [[]], [{}], {}, {"Bogus": 1}, {"@odata.id": ""},
    {"@odata.id": "/nowhere"}, {"@odata.id": f"{ROOT}/Systems/host1"}, {"@odata.id": 5},
)  # fmt: skip


async def _with_a_volume(stack: Stack) -> None:
    """Make the volume that the connection grants."""
    await stack.made(GOOD["Volume"][0], {"Id": "given", "CapacityBytes": 1 << 30})


def _info(name: str) -> TypeInfo:
    return CATALOG.types[name]


def _at(path: str, value: Any) -> dict[str, Any]:
    """Return a body that has only `value`, at a dotted path."""
    for each in reversed(path.split(".")):
        value = {each: value}
    assert isinstance(value, dict)
    return value


def _merged(*bodies: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for body in bodies:
        for name, value in body.items():
            held = merged.get(name)
            both = isinstance(held, dict) and isinstance(value, dict)
            merged[name] = _merged(held, value) if both else value  # type: ignore[arg-type]
    return merged


def _pointer(path: str) -> str:
    return "#/" + path.replace(".", "/")


def _taken(info: TypeInfo) -> dict[str, PropertyInfo]:
    """Return every path that a POST may name, with what it can hold."""
    assert info.create is not None
    found = {path: info.find(path) for path in sorted(info.create.allowed)}
    return {path: each for path, each in found.items() if each is not None}


def _no_value(info: PropertyInfo) -> Any:
    """Return a JSON value whose type the property can not have."""
    return 5 if info.kind in (Kind.STRING, Kind.ENUM) else "text"


def _told(response: Response) -> list[tuple[str, str]]:
    """Return (key, pointer) of every message of a refusal with 400."""
    assert response.status == 400, (response.status, response.body)
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    keys = (entry["MessageId"].rsplit(".", 1)[-1] for entry in entries)
    places = (entry.get("RelatedProperties", [""])[0] for entry in entries)
    return list(zip(keys, places, strict=True))


async def _refused(stack: Stack, name: str, body: Any) -> list[tuple[str, str]]:
    """POST; return what is told of the refusal (400), after which all is as before."""
    before = stack.tags()
    told = _told(await stack.ask("POST", GOOD[name][0], body))
    assert stack.tags() == before
    return told


@in_virtual_time
async def test_every_type_that_a_post_makes_is_looked_at_here() -> None:
    async with a_stack(small_world()) as stack:
        found = set()
        for uri in await stack.crawl():
            shown = await stack.ask("GET", uri)
            if "POST" in shown.headers["Allow"]:
                info = CATALOG.type_of(uri)
                assert info is not None
                found.add(info.member)
        # What is read from a certificate is looked at in tests/certificates.
        assert found == GOOD.keys() | {"Session", "Certificate"}


@in_virtual_time
async def test_the_good_bodies_are_good_and_names_may_be_in_any_script() -> None:
    async with a_stack(small_world()) as stack:
        await _with_a_volume(stack)
        for name, (collection, body) in GOOD.items():
            extra = {"Name": "日本 é 🙂"} if "Name" in body else {}
            response = await stack.ask("POST", collection, {**body, **extra})
            assert response.status == 201, (name, response.body)
            made = await stack.get(response.headers["Location"])
            assert extra.items() <= made.items(), name
            assert made["Id"] == made["@odata.id"].rsplit("/", 1)[-1]


@pytest.mark.parametrize("name", sorted(GOOD))
@in_virtual_time
async def test_what_is_wrong_with_a_body_is_told_in_one_answer(name: str) -> None:
    """Every property that the type takes has a wrong type, and more is wrong besides."""
    info = _info(name)
    assert info.create is not None
    wrong = {path: _no_value(each) for path, each in _taken(info).items() if each.kind != Kind.ANY}
    kept = [path for path in sorted(info.create.refused) if path != "*"]
    known = [path for path in kept if info.find(path.partition(".")[0]) is not None]
    body = _merged(
        *(_at(path, value) for path, value in wrong.items()),
        *(_at(path, {}) for path in known),
        {"Bogus": 1, "@odata.type": 5},
    )
    async with a_stack(small_world()) as stack:
        told = await _refused(stack, name, body)
        assert len(told) <= MESSAGES_MAX
        places = dict((place, key) for key, place in told)
        assert {places[_pointer(path)] for path in wrong} <= {"PropertyValueTypeError"}
        refused = {places[_pointer(path)] for path in known}
        assert refused <= {"PropertyNotWritable", "PropertyUnknown"}
        assert places["#/Bogus"] == "PropertyUnknown"
        assert places["#/@odata.type"] == "PropertyValueTypeError"


@pytest.mark.parametrize("name", sorted(GOOD))
@in_virtual_time
async def test_what_a_body_must_have_is_missed_alone_and_together(name: str) -> None:
    info = _info(name)
    assert info.create is not None
    async with a_stack(small_world()) as stack:
        if not info.create.required:
            return
        every = {("PropertyMissing", _pointer(path)) for path in info.create.required}
        assert set(await _refused(stack, name, {})) == every
        others = {("PropertyUnknown", "#/Bogus"), ("PropertyValueTypeError", "#/Description")}
        told = await _refused(stack, name, {"Bogus": 1, "Description": 5})
        assert set(told) == every | others
        for path in sorted(info.create.required):
            body = _merged(GOOD[name][1], _at(path, None))
            told = await _refused(stack, name, body)
            assert ("PropertyMissing", _pointer(path)) in told, told


@pytest.mark.parametrize("name", sorted(GOOD))
@in_virtual_time
async def test_null_is_refused_where_the_schema_has_none(name: str) -> None:
    strict = [path for path, each in _taken(_info(name)).items() if not each.nullable]
    body = _merged(GOOD[name][1], *(_at(path, None) for path in strict))
    async with a_stack(small_world()) as stack:
        places = {place for _key, place in await _refused(stack, name, body)}
        assert {_pointer(path) for path in strict} <= places
        assert strict


@pytest.mark.parametrize("name", sorted(GOOD))
@in_virtual_time
async def test_numbers_that_are_none_here_are_refused(name: str) -> None:
    whole = [path for path, each in _taken(_info(name)).items() if each.kind is Kind.INTEGER]
    async with a_stack(small_world()) as stack:
        for path in whole or ["Description"]:
            for value in (1.0, 1.5, 1e300, True):
                told = await _refused(stack, name, _merged(GOOD[name][1], _at(path, value)))
                assert ("PropertyValueTypeError", _pointer(path)) in told
            for text in (str(1 << 64), "-" + "9" * 400, "1e999"):
                sent = _merged(GOOD[name][1], _at(path, "HERE"))
                raw = json.dumps(sent).replace('"HERE"', text).encode()
                assert await _refused(stack, name, raw) == [
                    ("PropertyValueOutOfRange", _pointer(path))
                ]


@pytest.mark.parametrize("name", sorted(GOOD))
@in_virtual_time
async def test_what_no_json_object_is_gets_one_answer(name: str) -> None:
    good = json.dumps(GOOD[name][1])
    first = next(iter(GOOD[name][1]))
    malformed = [("MalformedJSON", "")]
    async with a_stack(small_world()) as stack:
        for raw in ('{"Oem": {"A": NaN}}', '{"Oem": {"A": -Infinity}}', good[:-1], "\ufeff" + good,
                    '{"Oem": ' + '{"a": ' * 100 + "1" + "}" * 101,
                    '{"Oem": {"A": ' + "[" * 100 + "]" * 100 + "}}"):  # fmt: skip
            assert await _refused(stack, name, raw.encode()) == malformed
        assert await _refused(stack, name, good.encode("utf-16")) == malformed
        for raw in ("[]", '"x"', "5", "null"):
            assert await _refused(stack, name, raw.encode()) == [("UnrecognizedRequestBody", "")]
        twice = f'{good[:-1]}, "{first}": 1, "Oem": {{"A": {{"b": 1, "b": 2}}}}}}'
        told = await _refused(stack, name, twice.encode())
        assert ("PropertyDuplicate", f"#/{first}") in told
        assert ("PropertyDuplicate", "#/Oem/A/b") in told


@pytest.mark.parametrize("name", sorted(GOOD))
@in_virtual_time
async def test_texts_have_a_bound_and_no_control_characters(name: str) -> None:
    texts = {path for path, each in _taken(_info(name)).items() if each.kind is Kind.STRING}
    async with a_stack(small_world()) as stack:
        long = [_at(path, "x" * (chars_max(path.rpartition(".")[2]) + 1)) for path in sorted(texts)]
        told = await _refused(stack, name, _merged(GOOD[name][1], *long))
        assert {("StringValueTooLong", _pointer(path)) for path in texts} <= set(told)
        odd = [_at(path, "a\x00b") for path in sorted(texts)]
        told = await _refused(stack, name, _merged(GOOD[name][1], *odd))
        assert {("PropertyValueFormatError", _pointer(path)) for path in texts} <= set(told)
        if "Name" in texts:
            assert await _refused(stack, name, {**GOOD[name][1], "Name": ""}) == [
                ("StringValueTooShort", "#/Name")
            ]


@pytest.mark.parametrize("name", sorted(set(GOOD) - {"ManagerAccount", "Role"}))
@in_virtual_time
async def test_an_id_is_one_segment_of_a_uri_and_taken_once(name: str) -> None:
    collection, good = GOOD[name]
    async with a_stack(small_world()) as stack:
        await _with_a_volume(stack)
        for wished in ("", "a/b", "..", "é", "a b", "Members", "x" * 129):
            told = await _refused(stack, name, {**good, "Id": wished, "Bogus": 1})
            assert set(told) == {
                ("PropertyValueFormatError", "#/Id"),
                ("PropertyUnknown", "#/Bogus"),
            }
        for kept in ({"@odata.id": "/elsewhere", "@odata.etag": '"0"'}, {"Id": "mine"}):
            uri = await stack.made(collection, {**good, **kept})
            made = await stack.get(uri)
            assert made["@odata.id"] == uri
            assert uri.startswith(f"{collection}/")
            if "Id" in kept:
                assert uri == f"{collection}/mine"
                again = await stack.ask("POST", collection, {**good, "Id": "mine"})
                assert (again.status, related(again)) == (409, ["#/Id"])
            assert (await stack.ask("DELETE", uri)).status == 204


def _changed(body: Any) -> Iterator[Any]:
    """Yield `body` once with each odd value in the place of each value in it."""
    for key in list(body) if isinstance(body, dict) else range(len(body)):
        for odd in ODD:
            changed = copy.copy(body)
            changed[key] = odd
            yield changed
        if isinstance(body[key], dict | list):
            for inner in _changed(body[key]):
                changed = copy.copy(body)
                changed[key] = inner
                yield changed


@pytest.mark.parametrize("name", sorted(GOOD))
@in_virtual_time
async def test_no_body_breaks_the_service_and_a_refused_one_changes_nothing(name: str) -> None:
    collection, good = GOOD[name]
    statuses: dict[int, int] = {}
    async with a_stack(small_world()) as stack:
        await _with_a_volume(stack)
        before, seq = stack.tags(), stack.kernel.writer.tip.seq
        for body in _changed(good):
            response = await stack.ask("POST", collection, body)
            statuses[response.status] = statuses.get(response.status, 0) + 1
            if response.status == 201:
                uri = response.headers["Location"]
                assert (await stack.ask("DELETE", uri)).status == 204
                seq = stack.kernel.writer.tip.seq
                continue
            assert response.status in (400, 409), (response.status, body)
            assert "Location" not in response.headers
            assert stack.kernel.writer.tip.seq == seq, body
            assert json.loads(response.body)["error"]["@Message.ExtendedInfo"]
        after = stack.tags()
        assert statuses[201] > 3
        assert statuses[400] > 50
        assert after.keys() - {"seq"} >= before.keys() - {"seq"}
        assert {
            uri for uri in after.keys() - before.keys() if uri.startswith(f"{collection}/")
        } == (set())

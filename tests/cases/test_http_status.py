"""Cases HTTP-STATUS of shared/cases.jsonl: what is not there or can not be done, one error shape.

Requests go through the server's own parsing of targets; sockets are tests/server's business.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redfish_fm.mapping.violations import TABLE
from redfish_fm.redfish.requests import Response
from tests.cases.life import GPU1, HOST1, HOST2, connection_body, lived
from tests.cases.registries import check_error_body, listed
from tests.cases.stack import CATALOG, ROOT, Stack, a_stack
from tests.control.builders import CXL_FABRIC, PCIE_FABRIC, PCIE_ZONES, zone_body
from tests.redfish.builders import keys
from tests.redfish.house import SESSIONS
from tests.virtual_time import in_virtual_time

MISSING = {"ResourceMissingAtURI", "ResourceNotFound"}
WRITES = (
    ("POST", f"{ROOT}/Chassis/nope/Actions/Chassis.Reset", {"ResetType": "PowerCycle"}),
    ("POST", f"{ROOT}/Fabrics/nope/Zones", {"Name": "z"}),
    ("POST", f"{ROOT}/Systems/nope/Actions/ComputerSystem.Reset", {"ResetType": "On"}),
    ("POST", f"{PCIE_ZONES}/nope/Actions/Zone.AddEndpoint", {"Endpoint": GPU1}),
    ("POST", f"{PCIE_FABRIC}/Switches/nope/Actions/Switch.Reset", {}),
    ("PATCH", f"{PCIE_ZONES}/nope", {"Name": "x"}),
    ("DELETE", f"{PCIE_ZONES}/nope", None),
    ("DELETE", f"{SESSIONS}/nope", None),
    ("PATCH", f"{ROOT}/AccountService/Accounts/nope", {"RoleId": "ReadOnly"}),
    ("POST", f"{HOST1}/Actions/Endpoint.Explode", {}),
)


def check_missing(response: Response) -> None:
    assert response.status == 404
    assert response.headers["Content-Type"] == "application/json"
    assert set(keys(response)) <= MISSING


@pytest.mark.parametrize(("method", "uri", "body"), WRITES)
@in_virtual_time
async def test_ht_01_a_write_to_nothing_is_404_and_reaches_no_driver(
    method: str, uri: str, body: Any
) -> None:
    async with a_stack() as stack:
        before, commands = stack.tags(), stack.commands()
        check_missing(await stack.ask(method, uri, body))
        assert (stack.tags(), stack.commands()) == (before, commands)


def nowhere() -> Iterator[str]:
    """Yield one URI of every template of every type, none of which leads anywhere."""
    for info in CATALOG.types.values():
        for template in info.uris:
            head, brace, tail = template.partition("{")
            if brace:
                yield f"{head}no-such{tail[tail.index('}') + 1 :]}".replace("{", "").replace(
                    "}", ""
                )


@in_virtual_time
async def test_ht_03_nothing_of_any_type_is_404_whatever_is_asked() -> None:
    uris = sorted(set(nowhere()))
    assert len(uris) > 800
    async with a_stack() as stack:
        before = stack.tags()
        for uri in uris:
            for method in ("GET", "POST", "PATCH", "DELETE"):
                response = await stack.ask(method, uri, None if method == "GET" else {})
                check_missing(response)
        assert stack.tags() == before


STRANGE = (
    f"{ROOT}/Systems/d4177926-b4dc-4f4f-88f5-47fbdb4392e8",
    f"{ROOT}/Systems/99999999",
    f"{PCIE_ZONES}/%20",
    f"{ROOT}/Systems/..%2f..%2fetc%2fpasswd",
    f"{ROOT}/Systems/../../../etc/passwd",
    f"{ROOT}/Systems/%2e%2e/%2e%2e/etc/passwd",
    f"{ROOT}/../../schemas/service.json",
    f"{PCIE_FABRIC}/Endpoints/{'A' * 5000}",
    f"{PCIE_FABRIC}/Endpoints/",
    f"{PCIE_FABRIC}//Endpoints",
    f"{PCIE_FABRIC}/Endpoints/%00",
    f"{PCIE_FABRIC}/Endpoints/%ff%fe",
    f"{PCIE_FABRIC}/Endpoints/gpu1%0d%0aX: y",
    f"{PCIE_FABRIC}/endpoints",
    f"{ROOT}/Systems/host1/",
    f"{ROOT}/Systems/host1//",
    f"{ROOT}/{{SystemId}}",
    "/",
    "*",
    "/etc/passwd",
    "/redfish/v1x",
    "/redfish/v1/$metadata/x",
    f"{ROOT}/Systems/\u00fc\ud800",
)
FOUND = (f"{PCIE_FABRIC}/Endpoints/", f"{ROOT}/Systems/host1/")
"""The one trailing slash is tolerated."""


@pytest.mark.parametrize("target", STRANGE)
@in_virtual_time
async def test_ht_03_a_strange_target_is_404(target: str) -> None:
    async with a_stack() as stack:
        response = await stack.ask("GET", target.encode("utf-8", "surrogatepass").decode("latin-1"))
        if target in FOUND:
            assert response.status == 200
            return
        check_missing(response)
        assert b"root:" not in response.body
        assert b"privileges" not in response.body


@in_virtual_time
async def test_ht_03_without_credentials_nothing_is_told_of_what_exists() -> None:
    async with a_stack() as stack:
        answers = [
            await stack.ask("GET", uri, user=None)
            for uri in (HOST1, f"{PCIE_FABRIC}/Endpoints/none", "/nowhere")
        ]
        assert {each.status for each in answers} == {401}
        assert len({each.body for each in answers}) == 1


Provoked = tuple[int, str, str, Any, dict[str, str]]


def provocations(made: dict[str, Any]) -> list[Provoked]:
    """Return requests that go wrong, each in its own way: status, method, target, body, headers."""
    zone, empty, endpoint = made["zone"], made["empty"], made["endpoint"]
    add = f"{zone}/Actions/Zone.AddEndpoint"
    tag = {"if_match": '"never"'}
    nested: Any = 1
    for _ in range(40):
        nested = {"Oem": nested}
    return [
        (400, "PATCH", zone, b"{", {}),
        (400, "PATCH", zone, b"[]", {}),
        (400, "PATCH", zone, b'{"Name":"a","Name":"b"}', {}),
        (400, "PATCH", zone, b'{"Name": NaN}', {}),
        (400, "PATCH", zone, b"\xff\xfe", {}),
        (400, "PATCH", zone, nested, {}),
        (400, "PATCH", zone, {"Bogus": 1}, {}),
        (400, "PATCH", zone, {"Id": "x"}, {}),
        (400, "PATCH", zone, {"Name": 1}, {}),
        (400, "PATCH", zone, {"ZoneType": "Banana"}, {}),
        (400, "PATCH", zone, {"Links": {"Endpoints": "x"}}, {}),
        (400, "PATCH", zone, zone_body(f"{PCIE_FABRIC}/Endpoints/no\ud800ne"), {}),
        (400, "PATCH", zone, zone_body(f"{PCIE_FABRIC}/Endpoints/none"), {}),
        (400, "PATCH", zone, zone_body(HOST1, HOST1), {}),
        (400, "PATCH", zone, {f"P{n}": n for n in range(200)}, {}),
        (400, "PATCH", zone, {}, {}),
        (400, "POST", PCIE_ZONES, {"Status": {}, "Id": "/"}, {}),
        (400, "POST", f"{PCIE_FABRIC}/Endpoints", {}, {}),
        (400, "POST", f"{CXL_FABRIC}/Connections", {"Name": "x"}, {}),
        (400, "POST", f"{CXL_FABRIC}/Connections", connection_body(MemoryChunkInfo=[]), {}),
        (400, "POST", add, {}, {}),
        (400, "POST", add, {"Endpoint": 1, "Bogus": 2}, {}),
        (400, "POST", f"{ROOT}/Systems/host1/Actions/ComputerSystem.Reset", {}, {}),
        (400, "POST", SESSIONS, {"UserName": "x"}, {}),
        (400, "GET", f"{PCIE_ZONES}?$top=x", None, {}),
        (400, "GET", f"{PCIE_ZONES}?$top=-1", None, {}),
        (400, "GET", f"{PCIE_ZONES}?$expand=x", None, {}),
        (400, "GET", f"{ROOT}?only", None, {}),
        (400, "GET", f"{PCIE_ZONES}?$top=1&$top=2", None, {}),
        (401, "GET", zone, None, {"x_auth_token": "nobody"}),
        (401, "GET", zone, None, {"x_auth_token": ""}),
        (403, "DELETE", zone, None, {"user": "ro"}),
        (403, "GET", zone, None, {"user": "due"}),
        (403, "GET", zone, None, {"user": "nothing"}),
        (404, "GET", f"{ROOT}/nope", None, {}),
        (404, "POST", f"{zone}/Actions/none", {}, {}),
        (405, "PUT", zone, {}, {}),
        (405, "DELETE", PCIE_FABRIC, None, {}),
        (405, "POST", zone, {}, {}),
        (405, "POST", ROOT, {}, {}),
        (406, "GET", zone, None, {"accept": "text/html"}),
        (406, "GET", f"{ROOT}/$metadata", None, {"accept": "application/json"}),
        (409, "POST", PCIE_ZONES, {"Id": zone.rpartition("/")[2]}, {}),
        (409, "POST", PCIE_ZONES, zone_body(HOST2, GPU1), {}),
        (409, "PATCH", empty, zone_body(GPU1), {}),
        (409, "DELETE", made["held"], None, {}),
        (409, "POST", f"{ROOT}/AccountService/Accounts", made["taken"], {}),
        (412, "PATCH", zone, {"Name": "x"}, tag),
        (412, "DELETE", endpoint, None, tag),
        (412, "GET", zone, None, {"odata_version": "4.1"}),
        (413, "PATCH", zone, b'{"Name": "' + b"x" * 2_000_000 + b'"}', {}),
        (415, "PATCH", zone, b"<a/>", {"content_type": "application/xml"}),
        (415, "POST", PCIE_ZONES, b"a=b", {"content_type": "application/x-www-form-urlencoded"}),
        (428, "POST", add, {"Endpoint": HOST2, "ZoneETag": "never"}, {}),
        (501, "GET", f"{PCIE_ZONES}?$invented=1", None, {}),
        (501, "BREW", zone, None, {}),
        (501, "TRACE", ROOT, None, {}),
    ]


@in_virtual_time
async def test_ht_05_every_error_has_one_shape_and_a_message_of_a_listed_registry() -> None:
    async with a_stack() as stack:
        made: dict[str, Any] = await lived(stack)
        made["held"] = await held_endpoint(stack)
        made["taken"] = {"UserName": "admin", "Password": "twelve-chars", "RoleId": "ReadOnly"}
        before, commands, registries = stack.tags(), stack.commands(), await listed(stack)
        seen, statuses = set(), set()
        for status, method, target, body, headers in provocations(made):
            response = await stack.ask(method, target, body, **headers)
            assert response.status == status, (method, target, headers, response.body)
            check_error_body(response, registries)
            seen |= set(keys(response))
            statuses.add(status)
        assert {400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 428, 501} == statuses
        assert len(seen) >= 20, sorted(seen)
        after = stack.tags()
        assert {k: v for k, v in after.items() if before.get(k) != v} == {}
        assert stack.commands() == commands


async def held_endpoint(stack: Stack) -> str:
    """Return an endpoint of ours that a zone holds."""
    entity = {
        "EntityType": "RootComplex",
        "EntityRole": "Initiator",
        "EntityLink": {"@odata.id": f"{ROOT}/Systems/host1"},
    }
    body = {"Name": "held", "ConnectedEntities": [entity]}
    endpoint = await stack.made(f"{PCIE_FABRIC}/Endpoints", body)
    await stack.made(PCIE_ZONES, zone_body(endpoint))
    return endpoint


def test_ht_05_every_rule_of_isolation_has_a_status_of_its_own_kind() -> None:
    assert {row.status for row in TABLE.values()} <= {400, 409}


ELSEWHERE = (
    "ComputerSystem.AddResourceBlock",
    "ComputerSystem.RemoveResourceBlock",
    "ComputerSystem.Reset",
    "LogService.ClearLog",
    "Manager.Reset",
    "Port.Reset",
    "Port.ResetPPB",
)
"""Actions that some resources of a type have and others, which nobody drives, have not."""


@in_virtual_time
async def test_ht_06_what_no_driver_can_do_is_neither_advertised_nor_a_500() -> None:
    async with a_stack() as stack:
        commands = stack.commands()
        tried = 0
        for uri, document in (await stack.crawl()).items():
            info = CATALOG.types.get(str(document["@odata.type"]).rpartition(".")[2])
            actions = document.get("Actions", {})
            advertised = {name.lstrip("#") for name in actions}
            advertised |= {f"Oem/{name.lstrip('#')}" for name in actions.get("Oem", {})}
            for name, action in (info.actions if info else {}).items():
                if name in advertised:
                    continue
                assert not action.supported or name in ELSEWHERE or name.startswith("Zone."), name
                body = {"ResetType": "ForceRestart"} if name.endswith(".Reset") else {}
                response = await stack.ask("POST", f"{uri}/Actions/{name}", body)
                assert (response.status, keys(response)) == (400, ["ActionNotSupported"]), (
                    uri,
                    name,
                )
                tried += 1
        assert tried > 100
        assert stack.commands() == commands


@in_virtual_time
async def test_ht_08_nothing_below_redfish_is_html() -> None:
    async with a_stack() as stack:
        system = f"{ROOT}/Systems/host1"
        answers = [
            (404, await stack.ask("GET", f"{system}/Actions/none")),
            (404, await stack.ask("GET", "/redfish/v2")),
            (405, await stack.ask("POST", f"{ROOT}/Chassis", b"", content_type="application/xml")),
            (
                415,
                await stack.ask("POST", f"{ROOT}/Systems", b"<a/>", content_type="application/xml"),
            ),
            (415, await stack.ask("POST", PCIE_ZONES, b"<a/>", content_type="application/xml")),
            (406, await stack.ask("GET", system, accept="text/html")),
            (404, await stack.ask("GET", f"{ROOT}/%3Cscript%3E", accept="text/html")),
        ]
        for status, response in answers:
            assert response.status == status
            assert response.headers["Content-Type"] == "application/json"
            assert "error" in json.loads(response.body)


@in_virtual_time
async def test_ht_08_a_browser_that_takes_anything_gets_json() -> None:
    async with a_stack() as stack:
        accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        response = await stack.ask("GET", f"{ROOT}/Systems/host1", accept=accept)
        assert (response.status, response.headers["Content-Type"]) == (200, "application/json")


@pytest.mark.parametrize("status", [400, 405, 408, 413, 414, 417, 431, 500, 503, 599])
@in_virtual_time
async def test_ht_08_what_the_server_refuses_itself_has_the_same_shape(status: int) -> None:
    """An unhandled exception too: server hands its 500 to `transport_error`."""
    async with a_stack() as stack:
        response = stack.service.transport_error(status)
        assert response.status == status
        check_error_body(response, await listed(stack))
        assert b"Traceback" not in response.body
        assert (response.status == 503) == ("Retry-After" in response.headers)

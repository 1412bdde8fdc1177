"""Which answer each request gets: standard documents, order of errors, verbs, headers."""

import json
import logging
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.requests import Request
from redfish_fm.redfish.targets import OPENAPI
from redfish_fm.redfish.view import Origin
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write, WriteKind
from tests.redfish.builders import (
    ENDPOINT,
    FABRIC,
    METADATA,
    MONITOR,
    SESSIONS,
    SWITCH,
    SYSTEM,
    TASK,
    ZONE,
    ZONES,
    Bench,
    check_response,
    keys,
    related,
)

NAMES = {"Name": "z"}


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_the_version_document_is_exactly_one_line(bench: Bench) -> None:
    response = await bench.send("GET", "/redfish", user=None)
    assert json.loads(response.body) == {"v1": "/redfish/v1/"}


@pytest.mark.parametrize("path", ["/redfish/v1", "/redfish/v1/"])
async def test_the_root_is_served_with_and_without_slash(bench: Bench, path: str) -> None:
    response = await bench.send("GET", path, user=None)
    root = json.loads(response.body)
    assert response.status == 200
    assert root["@odata.id"] == "/redfish/v1/"
    assert root["Links"]["Sessions"]["@odata.id"] == SESSIONS
    assert response.headers["ETag"] == root["@odata.etag"]
    assert response.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert "rel=describedby" in response.headers["Link"]


async def test_the_odata_document_lists_what_the_root_links_to(bench: Bench) -> None:
    document = json.loads((await bench.send("GET", "/redfish/v1/odata", user=None)).body)
    assert document["@odata.context"] == METADATA
    assert {each["name"] for each in document["value"]} > {"Service", "Fabrics", "Systems"}


async def test_metadata_refers_to_published_csdl_and_has_the_container_first(bench: Bench) -> None:
    response = await bench.send("GET", METADATA, user=None, accept="application/xml")
    assert response.headers["Content-Type"] == "application/xml"
    tree = ET.fromstring(response.body)  # noqa: S314 - our own document
    ns = {"edmx": "http://docs.oasis-open.org/odata/ns/edmx"}
    uris = [each.get("Uri") for each in tree.findall("edmx:Reference", ns)]
    assert "http://redfish.dmtf.org/schemas/v1/Zone_v1.xml" in uris
    assert len(uris) == len(set(uris))
    schema = tree.find("edmx:DataServices", ns)[0]  # type: ignore[index]
    assert schema[0].tag.endswith("EntityContainer")


@dataclass
class Served:
    """Stands for whoever knows all that is served."""

    edition: int
    uris: list[str]

    def places(self) -> list[str]:
        return self.uris


async def test_the_openapi_document_is_made_anew_for_another_edition_only() -> None:
    served = Served(1, [FABRIC])
    bench = Bench(served=served)
    told = []
    for edition, uris in ((1, [FABRIC]), (1, [SWITCH]), (2, [SWITCH]), (2, [FABRIC])):
        served.edition, served.uris = edition, uris
        told.append((await bench.send("GET", OPENAPI)).body)
    switches = b"/redfish/v1/Fabrics/{FabricId}/Switches/{SwitchId}"
    assert [switches in each for each in told] == [False, False, True, True]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/redfish/v1/Fabrics", 401),
        ("GET", "/redfish/v1/none", 401),
        ("POST", ZONES, 401),
        ("PATCH", "/redfish/v1", 401),
        ("GET", SESSIONS, 401),
        ("FAKEMETHODFORTEST", "/redfish/v1/", 501),
        ("GET", "/redfish/v1/openapi.yaml", 401),
        ("OPTIONS", "/redfish/v1", 204),
    ],
)
async def test_without_credentials_only_five_documents_open(
    bench: Bench, method: str, path: str, status: int
) -> None:
    assert (await bench.send(method, path, {}, user=None)).status == status
    assert bench.writes == []


ORDER: list[tuple[str, str, Any, dict[str, Any], int, str]] = [
    # The later cause stands in each request too; the earlier one must win.
    ("PATCH", f"{ZONE}/none", b"{", {"user": "ro"}, 404, "ResourceMissingAtURI"),
    ("PATCH", FABRIC, b"{", {"user": "ro"}, 405, "OperationNotAllowed"),
    ("PATCH", ZONE, b"{", {"user": "ro", "content_type": "text/xml"}, 403, "InsufficientPrivilege"),
    ("PATCH", ZONE, b"{" * 2_000_000, {"content_type": "text/xml"}, 413, "PayloadTooLarge"),
    ("PATCH", ZONE, b"{", {"content_type": "a/b", "accept": "text/html"}, 415, "HeaderInvalid"),
    ("PATCH", ZONE, b"{", {"accept": "text/html", "if_match": '"x"'}, 406, "HeaderInvalid"),
    ("PATCH", ZONE, b"{", {"if_match": '"0.0"'}, 412, "PreconditionFailed"),
    ("PATCH", ZONE, b"{", {"odata_version": "4.1"}, 412, "PreconditionFailed"),
    ("PATCH", ZONE, b"{", {}, 400, "MalformedJSON"),
    ("POST", "/redfish/v1/", {}, {}, 405, "OperationNotAllowed"),
    ("PUT", ZONE, {}, {}, 405, "OperationNotAllowed"),
    ("DELETE", "/redfish/v1/", None, {}, 405, "OperationNotAllowed"),
    ("PATCH", "/redfish/v1/", {}, {}, 405, "OperationNotAllowed"),
    ("POST", f"{FABRIC}/nope/Zones", NAMES, {}, 404, "ResourceMissingAtURI"),
    ("POST", "/redfish/v1/Chassis/nope/Actions/Chassis.Reset", {}, {}, 404, "ResourceMissingAtURI"),
    ("POST", f"{SWITCH}/Actions/Switch.Reset", {}, {}, 400, "ActionNotSupported"),
    ("POST", f"{SWITCH}/Actions/Switch.Bake", {}, {}, 404, "ResourceMissingAtURI"),
    ("GET", f"{SYSTEM}/Actions/none", None, {}, 404, "ResourceMissingAtURI"),
    ("GET", f"{ZONE}/Actions/Zone.AddEndpoint", None, {}, 405, "OperationNotAllowed"),
    ("GET", f"{ZONES}/Members", None, {}, 404, "ResourceMissingAtURI"),
    ("GET", "/redfish/v2", None, {}, 404, "ResourceMissingAtURI"),
    ("GET", "/redfish/v1//", None, {}, 404, "ResourceMissingAtURI"),
    ("GET", f"{ZONES}/../../../etc/passwd", None, {}, 404, "ResourceMissingAtURI"),
    ("GET", ZONES, None, {"query": (("$format", "x"),)}, 501, "QueryParameterUnsupported"),
    ("GET", ZONES, None, {"query": (("$orderby", ""),)}, 501, "QueryParameterUnsupported"),
    ("PATCH", ZONE, NAMES, {"query": (("$select", "x"),)}, 400, "QueryNotSupportedOnOperation"),
    ("GET", "/redfish/v1/", None, {"odata_version": "4.1"}, 412, "PreconditionFailed"),
    ("POST", FABRIC, NAMES, {}, 405, "OperationNotAllowed"),
    ("DELETE", ENDPOINT, None, {}, 405, "OperationNotAllowed"),
    ("PATCH", ENDPOINT, NAMES, {}, 405, "OperationNotAllowed"),
    ("DELETE", f"{ZONES}/fixed", None, {}, 405, "OperationNotAllowed"),
    ("PATCH", f"{FABRIC}/Oem/Thing", NAMES, {}, 405, "OperationNotAllowed"),
    ("PATCH", "/redfish/v1/AccountService/Roles/ReadOnly", {}, {}, 405, "OperationNotAllowed"),
    ("GET", METADATA, None, {"accept": "application/json"}, 406, "HeaderInvalid"),
    ("POST", ZONES, b"", {}, 400, "MalformedJSON"),
    ("POST", ZONES, b"[]", {}, 400, "UnrecognizedRequestBody"),
    ("POST", ZONES, b'{"Name":"a","Name":"b"}', {}, 400, "PropertyDuplicate"),
    ("PATCH", ZONE, {}, {}, 400, "NoOperation"),
    ("PATCH", ZONE, {"@odata.id": "/x"}, {}, 400, "NoOperation"),
    ("PATCH", SYSTEM, {"Boot": {"BootNext": "x"}}, {}, 400, "PropertyNotWritable"),
    ("DELETE", TASK, None, {"user": "op"}, 403, "InsufficientPrivilege"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "how", "status", "key"), ORDER)
async def test_each_refusal_has_its_status_and_its_message(
    bench: Bench, method: str, path: str, body: Any, how: dict[str, Any], status: int, key: str
) -> None:
    response = await bench.send(method, path, body, **how)
    assert (response.status, keys(response)) == (status, [key])
    assert bench.writes == []


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        (ZONES, "GET, HEAD, OPTIONS, POST"),
        (ZONE, "GET, HEAD, OPTIONS, PATCH, DELETE"),
        (f"{ZONES}/fixed", "GET, HEAD, OPTIONS"),
        (ENDPOINT, "GET, HEAD, OPTIONS"),
        (f"{FABRIC}/Endpoints/made", "GET, HEAD, OPTIONS, PATCH, DELETE"),
        (FABRIC, "GET, HEAD, OPTIONS"),
        (SYSTEM, "GET, HEAD, OPTIONS, PATCH"),
        ("/redfish/v1/Systems", "GET, HEAD, OPTIONS, POST"),
        (SESSIONS, "GET, HEAD, OPTIONS, POST"),
        (TASK, "GET, HEAD, OPTIONS, DELETE"),
    ],
)
async def test_allow_names_what_the_resource_takes(bench: Bench, path: str, allow: str) -> None:
    for method in ("GET", "HEAD", "OPTIONS"):
        assert (await bench.send(method, path)).headers["Allow"] == allow


async def test_head_has_the_headers_of_get_and_no_body(bench: Bench) -> None:
    for path in (ZONE, f"{ZONE}/none"):
        get, head = await bench.send("GET", path), await bench.send("HEAD", path)
        assert head.status == get.status
        assert head.headers == {**get.headers, "Content-Length": str(len(get.body))}


async def test_if_none_match_compares_the_whole_tag(bench: Bench) -> None:
    tag = (await bench.send("GET", ZONE)).headers["ETag"]
    assert (await bench.send("GET", ZONE, if_none_match=tag)).status == 304
    assert (await bench.send("GET", ZONE, if_none_match=f"W/{tag}")).status == 304
    same_wanted = f'{tag.split(".")[0]}.other"'
    assert (await bench.send("GET", ZONE, if_none_match=same_wanted)).status == 200
    assert (await bench.send("GET", ZONE, user=None, if_none_match=tag)).status == 401


async def test_if_match_compares_what_clients_wrote_only(bench: Bench) -> None:
    tag = (await bench.send("GET", ZONE)).headers["ETag"]
    other_observed = f'{tag.split(".")[0]}.other"'
    for good in (tag, f"W/{tag}", other_observed, "*", f'"a.b", {tag}'):
        assert (await bench.send("PATCH", ZONE, NAMES, if_match=good)).status == 200
    assert bench.writes[0].if_match == (tag.strip('"'),)
    for bad in ('"never"', "", '"", ""', f'"{tag.split(".")[1]}'):
        assert (await bench.send("PATCH", ZONE, NAMES, if_match=bad)).status == 412


async def test_an_unknown_query_name_is_ignored(bench: Bench) -> None:
    assert (await bench.send("GET", ZONES, query=(("rnd", "1"),))).status == 200


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/json;charset=utf-8", "application/*", "*/*;charset=utf-8",
     "text/html, application/json;q=0.5", "", "*/*;q=0.1, text/html;q=0"],
)  # fmt: skip
async def test_the_usual_accept_headers_are_met(bench: Bench, accept: str) -> None:
    assert (await bench.send("GET", "/redfish/v1/", user=None, accept=accept)).status == 200


@pytest.mark.parametrize(
    "accept", ["application/json;q=0, */*", "text/html", "application/json;q=0"]
)
async def test_an_accept_that_excludes_json_is_refused(bench: Bench, accept: str) -> None:
    assert (await bench.send("GET", "/redfish/v1/", user=None, accept=accept)).status == 406


@pytest.mark.parametrize(
    ("content_type", "status"),
    [("application/json", 200), ("application/json; charset=UTF-8", 200),
     ("application/json;charset=latin-1", 415), ("application/x-www-form-urlencoded", 415)],
)  # fmt: skip
async def test_bodies_are_json_in_utf8(bench: Bench, content_type: str, status: int) -> None:
    response = await bench.send("PATCH", ZONE, NAMES, content_type=content_type)
    assert response.status == status


async def test_a_created_resource_is_answered_whole(bench: Bench) -> None:
    body = {"@odata.type": "#Zone.9.Zone", "Name": "n", "Links": {"Endpoints@odata.count": 0}}
    for path in (ZONES, f"{ZONES}/", f"{ZONES}/Members"):
        response = await bench.send("POST", path, body)
        document = json.loads(response.body)
        assert response.status == 201
        assert response.headers["Location"] == document["@odata.id"] == f"{ZONES}/new"
        assert response.headers["ETag"] == document["@odata.etag"]
        write = bench.writes.pop()
        assert write == Write(WriteKind.CREATE, ZONES, "Zone", "admin", {"Name": "n", "Links": {}})


async def test_delete_and_actions_answer_204(bench: Bench) -> None:
    assert (await bench.send("DELETE", ZONE)).status == 204
    link = {"@odata.id": ENDPOINT}
    for endpoint in (link, ENDPOINT):
        body = {"Endpoint": endpoint, "ZoneETag": "", "EndpointETag": ""}
        response = await bench.send("POST", f"{ZONE}/Actions/Zone.AddEndpoint", body)
        assert response.status == 204
        assert bench.writes[-1].action == "Zone.AddEndpoint"
        assert bench.writes[-1].body == body
        assert bench.writes[-1].uri == ZONE


async def test_every_fault_of_an_action_body_is_told(bench: Bench) -> None:
    body = {"ZoneETag": 1, "Bogus": 2}
    response = await bench.send("POST", f"{ZONE}/Actions/Zone.AddEndpoint", body)
    assert keys(response) == [
        "ActionParameterValueTypeError", "ActionParameterUnknown", "ActionParameterMissing",
    ]  # fmt: skip
    assert related(response) == ["#/ZoneETag", "#/Bogus", "#/Endpoint"]
    response = await bench.send("POST", f"{ZONE}/Actions/Zone.RemoveEndpoint")
    assert keys(response) == ["ActionParameterMissing"]


async def test_long_work_is_answered_with_a_task_monitor(bench: Bench) -> None:
    bench.commit = lambda write: Outcome(OutcomeKind.ACCEPTED, write.uri, TASK)
    response = await bench.send("PATCH", ZONE, NAMES)
    assert response.status == 202
    assert response.headers["Location"] == MONITOR
    assert int(response.headers["Retry-After"]) > 0
    task = json.loads(response.body)
    assert task["TaskMonitor"] == MONITOR
    assert task["Messages"][0]["MessageId"] == "Base.1.22.OperationTimeout"
    assert task["Messages"][0]["Message"]
    assert response.headers["ETag"] == task["@odata.etag"]


async def test_a_task_monitor_ends_in_the_answer_of_the_write(bench: Bench) -> None:
    assert (await bench.send("GET", MONITOR)).status == 202
    document = bench.view.documents[TASK]
    document["TaskState"] = "Completed"
    assert (await bench.send("GET", MONITOR)).status == 204
    document["Links"] = {"CreatedResources": [{"@odata.id": ZONE}]}
    response = await bench.send("GET", MONITOR)
    assert (response.status, response.headers["Location"]) == (201, ZONE)
    document["TaskState"] = "Exception"
    response = await bench.send("GET", MONITOR)
    assert (response.status, keys(response)) == (409, ["OperationTimeout"])
    assert (await bench.send("DELETE", MONITOR)).status == 204
    assert bench.writes[-1].uri == TASK
    del bench.view.documents[TASK]
    assert (await bench.send("GET", MONITOR)).status == 404


async def test_control_can_say_how_a_task_ended() -> None:
    bench = Bench(task_result=lambda _uri: Outcome(OutcomeKind.CHANGED, ZONE))
    response = await bench.send("GET", MONITOR)
    assert (response.status, json.loads(response.body)["@odata.id"]) == (200, ZONE)


async def test_the_owner_of_a_task_may_cancel_it() -> None:
    bench = Bench(owner={TASK: "op"}.get)
    assert (await bench.send("DELETE", TASK, user="op")).status == 204
    assert (await bench.send("DELETE", TASK, user="ro")).status == 403


async def test_what_commit_refuses_is_told_as_it_says(bench: Bench) -> None:
    def refuse(write: Write) -> Outcome:
        told = (messages.resource_in_use(), messages.resource_missing_at_uri("/x"))
        raise RedfishError(409, told, {"Retry-After": "3"})

    bench.commit = refuse
    response = await bench.send("POST", ZONES, NAMES)
    assert (response.status, response.headers["Retry-After"]) == (409, "3")
    assert keys(response) == ["ResourceInUse", "ResourceMissingAtURI"]


async def test_a_patch_with_any_bad_property_names_all_and_does_nothing(bench: Bench) -> None:
    body = {
        "Name": 5, "Bogus": 1, "Id": "x", "ZoneType": "Mine",
        "Links": {
            "Endpoints": [{"@odata.id": 3}, {"Bad": 1}, "x", {}, None], "InvolvedSwitches": [],
        },
    }  # fmt: skip
    response = await bench.send("PATCH", ZONE, body)
    assert response.status == 400
    assert sorted(zip(keys(response), related(response), strict=True)) == [
        ("PropertyMissing", "#/Links/Endpoints/1/@odata.id"),
        ("PropertyNotWritable", "#/Id"),
        ("PropertyNotWritable", "#/Links/InvolvedSwitches"),
        ("PropertyUnknown", "#/Bogus"),
        ("PropertyUnknown", "#/Links/Endpoints/1/Bad"),
        ("PropertyValueNotInList", "#/ZoneType"),
        ("PropertyValueTypeError", "#/Links/Endpoints/0/@odata.id"),
        ("PropertyValueTypeError", "#/Links/Endpoints/2"),
        ("PropertyValueTypeError", "#/Name"),
    ]
    assert bench.writes == []


async def test_a_patch_reaches_the_writer_without_annotations(bench: Bench) -> None:
    link = {"@odata.id": ENDPOINT}
    body = {"@odata.id": ZONE, "Links": {"Endpoints": [link], "Endpoints@odata.count": 1}}
    assert (await bench.send("PATCH", ZONE, body)).status == 200
    assert bench.writes[0].body == {"Links": {"Endpoints": [link]}}


async def test_zones_are_created_in_fabrics_only(bench: Bench) -> None:
    uri = "/redfish/v1/CompositionService/ResourceZones"
    bench.view.put(uri, "ZoneCollection", Origin.SERVICE)
    assert (await bench.send("POST", uri, NAMES)).status == 405


async def test_the_odata_document_follows_the_root(bench: Bench) -> None:
    await bench.send("GET", "/redfish/v1/odata", user=None)
    del bench.view.documents["/redfish/v1"]["Systems"]
    document = json.loads((await bench.send("GET", "/redfish/v1/odata", user=None)).body)
    assert "Systems" not in {each["name"] for each in document["value"]}


async def test_inventory_takes_its_overlay_only(bench: Bench) -> None:
    assert (await bench.send("PATCH", SYSTEM, {"AssetTag": "rack 7"})).status == 200
    response = await bench.send("PATCH", SYSTEM, {"AssetTag": "x", "Name": "y"})
    assert keys(response) == ["PropertyNotWritable"]


async def test_every_write_leaves_one_audit_line_without_secrets(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "redfish_fm.audit")
    await bench.send("GET", ZONE)
    assert caplog.messages == []
    await bench.send("DELETE", f"{ZONE}\nforged")
    await bench.send("POST", SESSIONS, {"UserName": "admin", "Password": "admin-password"})
    assert len(caplog.messages) == 2
    assert "\n" not in caplog.messages[0]
    assert "by 'admin' from 192.0.2.1: 404" in caplog.messages[0]
    assert "admin-password" not in caplog.text


async def test_the_server_gets_words_for_its_own_refusals(bench: Bench) -> None:
    for status in (400, 405, 408, 413, 414, 417, 431, 500, 503, 418):
        response = bench.service.transport_error(status)
        assert response.status == status
        if status != 405:
            check_response(response, "GET")


PATHS = [ZONE, ZONES, f"{ZONES}/Members", FABRIC, ENDPOINT, SYSTEM, TASK, MONITOR, SESSIONS,
         "/redfish/v1", "/redfish", METADATA, f"{ZONE}/Actions/Zone.AddEndpoint"]  # fmt: skip
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(
        st.sampled_from(["Links", "Name", "Endpoints", "@odata.id", "Oem", "Endpoint", "x/~"])
        | st.text(), below, max_size=4),
    max_leaves=12,
)  # fmt: skip
HEADERS = st.dictionaries(
    st.sampled_from(["accept", "content-type", "if-match", "if-none-match", "odata-version",
                     "x-auth-token", "authorization"]),
    st.text(max_size=30), max_size=3)  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "Q"]),
    path=st.sampled_from(PATHS) | st.text() | st.sampled_from(PATHS).map(lambda p: p + "/"),
    headers=HEADERS,
    body=JSON_VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=64),
    query=st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=2).map(tuple),
    known=st.booleans(),
)
async def test_no_request_makes_the_service_raise(
    bench: Bench, method: str, path: str, headers: dict[str, str], body: bytes,
    query: Any, known: bool,
) -> None:  # fmt: skip
    if known:
        headers = {**headers, "x-auth-token": bench.__dict__.get("kept") or await bench.token()}
        bench.__dict__["kept"] = headers["x-auth-token"]
        headers.pop("authorization", None)
    request = Request(method, path, query, headers, body)
    response = await bench.service.handle(request)
    check_response(response, method)
    for write in bench.writes:
        json.dumps(dict(write.body), allow_nan=False, ensure_ascii=False).encode()
    bench.writes.clear()

"""A walk over a small service that pages, refuses, waits, redirects and lies; real sockets."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.client.mockup_folder import MockupFolder
from redfish_fm.client.pace import Pace
from redfish_fm.client.recorder import Recorder, Report, Wishes
from redfish_fm.client.service import Login, Service, ServiceError, origin_of
from tests.client.bmc import PASSWORD, USER, Bmc, a_bmc

FAST = Pace(tries=3, wait_s_first=0.001, wait_s_max=0.005)
LOGIN = Login(USER, PASSWORD)


@pytest.fixture
def bmc() -> Iterator[Bmc]:
    with a_bmc() as made:
        yield made


async def recorded(
    bmc: Bmc, place: Path, wishes: Wishes | None = None, login: Login | None = None
) -> Report:
    with MockupFolder(place) as folder:
        async with Service.opened(bmc.url, None, 16, FAST) as service:
            if login is not None:
                await service.log_in(login, "/redfish/v1/Logins")
            report = await Recorder(
                service, folder, wishes or Wishes(), lambda done, total: None
            ).run()
        folder.finish()
    return report


def read(place: Path, uri: str) -> Any:
    return json.loads((place / uri.strip("/") / "index.json").read_text(encoding="utf-8"))


def entries(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def links(*uris: str) -> list[dict[str, str]]:
    return [{"@odata.id": uri} for uri in uris]


async def test_every_resource_is_asked_for_once_and_recorded(bmc: Bmc, tmp_path: Path) -> None:
    bmc.add("/redfish/v1/C1", Links={"Next": links("/redfish/v1/C2", "/redfish/v1/C2/")})
    bmc.add("/redfish/v1/C2", Links={"Back": links("/redfish/v1/C1", "/redfish/v1/C1#/x")})
    report = await recorded(bmc, tmp_path / "r")
    assert (report.resources, report.files, report.failures) == (4, 7, {})
    assert bmc.gets("/redfish/v1/C1") == bmc.gets("/redfish/v1/C2") == 1
    assert read(tmp_path / "r", "/redfish/v1/C2")["@odata.id"] == "/redfish/v1/C2"
    assert read(tmp_path / "r", "/redfish") == {"v1": "/redfish/v1/"}
    assert read(tmp_path / "r", "/redfish/v1/odata") == {"value": []}
    assert (tmp_path / "r/redfish/v1/$metadata/index.xml").read_text() == "<x/>"


async def test_pages_become_one_list(bmc: Bmc, tmp_path: Path) -> None:
    members = [f"/redfish/v1/C/{n}" for n in range(5)]
    for uri in members:
        bmc.documents[uri] = {"@odata.id": uri}
    whole = {"@odata.id": "/redfish/v1/C", "Members@odata.count": 5, "Members": links(*members)}
    following = "Members@odata.nextLink"
    bmc.add("/redfish/v1/C", **whole, **{following: "/redfish/v1/C?$skip=2"})
    bmc.documents["/redfish/v1/C"]["Members"] = links(*members[:2])
    bmc.documents["/redfish/v1/C?$skip=2"] = {
        "Members": links(*members[2:4]),
        following: f"{bmc.url}/redfish/v1/C?$skip=4",
    }
    bmc.documents["/redfish/v1/C?$skip=4"] = {"Members": links(members[4])}
    report = await recorded(bmc, tmp_path / "r")
    assert report.failures == {}
    found = read(tmp_path / "r", "/redfish/v1/C")
    assert found == {**whole, "@odata.type": "#Chassis.v1_1_0.Chassis"}
    assert report.resources == 8


async def test_pages_that_go_round_in_circles_end(bmc: Bmc, tmp_path: Path) -> None:
    page = {"Members": [], "Members@odata.nextLink": "/redfish/v1/C?page=1"}
    bmc.add("/redfish/v1/C", **page)
    bmc.documents["/redfish/v1/C?page=1"] = page
    report = await recorded(bmc, tmp_path / "r")
    assert report.failures.keys() == {"/redfish/v1/C"}
    assert "back to where it was" in report.failures["/redfish/v1/C"]


async def test_nothing_is_asked_of_and_no_token_goes_to_another_service(
    bmc: Bmc, tmp_path: Path
) -> None:
    with a_bmc() as other:
        bmc.add("/redfish/v1/C1", Far=links(f"{other.url}/redfish/v1/", "//x/redfish/v1", "/etc"))
        bmc.add("/redfish/v1/C2")
        moved = {"Location": f"{other.url}/redfish/v1/C2"}
        bmc.special["/redfish/v1/C2"] = lambda: (302, moved, b"")
        report = await recorded(bmc, tmp_path / "r", login=LOGIN)
        assert other.asked == []
    assert report.elsewhere == 3
    assert "redirect" in report.failures["/redfish/v1/C2"]


async def test_redirects_inside_the_service_are_followed(bmc: Bmc, tmp_path: Path) -> None:
    bmc.add("/redfish/v1/C1")
    bmc.documents["/redfish/v1/C1/"] = bmc.documents.pop("/redfish/v1/C1")
    bmc.special["/redfish/v1/C1"] = lambda: (308, {"Location": "/redfish/v1/C1/"}, b"")
    bmc.link("/redfish/v1/C1", "/redfish/v1/C3")
    bmc.special["/redfish/v1/C3"] = lambda: (307, {"Location": "/redfish/v1/C3"}, b"")
    report = await recorded(bmc, tmp_path / "r")
    assert read(tmp_path / "r", "/redfish/v1/C1")["@odata.id"] == "/redfish/v1/C1"
    assert report.failures == {"/redfish/v1/C3": "more than 5 redirects"}


@pytest.mark.parametrize("status", [429, 503])
async def test_a_service_that_wants_peace_gets_it(bmc: Bmc, tmp_path: Path, status: int) -> None:
    busy = iter([(status, {"Retry-After": "0"}, b""), (status, {}, b"")])
    bmc.add("/redfish/v1/C1")
    bmc.special["/redfish/v1/C1"] = lambda: next(busy, None)
    report = await recorded(bmc, tmp_path / "r")
    assert (report.failures, report.waits) == ({}, 2)
    assert bmc.gets("/redfish/v1/C1") == 3


async def test_patience_ends_and_says_so(bmc: Bmc, tmp_path: Path) -> None:
    bmc.add("/redfish/v1/C1")
    bmc.special["/redfish/v1/C1"] = lambda: (503, {}, b"")
    report = await recorded(bmc, tmp_path / "r")
    assert report.failures == {"/redfish/v1/C1": "answered 503"}
    assert bmc.gets("/redfish/v1/C1") == FAST.tries


async def test_no_more_requests_are_under_way_than_wished(bmc: Bmc, tmp_path: Path) -> None:
    # Each is answered when a second one is under way, so alone none is.
    pair = threading.Barrier(2)

    def meet() -> None:
        pair.wait(timeout=20)

    for n in range(30):
        bmc.add(f"/redfish/v1/C{n}")
        bmc.special[f"/redfish/v1/C{n}"] = meet
    report = await recorded(bmc, tmp_path / "r", Wishes(parallel=2))
    assert report.failures == {}
    # One more is that for what stands beside the resources.
    assert 2 <= bmc.together_max <= 3


async def test_the_session_is_made_used_and_ended(bmc: Bmc, tmp_path: Path) -> None:
    bmc.guarded = True
    bmc.add("/redfish/v1/C1")
    report = await recorded(bmc, tmp_path / "r", login=LOGIN)
    assert report.failures == {}
    assert bmc.tokens == set()
    assert bmc.asked[0] == ("POST", "/redfish/v1/Logins")
    assert bmc.asked[-1] == ("DELETE", "/redfish/v1/Logins/1")


async def test_a_session_that_ends_early_is_made_anew(bmc: Bmc, tmp_path: Path) -> None:
    bmc.guarded = True
    bmc.add("/redfish/v1/C1", Links=links("/redfish/v1/Cx", "/redfish/v1/Cy"))
    bmc.documents["/redfish/v1/Cx"] = bmc.documents["/redfish/v1/Cy"] = {"Id": "x"}

    def forget() -> None:
        bmc.special.pop("/redfish/v1/C1")
        bmc.tokens.clear()

    bmc.special["/redfish/v1/C1"] = forget
    report = await recorded(bmc, tmp_path / "r", login=LOGIN)
    assert report.failures == {}
    assert bmc.asked.count(("POST", "/redfish/v1/Logins")) == 2
    assert bmc.tokens == set()


async def test_a_basic_login_makes_no_session(bmc: Bmc, tmp_path: Path) -> None:
    await recorded(bmc, tmp_path / "r", login=Login(USER, PASSWORD, basic=True))
    assert {method for method, _ in bmc.asked} == {"GET"}
    assert all(each["Authorization"].startswith("Basic ") for each in bmc.headers)


async def test_a_refused_login_is_one_clear_error(bmc: Bmc, tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="the login was refused: 401") as error:
        await recorded(bmc, tmp_path / "r", login=Login(USER, "guessed-Passw0rd"))
    assert "guessed" not in str(error.value) + repr(Login(USER, "guessed-Passw0rd"))
    assert entries(tmp_path) == []


async def test_what_is_wrong_is_told_by_uri_and_the_rest_is_recorded(
    bmc: Bmc, tmp_path: Path
) -> None:
    wrong: dict[str, tuple[int, bytes]] = {
        "/redfish/v1/Cgone": (404, b"{}"),
        "/redfish/v1/Cbroken": (200, b'{"a": '),
        "/redfish/v1/Clist": (200, b"[]"),
        "/redfish/v1/Cnan": (200, b'{"a": NaN}'),
        "/redfish/v1/Cdeep": (200, b'{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
        "/redfish/v1/Cbytes": (200, b"\xff\xfe\xfd"),
        "/redfish/v1/C/../../../x": (200, b"{}"),
        "/redfish/v1/C/index.json": (200, b"{}"),
        "/redfish/v1/C%00/%2e%2e/ok": (200, b"{}"),
    }
    for uri, (status, body) in wrong.items():
        bmc.special[uri] = lambda status=status, body=body: (status, {}, body)
    bmc.documents["/redfish/v1/"] = {"Oem": links(*wrong)}
    report = await recorded(bmc, tmp_path / "r")
    good = "/redfish/v1/C%00/%2e%2e/ok"
    assert report.failures.keys() == wrong.keys() - {good}
    assert report.failures["/redfish/v1/Cgone"] == "answered 404"
    assert report.resources == 2
    assert read(tmp_path / "r", good) == {}
    assert entries(tmp_path) == ["r"]


@pytest.mark.parametrize(
    "kind",
    [
        "SessionCollection",
        "TaskCollection",
        "ManagerAccountCollection",
        "EventDestinationCollection",
        "JsonSchemaFileCollection",
    ],
)
async def test_members_that_are_left_out_are_not_even_asked_for(
    bmc: Bmc, tmp_path: Path, kind: str
) -> None:
    bmc.add(
        "/redfish/v1/C",
        **{"@odata.type": f"#{kind}.{kind}", "Members@odata.count": 1},
        Members=links("/redfish/v1/C/1"),
    )
    report = await recorded(bmc, tmp_path / "r")
    assert report.left_out == {kind: 1}
    assert bmc.gets("/redfish/v1/C/1") == 0
    found = read(tmp_path / "r", "/redfish/v1/C")
    assert (found["Members"], found["Members@odata.count"]) == ([], 0)


async def test_of_a_log_what_clients_did_is_left_out(bmc: Bmc, tmp_path: Path) -> None:
    kind = "LogEntryCollection"
    told = {"@odata.id": "/redfish/v1/C/1", "OriginatorType": "Client", "Message": "by root"}
    own = {"@odata.id": "/redfish/v1/C/2", "OriginatorType": "Internal", "Message": "too hot"}
    bmc.add("/redfish/v1/C", **{"@odata.type": f"#{kind}.{kind}"}, Members=[told, own])
    bmc.documents["/redfish/v1/C/2"] = own
    report = await recorded(bmc, tmp_path / "r")
    assert report.left_out == {kind: 1}
    assert bmc.gets("/redfish/v1/C/1") == 0
    found = read(tmp_path / "r", "/redfish/v1/C")
    assert ([each["Message"] for each in found["Members"]], found["Members@odata.count"]) == (
        ["too hot"],
        1,
    )


async def test_schemas_are_recorded_where_wished(bmc: Bmc, tmp_path: Path) -> None:
    collection = "#JsonSchemaFileCollection.JsonSchemaFileCollection"
    bmc.add("/redfish/v1/C", **{"@odata.type": collection}, Members=links("/redfish/v1/Js/X"))
    bmc.documents["/redfish/v1/Js/X"] = {
        "@odata.type": "#JsonSchemaFile.v1_0_0.JsonSchemaFile",
        "Location": [
            {"Uri": "/redfish/v1/Js/X.json"},
            {"PublicationUri": "http://elsewhere.example/X.json"},
            {"Uri": "/redfish/v1/Js/../../../X.json"},
        ],
    }
    bmc.documents["/redfish/v1/Js/X.json"] = {"title": "X"}
    report = await recorded(bmc, tmp_path / "r", Wishes(schemas=True))
    assert report.failures.keys() == {"/redfish/v1/Js/../../../X.json"}
    assert (tmp_path / "r/redfish/v1/Js/X.json").read_text() == '{"title": "X"}'


async def test_headers_are_recorded_where_wished(bmc: Bmc, tmp_path: Path) -> None:
    bmc.add("/redfish/v1/C1")
    await recorded(bmc, tmp_path / "without")
    await recorded(bmc, tmp_path / "with", Wishes(headers=True))
    assert list((tmp_path / "without").rglob("headers.json")) == []
    text = (tmp_path / "with/redfish/v1/C1/headers.json").read_text()
    recorded_headers = json.loads(text)["GET"]
    assert recorded_headers["Content-Type"] == "application/json"
    assert recorded_headers.keys().isdisjoint({"ETag", "Date", "Content-Length"})


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://bmc.example", "https://bmc.example"),
        ("https://bmc.example:443/redfish/v1/", "https://bmc.example"),
        ("http://[::1]:8443/", "http://[::1]:8443"),
        ("HTTPS://BMC.example:8443", "https://bmc.example:8443"),
    ],
)
def test_a_service_is_known_by_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url", ["bmc.example", "ftp://x", "https://", "https://x:99999", "http://[", "https://u:p@x"]
)
def test_what_is_no_url_of_a_service_is_refused(url: str) -> None:
    with pytest.raises(ServiceError) as error:
        origin_of(url)
    assert "u:p" not in str(error.value)

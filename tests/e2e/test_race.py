"""Sixty-four clients at once want one exclusive unit for two hosts: exactly one gets it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.state import virtual_db
from tests.e2e.service import Answer, Client, links, serving, unpacked_mockup, zone_body

CLIENTS = 64
STRANGER = {
    "EntityType": "Processor",
    "EntityRole": "Initiator",
    "Identifiers": [
        {"DurableName": "11111111-2222-4333-8444-555555555555", "DurableNameFormat": "UUID"}
    ],
}


class Arena:
    """A fabric with two initiators of different hosts, and a unit that nobody has."""

    def __init__(self, url: str, fabric: str, hosts: tuple[str, str], unit: str) -> None:
        self.url, self.fabric, self.hosts = url, fabric, hosts
        self.unit = f"{fabric}/Endpoints/{unit}"
        self.switchless = False
        self.zones = f"{fabric}/Zones"
        self.client = Client(url)
        token = self.client("POST", "/redfish/v1/SessionService/Sessions", LOGIN)
        self.token = token.headers["x-auth-token"]

    def holders(self) -> list[str]:
        links_back = self.client.get(self.unit)["Links"].get("Zones", ())
        return [each["@odata.id"] for each in links_back]


LOGIN = {"UserName": "admin", "Password": "an-invented-Passw0rd"}


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Arena, Path]]:
    state = tmp_path_factory.mktemp("two-hosts") / "state"
    with serving("--topology", "two-hosts", "--state", str(state)) as (_, url):
        fabric = "/redfish/v1/Fabrics/PCIe"
        hosts = (f"{fabric}/Endpoints/host1-1", f"{fabric}/Endpoints/host2-1")
        arena = Arena(url, fabric, hosts, "gpu1")
        yield arena, state
        arena.client.close()


@pytest.fixture(scope="module")
def public_cxl(
    shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Arena, Path]]:
    place = tmp_path_factory.mktemp("public-cxl")
    mockup = unpacked_mockup(shared, place, "public-cxl")
    state = place / "state"
    with serving("--mockup", str(mockup), "--state", str(state)) as (_, url):
        fabric = "/redfish/v1/Fabrics/CXL"
        client = Client(url)
        answer = client(
            "POST", f"{fabric}/Endpoints", {"Name": "stranger", "ConnectedEntities": [STRANGER]}
        )
        assert answer.status == 201, answer
        client.close()
        hosts = (f"{fabric}/Endpoints/I1", answer.headers["location"])
        arena = Arena(url, fabric, hosts, "T1")
        arena.switchless = True
        taken = arena.client("POST", arena.zones, zone_body(hosts[1], arena.unit))
        assert taken.status == 409 and f"{fabric}/Zones/1" in str(taken.json), taken
        legal = arena.client("POST", arena.zones, zone_body(hosts[0], f"{fabric}/Endpoints/T5"))
        assert legal.status == 201, legal
        set_free(arena)
        yield arena, state
        arena.client.close()


def set_free(arena: Arena) -> None:
    """Take the unit away from whom the mockup gives it to."""
    held = arena.client.get(arena.unit)["Links"]
    for uri in (*held.get("Connections", ()), *held["Zones"]):
        answer = arena.client("DELETE", uri["@odata.id"])
        assert answer.status in (200, 202, 204), answer


@pytest.fixture(params=["two_hosts", "public_cxl"])
def arena(request: pytest.FixtureRequest) -> tuple[Arena, Path]:
    found: tuple[Arena, Path] = request.getfixturevalue(request.param)
    return found


def at_once(arena: Arena, ask: Callable[[Client, int], Answer]) -> list[Answer]:
    """Have all clients ask in the same moment; return their answers."""
    start, answers = threading.Barrier(CLIENTS), [None] * CLIENTS

    def run(number: int) -> None:
        client = Client(arena.url, arena.token)
        client("GET", "/redfish/v1")
        start.wait(30)
        answers[number] = ask(client, number)  # type: ignore[call-overload]
        client.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert None not in answers
    return answers  # type: ignore[return-value]


def assert_one_winner(arena: Arena, answers: list[Answer]) -> None:
    winners = [each for each in answers if each.status in (200, 201, 202, 204)]
    assert len(winners) == 1, [each for each in answers if each.status != 409]
    assert {each.status for each in answers} - {winners[0].status} == {409}
    (holder,) = arena.holders()
    for answer in answers:
        if answer.status == 409:
            told = answer.json["error"]["@Message.ExtendedInfo"]
            assert arena.unit in str(told), told
            # The stranger has no virtual switch, which is told even before there is a holder.
            assert holder in str(told) or arena.switchless, told


def assert_isolated(state: Path) -> None:
    with Oracle(virtual_db(state)) as oracle:
        assert oracle.double_reach() == []


def cleared(arena: Arena, uris: list[str]) -> None:
    for uri in uris:
        assert arena.client("DELETE", uri).status in (200, 202, 204)
    assert arena.holders() == []


def one_zone_each(arena: Arena) -> list[str]:
    made = [
        arena.client("POST", arena.zones, zone_body(arena.hosts[number % 2]))
        for number in range(CLIENTS)
    ]
    assert {each.status for each in made} == {201}
    return [each.headers["location"] for each in made]


def test_by_post(arena: tuple[Arena, Path]) -> None:
    ring, state = arena

    def ask(client: Client, number: int) -> Answer:
        return client("POST", ring.zones, zone_body(ring.hosts[number % 2], ring.unit))

    assert_one_winner(ring, at_once(ring, ask))
    assert_isolated(state)
    cleared(ring, ring.holders())


def test_by_patch(arena: tuple[Arena, Path]) -> None:
    ring, state = arena
    zones = one_zone_each(ring)

    def ask(client: Client, number: int) -> Answer:
        body: dict[str, Any] = {"Links": {"Endpoints": links(ring.hosts[number % 2], ring.unit)}}
        return client("PATCH", zones[number], body)

    assert_one_winner(ring, at_once(ring, ask))
    assert_isolated(state)
    cleared(ring, zones)


def test_by_add_endpoint(arena: tuple[Arena, Path]) -> None:
    ring, state = arena
    zones = one_zone_each(ring)

    def ask(client: Client, number: int) -> Answer:
        body = {"Endpoint": {"@odata.id": ring.unit}, "ZoneETag": "", "EndpointETag": ""}
        return client("POST", f"{zones[number]}/Actions/Zone.AddEndpoint", body)

    assert_one_winner(ring, at_once(ring, ask))
    assert_isolated(state)
    cleared(ring, zones)


def test_four_patches_with_one_etag_are_one_success_and_three_412(
    two_hosts: tuple[Arena, Path],
) -> None:
    ring, _ = two_hosts
    made = ring.client("POST", ring.zones, zone_body(ring.hosts[0]))
    uri, tag = made.headers["location"], made.headers["etag"]

    def ask(client: Client, number: int) -> Answer:
        if number >= 4:
            return client("GET", uri)
        return client("PATCH", uri, {"Name": f"n{number}"}, {"If-Match": tag})

    answers = at_once(ring, ask)[:4]
    assert sorted(each.status for each in answers) == [200, 412, 412, 412]
    cleared(ring, [uri])


def test_an_unknown_endpoint_is_named_in_the_refusal(arena: tuple[Arena, Path]) -> None:
    ring, _ = arena
    nowhere = f"{ring.fabric}/Endpoints/nowhere"
    zone = ring.client("POST", ring.zones, zone_body(ring.hosts[0])).headers["location"]
    body = {"Links": {"Endpoints": links(ring.hosts[0], nowhere)}}
    answers = [
        ring.client("POST", ring.zones, body),
        ring.client("PATCH", zone, body),
        ring.client(
            "POST", f"{zone}/Actions/Zone.AddEndpoint", {"Endpoint": {"@odata.id": nowhere}}
        ),
    ]
    for answer in answers:
        assert answer.status == 400 and nowhere in str(answer.json), answer
    cleared(ring, [zone])

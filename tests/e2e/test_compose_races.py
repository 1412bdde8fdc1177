"""Systems of blocks in a real process: a race for devices, and kill -9 at each step of one.

The truth about hardware is virtual.db, read here beside the service.
"""

import http.client
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.state import virtual_db
from tests.e2e.dying import POINTS
from tests.e2e.service import Answer, Client, links, serving
from tests.e2e.test_crash import a_token, bindings

SERVICE = "/redfish/v1/CompositionService"
BLOCKS = f"{SERVICE}/ResourceBlocks"
SYSTEMS = "/redfish/v1/Systems"
TASKS = "/redfish/v1/TaskService/Tasks"
CLIENTS, GPUS = 64, 16
RACE = f"""\
name: race
hosts:
  - {{id: "h{{n}}", count: {CLIENTS}, cpus: 1, cores: 8, memory: 64 GiB}}
fabrics:
  - id: pod
    name: Pod
    protocol: PCIe
    switches:
      - id: sw
        host_link: {{gen: 5, lanes: 16}}
        vppbs: 2
        devices:
          - {{id: "g{{n}}", count: {GPUS}, kind: GPU, capacity: 8 GiB, link: {{gen: 5, lanes: 8}}}}
"""
KILLED = """\
name: killed
hosts:
  - {id: "h{n}", count: 2, cpus: 1, cores: 8, memory: 64 GiB}
fabrics:
  - id: pod
    name: Pod
    protocol: PCIe
    switches:
      - id: sw
        host_link: {gen: 5, lanes: 16}
        vppbs: 4
        devices:
          - {id: "g{n}", count: 2, kind: GPU, capacity: 8 GiB, link: {gen: 5, lanes: 8}}
  - id: CXL
    name: CXL
    protocol: CXL
    switches:
      - id: cxl
        host_link: {gen: 5, lanes: 16}
        vppbs: 4
        devices:
          - id: pool
            kind: Memory
            capacity: 16 GiB
            lds: {count: 4, pooled: true, granularity: 256 MiB}
            link: {gen: 5, lanes: 8}
"""
GRANTED = (200, 201, 202)


def block(name: str) -> str:
    return f"{BLOCKS}/{name}"


def members(client: Client, uri: str) -> set[str]:
    return {each["@odata.id"] for each in client.get(uri)["Members"]}


# -- the race ----------------------------------------------------------------------------------


def by_blocks(number: int) -> dict[str, Any]:
    """Four clients want each GPU."""
    names = (block(f"h{number + 1}"), block(f"g{number % GPUS + 1}"))
    return {"Links": {"ResourceBlocks": links(*names)}}


def by_needs(number: int) -> dict[str, Any]:
    """Every client wants any GPU for its own host."""
    gpu = {"@Redfish.RequestedCount": 1, "ProcessorType": "GPU"}
    return {
        "Links": {"ResourceBlocks": links(block(f"h{number + 1}"))},
        "Processors": {"Members": [gpu]},
    }


class Ring:
    """All clients, each with a connection of its own, that ask at the same moment."""

    def __init__(self, url: str, place: Path) -> None:
        token = a_token(url)
        self.client = Client(url, token)
        self.place = place
        self._clients = [Client(url, token) for _ in range(CLIENTS)]
        self._pool = ThreadPoolExecutor(CLIENTS)

    def close(self) -> None:
        self._pool.shutdown()
        for client in (self.client, *self._clients):
            client.close()

    def at_once(self, wish: Callable[[int], dict[str, Any]]) -> list[Answer]:
        start = threading.Barrier(CLIENTS)

        def ask(number: int) -> Answer:
            client = self._clients[number]
            client("GET", "/redfish/v1")
            start.wait(60)
            return client("POST", SYSTEMS, wish(number))

        return list(self._pool.map(ask, range(CLIENTS)))

    def round(self, wish: Callable[[int], dict[str, Any]]) -> None:
        """Let all compete, check who has what, and take everything apart again."""
        answers = self.at_once(wish)
        assert Counter(each.status in GRANTED for each in answers) == {True: GPUS, False: 48}
        systems = [each for each in members(self.client, SYSTEMS)
                   if self.client.get(each)["SystemType"] == "Composed"]  # fmt: skip
        assert len(systems) == GPUS
        users = {f"g{n}": self._users(f"g{n}") for n in range(1, GPUS + 1)}
        assert all(len(each) == 1 for each in users.values()), users
        assert {name for each in users.values() for name in each} == set(systems)
        self._losers_are_told(answers)
        self._hardware_has(GPUS)
        for answer in self._pool.map(lambda pair: pair[0]("DELETE", pair[1]),
                                     zip(self._clients, systems, strict=False)):  # fmt: skip
            assert answer.status in (200, 202, 204), answer
        self._hardware_has(0)
        assert members(self.client, f"{SERVICE}/FreePool") == members(self.client, BLOCKS)
        assert members(self.client, f"{SERVICE}/ActivePool") == set()

    def _users(self, name: str) -> set[str]:
        shown = self.client.get(block(name))["Links"].get("ComputerSystems", ())
        return {each["@odata.id"] for each in shown}

    @staticmethod
    def _losers_are_told(answers: list[Answer]) -> None:
        """Each loser is told what it could not have: which block, or how many there are left."""
        for each in answers:
            if each.status in GRANTED:
                continue
            assert each.status == 409, each
            told = each.json["error"]["@Message.ExtendedInfo"]
            keys = {row["MessageId"].rpartition(".")[2] for row in told}
            assert keys & {"PropertyValueResourceConflict", "RequirementUnmet"}, told
            if "RequirementUnmet" not in keys:
                assert f"{BLOCKS}/g" in str(told), told

    def _hardware_has(self, count: int) -> None:
        until_s = time.monotonic() + 30
        with Oracle(virtual_db(self.place / "state")) as oracle:
            while len(oracle.bindings("pod")) != count and time.monotonic() < until_s:
                time.sleep(0.01)
            assert len(oracle.bindings("pod")) == count
            assert oracle.double_reach() == []


@contextmanager
def a_ring(place: Path) -> Iterator[Ring]:
    (place / "race.yaml").write_text(RACE)
    where = ("--topology", str(place / "race.yaml"), "--state", str(place / "state"))
    with serving(*where) as (_, url):
        ring = Ring(url, place)
        yield ring
        ring.close()


def test_sixty_four_clients_share_sixteen_devices_out_and_give_them_back(tmp_path: Path) -> None:
    with a_ring(tmp_path) as ring:
        for wish in (by_blocks, by_needs):
            ring.round(wish)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_rounds_share_sixteen_devices_out(tmp_path: Path) -> None:
    with a_ring(tmp_path) as ring:
        for number in range(200):
            ring.round((by_blocks, by_needs)[number % 2])


# -- kill -9 -----------------------------------------------------------------------------------


def wished() -> dict[str, Any]:
    """Both GPUs and a part of the pool, for one host: two fabrics in one operation."""
    memory = {"@Redfish.RequestedCount": 1, "CapacityMiB": 1024}
    return {
        "Id": "mine",
        "Links": {"ResourceBlocks": links(block("h1"), block("g1"), block("g2"))},
        "Memory": {"Members": [memory]},
    }


REFUSED = (
    "faults:\n  - {at_s: 0, fault: refused, object: CXL, parameters: {step: bind, times: 0}}\n"
)
"""Every bind in one of the two fabrics is refused: what the other one did is taken back."""
STEPS: tuple[tuple[str, int, str], ...] = (
    ("stored, not published", 1, "compose"),
    ("published, nothing sent", 1, "compose"),
    ("part about to be allocated", 1, "compose"),
    ("part allocated", 1, "compose"),
    ("about to bind", 1, "compose"),
    ("bound", 1, "compose"),
    ("bound", 2, "compose"),
    ("bound", 3, "compose"),
    ("all bound, end not stored", 1, "compose"),
    ("end stored, not answered", 1, "compose"),
    ("refused, not taken back", 1, "refused"),
    ("taken back, nothing sent", 1, "refused"),
    ("unbound", 1, "refused"),
    ("part given back", 1, "refused"),
    ("stored, not published", 1, "give back"),
    ("about to unbind", 1, "give back"),
    ("unbound", 1, "give back"),
    ("unbound", 2, "give back"),
    ("part about to be given back", 1, "give back"),
    ("all bound, end not stored", 1, "give back"),
)
"""Point, at which time it is reached, and what is asked for."""
FEW = STEPS[6:7]
"""Between binds."""


class Life:
    """One state directory, and the services that live and die on it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "killed.yaml").write_text(KILLED)
        (place / "faults.yaml").write_text(REFUSED)
        self._where = ("--topology", str(place / "killed.yaml"), "--state", str(place / "state"))
        self._token = ""

    def dies(self, point: str, times: int, what: str) -> None:
        """Ask for something of a service that dies of it."""
        wrapper = (sys.executable, "-m", "tests.e2e.dying", point, str(times))
        faults = ("--faults", str(self.place / "faults.yaml")) if what == "refused" else ()
        with serving(*self._where, *faults, wrapper=wrapper) as (service, url):
            with self._client(url) as client, suppress(OSError, http.client.HTTPException):
                if what == "give back":
                    client("DELETE", f"{SYSTEMS}/mine")
                else:
                    client("POST", SYSTEMS, wished())
            assert service.wait(30) == -9

    @contextmanager
    def _client(self, url: str) -> Iterator[Client]:
        self._token = self._token or a_token(url)
        client = Client(url, self._token)
        try:
            yield client
        finally:
            client.close()

    def lives(self, *, whole: bool, then: Callable[[Client], None]) -> None:
        """Start anew; everything comes to rest, all there or nothing. Then do something more."""
        with serving(*self._where) as (service, url), self._client(url) as client:
            until_s = time.monotonic() + 60
            while (unrest := self._unrest(client)) and time.monotonic() < until_s:
                time.sleep(0.01)
            assert unrest is None
            there = f"{SYSTEMS}/mine" in members(client, SYSTEMS)
            assert there is whole
            (self._is_whole if whole else self._is_free)(client)
            then(client)
            assert service.terminate() == 0

    def _unrest(self, client: Client) -> str | None:
        for task in members(client, TASKS):
            answer = client("GET", task)
            if answer.status == 200 and answer.json["TaskState"] in ("Running", "Stopping"):
                return f"{task} runs"
        wanted = {each.vppb: each.target for each in bindings(self.place)}
        with Oracle(virtual_db(self.place / "state")) as oracle:
            assert oracle.double_reach() == []
            bound = {**oracle.bindings("pod"), **oracle.bindings("CXL")}
        return None if bound == wanted else f"bound {bound}, wanted {wanted}"

    def _parts(self) -> list[int]:
        with Oracle(virtual_db(self.place / "state")) as oracle:
            media = oracle.media("CXL")
        return [each.size_mib for each in media if each.size_mib]

    def _is_whole(self, client: Client) -> None:
        assert len(bindings(self.place)) == 3
        assert self._parts() == [1024]
        held = members(client, f"{SERVICE}/ActivePool")
        assert held == {block(name) for name in ("h1", "g1", "g2", "pool")}
        assert client.get(f"{SYSTEMS}/mine")["Status"]["Health"] == "OK"

    def _is_free(self, client: Client) -> None:
        assert bindings(self.place) == []
        assert self._parts() == []
        assert members(client, f"{SERVICE}/FreePool") == members(client, BLOCKS)
        for uri in ("/redfish/v1/Fabrics/pod/Zones", "/redfish/v1/Fabrics/CXL/Zones"):
            assert {each.rpartition("/")[2] for each in members(client, uri)} == {"Default"}
        assert members(client, "/redfish/v1/Fabrics/CXL/Connections") == set()


def play(place: Path, steps: tuple[tuple[str, int, str], ...]) -> None:
    """Die at each of the steps, one after another, on one state; each begins with nothing."""
    life = Life(place)
    for point, times, what in steps:
        if what == "give back":
            life.lives(whole=False, then=_compose)
        life.dies(point, times, what)
        # What is durable is carried through; a refusal that nobody has written down was none.
        whole = what == "compose" or point == "refused, not taken back"
        life.lives(whole=whole, then=_give_back if whole else _nothing)


def _nothing(_client: Client) -> None:
    """Leave it as it is."""


def _compose(client: Client) -> None:
    assert client("POST", SYSTEMS, wished()).status == 201


def _give_back(client: Client) -> None:
    assert client("DELETE", f"{SYSTEMS}/mine").status in (200, 204)


def test_a_service_that_dies_in_the_middle_of_a_composition_comes_to_rest(tmp_path: Path) -> None:
    play(tmp_path, FEW)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_service_that_dies_at_any_step_of_a_composition_comes_to_rest(tmp_path: Path) -> None:
    play(tmp_path, STEPS)


def test_every_point_is_died_at() -> None:
    assert {point for point, _, _ in STEPS} == POINTS.keys()

"""kill -9 under sixteen writers: what was acknowledged is there, nothing is half there.

The truth about hardware is virtual.db, kept by the virtual switch as powered hardware would, and
read here, in another process than the service.
"""

import http.client
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.state import virtual_db
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.bindings import decode_binding
from tests.e2e.service import Client, Service, links, serving, zone_body

FABRIC = "/redfish/v1/Fabrics/pod"
ZONES = f"{FABRIC}/Zones"
WRITERS = 16
HOSTS, GPUS = 4, 24
TOPOLOGY = f"""\
name: crash
hosts:
  - {{id: "h{{n}}", count: {HOSTS}, cpus: 1, cores: 8, memory: 64 GiB}}
fabrics:
  - id: pod
    name: Pod
    protocol: PCIe
    switches:
      - id: sw
        host_link: {{gen: 5, lanes: 16}}
        vppbs: {GPUS}
        devices:
          - {{id: "g{{n}}", count: {GPUS}, kind: GPU, capacity: 8 GiB, link: {{gen: 5, lanes: 8}}}}
"""


@dataclass
class Ledger:
    """What clients were told. `doubtful` zones had a write whose answer never came."""

    there: dict[str, set[str]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    acknowledged: int = 0


class Writer(threading.Thread):
    """A client that deletes what was `left` to it, then makes, changes and deletes zones."""

    def __init__(
        self, url: str, token: str, name: str, ledger: Ledger, seed: str, left: list[str]
    ) -> None:
        super().__init__(daemon=True)
        self._left = left
        self._client = Client(url, token)
        self._name, self._ledger = name, ledger
        self._chance = random.Random(seed)  # noqa: S311
        self.unexpected: list[str] = []

    def run(self) -> None:
        try:
            for uri in self._left:
                self._write("DELETE", uri, uri, None, None)
            for number in range(10_000):
                self._life_of(f"{self._name}-{number}")
        except (OSError, http.client.HTTPException):
            self._client.close()

    def _life_of(self, name: str) -> None:
        uri, members = f"{ZONES}/{name}", self._members()
        if not self._write("POST", ZONES, uri, zone_body(*members, Id=name), members):
            return
        if self._chance.random() < 0.5:
            members = [members[0], *self._members()[1:]]
            body = {"Links": {"Endpoints": links(*members)}}
            self._write("PATCH", uri, uri, body, members)
        if self._chance.random() < 0.7:
            self._write("DELETE", uri, uri, None, None)

    def _members(self) -> list[str]:
        host = self._chance.randrange(1, HOSTS + 1)
        gpus = self._chance.sample(range(1, GPUS + 1), self._chance.randrange(1, 3))
        return [f"{FABRIC}/Endpoints/{name}" for name in (f"h{host}-1", *(f"g{n}" for n in gpus))]

    def _write(
        self, method: str, where: str, uri: str, body: object, members: list[str] | None
    ) -> bool:
        ledger = self._ledger
        ledger.doubtful.add(uri)
        answer = self._client(method, where, body)
        ledger.doubtful.discard(uri)
        if answer.status not in (200, 201, 202, 204):
            if answer.status != 409:
                self.unexpected.append(f"{method} {answer}")
            return False
        ledger.acknowledged += 1
        ledger.there.pop(uri, None)
        if answer.status == 202:
            # Accepted: it may still be taken back by hardware, though this one never refuses.
            ledger.doubtful.add(uri)
        if members is None:
            ledger.gone.add(uri)
        else:
            ledger.there[uri] = set(members)
        return True


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "crash.yaml").write_text(TOPOLOGY)
    return tmp_path


def flags(place: Path) -> tuple[str, ...]:
    return ("--topology", str(place / "crash.yaml"), "--state", str(place / "state"))


def bindings(place: Path) -> list[Binding]:
    """Return the recorded bindings, straight from the file."""
    uri = f"{(place / 'state' / 'state.db').as_uri()}?mode=ro"
    db = sqlite3.connect(uri, uri=True)
    try:
        rows = db.execute("SELECT value FROM documents WHERE space = 'binding'").fetchall()
    finally:
        db.close()
    return [decode_binding(raw) for (raw,) in rows]


def stored_zones(client: Client) -> dict[str, set[str]]:
    """Return the zones that clients made, and who is in them."""
    members = {each["@odata.id"] for each in client.get(ZONES)["Members"]} - {f"{ZONES}/Default"}
    zones = {uri: client.get(uri) for uri in members}
    return {
        uri: {each["@odata.id"] for each in zone["Links"]["Endpoints"]}
        for uri, zone in zones.items()
    }


def assert_acknowledged(zones: dict[str, set[str]], ledger: Ledger) -> None:
    for uri, members in ledger.there.items():
        if uri not in ledger.doubtful:
            assert zones.get(uri) == members, uri
    assert not (ledger.gone - ledger.doubtful) & zones.keys()


def assert_nothing_half(client: Client, zones: dict[str, set[str]], place: Path) -> None:
    """Zone documents, links back from endpoints, and binding records say the same."""
    for endpoint in client.get(f"{FABRIC}/Endpoints")["Members"]:
        uri = endpoint["@odata.id"]
        back = {each["@odata.id"] for each in client.get(uri)["Links"].get("Zones", ())}
        assert back == {zone for zone, members in zones.items() if uri in members}, uri
    held = {(holder, each.unit) for each in bindings(place) for holder in each.holders}
    wanted = {
        (zone, f"/redfish/v1/Chassis/{name}/PCIeDevices/{name}")
        for zone, members in zones.items()
        for name in (uri.rsplit("/", 1)[-1] for uri in members)
        if name.startswith("g")
    }
    assert held == wanted


def converged(place: Path) -> bool:
    with Oracle(virtual_db(place / "state")) as oracle:
        bound = oracle.bindings("pod")
        return bound == {each.vppb: each.target for each in bindings(place)}


def assert_isolated(place: Path) -> None:
    with Oracle(virtual_db(place / "state")) as oracle:
        assert oracle.double_reach() == []


def a_token(url: str) -> str:
    client = Client(url)
    body = {"UserName": "admin", "Password": "an-invented-Passw0rd"}
    answer = client("POST", "/redfish/v1/SessionService/Sessions", body)
    assert answer.status == 201, answer
    client.close()
    return answer.headers["x-auth-token"]


def rounds(place: Path, count: int, seed: int) -> Iterator[Ledger]:
    ledger, chance = Ledger(), random.Random(seed)  # noqa: S311
    token = ""
    for number in range(count + 1):
        with serving(*flags(place)) as (service, url):
            token = token or a_token(url)
            client = Client(url, token)
            zones = stored_zones(client)
            assert_acknowledged(zones, ledger)
            assert_nothing_half(client, zones, place)
            assert_isolated(place)
            ledger = Ledger(there=dict(zones))
            if number == count:
                while not converged(place):
                    time.sleep(0.01)
                assert_isolated(place)
                client.close()
                assert service.terminate() == 0
                return
            _storm(service, url, token, ledger, f"{seed} {number}", chance.uniform(0.1, 0.6))
            client.close()
        yield ledger


def _storm(
    service: Service, url: str, token: str, ledger: Ledger, seed: str, length_s: float
) -> None:
    names = [f"r{seed.replace(' ', '-')}-w{number}" for number in range(WRITERS)]
    left = sorted(ledger.there)
    writers = [
        Writer(url, token, name, ledger, f"{seed} {name}", left[number::WRITERS])
        for number, name in enumerate(names)
    ]
    for writer in writers:
        writer.start()
    until_s = time.monotonic() + 10.0
    while not ledger.acknowledged and time.monotonic() < until_s:
        time.sleep(0.001)
    stop_s = time.monotonic() + length_s
    while time.monotonic() < stop_s:
        time.sleep(0.001)
    service.kill()
    for writer in writers:
        writer.join(20)
    unexpected: list[Any] = [each for writer in writers for each in writer.unexpected]
    assert not unexpected


def test_what_was_acknowledged_survives_three_kills(place: Path, seed_base: int) -> None:
    assert all(ledger.acknowledged for ledger in rounds(place, 3, seed_base))


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_what_was_acknowledged_survives_fifty_kills(place: Path, seed_base: int) -> None:
    total = sum(ledger.acknowledged for ledger in rounds(place, 50, seed_base))
    assert total > 50 * WRITERS


def test_the_ledger_notices_a_lost_zone_and_a_resurrected_one() -> None:
    ledger = Ledger(there={"a": {"x"}}, gone={"b"})
    assert_acknowledged({"a": {"x"}}, ledger)
    for zones in ({}, {"a": {"y"}}, {"a": {"x"}, "b": set()}):
        with pytest.raises(AssertionError):
            assert_acknowledged(zones, ledger)
    ledger.doubtful |= {"a", "b"}
    assert_acknowledged({"b": set()}, ledger)
    assert msgspec.json.encode(sorted(ledger.doubtful)) == b'["a","b"]'

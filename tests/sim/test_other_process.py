"""The same in another process: kill -9 while memory is cut and given back; SQLite and virtual.db
are all that is left, and the next process brings everything to rest.

The truth about hardware is virtual.db, read here beside the service.
"""

import http.client
import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.state import virtual_db
from tests.e2e.service import Client, links, serving, zone_body
from tests.e2e.test_crash import a_token

FABRIC = "/redfish/v1/Fabrics/CXL"
CHUNKS = "/redfish/v1/Chassis/pooled1/MemoryDomains/1/MemoryChunks"
LD = "/redfish/v1/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices/0"
COLLECTIONS = (f"{FABRIC}/Connections", f"{FABRIC}/Zones", CHUNKS, f"{LD}/MemoryRegions")
CLIENTS = 6
TOPOLOGY = """\
name: killed
hosts:
  - {id: "h{n}", count: 3, cpus: 1, cores: 8, memory: 64 GiB}
fabrics:
  - id: CXL
    name: CXL
    protocol: CXL
    switches:
      - id: sw
        host_link: {gen: 5, lanes: 16}
        vppbs: 8
        devices:
          - {id: "m{n}", count: 2, kind: Memory, capacity: 8 GiB, link: {gen: 5, lanes: 8}}
          - id: pooled1
            kind: Memory
            capacity: 16 GiB
            lds: {count: 8, pooled: true, granularity: 256 MiB}
            link: {gen: 5, lanes: 8}
          - id: dynamic1
            kind: Memory
            capacity: 8 GiB
            dynamic: {count: 1, regions: 4, granularity: 256 MiB}
            link: {gen: 5, lanes: 8}
"""


class Hand(threading.Thread):
    """Asks for one thing after another until the service is gone."""

    def __init__(self, url: str, token: str, seed: str) -> None:
        super().__init__(daemon=True)
        self._client = Client(url, token)
        self._chance = random.Random(seed)  # noqa: S311
        self.accepted: dict[str, int] = {}
        self.unexpected: list[str] = []

    def run(self) -> None:
        with suppress(OSError, http.client.HTTPException):
            while True:
                self._chance.choice(
                    (self._zone, self._part, self._part, self._connect, self._end)
                )()
        self._client.close()

    def _ask(self, method: str, uri: str, body: object = None) -> None:
        answer = self._client(method, uri, body)
        if answer.status < 300:
            name = f"{method} {(uri if method == 'POST' else uri.rsplit('/', 1)[0])}"
            self.accepted[name] = self.accepted.get(name, 0) + 1
        elif answer.status not in (400, 404, 409):
            self.unexpected.append(f"{method} {uri} {answer}")

    def _members(self, collection: str) -> list[str]:
        return [each["@odata.id"] for each in self._client.get(collection)["Members"]]

    def _host(self) -> str:
        return f"{FABRIC}/Endpoints/h{self._chance.randrange(1, 4)}-1"

    def _zone(self) -> None:
        names = ("m1", "m2", "dynamic1-ld0", *(f"pooled1-ld{n}" for n in range(4)))
        target = f"{FABRIC}/Endpoints/{self._chance.choice(names)}"
        self._ask("POST", f"{FABRIC}/Zones", zone_body(self._host(), target))

    def _part(self) -> None:
        size = self._chance.choice((256, 512, 1024))
        if self._chance.random() < 0.5:
            self._ask("POST", CHUNKS, {"MemoryChunkSizeMiB": size})
        else:
            shared = {"ShareableRegion": self._chance.random() < 0.5}
            body = {"RegionType": "Dynamic", "RegionSizeMiB": size, **shared}
            self._ask("POST", f"{LD}/MemoryRegions", body)

    def _connect(self) -> None:
        kind = self._chance.choice(("MemoryChunk", "MemoryRegion"))
        parts = self._members(CHUNKS if kind == "MemoryChunk" else f"{LD}/MemoryRegions")
        if not parts:
            return
        part, name = self._chance.choice(parts), "dynamic1-ld0"
        if kind == "MemoryChunk":
            answer = self._client("GET", part)
            if answer.status != 200:
                return
            name = f"pooled1-ld{number(answer.json)}"
        target = f"{FABRIC}/Endpoints/{name}"
        zones = [each["@odata.id"] for each in self._client.get(target)["Links"].get("Zones", ())]
        ends = [each for zone in zones for each in self._ends(zone) if "/h" in each]
        body = {
            f"{kind}Info": [{kind: {"@odata.id": part}, "AccessCapabilities": ["Read"]}],
            "Links": {
                "InitiatorEndpoints": links(*(ends[:1] or [self._host()])),
                "TargetEndpoints": links(target),
            },
        }
        self._ask("POST", f"{FABRIC}/Connections", body)

    def _ends(self, zone: str) -> list[str]:
        answer = self._client("GET", zone)
        found = answer.json["Links"]["Endpoints"] if answer.status == 200 else []
        return [each["@odata.id"] for each in found]

    def _end(self) -> None:
        for collection in COLLECTIONS:
            members = [each for each in self._members(collection) if "Default" not in each]
            if members and self._chance.random() < 0.5:
                self._ask("DELETE", self._chance.choice(members))


def number(chunk: Any) -> int:
    """Return the number of the LD that a chunk is."""
    return int(chunk["Links"]["CXLLogicalDevices"][0]["@odata.id"].rsplit("/", 1)[-1])


def wanted(client: Client) -> set[tuple[tuple[tuple[str, int], ...], int, bool]]:
    """Return path, size and shareability of every part that the documents want."""
    chunks = [client.get(each["@odata.id"]) for each in client.get(CHUNKS)["Members"]]
    regions = [client.get(each["@odata.id"])
               for each in client.get(f"{LD}/MemoryRegions")["Members"]]  # fmt: skip
    return {
        *(((("ld", number(each)),), each["MemoryChunkSizeMiB"], False) for each in chunks),
        *(((("ld", 0), ("region", each["RegionNumber"])), each["RegionSizeMiB"],
           each["ShareableRegion"]) for each in regions),
    }  # fmt: skip


def assert_isolated(oracle: Oracle) -> None:
    assert oracle.double_reach() == []
    assert oracle.exposures() == []
    for pool in oracle.accounts("CXL"):
        assert (pool.allocated_mib + pool.free_mib, pool.twice_mib) == (pool.total_mib, 0)


def unrest(client: Client, oracle: Oracle) -> str | None:
    """Return what is not yet as the documents want it."""
    tasks = [client("GET", each["@odata.id"])
             for each in client.get("/redfish/v1/TaskService/Tasks")["Members"]]  # fmt: skip
    if any(each.status == 200 and each.json["TaskState"] in ("Running", "Stopping")
           for each in tasks):  # fmt: skip
        return "a Task runs"
    exist = {(each.path, each.size_mib, each.shareable) for each in oracle.media("CXL")
             if each.size_mib is not None}  # fmt: skip
    if exist != wanted(client):
        return f"hardware has {exist}, documents want {wanted(client)}"
    holders = [each for uri in (f"{FABRIC}/Zones", f"{FABRIC}/Connections")
               for each in client.get(uri)["Members"]]  # fmt: skip
    rows = [row for each in holders
            for row in (client.get(each["@odata.id"]).get("Oem") or {})
            .get("RedfishFM", {}).get("Bindings", ())]  # fmt: skip
    told = {(row["VirtualSwitchId"], row["SlotIndex"]) for row in rows}
    bound = {(vppb.vcs, vppb.vppb) for vppb in oracle.bindings("CXL")}
    return None if told == bound else f"hardware binds {bound}, documents say {told}"


def lives(place: Path, count: int, seed: int) -> Iterator[dict[str, int]]:
    """Kill the service `count` times in the middle; yield what was accepted in each life."""
    (place / "killed.yaml").write_text(TOPOLOGY)
    flags = ("--topology", str(place / "killed.yaml"), "--state", str(place / "state"))
    chance, token = random.Random(seed), ""  # noqa: S311
    for life in range(count + 1):
        with serving(*flags) as (service, url):
            token = token or a_token(url)
            if life == count:
                client = Client(url, token)
                with Oracle(virtual_db(place / "state")) as oracle:
                    until_s = time.monotonic() + 60
                    while (left := unrest(client, oracle)) and time.monotonic() < until_s:
                        time.sleep(0.01)
                    assert left is None
                    assert_isolated(oracle)
                client.close()
                return
            hands = [Hand(url, token, f"{seed} {life} {n}") for n in range(CLIENTS)]
            for hand in hands:
                hand.start()
            until_s = time.monotonic() + chance.uniform(0.3, 1.2)
            while time.monotonic() < until_s:
                time.sleep(0.005)
            service.kill()
            for hand in hands:
                hand.join(20)
                assert not hand.unexpected
        with Oracle(virtual_db(place / "state")) as oracle:
            assert_isolated(oracle)
        yield {name: sum(hand.accepted.get(name, 0) for hand in hands)
               for name in {name for hand in hands for name in hand.accepted}}  # fmt: skip


def test_two_kills_in_the_middle_leave_nothing_shared_dirty_or_lost(
    tmp_path: Path, seed_base: int
) -> None:
    assert any(lives(tmp_path, 2, seed_base))


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_forty_kills_in_the_middle_leave_nothing_shared_dirty_or_lost(
    tmp_path: Path, seed_base: int
) -> None:
    total: dict[str, int] = {}
    for accepted in lives(tmp_path, 40, seed_base):
        for name, count in accepted.items():
            total[name] = total.get(name, 0) + count
    print("\n".join(f"{count:8} {name}" for name, count in sorted(total.items())))
    for collection in COLLECTIONS:
        assert total[f"POST {collection}"] and total[f"DELETE {collection}"]

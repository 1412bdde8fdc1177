"""Clients that want things at random: they know the documents, and guess what is free.

Each has a random stream of its own, so that what one draws does not depend on what another does.
"""

import asyncio
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from redfish_fm.fabric.values import Endpoint, Role, ZoneType
from redfish_fm.redfish.changes import Change
from redfish_fm.redfish.requests import Request, Response
from tests.sim import wishes
from tests.sim.answers import Answers, Asked
from tests.sim.checker import Checker
from tests.sim.process import USERS, Process
from tests.sim.weather import stream
from tests.sim.wishing import refs

ANSWER_S = 90.0
"""No request may take longer: a budget, a slow store and its reloads, in virtual time."""


class Population:
    """All clients of one run, and what they share."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.answers = Answers(checker)
        self.steps = 0
        self._users = 0
        index = checker.base.new_index()
        facts = checker.base.facts
        self.vppbs = [uri for uri in sorted(checker.base.documents) if facts.vppb_at(uri)]
        self.ports = sorted(facts.port_units)
        self.fabrics = sorted(index.fabrics)
        self.endpoints = [index.endpoints[uri] for uri in sorted(index.endpoints)]
        self.chunks = [index.chunks[uri] for uri in sorted(index.chunks)]

    def new_user(self) -> str:
        """Return a user name that nobody has used yet, while there are any."""
        self._users += 1
        return f"u{self._users % USERS}"

    def of(self, fabric: str, role: Role) -> list[Endpoint]:
        return [each for each in self.endpoints if each.fabric == fabric and each.role is role]

    @property
    def over(self) -> bool:
        checker = self.checker
        return self.steps >= checker.weather.steps or checker.failed.is_set()


@dataclass
class Client:
    """One client, busy until the run has made its steps."""

    population: Population
    rng: random.Random

    def __post_init__(self) -> None:
        self.user = self.population.new_user()
        self.checker = self.population.checker
        self.last: Response | None = None

    async def live(self) -> None:
        """Ask for one thing after another."""
        while not self.population.over:
            await asyncio.sleep(self.rng.expovariate(1.0) * self.checker.weather.pause_s)
            process = self.checker.process
            if process is None:
                await asyncio.sleep(0.05)
                continue
            self.population.steps += 1
            await self.act(process)
            if self.population.steps % 7 == 0:
                self.checker.quiet_states_agree()

    async def act(self, process: Process) -> None:
        """Do one thing."""
        actions = wishes.of(self, self.checker.weather.focus)
        (chosen,) = self.rng.choices([each for _, each in actions], [n for n, _ in actions])
        await chosen(process)

    # -- zones --------------------------------------------------------------------------------

    async def post_zone(self, process: Process) -> None:
        fabric = self.rng.choice(self.population.fabrics)
        ends = [
            *self.initiators(fabric),
            *self.targets(fabric, self.rng.choice((0, 1, 1, 1, 2, 2))),
        ]
        body: dict[str, Any] = {"Links": {"Endpoints": refs(ends)}}
        if self.rng.random() < 0.2:
            body["Id"] = f"mine{self.rng.randrange(4)}"
        uri = f"/redfish/v1/Fabrics/{fabric}/Zones"
        await self.write(process, "POST", uri, body, ends)

    async def patch_zone(self, process: Process) -> None:
        zone = self.zone()
        if zone is None:
            return
        fabric = zone.split("/")[4]
        present = list(self.checker.mirror.index.zones[zone].endpoints)
        ends = [each for each in present if self.rng.random() < 0.7]
        ends += [each for each in self.targets(fabric, 1) if each not in ends]
        if self.rng.random() < 0.3:
            ends = [*self.initiators(fabric), *self.targets(fabric, self.rng.randrange(3))]
        tag = self.tag(process, zone) if self.rng.random() < 0.5 else None
        await self.write(process, "PATCH", zone, {"Links": {"Endpoints": refs(ends)}}, ends, tag)

    async def describe(self, process: Process) -> None:
        zone = self.zone()
        if zone is not None:
            body = {"Description": f"text {self.rng.randrange(1_000_000)}"}
            await self.write(process, "PATCH", zone, body, (), self.tag(process, zone))

    async def add(self, process: Process) -> None:
        zone = self.zone()
        if zone is not None:
            (end,) = self.targets(zone.split("/")[4], 1)
            await self._act_on(process, zone, "AddEndpoint", end, (end,))

    async def remove(self, process: Process) -> None:
        zone = self.zone()
        present = self.checker.mirror.index.zones[zone].endpoints if zone else ()
        if zone is not None and present:
            await self._act_on(process, zone, "RemoveEndpoint", self.rng.choice(present), ())

    async def _act_on(
        self, process: Process, zone: str, action: str, end: str, adds: Iterable[str]
    ) -> None:
        path = f"{zone}/Actions/Zone.{action}"
        await self.write(process, "POST", path, {"Endpoint": refs([end])[0]}, adds)

    async def delete_zone(self, process: Process) -> None:
        zone = self.zone()
        if zone is not None:
            await self.write(process, "DELETE", zone)

    async def move(self, process: Process) -> None:
        """Give what one host has to another: the moment at which two may reach it."""
        index = self.checker.mirror.index
        zones = [zone for _, zone in sorted(index.zones.items())
                 if len(zone.endpoints) > 1 and zone.zone_type is ZoneType.ENDPOINTS]  # fmt: skip
        if not zones:
            return
        zone = self.rng.choice(zones)
        targets = [each for each in zone.endpoints if index.endpoints[each].host is None]
        had = {index.endpoints[each].host for each in zone.endpoints}
        others = [each.id for each in self.population.of(zone.fabric, Role.INITIATOR)
                  if each.host not in had]  # fmt: skip
        held = sorted(index.connections_of(targets[0])) if targets else []
        for connection in held[:1]:
            await self.write(process, "DELETE", connection)
        await self.write(process, "DELETE", zone.id)
        if others:
            ends = [self.rng.choice(others), *targets]
            body = {"Links": {"Endpoints": refs(ends)}}
            path = f"/redfish/v1/Fabrics/{zone.fabric}/Zones"
            await self.write(process, "POST", path, body, ends)

    async def race(self, process: Process) -> None:
        """Several clients change one zone with one ETag: at most one may succeed."""
        zone = self.zone()
        tag = None if zone is None else self.tag(process, zone)
        if zone is None or tag is None:
            return
        rivals = [Client(self.population, stream(f"rival {self.rng.random()}")) for _ in range(3)]
        made = await asyncio.gather(*(
            rival.write(process, "PATCH", zone, {"Description": rival.user}, (), tag)
            for rival in rivals
        ))  # fmt: skip
        changes = [change for change in made if change is not None]
        self.checker.counts["races"] += 1
        self.checker.expect(len(changes) <= 1, f"{len(changes)} writes won with one ETag on {zone}")

    async def odd_zone(self, process: Process) -> None:
        """Make a zone as it must not be made: named twice, foreign, not there, of a wrong type."""
        fabric = self.rng.choice(self.population.fabrics)
        others = [each for each in self.population.endpoints if each.fabric != fabric]
        (host,) = self.initiators(fabric)[:1]
        odd: list[tuple[list[str], dict[str, Any]]] = [
            ([host, host], {}),
            ([host, f"{host}-nobody"], {}),
            ([host], {"ZoneType": "Default"}),
            ([host], {"ZoneType": "ZoneOfZones"}),
        ]
        if others:
            odd.append(([host, self.rng.choice(others).id], {}))
        zone = self.zone()
        if zone is not None:
            odd.append(([host], {"zones": [zone]}))
        ends, more = self.rng.choice(odd)
        links: dict[str, Any] = {"Endpoints": refs(ends)}
        if zones := more.pop("zones", None):
            links["ContainsZones"] = refs(zones)
        body = {"Links": links, **more}
        await self.write(process, "POST", f"/redfish/v1/Fabrics/{fabric}/Zones", body, ends)

    # -- connections and tasks ----------------------------------------------------------------

    async def delete_task(self, process: Process) -> None:
        tasks = sorted(each.task for each in self.checker.mirror.operations.values())
        if tasks:
            await self.write(process, "DELETE", self.rng.choice(tasks))

    async def read_task(self, process: Process) -> None:
        for promise in self.population.answers.promises[-3:]:
            if process.alive:
                request = Request("GET", promise.task, headers={"x-auth-token": self.user})
                task = process.spawn(process.service.handle(request))
                await asyncio.wait([task], timeout=ANSWER_S)
                if process.alive and task.done() and not task.cancelled():
                    self.population.answers.task_read(promise, task.result())

    # -- asking -------------------------------------------------------------------------------

    async def write(
        self,
        process: Process,
        method: str,
        path: str,
        body: Any = None,
        adds: Iterable[str] = (),
        tag: str | None = None,
        hang_up_s: float | None = None,
    ) -> Change | None:
        """Send one write; return the change it made, if it is known to have made one."""
        self.last = None
        if not process.alive:
            return None
        headers = {"x-auth-token": self.user}
        if body is not None:
            headers["content-type"] = "application/json"
        if tag is not None:
            headers["if-match"] = tag
        raw = b"" if body is None else json.dumps(body).encode()
        asked = Asked(
            Request(method, path, (), headers, raw),
            self.user,
            "ACTION" if "/Actions/" in path else method,
            path.split("/Actions/")[0],
            frozenset(adds),
            self.checker.durable.seq,
            asyncio.get_running_loop().time(),
        )
        if self.rng.random() < self.checker.weather.patience:
            hang_up_s = self.rng.random() * 0.5
        return await self._answer(process, asked, hang_up_s)

    async def _answer(
        self, process: Process, asked: Asked, hang_up_s: float | None
    ) -> Change | None:
        self.checker.counts["requests"] += 1
        self.checker.note(f"{asked.actor} asks {asked.verb} {asked.uri} {sorted(asked.adds)}")

        async def ask() -> tuple[Response, Change | None]:
            response = self.last = await process.service.handle(asked.request)
            return response, self.population.answers.judge(asked, response)

        task = process.spawn(ask())
        await asyncio.wait([task], timeout=ANSWER_S if hang_up_s is None else hang_up_s)
        if task.done() and not task.cancelled():
            return task.result()[1]
        if hang_up_s is None and not task.done():
            self.checker.fail(f"no answer in {ANSWER_S} s: {asked}")
        # Whether it was done is not known: what comes later must not be taken for it.
        task.cancel()
        self.user = self.population.new_user()
        self.checker.counts["hung up" if process.alive else "crashed"] += 1
        return None

    # -- choosing -----------------------------------------------------------------------------

    def initiators(self, fabric: str) -> list[str]:
        hosts = self.population.of(fabric, Role.INITIATOR)
        count = 2 if self.rng.random() < 0.05 else 1
        return [each.id for each in self.rng.sample(hosts, count)]

    def targets(self, fabric: str, count: int) -> list[str]:
        """Return targets, mostly such as nobody has."""
        targets = self.population.of(fabric, Role.TARGET)
        index = self.checker.mirror.index
        free = [each for each in targets if not index.zones_of(each.id)]
        if len(free) >= count and self.rng.random() < 0.75:
            targets = free
        return [each.id for each in self.rng.sample(targets, min(count, len(targets)))]

    def zone(self) -> str | None:
        """Return a zone, mostly one that a client has made."""
        known = self.checker.mirror.index.zones
        zones = sorted(known)
        made = [each for each in zones if known[each].zone_type is ZoneType.ENDPOINTS]
        return (
            self.rng.choice(made if made and self.rng.random() < 0.97 else zones) if zones else None
        )

    def tag(self, process: Process, uri: str) -> str | None:
        found = process.kernel.published.get(uri)
        return None if found is None else found.etag

"""One run of a machine: the service in a loop of virtual time, its hardware, and what must hold.

The hardware refuses nothing that it need not (weather.CARELESS), so that only the service keeps
hosts apart; it outlives each life of the service, and notes every wrong at the action that does it.
What it lets hosts reach is read from its own memory (drivers.virtual.oracle) and held to what the
documents of clients say (may_reach), neither of which knows the rules.
"""

import asyncio
import contextlib
import json
import logging
from collections import Counter
from collections.abc import Coroutine, Iterator
from typing import Any, ClassVar, TypeVar

from redfish_fm.drivers.virtual.refusals import Refused
from redfish_fm.fabric.model import Deallocate, Sanitize, Step, Unbind
from redfish_fm.mapping.operations import OperationState
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.requests import Response
from redfish_fm.store.memory import DurableState
from tests.cases.may_reach import decoded, may_reach
from tests.cases.small_world import FABRICS, small_world
from tests.cases.stack import ROOT, Stack, a_stack
from tests.sim.isolation import broken
from tests.sim.plant import Plant
from tests.sim.truth import capacity_faults
from tests.sim.weather import Weather
from tests.virtual_time import VirtualClock, VirtualTimeLoop

T = TypeVar("T")
_TAKEN_BACK = {"OperationFailed", "OperationTimeout", "HardwareRefused"}
"""How a change ends that was accepted and could not be carried out."""
WANTED = (f"{ROOT}/Fabrics/", f"{ROOT}/Chassis/", f"{ROOT}/Storage/", f"{ROOT}/Systems/")
"""Where documents are that clients write; a refused write still leaves a Task and a log entry."""
REST_S = 600.0
"""How long hardware in order may take to come to rest."""


class _Errors(logging.Handler):
    """Keeps what is logged as an ERROR, but for violations, which strangers may cause."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if not text.startswith("isolation violation"):
            self.found.append(f"{record.name}: {text}")


class Run:
    """Rules call `do`; everything else here runs inside of it."""

    counts: ClassVar[Counter[str]] = Counter()
    """Over all runs: how often each kind of request got each status."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self._durable = DurableState()
        self._errors = _Errors()
        for name in ("redfish_fm", "asyncio"):
            logging.getLogger(name).addHandler(self._errors)
        self.plants: dict[str, Plant] = {}
        self.wrongs: list[str] = []
        self.touched: set[str] = set()
        self.strange = False
        """Whether anything but clients has acted: then hardware need not be as wanted at once."""
        self.peaceful = True
        """Whether it has never been strange: then whatever is accepted must succeed."""
        self.meddled = False
        """Whether a stranger has bound anything, whom the oracle can not tell from us."""
        self.do(self._power_up())

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end; what the service does beside it goes on only meanwhile."""
        return self._runner.run(work)

    def close(self) -> None:
        """End everything at this instant."""
        try:
            self.do(self._life.__aexit__(None, None, None))
            for plant in self.plants.values():
                plant.close()
        finally:
            for name in ("redfish_fm", "asyncio"):
                logging.getLogger(name).removeHandler(self._errors)
            self._runner.close()

    # -- lives of the service ----------------------------------------------------------------

    async def _power_up(self) -> None:
        clock = VirtualClock()
        for inventory in small_world().inventories:
            plant = Plant(inventory, clock, Weather(seed=0))
            plant.watchers.append(self._acted)
            self.plants[inventory.fabric] = plant
        await self._start()

    async def _start(self) -> None:
        world, hardware = small_world(), self.plants
        self._life = a_stack(world, durable=self._durable, hardware=hardware, crash=True)
        self.stack: Stack = await self._life.__aenter__()

    async def crash(self, *unanswered: "asyncio.Task[Any]") -> None:
        """Kill the service, requests and all, and start the next one on what was durable."""
        self.strange = True
        await self._life.__aexit__(None, None, None)
        for task in unanswered:
            task.cancel()
        await asyncio.gather(*unanswered, return_exceptions=True)
        # Each stack begins with a session of every user; their number has a limit.
        self._durable.sessions.clear()
        await self._start()

    async def crash_within(self, method: str, uri: str, body: Any, after_s: float) -> None:
        """Send a write, and crash before or after it is answered."""
        task = asyncio.create_task(self.stack.ask(method, uri, body))
        await asyncio.sleep(after_s)
        await self.crash(task)

    # -- what clients do ---------------------------------------------------------------------

    async def write(self, method: str, uri: str, body: Any = None) -> Response:
        """Send a write; check what can be said of its answer, whatever it is."""
        calm, before = self.calm(), self.documents()
        response = await self.stack.ask(method, uri, body)
        kind = uri.rsplit("/", 1)[-1] if method == "POST" else uri.rsplit("/", 2)[-2]
        self.counts[f"{method} {kind} {response.status}"] += 1
        what = f"{method} {uri} {json.dumps(body)}: {response.status} {response.body!r}"
        assert response.status in (200, 201, 202, 204) or 400 <= response.status < 500, what
        self.touched |= {uri} if method != "POST" else set()
        self.peaceful = self.peaceful and not self.strange
        if response.status >= 400:
            entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
            keys = {each["MessageId"].rsplit(".", 1)[-1] for each in entries}
            assert not (self.peaceful and keys & _TAKEN_BACK), what
            named = [each for each in entries
                     if each.get("MessageArgs") or each.get("RelatedProperties")]  # fmt: skip
            assert named, what
            if calm:
                assert self.documents() == before, what
        elif response.status != 202:
            await self._is_so(method, uri, body, response, what)
        if calm and response.status != 202:
            for fabric, plant in self.plants.items():
                assert plant.bound() == self.stack.rig.wanted(fabric), what
        return response

    async def _is_so(self, method: str, uri: str, body: Any, response: Response, what: str) -> None:
        """Check that what was answered as done can be read."""
        if response.status == 201:
            uri = response.headers["Location"]
            self.touched.add(uri)
        read = await self.stack.ask("GET", uri)
        if response.status == 204 and method == "DELETE":
            assert read.status == 404, what
        elif "/Actions/" not in uri:
            assert read.status == 200, what
            ends = ((body or {}).get("Links") or {}).get("Endpoints")
            if ends is not None:
                shown = json.loads(read.body)["Links"]["Endpoints"]
                assert sorted(map(str, shown)) == sorted(map(str, ends)), what

    def open(self) -> list[str]:
        """Return the operations that have not ended."""
        operations = self.stack.kernel.operations
        return [str(each) for fabric in self.plants for each in operations.open_of(fabric)]

    def calm(self) -> bool:
        """Whether nothing is under way, and nobody but clients has ever done anything."""
        return not self.strange and not self.open()

    def reach_is_wrong(self) -> list[str]:
        """Return what hardware lets hosts reach and documents do not, or the other way round."""
        found = []
        overlays = decoded(self._durable.spaces.get(Space.OVERLAY, {}).items())
        documents = decoded(self.documents().items())
        for fabric, plant in self.plants.items():
            reached = plant.oracle().reach(fabric)
            allowed = may_reach(documents, overlays, f"{FABRICS}/{fabric}")
            for host in sorted(reached.keys() | allowed.keys()):
                has, may = reached.get(host, set()), allowed.get(host, set())
                found += [f"{host} reaches {each}, which nobody gave it" for each in has - may]
                found += [f"{host} does not reach its {each}" for each in may - has]
        return found

    def documents(self) -> dict[str, bytes]:
        """Return all that clients have durably written."""
        documents = self._durable.spaces.get(Space.DOCUMENT, {})
        return {uri: value for uri, value in documents.items() if uri.startswith(WANTED)}

    # -- what must hold ----------------------------------------------------------------------

    def _acted(self, plant: Plant, step: Step, cause: str) -> None:
        """Look at the hardware right after it did something."""
        self.wrongs += [f"{cause} {step}: {double}" for double in plant.doubles() if double.ours]
        self.wrongs += plant.harm
        plant.harm.clear()
        self.wrongs += capacity_faults(plant.devices)

    async def check(self) -> None:
        """Check what holds at any moment."""
        assert not self.wrongs, self.wrongs
        assert not self._errors.found, self._errors.found
        rule = broken(self.stack.kernel.published.state.index)
        assert rule is None, rule
        if self.peaceful and not self.strange:
            await self._all_succeeds()
        if self.calm():
            wrong = self.reach_is_wrong()
            assert not wrong, wrong
        for fabric, plant in self.plants.items():
            doubles = [] if self.meddled else plant.oracle().double_reach()
            assert not doubles, doubles
            for pool in plant.oracle().accounts(fabric):
                assert pool.twice_mib == 0, pool
                assert pool.allocated_mib + pool.free_mib == pool.total_mib, pool
        for uri in sorted(self.touched):
            response = await self.stack.ask("GET", uri)
            assert response.status in (200, 404), (uri, response.status, response.body)

    async def _all_succeeds(self) -> None:
        """Check that nothing that was ever accepted is stuck or had to be taken back."""
        if self.open():
            await asyncio.sleep(30.0)
        operations = self.stack.kernel.published.state.operations.values()
        failed = [each for each in operations if each.state is not OperationState.COMPLETED]
        assert not failed, failed

    # -- the end -----------------------------------------------------------------------------

    async def heal(self) -> None:
        """Bring all hardware back into order."""
        for fabric, plant in self.plants.items():
            self.stack.rig.faults(fabric).clear()
            for switch in plant.switches.values():
                plant.heal(switch.facts.id)
                plant.set_switch_health(switch.facts.id, "OK")
                for port in switch.facts.ports:
                    plant.set_port(port.id, link_up=True, present=True, health="OK")
            for device in plant.devices:
                plant.return_device(device)
                plant.power_device(device, True)
                plant.set_device_health(device, "OK")
        await asyncio.sleep(10.0)

    async def mend(self) -> None:
        """Heal, remove what strangers have left, and wait: all must be as wanted again.

        Where another device has come, who owns what was in the old one has to give it back.
        """
        await self.heal()
        self._clean_up()
        await asyncio.sleep(30.0)
        rig = self.stack.rig
        truth = all(plant.bound() == rig.wanted(name) for name, plant in self.plants.items())
        self.strange = not truth or bool(self.open())

    async def undo(self) -> None:
        """Delete what there is, whoever made it, until nothing is left."""
        await self.heal()
        for _ in range(int(REST_S / 30)):
            for method, uri, body in self._to_undo():
                response = await self.stack.ask(method, uri, body)
                assert response.status < 500, (method, uri, response.status, response.body)
            self._clean_up()
            await asyncio.sleep(30.0)
            if not self._left():
                break
        assert not self._left(), self._left()
        await self.check()

    def _to_undo(self) -> Iterator[tuple[str, str, Any]]:
        index = self.stack.kernel.published.state.index
        for connection in sorted(index.connections):
            yield "DELETE", connection, None
        for zone in sorted(index.zones):
            if zone.endswith("/Default"):
                yield "PATCH", zone, {"DefaultRoutingEnabled": False, "Links": {"Endpoints": []}}
            else:
                yield "DELETE", zone, None
        for vppb in sorted(index.vppb_grants):
            yield "PATCH", vppb, {"Links": {"Port": None}}
        made: list[Any] = [*index.chunks.values(), *index.regions.values()]
        parts = [each.id for each in made if each.allocation is not None]
        pools = [uri for uri in self.documents() if "/AddressPools/" in uri]
        for uri in sorted([*index.groups, *parts, *index.volumes, *pools]):
            yield "DELETE", uri, None

    def _clean_up(self) -> None:
        """Remove what strangers have left, as a technician would."""
        for plant in self.plants.values():
            steps: list[Step] = [
                Unbind(vppb, target)
                for vppb, target in plant.bound().items()
                if not plant.is_ours(vppb)
            ]
            for target in plant.allocated():
                if not plant.is_honest(target):
                    steps += [Sanitize(target), Deallocate(target)]
            for step in steps:
                with contextlib.suppress(Refused):
                    plant.execute(step, "outside")

    def _left(self) -> list[str]:
        """Return what is not yet as it was before the first write."""
        state = self.stack.kernel.published.state
        found = [f"open {each}" for each in self.open()]
        for fabric, plant in self.plants.items():
            found += [f"bound {each}" for each in plant.bound().items()]
            found += [f"allocated {each}" for each in plant.allocated().items()]
            pools = plant.oracle().accounts(fabric)
            found += [f"{each}" for each in pools if each.free_mib != each.total_mib]
        documents = [uri for uri in self.documents() if not uri.endswith("/Zones/Default")]
        found += [f"document {uri}" for uri in documents]
        for uri in state.spaces[Space.DOCUMENT]:
            read = self.stack.kernel.published.get(uri)
            if "/Tasks/" in uri and read is not None and b'"TaskState":"Running"' in read.body:
                found.append(f"running {uri}")
        return found

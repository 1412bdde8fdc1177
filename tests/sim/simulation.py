"""One run: a seed, a world, clients, faults, crashes; then quiet, and everything must be as wanted.

`simulate(seed)` returns a Report; a Report with a failure knows the line that repeats it.
"""

import asyncio
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from redfish_fm.control import operations
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.requests import Request
from redfish_fm.store.memory import DurableState
from tests.sim import process as processes
from tests.sim.checker import Checker
from tests.sim.clients import Client, Population
from tests.sim.disorder import Disorder
from tests.sim.plant import Plant
from tests.sim.told import untrue
from tests.sim.weather import Weather, draw, stream
from tests.virtual_time import VirtualClock, run

QUIET_S = 150.0
"""Time to come to rest once nothing goes wrong any more: the longest operation and back-offs."""

RESERVED_S = 25.0
"""A reservation that lasts longer is not waited for."""


@dataclass
class Report:
    """What a run did and whether all held."""

    weather: Weather
    failure: str | None
    counts: Counter[str]
    trace: list[str] = field(repr=False, default_factory=list)
    steps: int = 0
    ended_s: float = 0.0

    @property
    def replay(self) -> str:
        """The command that repeats the run."""
        return f"python -m tests.sim {self.weather.seed} --steps {self.weather.steps}"

    def complaint(self) -> str:
        return f"seed {self.weather.seed}: {self.failure}\nreplay: {self.replay}"


def simulate(seed: int, steps: int = 100) -> Report:
    """Run what a seed decides."""
    return run_weather(draw(seed, steps))


def run_weather(weather: Weather) -> Report:
    """Run a world that is given in full."""
    return play(weather, World.bustle)


def play(weather: Weather, script: Callable[["World"], Coroutine[Any, Any, None]]) -> Report:
    """Let `script` happen in a world that is given in full, then let that come to rest."""
    with patch.object(operations, "FINISHED_KEPT", weather.finished_kept), _log() as log:
        return run(World(weather).live(log, script))


class World:
    """Everything of one run. Made outside of the loop, lived in it."""

    def __init__(self, weather: Weather) -> None:
        self.weather = weather
        self.durable = DurableState()
        self._restarting: asyncio.Task[None] | None = None
        self.base = processes.make_base(weather.inventories())
        self.device = processes.StoreWeather(weather.store_faults, str(weather.seed))

    async def live(
        self, log: "Log", script: Callable[["World"], Coroutine[Any, Any, None]]
    ) -> Report:
        """Run it to the end."""
        self.clock = VirtualClock()
        self.plants = [Plant(i, self.clock, self.weather) for i in self.weather.inventories()]
        self.checker = Checker(self.weather, self.base, self.plants, self.durable)
        log.checker = self.checker
        self.population = Population(self.checker)
        await self.start()
        await self._watched(script(self))
        if self.checker.failure is None:
            await self._come_to_rest()
        await self.stop()
        return self._report()

    async def start(self) -> None:
        """Start a service process on what is there."""
        self.checker.note("start")
        self.checker.away_since_s.clear()
        self.checker.process = await processes.start(
            self.weather, self.base, self.plants, self.durable, self.clock, self.device,
            stored=self.checker.stored, seen=self.checker.seen,
        )  # fmt: skip
        self.checker.process.running.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Kill the service process."""
        process, self.checker.process = self.checker.process, None
        if process is not None:
            self.checker.note("crash")
            await process.crash()

    async def crash(self, down_s: float) -> None:
        """Kill the service and start it again a little later. Cancelling it changes nothing."""
        self._restarting = asyncio.create_task(self._watched(self._crash(down_s)))
        await asyncio.shield(self._restarting)

    async def _crash(self, down_s: float) -> None:
        self.checker.counts["crashes"] += 1
        await self.stop()
        await asyncio.sleep(down_s)
        await self.start()
        self.checker.quiet_states_agree()

    def _ended(self, running: "asyncio.Task[None]") -> None:
        if not running.cancelled() and running.exception() is not None:
            self.checker.fail(f"the kernel ended by itself: {running.exception()!r}")

    async def bustle(self) -> None:
        """Let clients and disorder do what they do until enough has been done."""
        seed = self.weather.seed
        clients = [
            Client(self.population, stream(f"client {seed} {number}"))
            for number in range(self.weather.clients)
        ]
        disorder = Disorder(self, stream(f"disorder {seed}"))
        troubles = [asyncio.create_task(self._watched(each)) for each in disorder.all()]
        lives = [asyncio.create_task(self._watched(client.live())) for client in clients]
        failed = asyncio.create_task(self.checker.failed.wait())
        left: set[asyncio.Task[Any]] = set(lives)
        while left and not failed.done():
            _, left = await asyncio.wait({*left, failed}, return_when=asyncio.FIRST_COMPLETED)
            left.discard(failed)
        for task in (failed, *troubles, *lives):
            task.cancel()
        await asyncio.gather(failed, *troubles, *lives, return_exceptions=True)
        if self._restarting is not None:
            await self._restarting

    async def _watched(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the result of the run
            self.checker.note(traceback.format_exc())
            self.checker.fail(f"{error!r}")

    # -- at rest ------------------------------------------------------------------------------

    async def _come_to_rest(self) -> None:
        """Nothing goes wrong any more: all must become as wanted, and survive one more crash."""
        self.checker.note("quiet")
        self.device.rates.clear()
        for plant in self.plants:
            plant.faults.clear()
            for switch in plant.switches.values():
                plant.heal(switch.facts.id)
                for port in switch.facts.ports:
                    plant.set_port(port.id, link_up=True, present=True, health="OK")
            for name, device in plant.devices.items():
                # In the place of another one that was plugged in: as blank as that.
                plant.return_device(name, device.facts.serial_number)
                plant.power_device(name, True)
        if self.checker.process is None:
            await self.start()
        await self._end_reservations()
        await self._converge("at rest")
        tags = self._tags()
        await self.crash(0.0)
        await self._converge("after one more crash")
        changed = {uri for uri, tag in self._tags().items() if tags.get(uri) != tag}
        self.checker.expect(not changed, f"ETags changed over a restart: {sorted(changed)[:5]}")
        self.checker.feed_is_whole()
        doubles = [double for plant in self.plants for double in plant.oracle().double_reach()]
        excused = not self.weather.truthful
        self.checker.expect(excused or not doubles, f"the journal shows {doubles[:1]}")

    async def _converge(self, when: str) -> None:
        until_s = self.clock.now_s() + QUIET_S
        while self.clock.now_s() < until_s and self.checker.failure is None:
            Disorder.clean_up(self.plants, self.checker)
            await asyncio.sleep(1.0)
            if not self._unrest():
                break
        # One more look, so that what is shown is what is.
        await asyncio.sleep(3.0)
        unrest = self._unrest()
        self.checker.expect(not unrest, f"no rest {when}: {unrest}")
        self.checker.quiet_states_agree()
        self._all_is_true(when)
        await self._tasks_have_ended()

    def _all_is_true(self, when: str) -> None:
        process = self.checker.process
        if process is None or self.checker.failure is not None:
            return
        uris = [*self.base.documents, *self.checker.mirror.spaces[Space.DOCUMENT]]
        for each in untrue(process, self.plants, self.base.facts, uris):
            self.checker.fail(f"{when}: {each}")
        self.checker.counts["truths compared"] += len(uris)

    def _unrest(self) -> list[str]:
        """Return what is not yet as it should be."""
        checker, process = self.checker, self.checker.process
        if process is None:
            return ["no service"]
        bound = {place for plant in self.plants for place in plant.bound().items()}
        wanted = checker.wanted()
        exist = {t: has for plant in self.plants for t, has in plant.allocated().items()}
        parts = {t: (each.size_mib, each.shareable)
                 for t, each in checker.mirror.index.allocations.items()}  # fmt: skip
        found = [f"not bound {place}" for place in wanted - bound]
        found += [f"bound in vain {place}" for place in bound - wanted]
        found += [f"not allocated {parts[each]} {each}" for each in parts.keys() - exist.keys()]
        found += [f"allocated in vain {each}" for each in exist.keys() - parts.keys()]
        others = [each for each in parts.keys() & exist.keys() if exist[each] != parts[each]]
        found += [f"{each} is {exist[each]}, not {parts[each]}" for each in others]
        found += [f"open {each.id} {each.state}" for each in checker.open_operations()]
        kernel = process.kernel
        if not kernel.published.seq == kernel.writer.tip.seq == self.durable.seq:
            found.append("something is in flight")
        if any(
            loop.violations or loop.foreign or loop.foreign_parts for loop in kernel.loops.values()
        ):
            found.append("violations or foreign bindings are reported")
        found += [f"{each} has not ended" for each in checker.mirror.index.reservations]
        finished = len(checker.mirror.operations)
        if finished > self.weather.finished_kept + 1:
            found.append(f"{finished} operations are kept")
        return found

    async def _end_reservations(self) -> None:
        """Give up what would end much later; the others have to end by themselves."""
        process = self.checker.process
        known = self.checker.mirror.index.reservations.values()
        late = [each.id for each in known if each.expires_s > self.clock.wall_s() + RESERVED_S]
        for uri in late if process is not None else ():
            request = Request("DELETE", uri, headers={"x-auth-token": "u1"})
            response = await process.service.handle(request)  # type: ignore[union-attr]
            over = response.status in (204, 404)
            self.checker.expect(over, f"{uri} can not be given up: {response.status}")

    async def _tasks_have_ended(self) -> None:
        process = self.checker.process
        for promise in self.population.answers.promises:
            if process is None or self.checker.failure is not None:
                return
            request = Request("GET", promise.task, headers={"x-auth-token": "u1"})
            response = await process.service.handle(request)
            self.population.answers.task_read(promise, response)
            ended = b'"TaskState":"Running"' not in response.body
            self.checker.expect(ended, f"{promise.task} never ends")

    def _tags(self) -> dict[str, str]:
        process = self.checker.process
        if process is None:
            return {}
        published = process.kernel.published
        uris = [*self.base.documents, *self.checker.mirror.spaces[Space.DOCUMENT]]
        found = {uri: published.get(uri) for uri in uris}
        return {uri: each.etag for uri, each in found.items() if each is not None}

    def _report(self) -> Report:
        counts = self.checker.counts
        for plant in self.plants:
            counts.update({f"fault {kind}": n for kind, n in plant.faults.struck.items()})
            plant.close()
        counts.update(self.device.struck)
        return Report(
            self.weather, self.checker.failure, counts, self.checker.trace,
            self.population.steps, self.clock.now_s(),
        )  # fmt: skip


class Log(logging.Handler):
    """Fails the run at an ERROR, unless it tells of a violation that somebody else has caused."""

    checker: Checker | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.checker is None or record.levelno < logging.WARNING:
            return
        text = record.getMessage()
        self.checker.note(f"{record.levelname} {text}")
        if record.exc_info:
            self.checker.note("".join(traceback.format_exception(*record.exc_info)))
        excused = text.startswith("isolation violation") and not self.checker.weather.truthful
        if record.levelno >= logging.ERROR and not excused:
            self.checker.fail(f"{record.levelname} in the log: {text}")


@contextmanager
def _log() -> Iterator[Log]:
    """Listen from WARNING on: below that only volume is to be had, from thousands of requests."""
    handler = Log()
    loggers = [logging.getLogger(name) for name in ("redfish_fm", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
    try:
        yield handler
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)

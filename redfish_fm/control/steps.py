"""Steps on their way to one driver: handed over beside the loop, and what came back.

Knows which commands may still run (settling), which wait for another try (back-off) and which the
switch refused. Decides nothing: what to do next is planned from observations only.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection

from redfish_fm.clocks import Clock
from redfish_fm.control.backoff import Backoff
from redfish_fm.control.settling import Settling
from redfish_fm.drivers.base import Driver, DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.fabric.model import Step, places

log = logging.getLogger(__name__)


class Steps:
    """Carries out steps of one fabric. `finished` is called after each, whatever became of it.

    `refused` keeps what the switch said of a step until somebody takes it out.
    """

    def __init__(
        self,
        fabric: str,
        driver: Driver,
        clock: Clock,
        timeout_s: float,
        finished: Callable[[], None],
    ) -> None:
        self._fabric = fabric
        self._driver = driver
        self._clock = clock
        self._timeout_s = timeout_s
        self._finished = finished
        self._backoff = Backoff(clock)
        self._accepted: set[Step] = set()
        self.settling = Settling(clock.now_s())
        self.refused: dict[Step, str] = {}
        self.rejected = 0
        self.unknown = 0
        self.calls: Counter[tuple[str, str]] = Counter()
        """Calls of the driver by kind of step and outcome."""

    def planned(self, steps: Collection[Step]) -> None:
        """Hear what is to be done now: what was accepted, settled, and is not among it is done.

        What is among it was accepted in vain, and is not asked for again and again at full speed.
        """
        for step in self._accepted.difference(steps):
            if not any(map(self.settling.unsettled, places(step))):
                self._accepted.discard(step)
                self._backoff.succeeded(step)

    def ready(self, step: Step) -> bool:
        """Return whether a step may be tried now."""
        return self._backoff.ready(step)

    def next_s(self, steps: list[Step], otherwise_s: float) -> float:
        """Return the shortest wait until one of `steps` may be tried, in seconds."""
        return self._backoff.next_s(steps, otherwise_s)

    def start(self, step: Step, tasks: asyncio.TaskGroup) -> None:
        """Hand a step to the driver, as a task of the group."""
        now_s = self._clock.now_s()
        self.settling.sent(step, now_s)
        tasks.create_task(self._carry_out(step, now_s + self._timeout_s))

    async def _carry_out(self, step: Step, deadline_s: float) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._driver.apply(step, deadline_s)
        except (DriverRejected, DriverUnsupported) as error:
            self.rejected += 1
            self._count(step, "rejected")
            self.settling.refused(step)
            self._backoff.failed(step)
            self.refused[step] = str(error)
            log.info("%s on %s refused: %s", step, self._fabric, error)
        except (DriverUnavailable, TimeoutError) as error:
            self._is_unknown(step)
            log.info("outcome of %s on %s is unknown: %s", step, self._fabric, error)
        except Exception:
            # Part of the supervisor of one reconcile loop: a faulty driver ends nobody else.
            self._is_unknown(step)
            log.exception("the driver of %s failed at %s", self._fabric, step)
        else:
            self._count(step, "ok")
            self.settling.returned(step)
            self._accepted.add(step)
            # Until it is seen done: acceptance is no proof.
            self._backoff.failed(step)
        self._finished()

    def _is_unknown(self, step: Step) -> None:
        self.unknown += 1
        self._count(step, "unknown")
        self.settling.returned(step)
        self._backoff.failed(step)

    def _count(self, step: Step, outcome: str) -> None:
        self.calls[type(step).__name__, outcome] += 1

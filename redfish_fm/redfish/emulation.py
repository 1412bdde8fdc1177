"""What real services do to their clients, played on purpose: late answers, and none for a while.

Off, it is not there: a service without it asks nothing. Knows paths and a clock; chance is given.
A service that restarts answers 503 with Retry-After until it is back; what is beside the protocol
(/healthz, /metrics) answers on.
"""

import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError

SPREAD = 0.2
"""Each delay is up to so much longer or shorter than what is asked for."""


@dataclass(frozen=True, slots=True)
class EmulationPolicy:
    """What to play; the defaults play nothing. All times in seconds of the service clock.

    `latency_s` is how long an answer is kept back; `latency_paths` have one of their own, where
    the longest prefix of whole segments counts. `manager` is the URI of the manager whose reset
    takes the service away for `outage_s`; `ends_sessions` whether its sessions are over then.
    """

    latency_s: float = 0.0
    latency_paths: tuple[tuple[str, float], ...] = ()
    manager: str = ""
    outage_s: float = 0.0
    ends_sessions: bool = False

    @property
    def plays(self) -> bool:
        """Whether there is anything to play."""
        return bool(self.latency_s or self.latency_paths or self.outage_s)

    def delay_s(self, uri: str) -> float:
        """Return how long an answer about `uri` is kept back, on average."""
        found = [(p, s) for p, s in self.latency_paths if uri == p or uri.startswith(f"{p}/")]
        return max(found, key=lambda each: len(each[0]))[1] if found else self.latency_s


class Emulation:
    """Plays a policy. `end_sessions` ends all sessions there are."""

    def __init__(
        self,
        policy: EmulationPolicy,
        clock: Clock,
        chance: random.Random,
        end_sessions: Callable[[], Awaitable[None]],
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._chance = chance
        self._end_sessions = end_sessions
        self._back_s = float("-inf")

    async def admit(self, uri: str) -> None:
        """Keep a request waiting as long as is asked for. Raises RedfishError (503) while away."""
        delay_s = self._policy.delay_s(uri)
        if delay_s:
            await self._clock.sleep(delay_s * self._chance.uniform(1 - SPREAD, 1 + SPREAD))
        left_s = self._back_s - self._clock.now_s()
        if left_s > 0:
            retry_after = str(math.ceil(left_s))
            told = messages.service_temporarily_unavailable(retry_after)
            raise RedfishError(503, (told,), {"Retry-After": retry_after})

    async def acted(self, uri: str, action: str) -> None:
        """Note that an action was carried out: of some, the service goes away for a while."""
        if action != "Manager.Reset" or uri != self._policy.manager:
            return
        self._back_s = self._clock.now_s() + self._policy.outage_s
        if self._policy.ends_sessions:
            await self._end_sessions()

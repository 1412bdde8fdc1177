"""How long to leave a failing step, or a silent fabric, alone: doubling, without jitter.

Jitter is for many clients of one server; here one loop talks to its own fabric.
"""

from collections.abc import Hashable, Iterable

from redfish_fm.clocks import Clock

FIRST_S = 0.05
LONGEST_S = 10.0


class Backoff:
    """Failure counts per key (a Step, or None for the whole fabric), and when to try again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[Hashable, int] = {}
        self._again_s: dict[Hashable, float] = {}

    def failed(self, key: Hashable) -> float:
        """Note a failure; return how long to wait before the next try, in seconds."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        delay_s = min(LONGEST_S, FIRST_S * 2.0 ** min(count - 1, 20))
        self._again_s[key] = self._clock.now_s() + delay_s
        return float(delay_s)

    def succeeded(self, key: Hashable) -> None:
        """Forget the failures of `key`."""
        self._failures.pop(key, None)
        self._again_s.pop(key, None)

    def ready(self, key: Hashable) -> bool:
        """Return whether `key` may be tried now."""
        return self._again_s.get(key, 0.0) <= self._clock.now_s()

    def next_s(self, keys: Iterable[Hashable], otherwise_s: float) -> float:
        """Return the shortest wait until one of `keys` may be tried, in seconds."""
        now_s = self._clock.now_s()
        waits = [self._again_s[key] - now_s for key in keys if key in self._again_s]
        return max(0.001, min(waits)) if waits else otherwise_s

"""How much one peer may get wrong in a while: bounds guessing, and what guessing costs.

Pure but for the clock. Every failure fills a peer's bucket by one, time empties it. Peers that
share an IPv6 /64 network share a bucket: one machine has a whole such network to come from.
"""

import ipaddress

from redfish_fm.clocks import Clock

PEERS_MAX = 4_096
"""Buckets kept; beyond, the one that was filled longest ago goes."""


class Throttle:
    """Buckets by peer. `burst` failures at once, then one every `refill_s` seconds."""

    def __init__(self, clock: Clock, *, burst: int, refill_s: float) -> None:
        self._clock = clock
        self._burst = burst
        self._refill_s = refill_s
        self._levels: dict[str, tuple[float, float]] = {}

    def wait_s(self, peer: str) -> float:
        """Return how long a peer has to wait before it may fail again; 0: it need not."""
        over = self._level(network_of(peer)) - (self._burst - 1)
        # What is left over by rounding is no reason to wait.
        return over * self._refill_s if over > 1e-6 else 0.0

    def charge(self, peer: str) -> None:
        """Count one failure of a peer."""
        network = network_of(peer)
        level = self._level(network) + 1
        self._levels.pop(network, None)
        if len(self._levels) >= PEERS_MAX:
            del self._levels[next(iter(self._levels))]
        self._levels[network] = (level, self._clock.now_s())

    def _level(self, network: str) -> float:
        level, at_s = self._levels.get(network, (0.0, 0.0))
        return max(0.0, level - (self._clock.now_s() - at_s) / self._refill_s)


def network_of(peer: str) -> str:
    """Return what a peer's address is counted as; an address that can not be read is itself."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    mapped = address.ipv4_mapped
    if mapped is not None:
        return str(mapped)
    return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))

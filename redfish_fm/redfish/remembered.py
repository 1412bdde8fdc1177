"""Passwords that were right a moment ago: a client that sends one each time is hashed once.

Kept as keyed hashes, for the network that each came from. Whoever guesses meets them too, before
any throttle: so each stands a few wrong passwords only, and is forgotten then.
"""

import hmac
from dataclasses import dataclass

NETWORKS_MAX = 64
"""Networks remembered of one user; the one that got in first is forgotten first."""
MISSES_MAX = 10
"""Wrong passwords from its network that one stands. Then the next one is hashed, in its turn."""


@dataclass(slots=True)
class _Entry:
    secret: bytes
    proof: bytes
    misses: int = 0


class Remembered:
    """What was verified, by user and network. Use from one event loop."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, _Entry]] = {}

    def knows(self, user_name: str, network: str, secret: bytes, proof: bytes) -> bool:
        """Return whether just this was verified before, against the secret that holds now."""
        networks = self._known.get(user_name, {})
        entry = networks.get(network)
        if entry is None:
            return False
        if entry.secret == secret and hmac.compare_digest(entry.proof, proof):
            return True
        entry.misses += 1
        if entry.secret != secret or entry.misses >= MISSES_MAX:
            del networks[network]
        return False

    def keep(self, user_name: str, network: str, secret: bytes, proof: bytes) -> None:
        """Remember what was right."""
        networks = self._known.setdefault(user_name, {})
        networks.pop(network, None)
        while len(networks) >= NETWORKS_MAX:
            del networks[next(iter(networks))]
        networks[network] = _Entry(secret, proof)

    def forget(self, user_name: str) -> None:
        """Forget everything of a user."""
        self._known.pop(user_name, None)

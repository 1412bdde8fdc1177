"""What every wish draws from: a client, its chance, and what there is to ask about."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sim.clients import Client


def refs(uris: Iterable[str]) -> list[dict[str, str]]:
    """Return links."""
    return [{"@odata.id": uri} for uri in uris]


class Wishes:
    """Wishes of one client."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._rng = client.rng
        self._write = client.write

    @property
    def _index(self) -> Any:
        return self._client.checker.mirror.index

    def _one(self, uris: Iterable[str]) -> str | None:
        found = sorted(uris)
        return self._rng.choice(found) if found else None

    def _often(self, chance: float) -> bool:
        return self._rng.random() < chance

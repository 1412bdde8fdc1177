"""Other services beside ours, as a client sees them: what they cost their machine is unknown."""

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from urllib.parse import unquote, urlsplit

from .api import Api
from .children import Launcher
from .load import Load, Outcome, run_load
from .report import Figure, missing

OURS = "redfish-fm"
_READERS = 8
_TIMES = ("requests per second", "latency p50", "latency p99")


@dataclass(frozen=True)
class Peer:
    """One resource of a service that runs."""

    name: str
    load: Load

    @classmethod
    def parse(cls, text: str) -> "Peer":
        """Return the peer of NAME=URL. Raises ValueError where it is none."""
        name, _, url = text.partition("=")
        parts = urlsplit(url)
        if not name or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{name or text} is not NAME=URL")
        tls = parts.scheme == "https"
        headers = {"Accept": "application/json"}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        port = parts.port or (443 if tls else 80)
        load = Load(port, tls, 0, _READERS, "GET", parts.path or "/", headers, host=parts.hostname)
        return cls(name, load)


def compared(launcher: Launcher, peers: Sequence[Peer], rounds: int, requests: int) -> list[Figure]:
    """Return what a client sees of ours and of each peer, by turns; ours over plain HTTP.

    The same path is asked of ours as of the first peer: usually the service root.
    """
    with launcher.serve() as child:
        path = peers[0].load.path
        ours = Load(child.port, False, 0, _READERS, "GET", path, Api(child).headers)
        all_of_them = [Peer(OURS, ours), *peers]
        seen: dict[str, list[tuple[float, Outcome]]] = {peer.name: [] for peer in all_of_them}
        failed: dict[str, str] = {}
        for _ in range(rounds):
            for peer in all_of_them:
                if peer.name in failed:
                    continue
                load = Load(**{**vars(peer.load), "requests": requests})
                try:
                    seen[peer.name].append(run_load(load, time.monotonic))
                except (RuntimeError, OSError, ValueError) as error:
                    failed[peer.name] = str(error)
                    continue
                answered = seen[peer.name][-1][1].statuses.get("200", 0)
                if answered != requests:
                    failed[peer.name] = f"{answered} of {requests} requests were answered with 200"
    return [
        figure
        for peer in all_of_them
        for figure in _figures(peer, seen[peer.name], failed.get(peer.name))
    ]


def _figures(peer: Peer, seen: list[tuple[float, Outcome]], failed: str | None) -> list[Figure]:
    row = f"client {peer.name}"
    if failed is not None:
        return [missing(row, _TIMES[0], failed)]
    per_second = median(1 / seconds for seconds, _ in seen)
    p50, p99 = (median(getattr(each, name) for _, each in seen) for name in ("p50_ms", "p99_ms"))
    secured = "TLS" if peer.load.tls else "plain"
    return [
        Figure(row, _TIMES[0], round(per_second), "/s", "", f"{peer.load.path}, {secured}"),
        Figure(row, _TIMES[1], round(p50, 3), "ms"),
        Figure(row, _TIMES[2], round(p99, 3), "ms"),
    ]

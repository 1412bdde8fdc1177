"""The row of events: what a durable write costs more where many want to know of it.

Twenty subscribers, of which some are slow or dead, and two hundred event streams.

Two services, one with subscribers and one without, take the same writes in turn. What is charged
to the writes is all that the service does until everybody who listens has got everything.
"""

import json
import socket
import time
import urllib.request
from pathlib import Path
from typing import Any

from .api import Api
from .children import Child, Launcher
from .load import NUMBER, Load, run_load
from .report import Figure, ratio
from .streams import asked, listening

TARGET = "<= 1.5 x"
HEALTHY, SLOW, DEAD = 16, 2, 2
STREAMS = 200
WRITERS = 16
SUBSCRIPTIONS = "/redfish/v1/EventService/Subscriptions"


def subscribe(api: Api, sink: Child) -> list[str]:
    """Make the subscriptions; return the paths of those that take what they are sent."""
    healthy = [f"/healthy{number}" for number in range(HEALTHY)]
    urls = [f"http://127.0.0.1:{sink.port}{path}" for path in healthy]
    urls += [f"http://127.0.0.1:{sink.port}/slow{number}" for number in range(SLOW)]
    urls += [f"http://127.0.0.1:{_nobody()}/dead" for _ in range(DEAD)]
    for url in urls:
        # Not of each other: each is to get the same.
        body = json.dumps({"Destination": url, "Protocol": "Redfish", "ResourceTypes": ["Zone"]})
        reply = api.ask("POST", SUBSCRIPTIONS, body.encode())
        if reply.status != 201:
            raise RuntimeError(f"POST of a subscription was answered {reply.status}")
    return healthy


def _nobody() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def counts(sink: Child) -> dict[str, int]:
    """Return how many events each path has got."""
    with urllib.request.urlopen(f"http://127.0.0.1:{sink.port}/count") as answer:
        found: dict[str, int] = json.load(answer)
        return found


def settled(sink: Child, healthy: list[str], listeners: Child) -> list[int]:
    """Wait until nothing more comes to those who take it at once; return what each has got."""
    before: Any = None
    while True:
        pushed = counts(sink)
        now = [*(pushed.get(path, 0) for path in healthy), *asked(listeners, "/count")]
        if now == before:
            return now
        before = now
        time.sleep(0.5)


def events_row(launcher: Launcher, folder: Path, rounds: int, requests: int) -> list[Figure]:
    """Return the figures of the row."""
    streams = min(STREAMS, requests)
    allowed = ("--event-destinations", "127.0.0.0/8")
    with (
        Child("tests.bench.sink") as sink,
        launcher.serve(*allowed, state=folder / "told") as told,
        launcher.serve(*allowed, state=folder / "untold") as untold,
        listening(told, streams, "ResourceType%20eq%20Zone") as listeners,
    ):
        healthy = subscribe(Api(told), sink)
        path, body = _zones(Api(told)), json.dumps({"Name": f"bench {NUMBER.decode()}"})
        costs: dict[Child, list[float]] = {told: [], untold: []}
        wrong = 0
        for _ in range(rounds):
            for child, cost in costs.items():

                def now_s(child: Child = child) -> float:
                    settled(sink, healthy, listeners)
                    return child.cpu_s()

                headers = Api(child).headers
                load = Load(child.port, False, requests, WRITERS, "POST", path, headers, body)
                cpu_s, outcome = run_load(load, now_s)
                cost.append(cpu_s)
                wrong += requests - outcome.statuses.get("201", 0)
        got = settled(sink, healthy, listeners)
        uneven = max(got) - min(got)
        each = (
            f"{max(got)} events to each of {HEALTHY} subscribers and {streams} streams; "
            f"{SLOW} slow and {DEAD} dead ones"
        )
        memory = told.rss_bytes() - untold.rss_bytes()
        return [
            Figure("events", "errors", wrong, "", "0", each),
            Figure("events", "events missing", uneven, "", "0"),
            Figure("events", "RSS more", round(memory / 2**20, 1), "MiB"),
            *ratio("events", costs[told], costs[untold], TARGET),
        ]


def _zones(api: Api) -> str:
    zones = (api.collection_of(fabric, "Zones") for fabric in api.fabrics())
    return next(uri for uri in zones if uri)

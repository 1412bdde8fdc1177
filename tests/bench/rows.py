"""The rows: each takes a Bench and returns its figures."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from redfish_fm.server.tls import ensure_certificate

from .api import Api, Reply
from .baseline import record
from .children import Child, ChildFailed, Launcher
from .composing import composed
from .events import events_row
from .idle import idle_bytes
from .load import NUMBER, Load, Outcome, measure
from .poll import poll_row
from .report import Figure, missing, ratio
from .streams import STREAMS, streams_row

_READERS = 8
_WRITERS = 16
_IDLE_TOTAL = 800
"""Connections held open at the end; the server's own limit is above it."""
_POD = "ai-pod"
"""Where whoever reads the README composes first; its memory is cut to measure."""
_TINY = "two-hosts"
"""What is resident without many resources."""
CROWD = "scale:gpus=9600"
"""Where more than 10,000 endpoints are in one fabric."""
_GET_TARGET = "<= 1.1 x"
_COLLECTION_TARGET = "<= 1.2 x"
_POST_TARGET = "<= 6 x"


@dataclass
class Bench:
    """What is measured and how long; `folder` is for what only this run needs."""

    launcher: Launcher
    rounds: int
    requests: int
    scale: str
    folder: Path
    crowd: str = CROWD

    def bare(self, name: str, reply: Reply, tls: bool) -> Child:
        """Start the bare application repeating `reply`."""
        path = self.folder / f"{name}.json"
        record(path, reply.status, reply.headers, reply.body)
        module = f"{__package__}.baseline"
        if not tls:
            return Child(module, str(path))
        files = ensure_certificate(self.folder / "tls", "127.0.0.1", time.time())
        return Child(module, str(path), "--tls", str(files.cert.parent))

    def scaled(self, state: Path | None = None, tls: bool = False) -> Child:
        """Start the service with the big topology."""
        return self.launcher.serve("--topology", self.scale, state=state, tls=tls)


def _interleaved(
    bench: Bench, ours: Child, bare: Child, load: Load, expected: str
) -> tuple[list[float], list[float], list[Outcome]]:
    """Return CPU seconds per request of both, round by round, and the service's outcomes."""
    costs: dict[Child, list[float]] = {ours: [], bare: []}
    outcomes = []
    for _ in range(bench.rounds):
        for child, cost in costs.items():
            target = Load(**{**vars(load), "port": child.port, "tls": child.tls})
            cpu_s, outcome = measure(child, target)
            cost.append(cpu_s)
            if child is ours:
                outcomes.append(outcome)
            elif outcome.statuses.get(expected) != load.requests:
                raise RuntimeError(f"the bare application answered {outcome.statuses}")
    return costs[ours], costs[bare], outcomes


def _get_row(
    bench: Bench, name: str, child: Child, path: str, requests: int, target: str
) -> list[Figure]:
    api = Api(child)
    reply = api.ask("GET", path)
    load = Load(0, child.tls, requests, _READERS, path=path, headers=api.headers)
    with bench.bare(name.replace(" ", "-"), reply, child.tls) as bare:
        ours_s, bare_s, outcomes = _interleaved(bench, child, bare, load, str(reply.status))
    wrong = sum(requests - outcome.statuses.get("200", 0) for outcome in outcomes)
    about = f"{path}, {len(reply.body)} bytes, {wrong} errors"
    return [Figure(name, "errors", wrong, "", "0", about), *ratio(name, ours_s, bare_s, target)]


def _small_resource(api: Api) -> str:
    for fabric in api.fabrics():
        collection = api.collection_of(fabric, "Endpoints")
        members = api.members(collection) if collection else []
        return members[0] if members else fabric
    return api.root


def get_cached(bench: Bench) -> list[Figure]:
    """GET of one small resource by session token, plain and over TLS."""
    figures = []
    for tls in (False, True):
        with bench.launcher.serve(tls=tls) as child:
            name = f"get {'tls' if tls else 'plain'}"
            path = _small_resource(Api(child))
            figures += _get_row(bench, name, child, path, bench.requests, _GET_TARGET)
    return figures


def get_collection(bench: Bench) -> list[Figure]:
    """GET of the largest collection of Endpoints there is."""
    with bench.launcher.serve("--topology", bench.crowd) as child:
        # Of what is charged to requests, the rest of the start is no part.
        if not child.wait_calm():
            return [missing("collection", "ratio", "the start never ended", _COLLECTION_TARGET)]
        api = Api(child)
        links = [api.collection_of(fabric, "Endpoints") for fabric in api.fabrics()]
        sizes = {uri: len(api.members(uri)) for uri in links if uri}
        if not sizes:
            return [missing("collection", "ratio", "no Endpoints collection", _COLLECTION_TARGET)]
        path = max(sizes, key=lambda uri: sizes[uri])
        requests = max(1, bench.requests // 10)
        count = Figure("collection", "members", sizes[path], "", ">= 10000")
        return [
            count,
            *_get_row(bench, "collection", child, path, requests, _COLLECTION_TARGET),
        ]


def post_zone(bench: Bench) -> list[Figure]:
    """Durable POST of a zone by 16 writers, on SQLite with its flushes; how often it flushed."""
    with bench.launcher.serve(state=bench.folder / "zones") as child:
        api = Api(child)
        zones = [api.collection_of(fabric, "Zones") for fabric in api.fabrics()]
        path = next((uri for uri in zones if uri), None)
        if path is None:
            return [missing("post zone", "ratio", "no Zones collection", _POST_TARGET)]
        body = json.dumps({"Name": f"bench {NUMBER.decode()}", "ZoneType": "ZoneOfEndpoints"})
        reply = api.ask("POST", path, body.encode())
        if reply.status != 201:
            note = f"POST answered {reply.status}"
            return [missing("post zone", "ratio", note, _POST_TARGET)]
        before = _sync_counters(api)
        requests = max(_WRITERS, bench.requests // 5)
        load = Load(0, False, requests, _WRITERS, "POST", path, api.headers, body)
        with bench.bare("post-zone", reply, tls=False) as bare:
            ours_s, bare_s, outcomes = _interleaved(bench, child, bare, load, "201")
        return [
            *ratio("post zone", ours_s, bare_s, _POST_TARGET),
            *_latencies(outcomes, requests),
            _syncs_per_commit(before, _sync_counters(api)),
        ]


def _latencies(outcomes: list[Outcome], requests: int) -> list[Figure]:
    errors = sum(requests - outcome.statuses.get("201", 0) for outcome in outcomes)
    return [
        Figure("post zone", "errors", errors, "", "0"),
        Figure("post zone", "latency p50", outcomes[-1].p50_ms, "ms"),
        Figure("post zone", "latency p99", outcomes[-1].p99_ms, "ms"),
    ]


def _sync_counters(api: Api) -> tuple[float | None, float | None]:
    return (
        api.counter("redfish_fm_commits_total"),
        # one store transaction is one fsync
        api.counter("redfish_fm_store_transactions_total"),
    )


def _syncs_per_commit(
    before: tuple[float | None, float | None], after: tuple[float | None, float | None]
) -> Figure:
    row, what, target = "post zone", "fsyncs per commit", "<= 0.25"
    if None in before or None in after:
        return missing(row, what, "no commit and transaction counters at /metrics", target)
    commits, syncs = (
        (end or 0.0) - (start or 0.0) for start, end in zip(before, after, strict=True)
    )
    if commits <= 0:
        return missing(row, what, "no commit was counted", target)
    return Figure(row, what, round(syncs / commits, 3), "", target, f"{commits:g} commits")


def compose(bench: Bench) -> list[Figure]:
    """Compose a host with 8 GPUs and 2 TiB, in a rack and in the big topology."""
    figures = []
    for topology, modules in ((_POD, 1), (bench.scale, 4)):
        name = topology.partition(":")[0]
        state = bench.folder / name
        with bench.launcher.serve("--topology", topology, state=state) as child:
            child.wait_calm()
            figures += composed(Api(child), f"compose {name}", modules, state, bench.rounds)
    return figures


def start(bench: Bench) -> list[Figure]:
    """Start with the big topology and the state of an earlier start.

    The first look at so much goes on after "ready": what it costs, and takes, is told by itself.
    """
    state = bench.folder / "state"
    with bench.launcher.serve("--topology", _TINY) as child:
        # What is there without resources is not charged to them. And Python has its bytecode now,
        # as after an installation.
        empty = child.rss_bytes()
    with bench.scaled(state) as child:
        first = Figure("start", "CPU, first start", round(child.cpu_at_ready_s, 3), "s")
    with bench.scaled(state) as child:
        rss = child.rss_bytes()
        resources = Api(child).counter("redfish_fm_resources")
        again = Figure(
            "start", "CPU, existing state", round(child.cpu_at_ready_s, 3), "s", "<= 3 s"
        )
        child.wait_calm()
        looked = [
            Figure("start", "CPU, first look over", round(child.cpu_s(), 3), "s"),
            Figure("start", "RSS, first look over", round(child.rss_bytes() / 2**20, 1), "MiB"),
        ]
    memory = Figure("start", "RSS", round(rss / 2**20, 1), "MiB")
    what, target = "RSS per resource", "<= 4 KiB"
    if not resources:
        per = missing("start", what, "no redfish_fm_resources at /metrics", target)
    else:
        size = (rss - empty) / resources / 1024
        per = Figure("start", what, round(size, 2), "KiB", target, f"{resources:g} resources")
    return [first, again, memory, per, *looked]


def idle(bench: Bench) -> list[Figure]:
    """Resident memory per idle connection, plain and TLS.

    With little else in it: what a big start has let go of would hold the connections for nothing.
    """
    figures = []
    for tls, target in ((False, "< 16 KiB"), (True, "< 64 KiB")):
        with bench.launcher.serve("--topology", _TINY, tls=tls) as child:
            per_round = min(_IDLE_TOTAL // (bench.rounds + 1), bench.requests)
            held = idle_bytes(child, per_round, bench.rounds)
        what = f"idle {'tls' if tls else 'plain'}"
        figures.append(Figure("connection", what, round(held / 1024, 1), "KiB", target))
    return figures


def events(bench: Bench) -> list[Figure]:
    """Durable POST of a zone with 20 subscribers to events, against the same without any."""
    requests = max(_WRITERS, bench.requests // 5)
    return events_row(bench.launcher, bench.folder, bench.rounds, requests)


def streams(bench: Bench) -> list[Figure]:
    """Memory of a silent event stream, and how soon a thousand hear of a change."""
    return streams_row(bench.launcher, bench.folder, bench.rounds, min(STREAMS, bench.requests))


def poll(bench: Bench) -> list[Figure]:
    """One look at a CXL switch over the FM API."""
    return poll_row(bench.rounds, bench.requests)


ROWS: dict[str, Callable[[Bench], list[Figure]]] = {
    "get": get_cached,
    "collection": get_collection,
    "zone": post_zone,
    "compose": compose,
    "start": start,
    "idle": idle,
    "events": events,
    "streams": streams,
    "poll": poll,
}
"""By the name that `--row` takes, in the order of the table."""


def run(bench: Bench, name: str) -> list[Figure]:
    """Run one row; a service that can not do it yet leaves a line that says so."""
    try:
        return ROWS[name](bench)
    except (ChildFailed, RuntimeError, OSError, KeyError, ValueError) as error:
        return [missing(name, "-", f"{type(error).__name__}: {error}")]

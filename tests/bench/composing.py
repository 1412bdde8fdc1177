"""What a composition costs, as the client who asks for it sees it."""

import contextlib
import json
import sqlite3
import time
from pathlib import Path
from statistics import median

from .api import Api
from .load import quantile_ms
from .report import Figure, missing

_GPUS, _MEMORY_MIB = 8, 2 << 20
_TARGET = "<= 2"
_GONE_S = 30.0
"""What a decomposition may take whose answer does not wait for it."""
_OBSERVED = "observe"
"""The actor of what is told because it was seen, whoever composes."""


def composed(api: Api, row: str, modules: int, state: Path, count: int) -> list[Figure]:
    """Compose and decompose `count` times, the memory in so many `modules`; return the figures."""
    systems = f"{api.root}/Systems"
    body = json.dumps(_wish(modules)).encode()
    times_s, commits, errors = [], [], 0
    for _ in range(count):
        before, begun_s = commits_of(api, state), time.perf_counter()
        reply = api.ask("POST", systems, body)
        times_s.append(time.perf_counter() - begun_s)
        if reply.status != 201:
            return [missing(row, "latency p50", f"POST answered {reply.status}")]
        commits.append(commits_of(api, state) - before)
        errors += not _decomposed(api, reply.headers["Location"])
    times_s.sort()
    note = f"{_GPUS} GPUs and {_MEMORY_MIB >> 20} TiB, {count} times"
    return [
        Figure(row, "errors", errors, "", "0"),
        Figure(row, "latency p50", quantile_ms(times_s, 0.5), "ms", "", note),
        Figure(row, "latency p99", quantile_ms(times_s, 0.99), "ms"),
        Figure(row, "commits", median(commits), "", _TARGET, f"at most {max(commits):g}"),
    ]


def _wish(modules: int) -> dict[str, object]:
    gpus = {"@Redfish.RequestedCount": _GPUS, "ProcessorType": "GPU"}
    memory = {"@Redfish.RequestedCount": modules, "CapacityMiB": _MEMORY_MIB // modules}
    return {
        "Name": "bench",
        "Processors": {"Members": [gpus]},
        "Memory": {"Members": [memory]},
    }


def commits_of(api: Api, state: Path) -> float:
    """Return how many changes there were, but for what was only seen, where the store tells."""
    database = state / "state.db"
    if not database.exists():
        return api.counter("redfish_fm_commits_total") or 0.0
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        found = db.execute("SELECT count(*) FROM feed WHERE actor <> ?", (_OBSERVED,))
        return float(found.fetchone()[0])


def _decomposed(api: Api, system: str) -> bool:
    """Delete the system; return whether it went, so that the next one finds the same place."""
    reply = api.ask("DELETE", system)
    end_s = time.monotonic() + _GONE_S
    while reply.status == 202 and api.get(system) and time.monotonic() < end_s:
        time.sleep(0.1)
    return reply.status == 204 or (reply.status == 202 and not api.get(system))

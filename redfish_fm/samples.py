"""What /metrics shows of a running service, read when it is asked for (docs/metrics.md).

A part of the composition root. Base units, as Prometheus has them: seconds and bytes. Labels have
as many values as there are fabrics, routes or kinds, never as many as clients can make.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from redfish_fm.control.kernel import Kernel
from redfish_fm.control.reconcile import FabricLoop
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.mapping.block_status import pool_counts
from redfish_fm.mapping.uris import SUBSCRIPTIONS
from redfish_fm.own_events import OwnEvents
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.identity import Identity
from redfish_fm.server.http import HttpServer
from redfish_fm.server.metrics import Metrics, Sample

_MIB = 1 << 20


def metrics_of(
    kernel: Kernel,
    store: Any,
    identity: Identity,
    events: OwnEvents,
    server: Callable[[], HttpServer],
) -> Metrics:
    """Return what answers GET /metrics; parts add what they count to its `sources`."""
    return Metrics(
        KernelSamples(kernel, store, lambda: identity.sessions.open_count).read,
        lambda: event_samples(events),
        lambda: server_samples(server()),
    )


def server_samples(server: HttpServer) -> Iterator[Sample]:
    """Yield what the HTTP server counts."""
    for cell in server.counts.cells():
        labels = {"route": cell.route, "method": cell.method, "status": cell.status}
        yield Sample("redfish_fm_http_requests_total", "Requests answered", cell.count, labels)
        yield Sample(
            "redfish_fm_http_request_seconds_total",
            "Time from the head of a request to its answer",
            cell.seconds,
            labels,
        )
    running = server.requests_total - server.counts.total
    yield Sample("redfish_fm_http_requests_running", "Requests without an answer yet", running)
    yield Sample("redfish_fm_failed_requests_total", "Defects of ours: 500", server.failures_total)
    yield Sample("redfish_fm_connections", "Connections being served", server.connections)


def event_samples(events: OwnEvents) -> Iterator[Sample]:
    """Yield what became of events."""
    told = events.subscriptions
    for name, text, value in (
        ("redfish_fm_events_total", "Events made of what happened", events.stream.made),
        ("redfish_fm_events_delivered_total", "Events taken by receivers", told.events_delivered),
        ("redfish_fm_event_delivery_failures_total", "Attempts that failed", told.failures),
        ("redfish_fm_event_streams", "Streams of events that are open", events.streams.open_now),
        (
            "redfish_fm_events_streamed_total",
            "Events sent on streams",
            events.streams.sent_total,
        ),
        (
            "redfish_fm_event_receivers_failing",
            "Receivers that do not take what is sent",
            told.waiting,
        ),
    ):
        yield Sample(name, text, value)


class KernelSamples:
    """Reads what the kernel and its store count; `sessions` tells how many there are."""

    def __init__(self, kernel: Kernel, store: Any, sessions: Callable[[], int]) -> None:
        self._kernel = kernel
        self._store = store
        self._sessions = sessions
        self._pools: tuple[int, list[Sample]] = (-1, [])

    def read(self) -> Iterator[Sample]:
        """Yield everything as it is now."""
        state = self._kernel.published.state
        count = len(state.base.documents) + len(state.spaces[Space.DOCUMENT])
        yield Sample("redfish_fm_resources", "Resources that are served", count)
        yield from self._stored()
        for fabric, loop in sorted(self._kernel.loops.items()):
            yield from _of_fabric(loop, {"fabric": fabric})
        if self._kernel.power is not None:
            unknown, text = self._kernel.power.unknown, "Commands to BMCs without an answer"
            yield Sample("redfish_fm_power_commands_unknown_total", text, unknown)
        yield from self._tasks()
        subscriptions = len(state.members.get(SUBSCRIPTIONS, ()))
        yield Sample("redfish_fm_event_subscriptions", "EventDestinations", subscriptions)
        yield Sample("redfish_fm_sessions", "Sessions that are open", self._sessions())
        if self._pools[0] != state.seq:
            # Costs all blocks and pools: once for each state that is scraped.
            self._pools = (state.seq, [*_of_pools(state.index)])
        yield from self._pools[1]

    def _stored(self) -> Iterator[Sample]:
        store, writer = self._store, self._kernel.writer
        ready = 1.0 if writer.halted is None and writer.refusing is None else 0.0
        for name, text, value in (
            ("redfish_fm_commits_total", "Changes committed", store.commits),
            ("redfish_fm_store_transactions_total", "Store transactions", store.transactions),
            (
                "redfish_fm_store_flush_seconds_total",
                "Time in COMMIT, which flushes to the device",
                store.flush_seconds,
            ),
            ("redfish_fm_failed_batches_total", "Batches not stored", writer.failed_batches),
            ("redfish_fm_store_writable", "1: the newest change was stored", ready),
        ):
            yield Sample(name, text, value)

    def _tasks(self) -> Iterator[Sample]:
        counts: dict[str, int] = {"running": 0, "ended": 0}
        for operation in self._kernel.published.state.operations.values():
            counts["running" if operation.open else "ended"] += 1
        for state, count in counts.items():
            yield Sample("redfish_fm_tasks", "Tasks that are remembered", count, {"state": state})


def _of_fabric(loop: FabricLoop, fabric: Mapping[str, str]) -> Iterator[Sample]:
    for name, text, value in (
        ("redfish_fm_observations_total", "Looks at a fabric", loop.cycles),
        ("redfish_fm_observations_failed_total", "Looks without an answer", loop.unanswered),
        ("redfish_fm_observation_age_seconds", "Since the last look with an answer", loop.unseen_s),
        (
            "redfish_fm_reconcile_lag_seconds",
            "For how long the oldest open operation has waited for hardware",
            loop.lag_s,
        ),
        ("redfish_fm_isolation_violations", "Violations as last seen", len(loop.violations)),
        ("redfish_fm_foreign_bindings", "Bindings of others, as last seen", len(loop.foreign)),
    ):
        yield Sample(name, text, value, fabric)
    for (step, outcome), count in sorted(loop.calls.items()):
        labels = {**fabric, "step": step, "outcome": outcome}
        yield Sample("redfish_fm_driver_steps_total", "Steps given to a driver", count, labels)


def _of_pools(index: FabricIndex) -> Iterator[Sample]:
    yield Sample("redfish_fm_compositions", "Systems of blocks", len(index.compositions))
    yield Sample("redfish_fm_reservations", "Reservations of blocks", len(index.reservations))
    for (kind, pool), count in sorted(pool_counts(index).items()):
        labels = {"type": kind, "pool": pool}
        yield Sample("redfish_fm_resource_blocks", "Resource blocks by pool", count, labels)
    for (kind, use), mib in sorted(_capacity(index).items()):
        labels = {"kind": kind, "use": use}
        text = "Capacity that is cut into parts on demand"
        yield Sample("redfish_fm_capacity_bytes", text, float(mib) * _MIB, labels)


def _capacity(index: FabricIndex) -> dict[tuple[str, str], int]:
    """Return how many MiB are used and free, by what they are cut into."""
    sources = [
        *((pool.kind.value, pool.id, pool.capacity_mib) for pool in index.pools.values()),
        *(
            ("Chunk", domain.id, domain.capacity_mib)
            for domain in index.domains.values()
            if domain.pool is None
        ),
    ]
    found: dict[tuple[str, str], int] = {}
    for kind, origin, size in sources:
        used = index.cut_mib(origin)
        for use, mib in (("used", used), ("free", max(0, size - used))):
            found[kind, use] = found.get((kind, use), 0) + mib
    return found

"""What /metrics shows of a running service, read when it is asked for."""

from typing import Any

from redfish_fm.control.kernel import Kernel
from redfish_fm.redfish.changes import Space
from redfish_fm.server.http import HttpServer
from redfish_fm.server.metrics import Sample


def server_samples(server: HttpServer) -> list[Sample]:
    """Return what the HTTP server counts."""
    return [
        Sample("redfish_fm_requests_total", "Requests", server.requests_total),
        Sample("redfish_fm_failed_requests_total", "Defects of ours: 500", server.failures_total),
    ]


def kernel_samples(kernel: Kernel, store: Any) -> list[Sample]:
    """Return what the kernel and its store count."""
    loops = kernel.loops
    state = kernel.published.state
    count = len(state.base.documents) + len(state.spaces[Space.DOCUMENT])
    return [
        Sample("redfish_fm_resources", "Resources that are served", count),
        Sample("redfish_fm_commits_total", "Changes committed", store.commits),
        Sample("redfish_fm_store_transactions_total", "Store transactions", store.transactions),
        Sample("redfish_fm_failed_batches_total", "Failed batches", kernel.writer.failed_batches),
        *(
            Sample(name, text, value, {"fabric": fabric})
            for fabric, loop in loops.items()
            for name, text, value in (
                ("redfish_fm_observations_total", "Looks at a fabric", loop.cycles),
                ("redfish_fm_steps_rejected_total", "Steps hardware refused", loop.rejected),
                ("redfish_fm_steps_unknown_total", "Steps of unknown outcome", loop.unknown),
                ("redfish_fm_isolation_violations", "As last seen", len(loop.violations)),
                ("redfish_fm_foreign_bindings", "As last seen", len(loop.foreign)),
            )
        ),
    ]

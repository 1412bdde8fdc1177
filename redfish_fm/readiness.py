"""Whether the service is ready for requests, and what is in the way: GET /readyz.

A part of the composition root. Ready: the store takes changes, and every fabric, and the hosts
where anybody drives them, have been looked at and answer. A switch of a fabric that does not answer
while others do is no reason to send requests elsewhere; it is named all the same.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from redfish_fm.control.kernel import Kernel
from redfish_fm.redfish.requests import Response


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that is not as it should be."""

    part: str
    """"store", "hosts" or "fabric ID"."""
    reason: str


def readiness(kernel: Kernel) -> Response:
    """Return the answer to a probe: 200, or 503 naming what is not ready."""
    missing, degraded = [*_missing(kernel)], [*_degraded(kernel)]
    body = {
        "status": "not ready" if missing else "ready",
        "notReady": [{"part": each.part, "reason": each.reason} for each in missing],
        "degraded": [{"part": each.part, "reason": each.reason} for each in degraded],
    }
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    if missing:
        headers["Retry-After"] = "1"
    return Response(503 if missing else 200, headers, json.dumps(body).encode())


def _missing(kernel: Kernel) -> Iterator[Reason]:
    writer = kernel.writer
    if writer.halted is not None:
        yield Reason("store", writer.halted)
    elif writer.refusing is not None:
        yield Reason("store", f"the newest change was not stored: {writer.refusing}")
    for fabric, loop in sorted(kernel.loops.items()):
        if loop.answers is False:
            yield Reason(f"fabric {fabric}", "does not answer")
        elif not loop.first_observed.is_set():
            yield Reason(f"fabric {fabric}", "not looked at yet")
    if kernel.power is not None and not kernel.power.first_observed.is_set():
        yield Reason("hosts", "not looked at yet")


def _degraded(kernel: Kernel) -> Iterator[Reason]:
    for fabric, loop in sorted(kernel.loops.items()):
        if loop.answers and loop.trouble is not None:
            yield Reason(f"fabric {fabric}", loop.trouble)
    if kernel.power is not None and kernel.power.trouble is not None:
        yield Reason("hosts", kernel.power.trouble)

"""What the operating system allows this process: files, and pictures of its memory.

Knows `resource`, and what a server asks of it.
"""

import logging
import resource

from redfish_fm.server.handshakes import ACCEPTED_AT_ONCE, HANDSHAKES_MAX
from redfish_fm.server.limits import REDIRECTS, Limits

_log = logging.getLogger(__name__)

FILES_BESIDE = HANDSHAKES_MAX + ACCEPTED_AT_ONCE + REDIRECTS.connections + 128
"""Files that are no served connection: unfinished handshakes, as many as one round of accept adds
to them, those that are led to HTTPS, and what the service has open: store, listeners, logs."""

_CONNECTIONS_MIN = 64


def usual_limits(body_bytes: int, wanted: int | None = None) -> Limits:
    """Return a server's limits, with the connections wanted, as many as this process may have."""
    usual = Limits()
    connections = allow_connections(usual.connections if wanted is None else wanted)
    return Limits(
        body_bytes=body_bytes,
        bodies_bytes=max(usual.bodies_bytes, 2 * body_bytes),
        connections=connections,
        # An eighth is left for others, as usual.
        connections_per_peer=connections - connections // 8,
    )


def allow_connections(wanted: int) -> int:
    """Raise the number of files this process may open; return how many connections that allows.

    Only as far as its hard limit goes. Never less than a few, for a service has to answer.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = wanted + FILES_BESIDE
    if soft == resource.RLIM_INFINITY or soft >= files:
        return wanted
    if hard != resource.RLIM_INFINITY:
        files = min(files, hard)
    if files > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    allowed = max(_CONNECTIONS_MIN, files - FILES_BESIDE)
    if allowed < wanted:
        _log.warning("%d files may be open: %d connections instead of %d", files, allowed, wanted)
    return min(allowed, wanted)


def keep_no_core() -> None:
    """Have no core dump written: it would hold private keys, and passwords being checked."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))

"""What a connection costs that is open and silent."""

import asyncio
import ssl
from itertools import pairwise
from statistics import median

from .children import Child

_REQUEST = b"GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n"
_SETTLE_S = 0.1


def idle_bytes(child: Child, per_round: int, rounds: int) -> float:
    """Return resident bytes of the server per idle connection, each having asked once.

    Every round opens `per_round` more and keeps all: a closed connection's memory stays with the
    allocator and would make the next round look free. A first round warms up and is left out.
    """
    return asyncio.run(_measure(child, per_round, rounds))


async def _measure(child: Child, per_round: int, rounds: int) -> float:
    context = None
    if child.tls:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    writers: list[asyncio.StreamWriter] = []
    sizes = []
    for _ in range(rounds + 1):
        for _ in range(per_round):
            writers.append(await _open(child.port, context))
        await asyncio.sleep(_SETTLE_S)
        sizes.append(child.rss_bytes())
    for writer in writers:
        writer.transport.abort()
    return median(later - earlier for earlier, later in pairwise(sizes)) / per_round


async def _open(port: int, context: ssl.SSLContext | None) -> asyncio.StreamWriter:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(_REQUEST)
    await reader.readuntil(b"}")
    return writer

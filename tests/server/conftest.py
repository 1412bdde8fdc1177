"""A server per test, closed after it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from redfish_fm.redfish.requests import Request, Response
from redfish_fm.server.http import HttpServer
from redfish_fm.server.limits import Limits
from redfish_fm.server.listener import bind, listen

from .wire import Handler, Served, echo, worded

Serve = Callable[..., Awaitable[Served]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    running: list[Served] = []
    problems: list[dict[str, Any]] = []
    # asyncio only logs what goes wrong in a protocol's callbacks
    asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))

    async def start(
        handler: Handler = echo, limits: Limits | None = None, context: Any = None, **more: Any
    ) -> Served:
        seen: list[Request] = []

        async def recorded(request: Request) -> Response:
            seen.append(request)
            return await handler(request)

        server = HttpServer(recorded, worded, limits=limits, **more)
        listener = await listen(server, await bind("127.0.0.1", 0, plain=context is None), context)
        running.append(Served(server, listener, seen))
        return running[-1]

    yield start
    for served in running:
        await served.stop()
    assert problems == []

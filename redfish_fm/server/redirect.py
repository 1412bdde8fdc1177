"""Plain HTTP that only leads to HTTPS: it serves no resource and takes no credential.

What reads is redirected with 308; everything else is refused with 403, since a client that sends
it has already sent its secrets in the clear, and shall notice. Knows HTTP, no Redfish.
"""

import re
from collections.abc import Callable
from urllib.parse import quote, urlencode

from redfish_fm.clocks import Clock
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.server.http import HttpServer
from redfish_fm.server.limits import REDIRECTS
from redfish_fm.server.listener import Listener, ListenError, bind, listen

_READING = frozenset({"GET", "HEAD"})
_NAME = re.compile(r"(?P<name>[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?")
"""A Host that can stand in a URL as it is: nobody leads our clients elsewhere by another one."""
_SAFE = "/:@!$&'()*+,;=~"


class Redirect:
    """Listens on `host` and `port`, on and off, and leads to `https_port`.

    `refusal` words what is refused.
    """

    def __init__(
        self,
        host: str,
        port: int,
        https_port: int,
        refusal: Callable[[int], Response],
        clock: Clock,
    ) -> None:
        self._host = host
        self._port = port
        self._https_port = https_port
        self._refusal = refusal
        self._clock = clock
        self._server: HttpServer | None = None
        self._listener: Listener | None = None

    @property
    def listens(self) -> bool:
        """Whether it is on."""
        return self._listener is not None

    @property
    def port(self) -> int:
        """The port; 0 where a free one is to be picked and it was never on."""
        return self._port

    async def switch(self, on: bool) -> None:
        """Listen, or not. Raises ListenError where the port can not be had."""
        if on and self._listener is None:
            bound = await bind(self._host, self._port, plain=False)
            self._server = HttpServer(
                self.answer, self._refusal, limits=REDIRECTS, clock=self._clock
            )
            try:
                self._listener = await listen(self._server, bound, None)
            except ListenError:
                bound.close()
                raise
            # A free one was picked: it stays the one that is shown.
            self._port = bound.port
        elif not on and self._listener is not None:
            await self.close()

    async def close(self) -> None:
        """Stop listening and close what is connected. Safe to repeat."""
        listener, self._listener = self._listener, None
        server, self._server = self._server, None
        if listener is not None and server is not None:
            await listener.close()
            await server.stop(grace_s=0.0)

    async def answer(self, request: Request) -> Response:
        """Lead a reader to HTTPS; refuse everybody else."""
        if request.method not in _READING:
            return self._closing(403)
        host = _NAME.fullmatch(request.headers.get("host", ""))
        if host is None:
            return self._closing(400)
        path = quote(request.path, safe=_SAFE, errors="replace")
        query = f"?{urlencode(request.query, errors='replace')}" if request.query else ""
        location = f"https://{host['name']}:{self._https_port}{path}{query}"
        return Response(308, {"Location": location, "Cache-Control": "no-cache"})

    def _closing(self, status: int) -> Response:
        refused = self._refusal(status)
        return Response(status, {**refused.headers, "Cache-Control": "no-store"}, refused.body)

"""A request and a response, free of any HTTP library. Made by server, answered by Service."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol

from redfish_fm.redfish.client_certificates import ClientCertificate
from redfish_fm.values import value_class


@value_class
class Request:
    """One HTTP request after the transport has checked its framing.

    `path` is percent-decoded once and keeps no query; `query` keeps order and duplicates,
    decoded; `headers` has lower-case names, duplicates joined by ", ". `peer` is the client's
    address for the audit log. `body` is complete. `certificate` is what the client proved of
    itself when it connected, None where that is nothing.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    peer: str = ""
    tls: bool = True
    certificate: ClientCertificate | None = None


class Sink(Protocol):
    """Where a flow goes: the rest of one connection."""

    @property
    def behind(self) -> bool:
        """Whether the client has still to read what was sent, so that nothing more should be."""
        ...

    @property
    def over(self) -> bool:
        """Whether the client is gone, or the server stops."""
        ...

    def on_over(self, told: Callable[[], None]) -> None:
        """Have `told` called once when it is over; at once where it is already."""
        ...

    def send(self, data: bytes) -> None:
        """Send more. What is sent when it is over goes nowhere."""
        ...

    async def drained(self) -> None:
        """Return once the client has read enough, or it is over; one that never reads is cut."""
        ...


class Flow(Protocol):
    """What an answer goes on with, as long as it lasts."""

    async def run(self, sink: Sink) -> None:
        """Send until there is nothing more, or the sink is over."""
        ...


@value_class
class Response:
    """One HTTP response. `headers` in canonical case; Content-Length is the server's business.

    With a `flow`, it goes on after the body for as long as the flow wants, and ends with the
    connection.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    flow: Flow | None = None

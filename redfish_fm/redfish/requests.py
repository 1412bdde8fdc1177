"""A request and a response, free of any HTTP library. Made by server, answered by Service."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from redfish_fm.redfish.client_certificates import ClientCertificate


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response. `headers` in canonical case; Content-Length is the server's business."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

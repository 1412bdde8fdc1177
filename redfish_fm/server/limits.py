"""How much one client may ask of the server. Pure values; knows nothing of aiohttp."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds per request and per connection. Sizes in bytes, times in seconds.

    `read_timeout_s` bounds each of: the TLS handshake, a request's head from its first byte, and
    its whole body. `write_timeout_s` bounds how long a client may leave an answer unread.
    `idle_timeout_s` closes a connection kept alive without a request. `connections` bounds all of
    them together, `connections_per_peer` those from one address, so that one client (or one proxy)
    can not keep everybody else out; whoever is over either is told so by a 503. After a refusal
    that leaves a body unread, at most `linger_bytes` more are thrown away during `linger_s`, so
    that most clients still read the refusal before the connection closes.

    `head_bytes` bounds a whole head. Bodies are read before anybody is known, so those of more
    than `small_body_bytes` share `bodies_bytes` of memory; who finds it taken gets a 503.
    """

    body_bytes: int = 1 << 20
    uri_bytes: int = 8000
    header_field_bytes: int = 16 << 10
    header_count: int = 64
    head_bytes: int = 64 << 10
    small_body_bytes: int = 64 << 10
    bodies_bytes: int = 64 << 20
    connections: int = 1024
    connections_per_peer: int = 896
    read_timeout_s: float = 30.0
    write_timeout_s: float = 30.0
    idle_timeout_s: float = 75.0
    linger_s: float = 1.0
    linger_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        # aiohttp reports both excesses by the same exception; only its limit tells 414 from 431.
        if self.uri_bytes == self.header_field_bytes:
            raise ValueError("uri_bytes and header_field_bytes must differ")


REDIRECTS = Limits(body_bytes=64 << 10, connections=64, connections_per_peer=32)
"""Of the plain listener that only leads to HTTPS: nobody stays there."""

"""Event streams as a request asks for one: what it wants, and from where on. Pure.

DSP0266 "Server-sent events". A stream is read at the ServerSentEventUri, which is no resource: it
names the EventService, and whoever may read that may listen.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from redfish_fm.redfish import messages
from redfish_fm.redfish.auth import Principal
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.events import Position, position_of
from redfish_fm.redfish.filter_syntax import FilterError
from redfish_fm.redfish.query import filter_refusal
from redfish_fm.redfish.requests import Flow, Request
from redfish_fm.redfish.sse_filter import EVERYTHING, StreamFilter, Words, stream_filter

FILTER = "$filter"


@dataclass(frozen=True, slots=True)
class StreamWish:
    """Who wants to read which events; `after`: it has had all up to that one, None: begin now."""

    user_name: str
    peer: str
    filter: StreamFilter
    after: Position | None


@dataclass(frozen=True, slots=True)
class StreamDoor:
    """Where streams are opened. `uri` is read as a stream, `service` is the EventService it is of.

    `open` takes a wish and returns what the answer goes on with; it raises RedfishError (503)
    where there are too many, or events are switched off. `words` gives the values that a $filter
    may compare with at present.
    """

    uri: str
    service: str
    words: Callable[[], Words]
    open: Callable[[StreamWish], Awaitable[Flow]]


def stream_wish(request: Request, principal: Principal, words: Words) -> StreamWish:
    """Return what a GET of the stream asks for. Raises RedfishError (400, or 501 for OData that
    DSP0266 does not take over)."""
    others = [name for name, _ in request.query if name != FILTER]
    wrong = [messages.query_not_supported_on_resource()] if others else []
    texts = [value for name, value in request.query if name == FILTER]
    if len(texts) > 1:
        wrong.append(messages.query_combination_invalid())
    if wrong:
        raise RedfishError(400, tuple(wrong))
    found = EVERYTHING
    if texts:
        try:
            found = stream_filter(texts[0], words)
        except FilterError as error:
            raise filter_refusal(error, texts[0]) from None
    return StreamWish(principal.user_name, request.peer, found, _last_event(request.headers))


def _last_event(headers: Mapping[str, str]) -> Position | None:
    """Return what Last-Event-ID says; None also for an id that was none of ours."""
    return position_of(headers.get("last-event-id", "").strip())

"""Responses: every answer gets its headers here, and every refusal its one shape.

Knows no rule and makes no decision. A Response's body is the Representation's bytes, unchanged.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.bodies import limited
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.headers import JSON, ODATA_VERSION
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.requests import Flow, Response
from redfish_fm.redfish.targets import Target
from redfish_fm.redfish.view import Representation

_ALWAYS = {"OData-Version": ODATA_VERSION, "Cache-Control": "no-cache"}
_WITH_JSON = {**_ALWAYS, "Content-Type": JSON}

_TRANSPORT: Mapping[int, Message] = {
    400: messages.unrecognized_request_body(),
    405: messages.operation_not_allowed(),
    408: messages.operation_timeout(),
    413: messages.payload_too_large(),
    414: messages.invalid_uri("(longer than the limit)"),
    417: messages.header_invalid("Expect"),
    431: messages.header_invalid("(all together longer than the limit)"),
    500: messages.internal_error(),
    501: messages.operation_not_allowed(),
    503: messages.service_temporarily_unavailable("1"),
    505: messages.operation_not_allowed(),
}


class Answers:
    """Makes responses; keeps the headers that repeat.

    `further` are headers of a GET by URI; where our own have the name, ours are sent.
    """

    def __init__(
        self, registries: Registries, catalog: Catalog, further: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._further = further
        self._registries = registries
        self._catalog = catalog
        self._links: dict[str, dict[str, str]] = {}
        self._headers: dict[tuple[str, tuple[str, ...], str], dict[str, str]] = {}
        self._read_headers: dict[str, tuple[str, Mapping[str, str], Mapping[str, str]]] = {}

    def read(self, target: Target) -> Response:
        """Return a resource or document as a GET gives it."""
        found, base = target.shown, self._base(target)
        known = self._read_headers.get(found.uri)
        if known is None or known[0] != found.etag or known[1] is not base:
            if len(self._read_headers) >= _READ_MAX:
                self._read_headers.clear()
            known = self._read_headers[found.uri] = (found.etag, base, self._whole(found, base))
        return Response(200, known[2], found.body)

    def _whole(self, found: Representation, base: Mapping[str, str]) -> Mapping[str, str]:
        """Return the headers of a GET, kept and given again: nobody can change them."""
        headers = {**base, "ETag": found.etag}
        further = self._further.get(found.uri)
        if further is not None:
            own = {name.lower() for name in headers}
            headers |= {name: text for name, text in further.items() if name.lower() not in own}
        return MappingProxyType(headers)

    def not_modified(self, target: Target) -> Response:
        """Return 304: the client's copy is still good."""
        return Response(304, {**_ALWAYS, "ETag": target.shown.etag})

    def options(self, target: Target) -> Response:
        """Return which methods the target takes."""
        return Response(204, {**_ALWAYS, "Allow": ", ".join(target.allow)})

    def stream(self, media: str, flow: Flow | None) -> Response:
        """Return 200 with what goes on; without a flow, what a HEAD of it tells."""
        headers = {**_ALWAYS, "Content-Type": media}
        return Response(200, {**headers, "X-Accel-Buffering": "no"}, flow=flow)

    def no_content(self) -> Response:
        """Return 204."""
        return Response(204, _ALWAYS)

    def told(self, body: Mapping[str, Any]) -> Response:
        """Return 200 with what an action answers."""
        return Response(200, _WITH_JSON, encode(body))

    def resource(self, found: Representation) -> Response:
        """Return 200 with a changed resource."""
        return Response(200, self._described(found), found.body)

    def created(
        self, uri: str, found: Representation | None, further: Mapping[str, str] | None = None
    ) -> Response:
        """Return 201 with the new resource; with a message where it is gone already."""
        if found is None:
            info = [self._registries.render(messages.created())]
            headers = {**_WITH_JSON, "Location": uri, **(further or {})}
            return Response(201, headers, encode({_EXTENDED: info}))
        headers = self._described(found)
        headers["Location"] = uri
        if further is not None:
            headers |= further
        return Response(201, headers, found.body)

    def accepted(self, monitor: str, task: Representation | None, retry_after_s: int) -> Response:
        """Return 202: the work goes on; `task` is what shows it."""
        headers = {"Location": monitor, "Retry-After": str(retry_after_s)}
        if task is None:
            return Response(202, {**_ALWAYS, **headers})
        return Response(202, {**self._described(task), **headers}, task.body)

    def refusal(self, error: RedfishError) -> Response:
        """Return an error response, with so many reasons at most."""
        body = self._registries.error_body(tuple(limited([*error.messages])))
        return Response(error.status, {**_WITH_JSON, **error.headers}, body)

    def transport_refusal(self, status: int) -> Response:
        """Return the error response for what the server refuses before it makes a Request."""
        message = _TRANSPORT.get(status, messages.operation_failed())
        headers = {"Retry-After": "1"} if status == 503 else None
        return self.refusal(RedfishError(status, (message,), headers))

    def annotated(self, found: Representation, message: Message) -> Representation:
        """Return a resource whose body also carries a message."""
        document: dict[str, Any] = json.loads(found.body)
        document[_EXTENDED] = [self._registries.render(message)]
        body = encode(document)
        return replace(found, body=body)

    def _base(self, target: Target) -> dict[str, str]:
        key = (target.found.type_name, target.allow, target.media)
        headers = self._headers.get(key)
        if headers is None:
            headers = {
                **_ALWAYS,
                "Content-Type": target.media,
                "Allow": ", ".join(target.allow),
            }
            headers |= self._described_by(target.found.type_name)
            self._headers[key] = headers
        return headers

    def _described(self, found: Representation) -> dict[str, str]:
        return {**_WITH_JSON, "ETag": found.etag, **self._described_by(found.type_name)}

    def _described_by(self, type_name: str) -> dict[str, str]:
        """Return the Link to the published schema; types of makers have none that we know."""
        known = self._links.get(type_name)
        if known is None:
            info = self._catalog.types.get(type_name)
            known = {} if info is None else {"Link": f"<{info.schema_uri}>; rel=describedby"}
            self._links[type_name] = known
        return known


_READ_MAX = 1024
"""Headers of GETs kept, by URI; one map each, so that the server knows its rendered head again."""
_EXTENDED = "@Message.ExtendedInfo"

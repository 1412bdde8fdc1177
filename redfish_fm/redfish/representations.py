"""A document as a Representation, for the resources that the protocol itself keeps. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from redfish_fm.redfish import etag
from redfish_fm.redfish.view import Origin, Representation


def represent(uri: str, type_name: str, document: Mapping[str, Any]) -> Representation:
    """Return `document` as served at `uri`; its tags depend on its content only."""
    return represent_bytes(uri, type_name, encode(document))


def represent_bytes(
    uri: str, type_name: str, raw: bytes, content: bytes | None = None
) -> Representation:
    """Return the JSON object in `raw` as served at `uri`.

    Its tags depend on `content`, which has to differ where `raw` does; without it on all of `raw`.
    """
    wanted = etag.content_tag(raw if content is None else content)
    tag = etag.join(wanted, wanted)
    body = b'{"@odata.etag":' + encode(tag) + b"," + raw[1:]
    return Representation(uri, type_name, Origin.SERVICE, wanted, body, tag)


def encode(value: Any) -> bytes:
    """Return `value` as JSON without white space."""
    return msgspec.json.encode(value)

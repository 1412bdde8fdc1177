"""A document as a Representation, for the resources that the protocol itself keeps. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from redfish_fm.redfish import etag
from redfish_fm.redfish.view import Origin, Representation


def represent(uri: str, type_name: str, document: Mapping[str, Any]) -> Representation:
    """Return `document` as served at `uri`; its tags depend on its content only."""
    raw = encode(document)
    wanted = etag.content_tag(raw)
    tag = etag.join(wanted, wanted)
    body = b'{"@odata.etag":' + encode(tag) + b"," + raw[1:]
    return Representation(uri, type_name, Origin.SERVICE, wanted, body, tag)


def encode(value: Any) -> bytes:
    """Return `value` as JSON without white space."""
    return msgspec.json.encode(value)

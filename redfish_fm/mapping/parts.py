"""What writes of chunks and regions have in common: what can not be made, what hardware does.

Pure. A part is capacity cut out of a pool; the document is what is wanted, and its allocation is
made or given back by the operation of the commit (docs/decisions/0008).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from redfish_fm.fabric.values import Allocation
from redfish_fm.mapping.granting import Grant
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import OutcomeKind


def unable(
    document: Mapping[str, Any], able: Mapping[str, tuple[object, ...]]
) -> Iterator[Message]:
    """Yield a message for each property of `able` that has another value than it may have."""
    for name, values in able.items():
        value = document.get(name)
        if name in document and not any(value is each or value == each for each in values):
            yield incorrect(name, value)


def incorrect(name: str, value: object) -> Message:
    """Return the message for a value (400) that nobody could make true."""
    shown = value if isinstance(value, str) else json.dumps(value)
    return messages.property_value_incorrect(name.rsplit("/", 1)[-1], shown, f"#/{name}")


def made(
    uri: str, fabric: str, document: Mapping[str, Any], allocation: Allocation | None
) -> Grant:
    """Return the grant that makes a part, with what hardware has to allocate for it."""
    parts = () if allocation is None else (allocation,)
    return Grant(OutcomeKind.CREATED, uri, fabric, document, allocated=parts)


def given_back(uri: str, fabric: str, allocation: Allocation | None) -> Grant:
    """Return the grant that deletes a part; its capacity is scrubbed before it is free."""
    parts = () if allocation is None else (allocation,)
    return Grant(OutcomeKind.DELETED, uri, fabric, None, freed=parts)

"""What can be wrong with what an Endpoint says it connects: two hosts, or a host that is no device.

Pure. Redfish: Endpoint.v1_8_2. An endpoint brings one host to a zone or connection; a second one
would be named by it and judged by nobody.
"""

from collections.abc import Iterator
from typing import Any

from redfish_fm.fabric.values import Role
from redfish_fm.mapping.drafts import Tip
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.judging import Document
from redfish_fm.mapping.read import durable_names, entities_of, read_endpoint
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message


def wrong(uri: str, document: Document, tip: Tip) -> list[Message]:
    """Return everything wrong with the entities of the endpoint at `uri`."""
    return [
        *_two_hosts(uri, document, tip.facts),
        *_two_names(document, tip.facts),
        *_no_device(uri, document, tip),
    ]


def _two_hosts(uri: str, document: Document, facts: Facts) -> Iterator[Message]:
    """Tell each initiating entity that is another host than the first one, seen alone."""
    first: tuple[int, str] | None = None
    for n, entity in enumerate(entities_of(document)):
        host = read_endpoint(uri, {**document, "ConnectedEntities": [entity]}, facts).host
        if host is None or host == uri:
            continue  # no initiator, or one of which nothing is said
        if first is None:
            first = n, host
        elif host != first[1]:
            yield _against(f"ConnectedEntities/{n}", f"ConnectedEntities/{first[0]}")


def _two_names(document: Document, facts: Facts) -> Iterator[Message]:
    """Tell names within one place that mean two hosts: a host has one NQN."""
    places: list[tuple[str, Any]] = [
        (f"ConnectedEntities/{n}/Identifiers", entity)
        for n, entity in enumerate(entities_of(document))
        if entity.get("EntityRole") in ("Initiator", "Both")
    ]
    roles = {entity.get("EntityRole") for entity in entities_of(document)}
    if roles == {"Initiator"}:
        places.append(("Identifiers", document))
    for place, holder in places:
        first: tuple[int, str] | None = None
        for n, name in enumerate(durable_names(holder)):
            meant = facts.durable_hosts.get(name, name if name.startswith("NQN:") else None)
            if meant is None:
                continue
            if first is None:
                first = n, meant
            elif meant != first[1]:
                yield _against(f"{place}/{n}", f"{place}/{first[0]}")


def _no_device(uri: str, document: Document, tip: Tip) -> Iterator[Message]:
    """Tell a host that claims to be a device as well, where it has none to give."""
    endpoint = read_endpoint(uri, document, tip.facts)
    if endpoint.role is not Role.BOTH or any(unit in tip.index.units for unit in endpoint.units):
        return
    for n, entity in enumerate(entities_of(document)):
        if entity.get("EntityRole") == "Both":
            place = f"ConnectedEntities/{n}"
            yield _against(f"{place}/EntityRole", f"{place}/EntityLink")


def _against(name: str, other: str) -> Message:
    return messages.property_value_conflict(name, other, f"#/{name}", f"#/{other}")

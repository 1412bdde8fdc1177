"""Collections that a mockup's fabric needs to be managed, and does not have.

Pure. Recordings of agents know switches and endpoints only: their manager kept the rest. Where a
fabric that binds has neither Zones nor Connections, nothing could ever be granted on it, so an
empty collection of Connections is added. A fabric that has one of both is left as its maker meant
it.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.fabric.model import FabricKind
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.uris import CONNECTIONS, FABRIC, ZONES

_TYPE = "#ConnectionCollection.ConnectionCollection"


def completed(
    documents: Mapping[str, Mapping[str, Any]], facts: Facts, findings: list[Finding]
) -> dict[str, dict[str, Any]]:
    """Return the documents to add or to put in the place of others, by URI."""
    found: dict[str, dict[str, Any]] = {}
    for fabric in facts.fabrics:
        uri = FABRIC.format(fabric=fabric.id)
        place = CONNECTIONS.format(fabric=fabric.id)
        ways = {place, ZONES.format(fabric=fabric.id)}
        if fabric.kind is not FabricKind.BIND or not ways.isdisjoint(documents):
            continue
        found[uri] = {**documents[uri], "Connections": {"@odata.id": place}}
        found[place] = {"@odata.id": place, "@odata.type": _TYPE, "Name": "Connections"}
        text = "neither Zones nor Connections, so nothing could be granted: Connections are added"
        findings.append(Finding(FindingKind.COMPLETED, uri, text))
    return found

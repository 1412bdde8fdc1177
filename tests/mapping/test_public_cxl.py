"""What clients do to public-cxl: a legal zone, a second host, an unknown endpoint."""

from pathlib import Path
from typing import Any

import pytest

from redfish_fm.mapping.drafts import TakeBack
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import CXL, MemoryTip, imported_tip, links, mockup, zone_body

ENDPOINTS = f"{CXL}/Endpoints"
I1, I4, T1, T2, T5 = (f"{ENDPOINTS}/{name}" for name in ("I1", "I4", "T1", "T2", "T5"))
NOWHERE = f"{ENDPOINTS}/none"


@pytest.fixture(scope="module")
def documents(shared: Path) -> dict[str, dict[str, Any]]:
    return mockup(shared, "public-cxl")


@pytest.fixture
def tip(documents: dict[str, dict[str, Any]]) -> MemoryTip:
    return imported_tip(documents)


@pytest.fixture
def stranger(tip: MemoryTip) -> str:
    """An initiator of another host, known by its durable name only."""
    entity = {
        "EntityType": "Processor",
        "EntityRole": "Initiator",
        "Identifiers": [
            {
                "DurableName": "11111111-2222-4333-8444-555555555555",
                "DurableNameFormat": "UUID",
            }
        ],
    }
    return tip.post(ENDPOINTS, {"Name": "stranger", "ConnectedEntities": [entity]}).uri


def texts(error: RedfishError) -> str:
    return " ".join(" ".join((each.key, *each.args, *each.related)) for each in error.messages)


def refused(status: int, *names: str) -> Any:
    def matches(error: RedfishError) -> bool:
        assert error.status == status, texts(error)
        missing = [name for name in names if name not in texts(error)]
        assert not missing, texts(error)
        return True

    return pytest.raises(RedfishError, check=matches)


def test_a_zone_of_i1_and_t5_is_legal_and_binds_nothing(tip: MemoryTip) -> None:
    draft = tip.post(f"{CXL}/Zones", zone_body(I1, T5))
    assert (draft.kind, draft.operation) == (OutcomeKind.CREATED, None)
    document = tip.document(draft.uri)
    assert document is not None
    assert document["ZoneType"] == "ZoneOfEndpoints"


def test_a_connection_to_the_chunk_of_t5_binds_its_ld(tip: MemoryTip) -> None:
    tip.post(f"{CXL}/Zones", zone_body(I1, T5))
    chunk = "/redfish/v1/Chassis/CXLType3/MemoryDomains/1/MemoryChunks/1"
    body = {
        "ConnectionType": "Memory",
        "MemoryChunkInfo": [
            {"AccessCapabilities": ["Read", "Write"], "MemoryChunk": {"@odata.id": chunk}}
        ],
        "Links": {"InitiatorEndpoints": links(I1), "TargetEndpoints": links(T5)},
    }
    draft = tip.post(f"{CXL}/Connections", body)
    assert draft.operation is not None
    (granted,) = draft.operation.granted
    assert (granted.target.port, granted.target.ld) == ("D4", 1)
    assert draft.operation.take_back is TakeBack.DELETE
    released = tip.delete(draft.uri).operation
    assert released is not None
    assert released.released == (granted,)


def test_a_second_host_is_refused_by_post(tip: MemoryTip, stranger: str) -> None:
    with refused(409, T1, f"{CXL}/Zones/1", "Base.ResourceInUse"):
        tip.post(f"{CXL}/Zones", zone_body(stranger, T1))


def test_a_second_host_is_refused_by_patch(tip: MemoryTip, stranger: str) -> None:
    with refused(409, stranger):
        tip.patch(f"{CXL}/Zones/1", zone_body(I1, T1, f"{ENDPOINTS}/1", stranger))


def test_a_second_host_is_refused_by_add_endpoint(tip: MemoryTip, stranger: str) -> None:
    zone = tip.post(f"{CXL}/Zones", zone_body(stranger)).uri
    with refused(409, T1, f"{CXL}/Zones/1", "#/Endpoint"):
        tip.act(zone, "Zone.AddEndpoint", Endpoint={"@odata.id": T1}, ZoneETag="", EndpointETag="")


def test_another_initiator_of_the_same_host_does_not_get_a_taken_unit(tip: MemoryTip) -> None:
    with refused(409, T2, f"{CXL}/Zones/2"):
        tip.post(f"{CXL}/Zones", zone_body(I4, T2))


def test_an_unknown_endpoint_is_refused_by_post(tip: MemoryTip) -> None:
    before = dict(tip.documents)
    with refused(400, NOWHERE, "Base.ResourceMissingAtURI"):
        tip.post(f"{CXL}/Zones", zone_body(I1, NOWHERE))
    assert tip.documents == before


def test_an_unknown_endpoint_is_refused_by_patch(tip: MemoryTip) -> None:
    with refused(400, NOWHERE):
        tip.patch(f"{CXL}/Zones/1", zone_body(I1, T1, NOWHERE))


def test_an_unknown_endpoint_is_refused_by_add_endpoint(tip: MemoryTip) -> None:
    with refused(400, NOWHERE, "#/Endpoint"):
        tip.act(f"{CXL}/Zones/1", "Zone.AddEndpoint", Endpoint=NOWHERE)


def test_an_unknown_endpoint_wins_over_a_taken_one_and_both_are_told(
    tip: MemoryTip, stranger: str
) -> None:
    with refused(400, NOWHERE, T1):
        tip.post(f"{CXL}/Zones", zone_body(stranger, T1, NOWHERE))


def test_a_connection_without_common_zone_is_refused(tip: MemoryTip) -> None:
    body = {
        "ConnectionType": "Memory",
        "Links": {"InitiatorEndpoints": links(I1), "TargetEndpoints": links(T2)},
    }
    with refused(409, T2):
        tip.post(f"{CXL}/Connections", body)


def test_a_stranger_with_the_durable_name_of_a_known_host_is_that_host(tip: MemoryTip) -> None:
    entity = {
        "EntityType": "Processor",
        "EntityRole": "Initiator",
        "Identifiers": [
            {
                "DurableName": "86d53a7b-d29a-3287-ba23-ef43a27bc6b9",
                "DurableNameFormat": "UUID",
            }
        ],
    }
    uri = tip.post(ENDPOINTS, {"ConnectedEntities": [entity]}).uri
    assert tip.index.endpoints[uri].host == "/redfish/v1/Systems/CXL-System"


def test_endpoint_one_keeps_its_three_zones(tip: MemoryTip) -> None:
    assert tip.index.zones_of(f"{ENDPOINTS}/1") == {f"{CXL}/Zones/{n}" for n in (1, 2, 3)}

"""Connections: what must be named, what contradicts itself, whole units, volumes by action."""

from typing import Any

import pytest

from redfish_fm.fabric.model import BindTarget
from redfish_fm.fabric.values import Binder, Unit, Volume
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_tip, links, zone_body
from tests.mapping.test_writes import (
    CHUNK0,
    CHUNK1,
    CONNECTIONS,
    GPU,
    H1,
    LD0,
    LD1,
    POD,
    ZONES,
    connection_body,
    refusal,
)

STORAGE = "/redfish/v1/Storage/s"
SUBSYSTEM = f"{POD}/Endpoints/sub"
VOLUMES = [f"{STORAGE}/Volumes/{number}" for number in (1, 2)]


@pytest.fixture
def tip() -> MemoryTip:
    tip = a_tip()
    tip.post(ZONES, zone_body(H1, LD0, LD1))
    return tip


def told(tip: MemoryTip, body: dict[str, Any]) -> list[tuple[str, ...]]:
    """POST a connection that is refused with 400; return (key, pointers) of every message."""
    before = dict(tip.documents)
    with pytest.raises(RedfishError) as caught:
        tip.post(CONNECTIONS, body)
    assert (caught.value.status, tip.documents) == (400, before)
    return [(each.key.removeprefix("Base."), *each.related) for each in caught.value.messages]


def rows(name: str, link: str, uri: str, **more: Any) -> dict[str, Any]:
    return {name: [{link: {"@odata.id": uri}, **more}]}


def ends(**sides: str) -> dict[str, Any]:
    return {"Links": {name: links(uri) for name, uri in sides.items()}}


BOTH = ends(InitiatorEndpoints=H1, TargetEndpoints=LD0)
CHUNK = rows("MemoryChunkInfo", "MemoryChunk", CHUNK0)


def test_a_connection_says_what_kind_it_is(tip: MemoryTip) -> None:
    made = tip.post(CONNECTIONS, {**BOTH, **CHUNK, "ConnectionType": None}).uri
    assert tip.document(made)["ConnectionType"] == "Memory"  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("PropertyMissing", "#/Links/InitiatorEndpoints"),
              ("PropertyMissing", "#/Links/TargetEndpoints")]),
        ({**CHUNK, **ends(InitiatorEndpoints=H1)},
         [("PropertyMissing", "#/Links/TargetEndpoints"),
          ("PropertyValueResourceConflict", "#/MemoryChunkInfo/0/MemoryChunk")]),
        ({**BOTH, "MemoryChunkInfo": [{"AccessCapabilities": ["Read"]}]},
         [("PropertyMissing", "#/MemoryChunkInfo/0/MemoryChunk"),
          ("PropertyMissing", "#/MemoryChunkInfo")]),
        ({**BOTH, "MemoryChunkInfo": [None]},
         [("PropertyMissing", "#/MemoryChunkInfo/0/MemoryChunk"),
          ("PropertyMissing", "#/MemoryChunkInfo")]),
        ({**BOTH, **rows("MemoryChunkInfo", "MemoryChunk", CHUNK0, AccessCapabilities=[])},
         [("PropertyValueIncorrect", "#/MemoryChunkInfo/0/AccessCapabilities")]),
        ({**BOTH, **rows("MemoryRegionInfo", "MemoryRegion", "/none", AccessCapabilities=[None])},
         [("PropertyValueIncorrect", "#/MemoryRegionInfo/0/AccessCapabilities"),
          ("ResourceMissingAtURI", "#/MemoryRegionInfo/0/MemoryRegion")]),
        ({**BOTH, **CHUNK, "ConnectionType": "Storage"},
         [("PropertyValueConflict", "#/ConnectionType", "#/MemoryChunkInfo")]),
        ({**BOTH, **CHUNK, **rows("VolumeInfo", "Volume", VOLUMES[0], LUN=-1)},
         [("PropertyValueOutOfRange", "#/VolumeInfo/0/LUN"),
          ("PropertyValueConflict", "#/MemoryChunkInfo", "#/VolumeInfo"),
          ("ResourceMissingAtURI", "#/VolumeInfo/0/Volume")]),
        (BOTH, [("PropertyMissing", "#/MemoryChunkInfo")]),
        ({**ends(InitiatorEndpoints=H1), "ConnectionType": "Memory"},
         [("PropertyMissing", "#/Links/TargetEndpoints")]),
        ({**ends(InitiatorEndpoints=H1), "ConnectionType": "Storage"},
         [("PropertyMissing", "#/Links/TargetEndpoints", "#/VolumeInfo")]),
        ({**ends(InitiatorEndpoints=H1), "ConnectionType": "Storage", "VolumeInfo": []},
         [("PropertyMissing", "#/Links/TargetEndpoints", "#/VolumeInfo")]),
        ({"ConnectionType": "Storage"},
         [("PropertyMissing", "#/Links/InitiatorEndpoints"),
          ("PropertyMissing", "#/Links/TargetEndpoints", "#/VolumeInfo")]),
    ],
)  # fmt: skip
def test_everything_wrong_with_a_connection_is_told_at_once(
    tip: MemoryTip, body: dict[str, Any], expected: list[tuple[str, ...]]
) -> None:
    assert told(tip, body) == expected


def test_a_connection_without_rows_grants_the_whole_of_a_unit_that_binds_by_zone(
    tip: MemoryTip,
) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    bound = dict(tip.index.bindings)
    draft = tip.post(CONNECTIONS, ends(InitiatorEndpoints=H1, TargetEndpoints=GPU))
    assert draft.operation is None
    assert tip.index.bindings == bound
    with refusal(409, "Base.ResourceInUse", draft.uri):
        tip.delete(zone)


def test_a_connection_does_not_turn_into_another_kind(tip: MemoryTip) -> None:
    made = tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0)).uri
    with refusal(400, "Base.PropertyValueConflict", "#/ConnectionType", "#/VolumeInfo"):
        tip.patch(made, rows("VolumeInfo", "Volume", VOLUMES[0]))
    with refusal(400, "Base.PropertyMissing", "#/Links/InitiatorEndpoints"):
        tip.patch(made, {"Links": {"InitiatorEndpoints": []}})
    with refusal(400, "Base.PropertyValueIncorrect", "AccessCapabilities"):
        tip.patch(made, {"MemoryChunkInfo": [{"AccessCapabilities": []}]})
    tip.patch(made, {"MemoryChunkInfo": [{"AccessCapabilities": ["Read"]}]})
    tip.patch(made, {"MemoryChunkInfo": [{"AccessState": "Optimized"}]})
    row = tip.document(made)["MemoryChunkInfo"][0]  # type: ignore[index]
    assert (row["AccessCapabilities"], row["AccessState"]) == (["Read"], "Optimized")


def test_one_connection_moves_from_one_chunk_to_another(tip: MemoryTip) -> None:
    made = tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0)).uri
    draft = tip.patch(made, connection_body(H1, LD1, CHUNK1))
    assert draft.operation is not None
    assert [each.target.ld for each in draft.operation.granted] == [1]
    assert [each.target.ld for each in draft.operation.released] == [0]
    assert {LD1, CHUNK1} == set(draft.operation.added)


# -- volumes ---------------------------------------------------------------------------------


@pytest.fixture
def storing(tip: MemoryTip) -> MemoryTip:
    """Two volumes of one subsystem of the pod, which shows itself as one endpoint."""
    subsystem = Unit(STORAGE, "pod", Binder.NOTHING, exclusive=False)
    tip.index.put_unit(subsystem)
    for number, uri in enumerate(VOLUMES, 1):
        tip.inventory[uri] = {"@odata.id": uri, "@odata.type": "#Volume.v1_0_0.Volume"}
        target = BindTarget("pod-sw", "40", namespace=number)
        tip.index.put_unit(Unit(uri, "pod", Binder.CONNECTION, True, target, STORAGE))
        tip.index.put_volume(
            Volume(uri, STORAGE, None, 1024, lun=number, fabric="pod", target=target)
        )
    entity = {"EntityType": "StorageSubsystem", "EntityRole": "Target",
              "EntityLink": {"@odata.id": STORAGE}}  # fmt: skip
    tip.inventory[STORAGE] = {"@odata.id": STORAGE, "@odata.type": "#Storage.v1_0_0.Storage"}
    tip.facts.entity_units[STORAGE] = frozenset({STORAGE})
    end = tip.post(f"{POD}/Endpoints", {"ConnectedEntities": [entity], "Id": "sub"}).uri
    tip.post(ZONES, zone_body(H1, end))
    return tip


def shown(tip: MemoryTip, connection: str) -> list[tuple[str, Any, Any]]:
    found = tip.document(connection)["VolumeInfo"]  # type: ignore[index]
    return [(row["Volume"]["@odata.id"], row.get("LUN"), row.get("AccessCapabilities"))
            for row in found]  # fmt: skip


def test_volumes_come_and_go_by_action(storing: MemoryTip) -> None:
    tip = storing
    body = {**rows("VolumeInfo", "Volume", VOLUMES[0]), **ends(InitiatorEndpoints=H1)}
    made = tip.post(CONNECTIONS, body).uri
    assert shown(tip, made) == [(VOLUMES[0], 1, None)]
    assert tip.document(made)["ConnectionType"] == "Storage"  # type: ignore[index]
    add, remove = "Connection.AddVolumeInfo", "Connection.RemoveVolumeInfo"
    tip.act(made, add, Volume={"@odata.id": VOLUMES[1]}, LUN=7, AccessCapabilities=["Read"])
    assert shown(tip, made) == [(VOLUMES[0], 1, None), (VOLUMES[1], 7, ["Read"])]
    assert tip.act(made, add, Volume=VOLUMES[1]).kind is OutcomeKind.NO_OPERATION
    with refusal(400, "Base.PropertyValueIncorrect", VOLUMES[1]):
        tip.act(made, add, Volume=VOLUMES[1], LUN=8)
    with refusal(400, "Base.ActionParameterValueConflict", "LUN", "8", "#/LUN"):
        tip.act(made, remove, Volume=VOLUMES[1], LUN=8)
    tip.act(made, remove, Volume=VOLUMES[1], LUN=7)
    with refusal(400, "Base.ActionParameterValueConflict", VOLUMES[1], "#/Volume"):
        tip.act(made, remove, Volume=VOLUMES[1])
    assert shown(tip, made) == [(VOLUMES[0], 1, None)]


@pytest.mark.parametrize("targeted", [False, True])
def test_the_last_volume_goes_with_its_connection_only(storing: MemoryTip, targeted: bool) -> None:
    tip = storing
    sides = {"InitiatorEndpoints": H1} | ({"TargetEndpoints": SUBSYSTEM} if targeted else {})
    made = tip.post(CONNECTIONS, {**rows("VolumeInfo", "Volume", VOLUMES[0]), **ends(**sides)}).uri
    before = dict(tip.documents)
    with refusal(409, "Base.PropertyValueResourceConflict", VOLUMES[0], made, "#/Volume"):
        tip.act(made, "Connection.RemoveVolumeInfo", Volume=VOLUMES[0])
    assert tip.documents == before
    tip.delete(made)


def test_an_action_names_a_volume_that_is_there(storing: MemoryTip) -> None:
    tip = storing
    made = tip.post(CONNECTIONS, {**BOTH, **CHUNK}).uri
    add = "Connection.AddVolumeInfo"
    with refusal(400, "Base.ActionParameterMissing", "#/Volume"):
        tip.act(made, add, LUN=1)
    with refusal(400, "Base.ResourceMissingAtURI", "/nowhere", "#/Volume"):
        tip.act(made, add, Volume="/nowhere")
    with refusal(400, "Base.PropertyValueConflict", "#/ConnectionType"):
        tip.act(made, add, Volume=VOLUMES[0])
    with refusal(400, "Base.ActionNotSupported"):
        tip.act(made, "Connection.Turn")


@pytest.mark.parametrize("wanted", [{}, {"VolumeInfo": []}])
def test_a_connection_to_a_subsystem_names_a_volume(
    storing: MemoryTip, wanted: dict[str, Any]
) -> None:
    both = ends(InitiatorEndpoints=H1, TargetEndpoints=SUBSYSTEM)
    assert told(storing, {**both, **wanted}) == [("PropertyMissing", "#/VolumeInfo")]

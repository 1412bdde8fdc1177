"""Systems made of blocks: one draft with zones, connections, parts and the system."""

import json
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.composition import Block, BlockType
from redfish_fm.fabric.model import Attachment, DeviceKind, PartKind, Pool
from redfish_fm.mapping.assembly import Carving, Recipe
from redfish_fm.mapping.compositions import compose
from redfish_fm.mapping.drafts import Draft, TakeBack
from redfish_fm.mapping.inventory import render_inventory
from redfish_fm.mapping.operations import new_operation, take_back
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Write, WriteKind
from tests.mapping.builders import MemoryTip, a_device, a_fabric, links

SYSTEMS = "/redfish/v1/Systems"
BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
ZONES = "/redfish/v1/Fabrics/pod/Zones"


def block(name: str) -> str:
    return f"{BLOCKS}/{name}"


def a_pod() -> MemoryTip:
    """Two hosts, three GPUs and an MLD with four LDs of 1 GiB behind one switch, with blocks."""
    gpus = tuple(a_device(f"gpu{number}") for number in (1, 2, 3))
    mld = a_device("mem1", DeviceKind.MEMORY, Attachment.MLD, lds=4)
    mld = replace(mld, pool=Pool(PartKind.LD, 4096, 256, 4), capacity_mib=4096)
    rendered = render_inventory(a_fabric(devices=(*gpus, mld)))
    facts = rendered.facts
    facts.blocks = {}
    for host in ("h1", "h2"):
        made = Block(block(host), frozenset({BlockType.COMPUTE}), host=f"{SYSTEMS}/{host}")
        facts.blocks[made.id] = made
    for gpu in ("gpu1", "gpu2", "gpu3"):
        unit = f"/redfish/v1/Chassis/{gpu}/PCIeDevices/{gpu}"
        types = frozenset({BlockType.PROCESSOR})
        facts.blocks[block(gpu)] = Block(block(gpu), types, units=frozenset({unit}), kind="GPU")
    pool = frozenset(facts.pools)
    facts.blocks[block("mem1")] = Block(
        block("mem1"),
        frozenset({BlockType.MEMORY}),
        pools=pool,
        sharing=True,
        compositions_max=None,
    )
    return MemoryTip({**rendered.documents, SYSTEMS: _collection()}, facts)


def _collection() -> dict[str, Any]:
    return {"@odata.type": "#ComputerSystemCollection.ComputerSystemCollection"}


def body(*names: str, **more: Any) -> dict[str, Any]:
    return {"Links": {"ResourceBlocks": links(*map(block, names))}, **more}


def post(tip: MemoryTip, *names: str, **more: Any) -> Draft:
    write = Write(WriteKind.CREATE, SYSTEMS, "ComputerSystem", "tester", body(*names, **more))
    return tip.commit(prepare(write, tip))


def zone_of(tip: MemoryTip, uri: str) -> dict[str, Any]:
    document = tip.document(uri)
    assert document is not None
    (zone,) = document["Oem"]["RedfishFM"]["Composition"]["Zones"]
    found: dict[str, Any] = json.loads(tip.documents[zone["@odata.id"]])
    return found


def ends(zone: dict[str, Any]) -> set[str]:
    return {each["@odata.id"].rsplit("/", 1)[-1] for each in zone["Links"]["Endpoints"]}


def test_a_system_of_blocks_is_one_draft_with_a_zone_of_its_own() -> None:
    tip = a_pod()
    draft = post(tip, "h1", "gpu1", "gpu2", Name="training")
    assert draft.operation is not None
    assert {each.unit.rsplit("/", 1)[-1] for each in draft.operation.granted} == {"gpu1", "gpu2"}
    assert {each.host for each in draft.operation.granted} == {f"{SYSTEMS}/h1"}
    assert draft.operation.take_back is TakeBack.COMPOSITION
    document = tip.document(draft.uri)
    assert document is not None
    assert document["Name"] == "training"
    assert document["SystemType"] == "Composed"
    assert ends(zone_of(tip, draft.uri)) == {"h1-1", "gpu1", "gpu2"}


def test_judging_a_composition_leaves_nothing_on_the_tip() -> None:
    tip = a_pod()
    before = tip.index.snapshot()
    compose(Recipe(f"{SYSTEMS}/h1", (block("h1"), block("gpu1"))), body("h1", "gpu1"), tip, "a")
    assert tip.index.snapshot() == before
    assert not tip.documents


def test_a_refused_composition_leaves_nothing_on_the_tip() -> None:
    tip = a_pod()
    tip.occupied = frozenset(vppb for _fabric, vppb in tip.facts.vppb_uris)
    before = tip.index.snapshot()
    with pytest.raises(RedfishError) as refused:
        post(tip, "h1", "gpu1")
    assert refused.value.status == 409
    assert refused.value.messages[0].related == ("#/Links/ResourceBlocks",)
    assert tip.index.snapshot() == before


def test_memory_is_carved_zoned_and_connected_in_the_same_draft() -> None:
    tip = a_pod()
    domain = "/redfish/v1/Chassis/mem1/MemoryDomains/1/MemoryChunks"
    recipe = Recipe(
        f"{SYSTEMS}/h1",
        (block("h1"), block("gpu1"), block("mem1")),
        (Carving(block("mem1"), domain, 1024),),
    )
    draft = tip.commit(compose(recipe, body("h1", "gpu1", "mem1"), tip, "tester"))
    assert draft.operation is not None
    assert len(draft.operation.granted) == 2
    holdings = (tip.document(draft.uri) or {})["Oem"]["RedfishFM"]["Composition"]
    assert [len(holdings[name]) for name in ("Zones", "Connections", "MemoryChunks")] == [1, 1, 1]
    connection = json.loads(tip.documents[holdings["Connections"][0]["@odata.id"]])
    assert connection["MemoryChunkInfo"][0]["MemoryChunk"] == holdings["MemoryChunks"][0]
    keys = [(edit.space, edit.key) for edit in draft.edits]
    assert len(keys) == len(set(keys))


def test_a_block_is_in_one_composition_only() -> None:
    tip = a_pod()
    first = post(tip, "h1", "gpu1")
    with pytest.raises(RedfishError) as refused:
        post(tip, "h2", "gpu1")
    assert refused.value.status == 409
    assert refused.value.messages[0].args == ("Links/ResourceBlocks/1", block("gpu1"), first.uri)


def test_one_block_more_binds_one_device_more_and_nothing_else() -> None:
    tip = a_pod()
    made = post(tip, "h1", "gpu1", "gpu2")
    action = "ComputerSystem.AddResourceBlock"
    draft = tip.act(made.uri, action, ResourceBlock=links(block("gpu3"))[0])
    assert draft.operation is not None
    assert [each.unit.rsplit("/", 1)[-1] for each in draft.operation.granted] == ["gpu3"]
    assert not draft.operation.released
    assert ends(zone_of(tip, made.uri)) == {"h1-1", "gpu1", "gpu2", "gpu3"}


def test_one_block_less_releases_one_device() -> None:
    tip = a_pod()
    made = post(tip, "h1", "gpu1", "gpu2")
    action = "ComputerSystem.RemoveResourceBlock"
    draft = tip.act(made.uri, action, ResourceBlock=links(block("gpu1"))[0])
    assert draft.operation is not None
    assert [each.unit.rsplit("/", 1)[-1] for each in draft.operation.released] == ["gpu1"]
    assert not draft.operation.granted
    assert tip.index.composition_of_unit("/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1") is None


def test_delete_gives_everything_back() -> None:
    tip = a_pod()
    before = tip.index.snapshot()
    made = post(tip, "h1", "gpu1", "gpu2")
    draft = tip.delete(made.uri)
    assert draft.operation is not None
    assert len(draft.operation.released) == 2
    assert not tip.documents
    assert tip.index.snapshot() == before


def test_a_physical_host_is_expanded_in_place_and_reduced_again() -> None:
    tip = a_pod()
    host = f"{SYSTEMS}/h2"
    action = "ComputerSystem.AddResourceBlock"
    draft = tip.act(host, action, ResourceBlock=links(block("gpu3"))[0])
    assert draft.operation is not None
    assert [each.host for each in draft.operation.granted] == [host]
    assert tip.index.compositions[host].expands
    with pytest.raises(RedfishError):
        post(tip, "h2", "gpu1")
    tip.act(host, "ComputerSystem.RemoveResourceBlock", ResourceBlock=links(block("gpu3"))[0])
    assert host not in tip.overlays
    assert not tip.documents


@pytest.mark.parametrize("kind", ["zone", "system"])
def test_what_a_refused_grant_had_made_is_taken_back(kind: str) -> None:
    tip = a_pod()
    if kind == "system":
        draft = post(tip, "h1", "gpu1")
    else:
        made = post(tip, "h1", "gpu1")
        action = "ComputerSystem.AddResourceBlock"
        draft = tip.act(made.uri, action, ResourceBlock=links(block("gpu2"))[0])
    operation = new_operation("op", draft, "tester", "now")
    tip.apply(take_back(tip, operation))
    if kind == "system":
        assert not tip.documents
    else:
        assert ends(zone_of(tip, made.uri)) == {"h1-1", "gpu1"}
        assert tip.index.compositions[made.uri].blocks == (block("h1"), block("gpu1"))
    left = {each.unit.rsplit("/", 1)[-1] for each in tip.index.bindings.values()}
    assert left == (set() if kind == "system" else {"gpu1"})


def test_what_a_composition_holds_is_changed_through_it_only() -> None:
    tip = a_pod()
    made = post(tip, "h1", "gpu1")
    zone = zone_of(tip, made.uri)["@odata.id"]
    for change in (lambda: tip.delete(zone), lambda: tip.patch(zone, {"Name": "mine"})):
        with pytest.raises(RedfishError) as refused:
            change()
        assert refused.value.status == 409
        assert made.uri in refused.value.messages[0].args


def test_every_edit_of_a_composition_is_of_this_change() -> None:
    tip = a_pod()
    draft = post(tip, "h1", "gpu1")
    assert {edit.space for edit in draft.edits} == {Space.DOCUMENT, Space.BINDING}

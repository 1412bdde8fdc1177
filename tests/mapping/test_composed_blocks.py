"""Blocks of blocks, and blocks of what is in none."""

from typing import Any

import pytest

from redfish_fm.fabric.stocktaking import entry_of
from redfish_fm.mapping.read_compositions import read_block
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Write, WriteKind
from tests.mapping.builders import MemoryTip, links
from tests.mapping.test_compositions import BLOCKS, a_pod, block, post


def tip_with_collection() -> MemoryTip:
    tip = a_pod()
    kind = "#ResourceBlockCollection.ResourceBlockCollection"
    tip.inventory[BLOCKS] = {"@odata.type": kind}
    return tip


def make(tip: MemoryTip, body: dict[str, Any]) -> str:
    write = Write(WriteKind.CREATE, BLOCKS, "ResourceBlock", "tester", body)
    return tip.commit(prepare(write, tip)).uri


def of(*names: str, **more: Any) -> dict[str, Any]:
    return {"Links": {"SupplyingResourceBlocks": links(*map(block, names))}, **more}


def refusal(tip: MemoryTip, body: dict[str, Any]) -> RedfishError:
    with pytest.raises(RedfishError) as refused:
        make(tip, body)
    return refused.value


def test_a_block_of_blocks_brings_their_units() -> None:
    tip = tip_with_collection()
    before = tip.index.snapshot()
    uri = make(tip, of("gpu1", "gpu2"))
    both = tip.index.blocks[block("gpu1")].units | tip.index.blocks[block("gpu2")].units
    assert tip.index.blocks[uri].units == both
    assert tip.index.consumers_of_block(block("gpu1")) == {uri}
    assert entry_of(tip.index, tip.index.blocks[block("gpu1")])[0] is None
    assert entry_of(tip.index, tip.index.blocks[block("gpu3")])[0] is not None
    draft = post(tip, "h1", uri.rsplit("/", 1)[-1])
    assert draft.operation is not None
    assert {each.unit for each in draft.operation.granted} == both
    tip.delete(draft.uri)
    tip.delete(uri)
    assert tip.index.snapshot() == before


def test_components_are_taken() -> None:
    tip = tip_with_collection()
    uri = make(tip, of("gpu1", "gpu2"))
    error = refusal(tip, of("gpu2", "gpu3"))
    assert error.status == 409
    assert error.messages[0].args[1:] == (block("gpu2"), uri)
    assert error.messages[0].related == ("#/Links/SupplyingResourceBlocks/0",)


def test_all_that_is_wrong_with_components_is_told_together() -> None:
    tip = tip_with_collection()
    make(tip, of("gpu2"))
    error = refusal(tip, of("gpu2", "h1", "nothing"))
    assert error.status == 400
    places = [each.related[0] for each in error.messages if each.related]
    assert sorted(places) == [f"#/Links/SupplyingResourceBlocks/{n}" for n in range(3)]


def test_a_block_of_blocks_is_no_component() -> None:
    tip = tip_with_collection()
    uri = make(tip, of("gpu1"))
    error = refusal(tip, of(uri.rsplit("/", 1)[-1]))
    assert error.status == 400


def test_what_is_in_no_block_is_registered_once() -> None:
    tip = tip_with_collection()
    tip.index.remove_block(block("gpu3"))
    del tip.facts.blocks[block("gpu3")]
    unit = "/redfish/v1/Chassis/gpu3/PCIeDevices/gpu3"
    processors = (tip.document(block("gpu3")) or {})["Processors"]
    wish = {"ResourceBlockType": ["Processor"], "Processors": processors}
    uri = make(tip, wish)
    assert tip.index.blocks[uri].units == {unit}
    assert read_block(uri, tip.document(uri) or {}, tip.facts).units == {unit}
    post(tip, "h1", uri.rsplit("/", 1)[-1])
    error = refusal(tip, wish)
    assert error.status == 409
    assert error.messages[0].args[2] == uri


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "#/Links/SupplyingResourceBlocks"),
        ({"ResourceBlockType": []}, "#/ResourceBlockType"),
        ({"ResourceBlockType": ["Processor"]}, "#/Processors"),
        ({"ResourceBlockType": ["Storage"], "Drives": links("/none")}, "#/Drives"),
    ],
)
def test_a_block_of_nothing_is_refused(body: dict[str, Any], place: str) -> None:
    error = refusal(tip_with_collection(), body)
    assert error.status == 400
    assert error.messages[0].related == (place,)

"""What a client asks before something fails: who would suffer, whatever it names."""

from dataclasses import fields
from typing import Any

import pytest

from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.blast_radius import blast_radius
from redfish_fm.mapping.assembly import Carving, Holdings, Recipe
from redfish_fm.mapping.blast_radius import ACTION, advertised, outage_of
from redfish_fm.mapping.compositions import compose as compose_recipe
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.drivers.fabrics import CXL, MOCKUPS, PCIE
from tests.mapping.builders import MemoryTip, links
from tests.mapping.test_compositions import a_pod, block, body

SERVICE = "/redfish/v1/CompositionService"
BLOCKS = f"{SERVICE}/ResourceBlocks"
SYSTEMS = "/redfish/v1/Systems"
PCIE_URI = "/redfish/v1/Fabrics/PCIe"


def two_systems() -> tuple[MemoryTip, str, str]:
    """Host1 with gpu1 and nvme1, host2 with gpu2, of the shipped two-hosts; nothing of memory."""
    found = render_inventories([PCIE, CXL])
    tip = MemoryTip(found.documents, found.facts)
    return tip, compose(tip, "host1", "gpu1", "nvme1"), compose(tip, "host2", "gpu2")


def compose(tip: MemoryTip, *names: str) -> str:
    body = {"Links": {"ResourceBlocks": links(*(f"{BLOCKS}/{name}" for name in names))}}
    write = Write(WriteKind.CREATE, SYSTEMS, "ComputerSystem", "tester", body)
    return tip.commit(prepare(write, tip)).uri


def ask(tip: MemoryTip, uri: str) -> dict[str, Any]:
    body = {"Resource": {"@odata.id": uri}}
    write = Write(WriteKind.ACTION, SERVICE, "CompositionService", "tester", body, ACTION)
    draft = prepare(write, tip)
    assert draft.kind is OutcomeKind.NO_OPERATION and not draft.edits
    assert draft.body is not None
    return dict(draft.body)


def told(tip: MemoryTip, uri: str) -> dict[str, tuple[str, set[str]]]:
    """Return system -> how it would suffer, and by the loss of what."""
    return {
        row["System"]["@odata.id"]: (
            row["Harm"],
            {each["@odata.id"].rsplit("/", 1)[-1] for each in row["Lost"]},
        )
        for row in ask(tip, uri)["Affected"]
    }


GPU1 = ("Degraded", {"gpu1"})
ALL_OF_1 = ("Degraded", {"gpu1", "nvme1"})


@pytest.mark.parametrize(
    ("uri", "first", "second"),
    [
        ("/redfish/v1/Chassis/gpu1", GPU1, None),
        ("/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1", GPU1, None),
        ("/redfish/v1/Chassis/gpu1/Processors/gpu1", GPU1, None),
        (f"{BLOCKS}/gpu1", GPU1, None),
        (f"{PCIE_URI}/Endpoints/gpu1", GPU1, None),
        (f"{PCIE_URI}/Endpoints/host1-1", ALL_OF_1, None),
        (f"{PCIE_URI}/Switches/pcie1", ALL_OF_1, ("Degraded", {"gpu2"})),
        (f"{PCIE_URI}/Switches/pcie1/Ports/U1", ALL_OF_1, None),
        ("/redfish/v1/Chassis/pcie1", ALL_OF_1, ("Degraded", {"gpu2"})),
        (f"{SYSTEMS}/host2", None, ("Lost", {"host2"})),
        (f"{BLOCKS}/host2", None, ("Lost", {"host2"})),
        ("/redfish/v1/Chassis/host2", None, ("Lost", {"host2"})),
        ("/redfish/v1/Chassis/feed-a", ("Lost", {"host1"}), ("Degraded", {"gpu2"})),
        ("/redfish/v1/Chassis/feed-b", ("Degraded", {"nvme1"}), ("Lost", {"host2"})),
        (f"{PCIE_URI}/Switches/pcie1/Ports/D4", None, None),
        ("/redfish/v1/Chassis/nvme2", None, None),
        ("/redfish/v1/Chassis/cxl1", None, None),
        (SERVICE, None, None),
    ],
)
def test_who_suffers_when_it_fails(uri: str, first: object, second: object) -> None:
    tip, one, other = two_systems()
    expected = {one: first, other: second}
    assert told(tip, uri) == {uri: harm for uri, harm in expected.items() if harm is not None}


def test_a_composed_system_suffers_when_its_host_does() -> None:
    tip, one, _ = two_systems()
    assert told(tip, one) == {one: ("Lost", {"host1"})}


def test_a_part_of_a_pool_fails_alone() -> None:
    tip, _, _ = two_systems()
    chunk = min(tip.index.chunks)
    assert outage_of(chunk, tip.index, tip.facts).parts == {chunk}


def test_the_answer_names_the_resource_that_was_asked_about() -> None:
    tip, _, _ = two_systems()
    assert ask(tip, "/redfish/v1/Chassis/gpu1")["Resource"] == {
        "@odata.id": "/redfish/v1/Chassis/gpu1"
    }


def test_what_is_not_there_is_refused() -> None:
    tip, _, _ = two_systems()
    with pytest.raises(RedfishError) as refused:
        ask(tip, "/redfish/v1/Chassis/nowhere")
    assert refused.value.status == 400
    assert refused.value.messages[0].related == ("#/Resource",)


def test_the_composition_service_advertises_it() -> None:
    tip, _, _ = two_systems()
    service = tip.document(SERVICE)
    assert service is not None and service["Actions"]["Oem"] == advertised()
    (action,) = advertised().values()
    assert action["target"] == f"{SERVICE}/Actions/Oem/{ACTION}"


def test_a_system_remembers_which_of_its_parts_are_copies_until_one_is_given_back() -> None:
    tip = a_pod()
    carving = Carving(block("mem1"), "/redfish/v1/Chassis/mem1/MemoryDomains/1/MemoryChunks", 1024)
    names = (block("h1"), block("mem1"))
    recipe = Recipe(f"{SYSTEMS}/h1", names, (carving, carving), mirrors=((0, 1),))
    made = tip.commit(compose_recipe(recipe, body("h1", "mem1"), tip, "tester")).uri
    held = Holdings.of(tip.document(made) or {})
    assert tip.index.compositions[made].mirrors == (frozenset(held.uris["MemoryChunks"]),)
    held.drop(held.uris["MemoryChunks"][0])
    assert held.mirrors == [] and "Mirrors" not in held.shown()["RedfishFM"]["Composition"]


class Counted(dict[Any, Any]):
    """A table that counts who goes through it."""

    counter: list[int]

    def __iter__(self) -> Any:
        self.counter[0] += len(self)
        return super().__iter__()

    def keys(self) -> Any:
        self.counter[0] += len(self)
        return super().keys()

    def values(self) -> Any:
        self.counter[0] += len(self)
        return super().values()

    def items(self) -> Any:
        self.counter[0] += len(self)
        return super().items()


class CountedList(list[Any]):
    """The same of a list."""

    counter: list[int]

    def __iter__(self) -> Any:
        self.counter[0] += len(self)
        return super().__iter__()


def counted(value: Any, counter: list[int]) -> Any:
    made = Counted(value) if isinstance(value, dict) else CountedList(value)
    made.counter = counter
    return made


def work_of(switches: int, *names: str) -> list[tuple[int, int]]:
    """Return what each answer costs in a fabric of that size: entries gone through, index work."""
    size = f"scale:hosts={4 * switches},gpus={4 * switches},switches={switches},memory=0"
    found = render_inventories(load(size, MOCKUPS).inventories())
    tip = MemoryTip(found.documents, found.facts)
    host = next(each for each in tip.facts.port_hosts.values())
    (near,) = {vcs.switch for vcs in tip.facts.vcss if vcs.host == host and vcs.fabric == "PCIe"}
    gpu = next(
        block.id.rsplit("/", 1)[-1]
        for block in tip.facts.blocks.values()
        if block.kind == "GPU" and block.switches == (("PCIe", near),)
    )
    compose(tip, host.rsplit("/", 1)[-1], gpu)
    words = {"gpu": gpu, "switch": near, "host": host.rsplit("/", 1)[-1]}
    uris = [each.format(**words) for each in names]
    # What is looked up the other way round is made once, where it is first asked for.
    assert all(told(tip, uri) for uri in uris)
    counter, rows = [0], []
    for each in fields(tip.facts):
        value = getattr(tip.facts, each.name)
        if not each.name.startswith("_"):
            setattr(tip.facts, each.name, counted(value, counter))
    tip.index.vcss = counted(tip.index.vcss, counter)
    for uri in uris:
        counter[0], before = 0, tip.index.work
        found_there = blast_radius(tip.index, outage_of(uri, tip.index, tip.facts))
        assert len(found_there) == 1, uri
        rows.append((counter[0], tip.index.work - before))
    return rows


def test_what_an_answer_costs_does_not_grow_with_the_fabric() -> None:
    asked = (
        "/redfish/v1/Chassis/{gpu}",
        PCIE_URI + "/Switches/{switch}",
        PCIE_URI + "/Switches/{switch}/Ports/U1",
        "/redfish/v1/Chassis/{switch}",
        PCIE_URI + "/Endpoints/{gpu}",
        SYSTEMS + "/{host}",
    )
    few, many = work_of(2, *asked), work_of(20, *asked)
    assert few == many
    assert all(gone_through == 0 for gone_through, _ in few)

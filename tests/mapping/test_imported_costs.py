"""What understanding a mockup costs grows with its documents, not with pairs of anything."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from redfish_fm import resources
from redfish_fm.drivers.virtual import topology
from redfish_fm.mapping import imported
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.inventory import render_inventories
from tests.mapping.builders import links

Documents = dict[str, dict[str, Any]]


class Counter:
    """Counts entries of tables and documents that were gone through, one after another."""

    def __init__(self) -> None:
        self.work = 0

    def facts(self) -> Facts:
        """Return Facts whose tables count here what is looked through."""
        facts = Facts()
        for each in fields(facts):
            if isinstance(getattr(facts, each.name), dict):
                setattr(facts, each.name, _Table(self))
        return facts

    def tree(self, documents: Documents) -> Tree:
        """Return a tree that counts here what is looked through."""
        return _CountedTree(documents, self)


class _Table(dict[Any, Any]):
    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.counter = counter

    def __iter__(self) -> Iterator[Any]:
        self.counter.work += len(self)
        return super().__iter__()

    def keys(self) -> Any:
        self.counter.work += len(self)
        return super().keys()

    def values(self) -> Any:
        self.counter.work += len(self)
        return super().values()

    def items(self) -> Any:
        self.counter.work += len(self)
        return super().items()


class _CountedTree(Tree):
    def __init__(self, documents: Documents, counter: Counter) -> None:
        super().__init__(documents)
        self.counter = counter

    def of_type(self, name: str) -> Iterator[tuple[str, Any]]:
        for each in super().of_type(name):
            self.counter.work += 1
            yield each

    def below(self, uri: str) -> tuple[str, ...]:
        found = super().below(uri)
        self.counter.work += len(found)
        return found

    def below_of_type(self, uri: str, name: str) -> list[str]:
        self.counter.work += len(super().below(uri))
        return super().below_of_type(uri, name)


def a_rack(times: int, switches: int) -> Documents:
    """Return a fabric of PCIe and one of CXL, a zone for every host."""
    parameters = f"hosts={8 * times},gpus={16 * times},switches={switches},memory={switches}"
    inventories = topology.load(f"scale:{parameters}", resources.mockups_dir()).inventories()
    documents: Documents = dict(render_inventories(inventories).documents)
    for number in range(1, 8 * times + 1):
        ends = [
            f"/redfish/v1/Fabrics/PCIe/Endpoints/{each}"
            for each in (f"host{number}-1", f"gpu{number}")
        ]
        assert documents.keys() >= {*ends}
        documents[f"/redfish/v1/Fabrics/PCIe/Zones/{number}"] = {
            "@odata.type": "#Zone.v1_6_3.Zone",
            "Links": {"Endpoints": links(*ends)},
        }
    return documents


def work(monkeypatch: pytest.MonkeyPatch, documents: Documents) -> int:
    """Return what it takes to understand these documents."""
    counter = Counter()
    monkeypatch.setattr(imported, "Facts", counter.facts)
    monkeypatch.setattr(imported, "Tree", counter.tree)
    imported.analyse(documents)
    return counter.work


@pytest.mark.parametrize("grows", ["ports of one switch", "switches"])
def test_a_document_costs_the_same_in_a_mockup_four_times_as_large(
    monkeypatch: pytest.MonkeyPatch, grows: str
) -> None:
    small = a_rack(2, 2 if grows == "switches" else 1)
    large = a_rack(8, 8 if grows == "switches" else 1)
    each = work(monkeypatch, small) / len(small)
    assert work(monkeypatch, large) / len(large) <= 1.1 * each

"""The inventory layer: made of documents that are there, or of those that are made when asked."""

import msgspec
import pytest

from redfish_fm.control.base import Base
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.mapping.documents import Recipe
from redfish_fm.mapping.inventory import render_inventories
from tests.drivers.fabrics import MOCKUPS, SHIPPED


def handed(name: str) -> Base:
    """Return what is served of a topology: with recipes, and endpoints that need not be read."""
    found = render_inventories(load(name, MOCKUPS).inventories(), linked_back=False)
    return Base(found.documents.handed_over(), found.facts)


def read(name: str) -> Base:
    """Return the same out of nothing but documents."""
    found = render_inventories(load(name, MOCKUPS).inventories(), linked_back=False)
    found.facts.endpoints.clear()
    return Base(dict(found.documents), found.facts)


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_handed_over_is_what_its_documents_say(name: str) -> None:
    one, other = handed(name), read(name)
    assert [*one.documents] == [*other.documents]
    for uri in other.documents:
        assert one.parsed(uri) == other.parsed(uri)
    assert (one.collections, one.members) == (other.collections, other.members)
    assert (one.links, one.odata_types) == (other.links, other.odata_types)
    assert one.new_index().snapshot() == other.new_index().snapshot()


def test_a_start_makes_no_document_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    raw = Recipe.raw

    def note(recipe: Recipe) -> bytes:
        made.append(recipe.uri)
        return raw(recipe)

    monkeypatch.setattr(Recipe, "raw", note)
    base = handed("scale:hosts=4,gpus=8,switches=2,memory=2")
    base.new_index()
    assert made == []
    uri = "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1"
    first, second = base.parsed(uri), base.parsed(uri)
    assert first == second and first is not None and first["Id"] == "gpu1"
    assert made == [uri]


def test_an_endpoint_that_is_not_served_means_nothing() -> None:
    found = render_inventories(load("two-hosts", MOCKUPS).inventories(), linked_back=False)
    (gone, *_) = found.facts.endpoints
    del found.documents[gone.value.id]
    base = Base(found.documents.handed_over(), found.facts)
    assert gone.value.id not in base.new_index().endpoints
    linked = msgspec.to_builtins(base.links, enc_hook=sorted)
    assert gone.value.id not in msgspec.json.encode(linked).decode()

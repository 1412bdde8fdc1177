import msgspec
import pytest

from redfish_fm.drivers.virtual import topology
from redfish_fm.mapping import inventory
from redfish_fm.mapping.documents import Documents, RawDocuments, Recipe
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.resources import mockups_dir

FUNCTION = {"@odata.id": "/f", "@odata.type": "#PCIeFunction.v1_7_0.PCIeFunction", "Links": {}}
PORT = {"@odata.id": "/p", "@odata.type": "#Port.v1_18_0.Port", "Links": {}}


def both() -> Documents:
    documents = Documents({"/p": PORT})
    assert documents.add("/f", FUNCTION, finished=True)
    return documents


def test_a_finished_document_is_read_as_it_was_put_and_stays_so() -> None:
    documents = both()
    documents["/f"]["Links"]["Endpoints"] = []
    assert documents["/f"] == FUNCTION
    assert documents["/p"] is PORT
    assert [*documents] == ["/p", "/f"]
    assert "/f" in documents
    assert "/g" not in documents


def test_types_are_known_of_finished_and_other_documents() -> None:
    documents = both()
    documents["/x"] = {}
    assert documents.odata_types() == {PORT["@odata.type"], FUNCTION["@odata.type"], ""}


def test_handing_over_leaves_nothing_behind_but_in_a_copy() -> None:
    documents = both()
    copy = documents.copy()
    handed = documents.handed_over()
    assert handed.unfinished == {"/p": PORT}
    assert handed.finished == {FUNCTION["@odata.type"]: ["/f"]}
    assert [*handed.kept] == ["/p", "/f"]
    assert not documents
    assert copy == {"/p": PORT, "/f": FUNCTION}


class Cook:
    """Says the properties of a resource, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def make(self, label: str) -> dict[str, object]:
        self.asked += 1
        return {"UserLabel": label, "Model": "", "Status": None}

    def recipe(self, label: str = "one") -> Recipe:
        return Recipe("/a/b", "#Port.v1_18_0.Port", "B", self.make, (label,))


SERVED = {
    "@odata.id": "/a/b",
    "@odata.type": "#Port.v1_18_0.Port",
    "Id": "b",
    "Name": "B",
    "UserLabel": "one",
}


def test_a_recipe_is_known_by_uri_and_type_before_it_is_made() -> None:
    cook, documents = Cook(), Documents()
    assert documents.add_later(cook.recipe())
    assert [*documents] == ["/a/b"]
    assert documents.odata_types() == {"#Port.v1_18_0.Port"}
    assert documents.handed_over().finished == {"#Port.v1_18_0.Port": ["/a/b"]}
    assert cook.asked == 0


def test_a_recipe_reads_as_the_resource_without_what_is_not_known() -> None:
    documents = Documents()
    documents.add_later(Cook().recipe())
    assert documents["/a/b"] == SERVED


def test_bytes_of_a_recipe_are_made_once_and_by_nobody_who_only_looks_where_they_are() -> None:
    cook, documents = Cook(), Documents()
    documents.add_later(cook.recipe())
    raw = RawDocuments(documents.handed_over().kept)
    assert ("/a/b" in raw, [*raw], len(raw), cook.asked) == (True, ["/a/b"], 1, 0)
    assert msgspec.json.decode(raw["/a/b"]) == SERVED
    assert raw["/a/b"] is raw["/a/b"]
    assert cook.asked == 1


def test_what_is_put_twice_is_the_same_or_refused() -> None:
    documents = Documents()
    assert documents.add_later(Cook().recipe())
    assert documents.add_later(Cook().recipe())
    assert documents.add("/a/b", SERVED, finished=True)
    assert not documents.add_later(Cook().recipe("other"))
    assert not documents.add("/a/b", {**SERVED, "UserLabel": "other"})
    documents["/a/b"] = SERVED
    assert documents.add_later(Cook().recipe())
    assert not documents.add_later(Cook().recipe("other"))


def test_what_replaces_a_finished_document_is_open_again() -> None:
    documents = both()
    documents["/f"] = PORT
    del documents["/p"]
    assert documents["/f"] is PORT
    assert documents.odata_types() == {PORT["@odata.type"]}
    handed = documents.handed_over()
    assert (handed.unfinished, [*handed.kept]) == ({"/f": PORT}, ["/f"])


@pytest.mark.parametrize("linked_back", [True, False])
@pytest.mark.parametrize(
    "name",
    ["ai-pod", "mixed", "nvmeof-jbof", "two-hosts", "scale:hosts=4,gpus=8,switches=2,memory=2"],
)
def test_nothing_is_added_to_what_was_finished_early(
    name: str, linked_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventories = topology.load(name, mockups_dir()).inventories()
    early = render_inventories(inventories, linked_back=linked_back)
    monkeypatch.setattr(inventory, "FINISHED", frozenset())
    monkeypatch.setattr(inventory, "LINKED_BACK", frozenset())
    late = render_inventories(inventories, linked_back=linked_back)
    assert dict(early.documents) == dict(late.documents)
    assert early.facts == late.facts

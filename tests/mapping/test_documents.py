import pytest

from redfish_fm.drivers.virtual import topology
from redfish_fm.mapping import rendering
from redfish_fm.mapping.documents import Documents, Finished
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
    handed = dict(documents.handed_over())
    assert handed["/p"] is PORT
    assert isinstance(handed["/f"], Finished)
    assert [*handed] == ["/p", "/f"]
    assert not documents
    assert copy == {"/p": PORT, "/f": FUNCTION}


@pytest.mark.parametrize(
    "name",
    ["ai-pod", "mixed", "nvmeof-jbof", "two-hosts", "scale:hosts=4,gpus=8,switches=2,memory=2"],
)
def test_nothing_is_added_to_what_was_finished_early(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventories = topology.load(name, mockups_dir()).inventories()
    early = render_inventories(inventories)
    monkeypatch.setattr(rendering, "FINISHED", frozenset())
    late = render_inventories(inventories)
    assert dict(early.documents) == dict(late.documents)
    assert early.facts == late.facts

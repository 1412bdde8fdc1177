"""Resources: the view, with tables and what is true only now laid over it."""

import json

from redfish_fm.redfish.action_documents import Advertised
from redfish_fm.redfish.log_resources import LogTable
from redfish_fm.redfish.representations import represent
from redfish_fm.redfish.resources import Resources
from redfish_fm.redfish.tasks import Tasks
from redfish_fm.redfish.view import Description, Representation
from tests.redfish.builders import CATALOG, REGISTRIES

MANAGER = "/redfish/v1/Managers/1"
ENTRIES = f"{MANAGER}/LogServices/A/Entries"
OTHER = f"{MANAGER}/LogServices/B/Entries"


class FewResources:
    """A view of a manager and the empty collections of its two logs."""

    def __init__(self) -> None:
        self.found = {
            MANAGER: represent(MANAGER, "Manager", {"@odata.id": MANAGER}),
            **{
                uri: represent(uri, "LogEntryCollection", {"@odata.id": uri, "Members": []})
                for uri in (ENTRIES, OTHER)
            },
        }

    def get(self, uri: str) -> Representation | None:
        return self.found.get(uri)

    def describe(self, uri: str) -> Description | None:
        return self.found.get(uri)

    def exists(self, uri: str) -> bool:
        return uri in self.found


class Watch:
    """A moment that shows another second each time."""

    def __init__(self) -> None:
        self.seconds = 0

    def __call__(self) -> dict[str, str]:
        self.seconds += 1
        return {"DateTime": f"2026-01-01T00:00:{self.seconds:02}Z"}


def some_resources() -> Resources:
    table = LogTable(CATALOG, ENTRIES, "Entries", words=bytes)
    table.append(7, b'{"EntryType":"Event"}')
    advertised, tasks = Advertised(CATALOG), Tasks(CATALOG, REGISTRIES)
    return Resources(CATALOG, FewResources(), tasks, advertised, [table], {MANAGER: Watch()})


def test_a_table_shows_its_collection_in_place_of_the_views() -> None:
    found = some_resources().get(ENTRIES)
    assert found is not None
    assert json.loads(found.body)["Members@odata.count"] == 1


def test_a_member_of_a_table_is_there_and_another_is_not() -> None:
    resources = some_resources()
    assert resources.exists(f"{ENTRIES}/7")
    assert not resources.exists(f"{ENTRIES}/8")
    assert resources.describe(f"{ENTRIES}/7") == resources.get(f"{ENTRIES}/7")
    assert resources.get(f"{ENTRIES}/8") is None


def test_a_collection_of_the_same_type_without_a_table_is_the_views() -> None:
    found = some_resources().get(OTHER)
    assert found is not None
    assert json.loads(found.body)["Members"] == []


def test_time_goes_on_and_the_tag_stays() -> None:
    resources = some_resources()
    first, second = resources.get(MANAGER), resources.get(MANAGER)
    assert first is not None
    assert second is not None
    assert json.loads(first.body)["DateTime"] != json.loads(second.body)["DateTime"]
    assert (first.etag, first.wanted_tag) == (second.etag, second.wanted_tag)
    assert json.loads(first.body)["@odata.etag"] == first.etag

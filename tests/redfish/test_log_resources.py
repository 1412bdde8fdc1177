"""Entries of a log as resources."""

import json
import re

import pytest

from redfish_fm.redfish.etag import split
from redfish_fm.redfish.log_resources import LogTable
from tests.redfish.builders import CATALOG

URI = "/redfish/v1/Managers/FabricManager/LogServices/AuditLog/Entries"


def a_table(count: int = 3) -> LogTable:
    table = LogTable(CATALOG, URI, "Entries of the audit log", words=bytes)
    for number in range(1, count + 1):
        table.append(number, b'{"EntryType":"Event","Message":"%d"}' % number)
    return table


def members(table: LogTable) -> list[str]:
    return [each["Id"] for each in json.loads(table.collection().body)["Members"]]


def test_the_collection_holds_every_entry_whole_and_oldest_first() -> None:
    table = a_table(11)
    document = json.loads(table.collection().body)
    assert document["Members@odata.count"] == 11
    assert [each["Id"] for each in document["Members"]] == [str(n) for n in range(1, 12)]
    for each in document["Members"]:
        found = table.get(each["@odata.id"])
        assert found is not None
        assert json.loads(found.body) == each


def test_an_entry_is_a_resource_with_its_own_properties() -> None:
    found = a_table().get(f"{URI}/2")
    assert found is not None
    document = json.loads(found.body)
    assert document["@odata.type"] == CATALOG.types["LogEntry"].odata_type
    assert (document["Name"], document["Message"]) == ("Log entry 2", "2")
    assert document["@odata.etag"] == found.etag


def test_an_empty_log_has_an_empty_collection() -> None:
    document = json.loads(a_table(0).collection().body)
    assert (document["Members"], document["Members@odata.count"]) == ([], 0)


@pytest.mark.parametrize("name", ["0", "4", "01", "+1", "1/", "x", "", "²", "9" * 5000])
def test_what_is_no_number_of_an_entry_is_nothing(name: str) -> None:
    assert a_table().get(f"{URI}/{name}") is None


def test_what_is_of_another_collection_is_nothing() -> None:
    assert a_table().get("/redfish/v1/Managers/1") is None


def test_entries_go_from_the_oldest_on() -> None:
    table = a_table(4)
    table.drop_through(2)
    assert members(table) == ["3", "4"]
    assert table.get(f"{URI}/2") is None
    table.drop_through(1)
    assert members(table) == ["3", "4"]


def test_the_tag_moves_with_each_entry_that_comes_or_goes_and_only_then() -> None:
    table = a_table(3)
    tags = [table.collection().etag]
    assert table.collection().etag == tags[0]
    table.append(4, b'{"EntryType":"Event"}')
    tags.append(table.collection().etag)
    table.drop_through(1)
    tags.append(table.collection().etag)
    assert len(set(tags)) == 3
    assert all(re.fullmatch(r'"[0-9a-f]{16}\.[0-9a-f]{16}"', tag) for tag in tags)


def test_equal_logs_have_equal_tags_and_others_do_not() -> None:
    other = LogTable(CATALOG, URI, "Entries of the audit log", words=bytes)
    for number in (1, 2):
        other.append(number, b'{"EntryType":"Event","Message":"%d"}' % number)
    other.append(3, b'{"EntryType":"Event","Message":"else"}')
    assert split(a_table().collection().etag) == split(a_table().collection().etag)
    assert a_table().collection().etag != other.collection().etag


ZONE = "/redfish/v1/Fabrics/F/Zones/1"


def an_entry(origin: str) -> bytes:
    link = {"OriginOfCondition": {"@odata.id": origin}}
    return json.dumps({"EntryType": "Event", "Links": link}).encode()


def links_of(table: LogTable, number: int) -> object:
    found = table.get(f"{URI}/{number}")
    assert found is not None
    return json.loads(found.body).get("Links")


def test_an_entry_links_what_it_is_about_as_long_as_that_is_there() -> None:
    there = {ZONE}
    table = LogTable(CATALOG, URI, "Entries of the event log", there.__contains__, words=bytes)
    table.append(1, an_entry(ZONE))
    table.append(2, an_entry("/redfish/v1/Fabrics/F"))
    link = {"OriginOfCondition": {"@odata.id": ZONE}}
    assert (links_of(table, 1), links_of(table, 2)) == (link, None)
    before = table.collection().etag
    there.clear()
    table.came_or_went(ZONE)
    assert links_of(table, 1) is None
    assert table.collection().etag != before
    assert b"OriginOfConditionUnavailable" in table.collection().body
    there.add(ZONE)
    table.came_or_went(ZONE)
    assert links_of(table, 1) == link


def test_nothing_is_remembered_of_entries_that_went() -> None:
    table = LogTable(CATALOG, URI, "Entries of the event log", lambda _: True, words=bytes)
    for number in (1, 2, 3):
        table.append(number, an_entry(ZONE))
    table.drop_through(2)
    assert table._about == {ZONE: {3}}  # noqa: SLF001
    table.drop_through(3)
    assert table._about == {}  # noqa: SLF001
    table.came_or_went(ZONE)
    assert table.newest is None


def test_an_entry_is_put_into_words_when_somebody_reads_it() -> None:
    asked: list[bytes] = []

    def words(kept: bytes) -> bytes:
        asked.append(kept)
        return b'{"EntryType":"Event","Message":%b}' % kept

    table = LogTable(CATALOG, URI, "Entries of the audit log", words=words)
    for number in (1, 2):
        table.append(number, b'"%d"' % number)
    assert asked == []
    found = table.get(f"{URI}/2")
    assert found is not None
    assert json.loads(found.body)["Message"] == "2"
    assert asked == [b'"2"']

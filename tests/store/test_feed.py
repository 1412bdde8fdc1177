"""Feed records in stored form, and when they expire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.changes import Change, Edit, FeedEntry, FeedOp, Space, feed_record
from redfish_fm.store.feed import (
    Retention,
    decode_entries,
    encode_edits,
    encode_entries,
    expired_count,
)

_texts = st.none() | st.text().map(str.encode)
_entries = st.lists(st.builds(FeedEntry, st.text(), st.sampled_from(FeedOp), _texts, _texts))


@given(_entries)
def test_entries_come_back_exactly(entries):
    assert decode_entries(encode_entries(entries)) == tuple(entries)


_edits = st.lists(st.builds(Edit, st.sampled_from(Space), st.text(), _texts, _texts))


@given(_edits)
def test_edits_are_stored_as_the_entries_that_their_change_tells(edits):
    told = feed_record(Change(1, 0.0, "admin", tuple(edits)))
    assert encode_edits(edits) == encode_entries(told.entries)


@pytest.mark.parametrize("stored", [b"", b"{}", b'[["/a","no such op",null,null]]', b"\xff"])
def test_other_bytes_are_no_entries(stored):
    with pytest.raises(ValueError, match=r".*"):
        decode_entries(stored)


@pytest.mark.parametrize(
    ("ages_s", "size_bytes", "expected"),
    [
        ([], 0, (0, 0)),
        ([9, 8, 7], 30, (0, 0)),
        ([12, 11, 9], 30, (2, 20)),
        ([9, 8, 7], 20, (1, 10)),
        ([9, 8, 7], 19, (2, 20)),
        ([12, 8, 7], 10, (2, 20)),
        # A clock that was set back hides an old record behind a young one: it waits its turn.
        ([9, 12, 9], 30, (0, 0)),
    ],
)
def test_the_oldest_records_beyond_either_limit_expire(ages_s, size_bytes, expected):
    records = [(1000.0 - age_s, 10) for age_s in ages_s]
    retention = Retention(age_s=10.0, size_bytes=size_bytes)
    assert expired_count(records, 10 * len(records), 1000.0, retention) == expected


def test_no_more_records_are_looked_at_than_expire():
    looked_at: list[int] = []

    def records():
        for number in range(1000):
            looked_at.append(number)
            yield 0.0 if number < 3 else 1000.0, 1

    assert expired_count(records(), 1000, 1000.0, Retention(age_s=10.0)) == (3, 3)
    assert looked_at == [0, 1, 2, 3]

"""ClearLog judged on a tip."""

from typing import Any

import pytest

from redfish_fm.mapping.drafts import Draft, LogState
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.log_services import CLEAR_LOG, cleared_key
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip

LOG = "/redfish/v1/Managers/FabricManager/LogServices/AuditLog"
KEY = cleared_key(LOG)
TAG = '"aaaa.bbbb"'


def a_tip(newest: int = 7, pre: bytes | None = None) -> MemoryTip:
    document = {"@odata.id": LOG, "@odata.type": "#LogService.v1_9_0.LogService"}
    tip = MemoryTip({LOG: document}, Facts())
    tip.logs[LOG] = LogState(KEY, pre, newest, TAG)
    return tip


def cleared(tip: MemoryTip, **body: Any) -> Draft:
    return prepare(Write(WriteKind.ACTION, LOG, "LogService", "admin", body, CLEAR_LOG), tip)


def test_clearing_is_one_edit_that_names_the_newest_entry() -> None:
    draft = cleared(a_tip(7, b"3"))
    assert draft.kind is OutcomeKind.CHANGED
    assert draft.edits == (Edit(Space.META, KEY, b"3", b"7"),)


@pytest.mark.parametrize(("newest", "pre"), [(0, None), (7, b"7")])
def test_clearing_an_empty_log_changes_nothing(newest: int, pre: bytes | None) -> None:
    draft = cleared(a_tip(newest, pre))
    assert (draft.kind, draft.edits) == (OutcomeKind.NO_OPERATION, ())


@pytest.mark.parametrize("tag", [TAG, TAG.strip('"'), "*", ""])
def test_the_tag_of_the_entries_may_be_given(tag: str) -> None:
    assert cleared(a_tip(), LogEntriesETag=tag).kind is OutcomeKind.CHANGED


def test_another_tag_says_that_the_log_has_changed() -> None:
    with pytest.raises(RedfishError) as caught:
        cleared(a_tip(), LogEntriesETag='"aaaa.cccc"')
    assert caught.value.status == 428


def test_a_log_that_nobody_keeps_here_can_not_be_cleared() -> None:
    tip = a_tip()
    tip.logs.clear()
    with pytest.raises(RedfishError) as caught:
        cleared(tip)
    assert [each.key for each in caught.value.messages] == ["Base.ActionNotSupported"]

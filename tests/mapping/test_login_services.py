"""PATCH of AccountService and SessionService judged on a tip, where two requests may meet."""

from typing import Any

import pytest

from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.identity import SESSION_SERVICE
from redfish_fm.redfish.policy import ACCOUNT_SERVICE
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip

FOREIGN = "/redfish/v1/Managers/M/RemoteAccountService"
TYPES = {
    ACCOUNT_SERVICE: "AccountService",
    SESSION_SERVICE: "SessionService",
    FOREIGN: "AccountService",
}


@pytest.fixture
def tip() -> MemoryTip:
    documents = {
        uri: {"@odata.id": uri, "@odata.type": f"#{name}.{name}", "ServiceEnabled": True}
        for uri, name in TYPES.items()
    }
    return MemoryTip(documents, Facts())


def patch(tip: MemoryTip, uri: str, **body: Any) -> OutcomeKind:
    write = Write(WriteKind.PATCH, uri, TYPES[uri], "admin", body)
    return tip.commit(prepare(write, tip)).kind


def refused(tip: MemoryTip, uri: str, **body: Any) -> tuple[int, list[str]]:
    with pytest.raises(RedfishError) as error:
        patch(tip, uri, **body)
    return error.value.status, [each.key for each in error.value.messages]


def test_settings_are_laid_over_the_services_document(tip: MemoryTip) -> None:
    assert patch(tip, ACCOUNT_SERVICE, AccountLockoutThreshold=3) is OutcomeKind.CHANGED
    shown = tip.document(ACCOUNT_SERVICE)
    assert shown is not None
    assert shown["AccountLockoutThreshold"] == 3
    assert tip.overlay(ACCOUNT_SERVICE) is not None


def test_the_same_value_again_changes_nothing(tip: MemoryTip) -> None:
    patch(tip, ACCOUNT_SERVICE, MinPasswordLength=9)
    assert patch(tip, ACCOUNT_SERVICE, MinPasswordLength=9) is OutcomeKind.NO_OPERATION


def test_what_a_request_just_before_has_set_decides(tip: MemoryTip) -> None:
    patch(tip, ACCOUNT_SERVICE, MaxPasswordLength=20)
    told = refused(tip, ACCOUNT_SERVICE, MinPasswordLength=21)
    assert told == (400, ["Base.PropertyValueConflict"])


@pytest.mark.parametrize("first", [ACCOUNT_SERVICE, SESSION_SERVICE])
def test_one_way_to_log_in_is_left_whichever_is_shut_first(tip: MemoryTip, first: str) -> None:
    shut: dict[str, dict[str, Any]] = {
        ACCOUNT_SERVICE: {"HTTPBasicAuth": "Disabled"},
        SESSION_SERVICE: {"ServiceEnabled": False},
    }
    second = SESSION_SERVICE if first == ACCOUNT_SERVICE else ACCOUNT_SERVICE
    assert patch(tip, first, **shut[first]) is OutcomeKind.CHANGED
    told = refused(tip, second, **shut[second])
    assert told == (409, ["Base.PropertyValueResourceConflict"])


def test_the_account_service_of_an_imported_manager_is_a_document_like_others(
    tip: MemoryTip,
) -> None:
    assert patch(tip, FOREIGN, MinPasswordLength=1) is OutcomeKind.CHANGED

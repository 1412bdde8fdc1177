"""An audit record as an entry of a log."""

import json
from typing import Any

import pytest

from redfish_fm.redfish.audit import AuditKind, AuditRecord
from redfish_fm.redfish.audit_entries import audit_entry, kept_record
from tests.redfish.builders import CATALOG, REGISTRIES


def a_record(**changed: Any) -> AuditRecord:
    values: dict[str, Any] = {
        "time_s": 1_000_000.9,
        "kind": AuditKind.WRITE,
        "user_name": "admin",
        "peer": "192.0.2.1",
        "session": "4",
        "method": "PATCH",
        "uri": "/redfish/v1/Chassis/1",
        "status": 200,
    }
    return AuditRecord(**{**values, **changed})


def entry(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(audit_entry(kept_record(a_record(**changed)), REGISTRIES))
    return found


def test_a_write_says_who_what_from_where_and_with_what_result() -> None:
    found = entry()
    assert found["Created"] == "1970-01-12T13:46:40Z"
    assert found["MessageId"].endswith(".RequestAudited")
    told = ["PATCH", "/redfish/v1/Chassis/1", "admin", "4", "192.0.2.1", "200"]
    assert found["MessageArgs"] == told
    assert all(each in found["Message"] for each in told)
    assert (found["Username"], found["Originator"]) == ("admin", "192.0.2.1")


def test_only_properties_of_a_log_entry_are_told() -> None:
    assert entry().keys() <= CATALOG.types["LogEntry"].properties.keys()


@pytest.mark.parametrize(
    ("status", "severity"), [(201, "OK"), (404, "Warning"), (412, "Warning"), (507, "Critical")]
)
def test_a_refusal_is_a_warning_and_a_failure_is_critical(status: int, severity: str) -> None:
    assert entry(status=status)["Severity"] == severity


def test_a_refusal_names_its_messages() -> None:
    found = entry(status=400, message_ids=("Base.1.22.PropertyUnknown",))
    assert found["MessageArgs"][-1] == "400 Base.1.22.PropertyUnknown"


def test_what_was_made_is_named() -> None:
    assert entry(status=201, made="/redfish/v1/x/1")["MessageArgs"][-1] == "201 /redfish/v1/x/1"


def test_a_login_and_a_failed_one_have_messages_of_their_own() -> None:
    opened = entry(kind=AuditKind.LOGIN, status=201, made="/redfish/v1/x/1")
    assert opened["MessageId"].endswith(".LoggedIn")
    assert opened["MessageArgs"] == ["admin", "192.0.2.1", "/redfish/v1/x/1"]
    failed = entry(kind=AuditKind.LOGIN_FAILED, status=401, user_name=None, session=None)
    assert failed["MessageId"].endswith(".LoginFailed")
    assert failed["MessageArgs"][0] == "-"
    assert failed["Severity"] == "Warning"
    assert "Username" not in failed


@pytest.mark.parametrize("hostile", ["\ud800", "a\nb", "\x1b[31m", "x" * 10_000])
def test_hostile_text_is_short_printable_and_can_be_encoded(hostile: str) -> None:
    shown = entry(uri=hostile, user_name=hostile)["MessageArgs"][1]
    assert shown.isprintable()
    assert len(shown) <= 257


def test_what_an_earlier_version_kept_is_read_as_it_is() -> None:
    assert audit_entry(b'{"EntryType":"Event"}', REGISTRIES) == b'{"EntryType":"Event"}'


def test_of_an_entry_facts_are_kept_and_no_words() -> None:
    kept = kept_record(a_record())
    assert json.loads(kept)[0] == "write"
    assert len(kept) < 120 < len(audit_entry(kept, REGISTRIES))

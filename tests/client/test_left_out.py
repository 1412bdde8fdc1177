"""What a recording does not have."""

from redfish_fm.client.left_out import HEADERS_LEFT_OUT, kept, kept_headers, without_members
from redfish_fm.store.mockup_headers import NEVER_SENT


def test_secrets_are_null_wherever_they_stand() -> None:
    document = {
        "Password": "x1",
        "Oem": {"Acme": [{"AuthToken": "x2", "SNMPCommunityString": "x3", "Name": "kept"}]},
        "EncryptionKey": "x4",
        "ClientSecret": ["x5"],
        "Passphrase": "x6",
        "PasswordChangeRequired": True,
        "TokenType": "RSAToken",
        "AccountLockout": {"PasswordLength": 12},
    }
    found = kept(document)
    assert "x" + "1" not in str(found)
    assert [word for word in str(found).split("'") if word[:1] == "x" and word[1:].isdigit()] == []
    assert found["Password"] is None
    assert found["Oem"] == {
        "Acme": [{"AuthToken": None, "SNMPCommunityString": None, "Name": "kept"}]
    }
    assert found["PasswordChangeRequired"] is True
    assert found["TokenType"] == "RSAToken"
    assert found["AccountLockout"] == {"PasswordLength": 12}


def test_tags_and_clocks_are_left_out_at_every_depth() -> None:
    document = {
        "@odata.etag": '"1"',
        "DateTime": "2026-01-01T00:00:00Z",
        "DateTimeLocalOffset": "+00:00",
        "Status": {"Conditions": [{"Timestamp": "2026-01-01T00:00:00Z", "Severity": "OK"}]},
        "Timestamp": "kept",
        "Members": [{"@odata.id": "/a", "@odata.etag": '"2"'}],
    }
    assert kept(document) == {
        "DateTimeLocalOffset": "+00:00",
        "Status": {"Conditions": [{"Severity": "OK"}]},
        "Timestamp": "kept",
        "Members": [{"@odata.id": "/a"}],
    }


def test_the_root_does_not_say_which_service_it_was() -> None:
    assert kept({"@odata.type": "#ServiceRoot.v1_0_0.ServiceRoot", "UUID": "1"}).keys() == {
        "@odata.type"
    }
    assert kept({"@odata.type": "#Manager.v1_0_0.Manager", "UUID": "1"})["UUID"] == "1"


def test_a_collection_without_members_counts_none() -> None:
    shown = {"Name": "n", "Members": [{"@odata.id": "/a"}], "Members@odata.count": 1}
    assert without_members(shown) == {"Name": "n", "Members": [], "Members@odata.count": 0}


def test_headers_that_are_never_sent_again_are_not_recorded_either() -> None:
    assert HEADERS_LEFT_OUT - {"allow"} == NEVER_SENT
    sent = {"Link": "<x>", "Date": "now", "X-Auth-Token": "t", "ETag": "1", "OData-Version": "4.0"}
    assert kept_headers(sent | {"X-Acme-Secret": "s"}) == {"Link": "<x>", "OData-Version": "4.0"}


def test_what_names_one_service_for_good_is_left_out() -> None:
    root = {"@odata.type": "#ServiceRoot.v1_20_0.ServiceRoot", "UUID": "a", "Name": "Root"}
    assert "UUID" not in kept(root)
    manager = {"@odata.type": "#Manager.v1_24_0.Manager", "ServiceEntryPointUUID": "a"}
    assert kept({**manager, "UUID": "a"}).keys() == {"@odata.type"}
    # A controller that is not the service keeps its own.
    assert kept({**manager, "UUID": "b"}).keys() == {"@odata.type", "UUID"}

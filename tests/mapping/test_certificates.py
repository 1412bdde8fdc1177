"""Certificate writes as edits: what is public, what is secret, and both in one change."""

import json

import pytest

from redfish_fm.fabric.health import Health
from redfish_fm.mapping.certificates import (
    DAY_S,
    ailment,
    is_own,
    linked,
    next_change_s,
    status,
)
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.certificates import (
    CERTIFICATE_SERVICE,
    CLIENT_AUTHORITIES,
    GENERATE,
    REPLACE,
    Material,
)
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind

from .builders import MemoryTip

OWN = "/redfish/v1/Managers/FabricManager/NetworkProtocol/HTTPS/Certificates/1"
OWNS = OWN.rpartition("/")[0]
PUBLIC = {"CertificateString": "public", "CertificateType": "PEM", "Fingerprint": "AA"}
NOW_S = 1e9


@pytest.fixture
def tip() -> MemoryTip:
    documents = {
        CERTIFICATE_SERVICE: "CertificateService.v1_2_1.CertificateService",
        OWNS: "CertificateCollection.CertificateCollection",
        OWN: "Certificate.v1_11_0.Certificate",
        CLIENT_AUTHORITIES: "CertificateCollection.CertificateCollection",
    }
    found = {uri: {"@odata.id": uri, "@odata.type": f"#{name}"} for uri, name in documents.items()}
    return MemoryTip(found, Facts())


def act(tip: MemoryTip, action: str, material: Material | None, **links: str) -> Draft:
    body = {name: {"@odata.id": uri} for name, uri in links.items()}
    write = Write(
        WriteKind.ACTION, CERTIFICATE_SERVICE, "CertificateService", "tester", body, action,
        material=material,
    )  # fmt: skip
    return prepare(write, tip)


def add(tip: MemoryTip, material: Material, **body: str) -> Draft:
    write = Write(
        WriteKind.CREATE, CLIENT_AUTHORITIES, "Certificate", "tester", body, material=material
    )
    return tip.commit(prepare(write, tip))


def test_a_replacement_is_one_change_of_what_is_public_and_what_is_secret(tip: MemoryTip) -> None:
    draft = act(tip, REPLACE, Material(PUBLIC, b"key"), CertificateUri=OWN)
    assert draft.edits == (
        Edit(Space.OVERLAY, OWN, None, b'{"CertificateString":"public","CertificateType":"PEM"}'),
        Edit(Space.SECRET, OWN, None, b"key"),
    )


def test_a_waiting_key_that_was_used_waits_no_more(tip: MemoryTip) -> None:
    tip.commit(act(tip, GENERATE, Material(key=b"key"), CertificateCollection=OWNS))
    assert tip.secret(OWNS) == b"key"
    tip.commit(act(tip, REPLACE, Material(PUBLIC, b"key", b"key"), CertificateUri=OWN))
    assert (tip.secret(OWNS), tip.secret(OWN)) == (None, b"key")


def test_a_key_that_came_to_wait_meanwhile_stays(tip: MemoryTip) -> None:
    tip.commit(act(tip, GENERATE, Material(key=b"newer"), CertificateCollection=OWNS))
    tip.commit(act(tip, REPLACE, Material(PUBLIC, b"key", b"key"), CertificateUri=OWN))
    assert tip.secret(OWNS) == b"newer"


def test_secrets_stand_in_secret_space_only(tip: MemoryTip) -> None:
    drafts = [
        act(tip, GENERATE, Material(key=b"a-key"), CertificateCollection=OWNS),
        act(tip, REPLACE, Material(PUBLIC, b"a-key"), CertificateUri=OWN),
    ]
    for edit in [edit for draft in drafts for edit in draft.edits]:
        assert edit.space is Space.SECRET or b"a-key" not in (edit.post or b"")
    assert "a-key" not in repr(Material(PUBLIC, b"a-key", b"a-key"))


def test_what_was_not_read_is_not_carried_out(tip: MemoryTip) -> None:
    with pytest.raises(RedfishError) as told:
        act(tip, REPLACE, None, CertificateUri=OWN)
    assert told.value.status == 400
    write = Write(WriteKind.CREATE, CLIENT_AUTHORITIES, "Certificate", "tester", {})
    with pytest.raises(RedfishError) as told:
        prepare(write, tip)
    assert told.value.status == 405


def test_an_authority_is_a_document_with_what_it_says(tip: MemoryTip) -> None:
    draft = add(tip, Material(PUBLIC), Id="ours")
    assert (draft.kind, draft.uri) == (OutcomeKind.CREATED, f"{CLIENT_AUTHORITIES}/ours")
    document = json.loads(draft.edits[0].post or b"")
    assert document["Name"] == "Authority ours" and PUBLIC.items() <= document.items()


def test_the_same_authority_twice_is_refused(tip: MemoryTip) -> None:
    add(tip, Material(PUBLIC))
    with pytest.raises(RedfishError) as told:
        add(tip, Material(PUBLIC))
    assert told.value.status == 409


def test_an_authority_replaced_by_itself_changes_nothing(tip: MemoryTip) -> None:
    uri = add(tip, Material(PUBLIC)).uri
    assert act(tip, REPLACE, Material(PUBLIC), CertificateUri=uri).kind is OutcomeKind.NO_OPERATION


def test_links_are_read_leniently() -> None:
    assert linked({"X": {"@odata.id": "/a/"}}, "X") == "/a"
    for body in ({}, {"X": None}, {"X": "/a"}, {"X": {"@odata.id": 1}}):
        assert linked(body, "X") == ""


def test_our_own_certificate_is_known_by_its_place() -> None:
    assert is_own(OWN) and is_own(OWN.replace("FabricManager", "other"))
    assert not any(map(is_own, (OWNS, f"{OWN}/x", "/redfish/v1/Systems/1/Certificates/1")))


@pytest.mark.parametrize(
    ("left_days", "health"),
    [
        (31, None),
        (30, Health.WARNING),
        (7.1, Health.WARNING),
        (7, Health.CRITICAL),
        (0.1, Health.CRITICAL),
        (0, Health.CRITICAL),
        (-1, Health.CRITICAL),
    ],
)
def test_what_ails_follows_from_the_time_left(left_days: float, health: Health | None) -> None:
    found = ailment(OWN, (0.0, NOW_S + left_days * DAY_S), NOW_S)
    assert (None if found is None else found.severity) == health
    assert (found is not None and "has expired" in found.told) == (left_days <= 0)


def test_what_is_not_valid_yet_is_critical() -> None:
    found = ailment(OWN, (NOW_S + 1, NOW_S + 1e9), NOW_S)
    assert found is not None and found.severity is Health.CRITICAL
    assert "Timestamp" not in status(found, (NOW_S + 1, NOW_S + 1e9))["Conditions"][0]


def test_each_change_is_foretold() -> None:
    valid, now_s, met = (NOW_S, NOW_S + 60 * DAY_S), NOW_S - 5, []
    while (at_s := next_change_s(valid, now_s)) is not None:
        assert ailment(OWN, valid, at_s) != ailment(OWN, valid, at_s - 0.5)
        met.append(at_s)
        now_s = at_s
    assert met == [NOW_S, *(NOW_S + days * DAY_S for days in (30, 53, 60))]

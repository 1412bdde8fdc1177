"""Certificates through the protocol: waiting keys, replacements, refusals, authorities."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.redfish.certificates import CERTIFICATE_LOCATIONS, CLIENT_AUTHORITIES
from redfish_fm.redfish.changes import Space, feed_record
from redfish_fm.store.base import StoreFull
from redfish_fm.store.memory import DurableState
from tests.certificates_made import (
    CLIENT,
    Made,
    an_authority,
    container,
    key_text,
    made,
    signed_for,
)
from tests.redfish.builders import keys, related

from .desk import GENERATE, OWN, OWNS, REPLACE, Desk, a_desk

ROOT = an_authority()
SERVICE = "/redfish/v1/CertificateService"
REFUSED = ["ActionParameterValueError", "CertificateRefused"]


@pytest.fixture
async def desk(tmp_path: Path):
    async with a_desk(tmp_path) as found:
        yield found


async def requested(desk: Desk, **body: Any) -> str:
    response = await desk.generate(**body)
    assert response.status == 200, response.body
    answer = json.loads(response.body)
    assert set(answer) == {"CSRString", "CertificateCollection"}
    assert answer["CertificateCollection"] == {"@odata.id": OWNS}
    text: str = answer["CSRString"]
    return text


def bare(keys_told: list[str]) -> list[str]:
    return [each.rpartition(".")[2] for each in keys_told]


# -- GenerateCSR and what comes of it ----------------------------------------------------------


async def test_a_request_comes_back_as_a_certificate_that_is_served(desk: Desk) -> None:
    leaf = signed_for(await requested(desk), ROOT)
    before = desk.shown()
    assert (await desk.replace(leaf.pem)).status == 204
    assert desk.shown() == leaf.pem != before
    shown = await desk.get(OWN)
    assert (shown["CertificateString"], shown["CertificateType"]) == (leaf.pem, "PEM")
    assert shown["Issuer"]["CommonName"] == "tests' authority"


async def test_a_request_changes_nothing_that_is_served(desk: Desk) -> None:
    shown, document = desk.shown(), await desk.get(OWN)
    await requested(desk)
    assert desk.shown() == shown
    assert await desk.get(OWN) == document


async def test_only_the_key_of_the_newest_request_waits(desk: Desk) -> None:
    first, second = await requested(desk), await requested(desk)
    refused = await desk.replace(signed_for(first, ROOT).pem)
    assert (refused.status, bare(keys(refused))) == (400, REFUSED)
    assert (await desk.replace(signed_for(second, ROOT).pem)).status == 204


async def test_a_waiting_key_is_used_once_and_then_in_use(desk: Desk) -> None:
    request = await requested(desk)
    await desk.replace(signed_for(request, ROOT).pem)
    assert desk.kernel.published.state.spaces[Space.SECRET].get(OWNS) is None
    renewed = signed_for(request, ROOT, days=(-1, 500))
    assert (await desk.replace(renewed.pem)).status == 204
    assert desk.shown() == renewed.pem


async def test_a_key_waits_over_a_crash(tmp_path: Path) -> None:
    durable = DurableState()
    async with a_desk(tmp_path, durable, crash=True) as desk:
        leaf = signed_for(await requested(desk), ROOT)
    async with a_desk(tmp_path, durable) as desk:
        assert (await desk.replace(leaf.pem)).status == 204
        assert desk.shown() == leaf.pem


async def test_a_request_is_made_anew_whatever_its_idempotency_key(desk: Desk) -> None:
    body = {"CommonName": "fm.example", "CertificateCollection": {"@odata.id": OWNS}}
    answers = [await desk.send("POST", GENERATE, body, idempotency_key="k") for _ in range(2)]
    texts = {json.loads(each.body)["CSRString"] for each in answers}
    assert [each.status for each in answers] == [200, 200] and len(texts) == 2


async def test_the_request_is_the_answer_however_little_is_preferred(desk: Desk) -> None:
    body = {"CommonName": "fm.example", "CertificateCollection": {"@odata.id": OWNS}}
    answer = await desk.send("POST", GENERATE, body, prefer="return=minimal")
    assert answer.status == 200 and b"CSRString" in answer.body


@pytest.mark.parametrize(
    ("wrong", "places"),
    [
        ({"Country": "Utopia"}, ["#/Country"] * 2),
        ({"CommonName": "", "KeyCurveId": "?"}, ["#/CommonName"] * 2 + ["#/KeyCurveId"] * 2),
        (
            {"CertificateCollection": {"@odata.id": CLIENT_AUTHORITIES}},
            ["#/CertificateCollection"] * 2,
        ),
    ],
)
async def test_a_request_that_can_not_be_made_names_why(
    desk: Desk, wrong: dict[str, Any], places: list[str]
) -> None:
    refused = await desk.generate(**wrong)
    assert (refused.status, related(refused)) == (400, places)
    assert desk.kernel.published.state.spaces[Space.SECRET].get(OWNS) is None


# -- ReplaceCertificate ------------------------------------------------------------------------


MIDDLE = an_authority("middle", ROOT)
LEAF = made("fm.example", MIDDLE)


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        (LEAF.key_pem + LEAF.pem, "PEM", "PEM"),
        (LEAF.pem + MIDDLE.pem + LEAF.key_pem, "PEMchain", "PEMchain"),
    ],
)
async def test_a_certificate_may_bring_its_key(
    desk: Desk, text: str, kind: str, shown: str
) -> None:
    assert (await desk.replace(text, kind)).status == 204
    assert desk.shown() == LEAF.pem
    assert (await desk.get(OWN))["CertificateType"] == shown


async def test_a_container_is_taken_for_a_key_that_waits(desk: Desk) -> None:
    leaf = signed_for(await requested(desk), MIDDLE)
    assert (await desk.replace(container(MIDDLE, leaf), "PKCS7")).status == 204
    shown = await desk.get(OWN)
    assert (shown["CertificateType"], shown["CertificateString"]) == (
        "PEMchain",
        leaf.pem + MIDDLE.pem,
    )


async def test_an_encrypted_key_needs_its_password(desk: Desk) -> None:
    text = key_text(LEAF.key, b"an-invented-word") + LEAF.pem
    assert (await desk.replace(text)).status == 400
    assert (await desk.replace(text, Password="wrong")).status == 400
    assert (await desk.replace(text, Password="an-invented-word")).status == 204


STRANGER = made("other.example", ROOT)
BAD = {
    "rubbish": ("rubbish", "PEM"),
    "expired": ((one := made(by=ROOT, days=(-2, -1))).key_pem + one.pem, "PEM"),
    "not valid yet": ((two := made(by=ROOT, days=(1, 2))).key_pem + two.pem, "PEM"),
    "for clients": ((three := made(by=ROOT, purposes=[CLIENT])).key_pem + three.pem, "PEM"),
    "without a key": (LEAF.pem, "PEM"),
    "with another's key": (STRANGER.key_pem + LEAF.pem, "PEM"),
    "a chain as one": (LEAF.key_pem + LEAF.pem + MIDDLE.pem, "PEM"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_certificate_is_refused_and_the_old_one_stays(desk: Desk, name: str) -> None:
    shown, document = desk.shown(), await desk.get(OWN)
    refused = await desk.replace(*BAD[name])
    assert (refused.status, bare(keys(refused))) == (400, REFUSED)
    assert set(related(refused)) == {"#/CertificateString"}
    assert desk.shown() == shown
    assert await desk.get(OWN) == document


async def test_every_reason_is_told_at_once(desk: Desk) -> None:
    bad = made(by=ROOT, days=(-2, -1), purposes=[CLIENT])
    refused = await desk.replace(bad.pem)
    assert bare(keys(refused)) == [REFUSED[0], *[REFUSED[1]] * 3]


async def test_what_was_sent_is_never_repeated(desk: Desk) -> None:
    for text, kind in BAD.values():
        body = (await desk.replace(text, kind)).body.decode()
        assert not any(line in body for line in text.splitlines() if len(line) > 30)


@pytest.mark.parametrize("uri", ["/redfish/v1", f"{OWNS}/2", OWNS, f"{CLIENT_AUTHORITIES}/none"])
async def test_what_is_no_certificate_of_ours_is_not_replaced(desk: Desk, uri: str) -> None:
    refused = await desk.replace(ROOT.pem, uri=uri)
    assert (refused.status, set(related(refused))) == (400, {"#/CertificateUri"})


async def test_the_type_has_to_be_one_that_is_read(desk: Desk) -> None:
    refused = await desk.replace(LEAF.pem, "PKCS12")
    assert (refused.status, bare(keys(refused))) == (400, ["ActionParameterValueNotInList"])


async def test_who_may_not_configure_the_manager_replaces_nothing(desk: Desk) -> None:
    body = {"CertificateUri": {"@odata.id": OWN}, "CertificateString": "", "CertificateType": "PEM"}
    assert (await desk.send("POST", REPLACE, body, user="anne")).status == 403
    asked = {"CommonName": "x", "CertificateCollection": {"@odata.id": OWNS}}
    assert (await desk.send("POST", GENERATE, asked, user="anne")).status == 403


async def test_a_replacement_survives_a_restart_and_a_crash(tmp_path: Path) -> None:
    durable = DurableState()
    async with a_desk(tmp_path / "1", durable, crash=True) as desk:
        await desk.replace(LEAF.key_pem + LEAF.pem)
        document = await desk.get(OWN)
    for place in "23":
        async with a_desk(tmp_path / place, durable, clock=desk.clock) as again:
            assert again.shown() == LEAF.pem
            assert await again.get(OWN) == document


async def test_a_replacement_that_is_not_stored_changes_nothing(desk: Desk, monkeypatch) -> None:
    shown = desk.shown()

    async def lost(*_: object) -> int:
        raise StoreFull("no space")

    monkeypatch.setattr(desk.kernel.writer._store, "commit", lost)  # noqa: SLF001
    assert (await desk.replace(LEAF.key_pem + LEAF.pem)).status == 507
    assert desk.shown() == shown


async def test_the_same_twice_is_as_good_as_once(desk: Desk) -> None:
    text = LEAF.key_pem + LEAF.pem
    assert [(await desk.replace(text)).status for _ in range(2)] == [204, 204]
    assert desk.shown() == LEAF.pem


async def test_of_two_at_the_same_time_the_one_shown_is_the_one_served(desk: Desk) -> None:
    leaves = [made(f"{number}.example", ROOT) for number in range(6)]
    answers = await asyncio.gather(*(desk.replace(each.key_pem + each.pem) for each in leaves))
    assert {each.status for each in answers} == {204}
    assert (await desk.get(OWN))["CertificateString"] == desk.shown()


async def test_no_private_key_leaves(desk: Desk, caplog) -> None:
    caplog.set_level("DEBUG")
    told: list[str] = []
    desk.kernel.writer.on_publish.add(
        lambda changes: told.extend(repr(feed_record(each)) for each in changes)
    )
    await requested(desk)
    await desk.replace(LEAF.key_pem + LEAF.pem)
    state = desk.kernel.published.state
    spaces = [raw for space, raw in state.spaces.items() if space is not Space.SECRET]
    documents = [str(await desk.get(uri)) for uri in (OWN, OWNS, SERVICE, CERTIFICATE_LOCATIONS)]
    secret = "".join(LEAF.key_pem.split("\n")[1:3])
    for text in (*told, *documents, str(spaces), caplog.text):
        assert "PRIVATE KEY" not in text and secret not in text.replace("\\n", "")
    left = {path.name for path in (desk.place / "tls").iterdir()}
    assert left == {"key.pem", "ca.pem", "cert.pem"}


# -- who decides -------------------------------------------------------------------------------


async def test_an_operators_files_are_the_operators_to_replace(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_text(STRANGER.pem)
    key.write_text(STRANGER.key_pem)
    async with a_desk(tmp_path, tls_cert=cert, tls_key=key) as desk:
        for refused in (await desk.replace(LEAF.key_pem + LEAF.pem), await desk.generate()):
            assert refused.status == 409
            assert bare(keys(refused)) == ["OperationNotAllowed", "CertificateRefused"]
        assert desk.shown() == STRANGER.pem
        assert (await desk.get(OWN))["CertificateString"] == STRANGER.pem


async def test_plain_http_has_no_certificate_to_replace(tmp_path: Path) -> None:
    async with a_desk(tmp_path, http=True) as desk:
        assert (await desk.get(OWNS))["Members"] == []
        assert (await desk.replace(LEAF.key_pem + LEAF.pem)).status == 409
        assert (await desk.generate()).status == 409
        assert (await desk.get(CERTIFICATE_LOCATIONS))["Links"]["Certificates"] == []


# -- authorities of clients --------------------------------------------------------------------


async def trusted(desk: Desk, authority: Made, **more: Any) -> str:
    body = {"CertificateString": authority.pem, "CertificateType": "PEM", **more}
    response = await desk.send("POST", CLIENT_AUTHORITIES, body)
    assert response.status == 201, response.body
    return response.headers["Location"]


async def test_an_authority_is_a_resource_that_comes_and_goes(desk: Desk) -> None:
    uri = await trusted(desk, ROOT, Name="ours")
    found = await desk.get(uri)
    assert (found["Name"], found["CertificateString"]) == ("ours", ROOT.pem)
    assert found["Subject"]["CommonName"] == "tests' authority"
    assert found["Status"] == {"State": "Enabled", "Health": "OK"}
    members = (await desk.get(CLIENT_AUTHORITIES))["Members"]
    assert members == [{"@odata.id": uri}]
    listed = (await desk.get(CERTIFICATE_LOCATIONS))["Links"]
    assert listed == {
        "Certificates": [{"@odata.id": uri}, {"@odata.id": OWN}],
        "Certificates@odata.count": 2,
    }
    assert (await desk.send("DELETE", uri)).status == 204
    assert (await desk.get(CLIENT_AUTHORITIES))["Members"] == []
    assert (await desk.get(CERTIFICATE_LOCATIONS))["Links"]["Certificates@odata.count"] == 1


async def test_an_authority_can_be_replaced_in_its_place(desk: Desk) -> None:
    uri = await trusted(desk, ROOT, Name="ours", Oem={"Us": {"a": 1}})
    successor = an_authority("the next one")
    assert (await desk.replace(successor.pem, uri=uri)).status == 204
    found = await desk.get(uri)
    assert (found["Name"], found["CertificateString"]) == ("ours", successor.pem)
    assert found["Oem"] == {"Us": {"a": 1}}


async def test_an_authority_stands_there_once(desk: Desk) -> None:
    await trusted(desk, ROOT)
    other = await trusted(desk, MIDDLE)
    body = {"CertificateString": ROOT.pem, "CertificateType": "PEM"}
    again = await desk.send("POST", CLIENT_AUTHORITIES, body)
    assert (again.status, bare(keys(again))) == (409, ["ResourceAlreadyExists"])
    assert (await desk.replace(ROOT.pem, uri=other)).status == 409


@pytest.mark.parametrize(
    "text",
    [
        "rubbish",
        LEAF.pem,
        ROOT.key_pem + ROOT.pem,
        an_authority(days=(-2, -1)).pem,
        MIDDLE.pem + ROOT.pem,
    ],
)
async def test_what_is_no_authority_is_not_trusted(desk: Desk, text: str) -> None:
    kind = "PEMchain" if text.count("BEGIN CERTIFICATE") > 1 else "PEM"
    body = {"CertificateString": text, "CertificateType": kind}
    refused = await desk.send("POST", CLIENT_AUTHORITIES, body)
    assert (refused.status, bare(keys(refused))) == (
        400,
        ["PropertyValueError", "CertificateRefused"],
    )
    assert (await desk.get(CLIENT_AUTHORITIES))["Members"] == []


async def test_the_services_own_certificate_is_neither_added_to_nor_deleted(desk: Desk) -> None:
    body = {"CertificateString": LEAF.pem, "CertificateType": "PEM"}
    assert (await desk.send("POST", OWNS, body)).status == 405
    assert (await desk.send("DELETE", OWN)).status == 405
    assert (await desk.send("PATCH", OWN, {"Name": "x"})).status == 405

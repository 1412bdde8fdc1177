"""Which certificate is served, whom clients' certificates stand for, and what time does to both."""

from pathlib import Path
from typing import Any

import pytest

from redfish_fm.certificates import serving
from redfish_fm.config import Config
from redfish_fm.redfish.certificates import CERTIFICATE_LOCATIONS, CLIENT_AUTHORITIES
from redfish_fm.redfish.client_certificates import ClientCertificate
from redfish_fm.redfish.policy import ACCOUNT_SERVICE
from redfish_fm.redfish.times import date_time
from redfish_fm.server.tls import TlsError, Trust
from redfish_fm.store.memory import DurableState
from tests.certificates_made import Made, an_authority, made
from tests.redfish.builders import keys, related

from .desk import DAY_S, MANAGER, OWN, Desk, a_desk

ROOT = an_authority()
ANNE = "/redfish/v1/AccountService/Accounts/anne"


@pytest.fixture
async def desk(tmp_path: Path):
    async with a_desk(tmp_path) as found:
        yield found


async def after(desk: Desk, delay_s: float) -> dict[str, Any]:
    """Let time go by, in steps that let every sleeper look; return the certificate's Status."""
    await desk.clock.advance(delay_s)
    await desk.clock.advance(0)
    status: dict[str, Any] = (await desk.get(OWN))["Status"]
    return status


# -- expiry ------------------------------------------------------------------------------------


async def served_for(desk: Desk, days: float) -> Made:
    leaf = made(by=ROOT, days=(-1, days))
    assert (await desk.replace(leaf.key_pem + leaf.pem)).status == 204
    return leaf


async def test_expiry_shows_as_health_in_time(desk: Desk) -> None:
    await served_for(desk, 60)
    assert (await desk.get(OWN))["Status"] == {"State": "Enabled", "Health": "OK"}
    told = []
    for days in (29.9, 0.2, 22.8, 0.2, 6.8, 0.2):
        status = await after(desk, days * DAY_S)
        told.append(
            (status["Health"], [each["Message"][-8:] for each in status.get("Conditions", [])])
        )
    assert told == [
        ("OK", []),
        ("Warning", [" 30 days"]),
        ("Warning", [" 30 days"]),
        ("Critical", ["n 7 days"]),
        ("Critical", ["n 7 days"]),
        ("Critical", [" expired"]),
    ]


async def test_the_manager_shows_what_ails_its_certificates(desk: Desk, caplog) -> None:
    await served_for(desk, 60)
    assert (await desk.get(MANAGER))["Status"]["HealthRollup"] == "OK"
    (condition,) = (await after(desk, 31 * DAY_S))["Conditions"]
    shown = (await desk.get(MANAGER))["Status"]
    assert shown == {"HealthRollup": "Warning", "Conditions": [condition]}
    # The log says it once, not at every look.
    await after(desk, DAY_S)
    assert caplog.text.count("expires in less than 30 days") == 1


async def test_a_condition_says_which_certificate_and_since_when(desk: Desk) -> None:
    leaf = await served_for(desk, 60)
    (condition,) = (await after(desk, 31 * DAY_S))["Conditions"]
    assert condition["OriginOfCondition"] == {"@odata.id": OWN}
    began = leaf.certificate.not_valid_after_utc.timestamp() - 30 * DAY_S
    assert condition["Timestamp"] == date_time(began)
    assert condition["Severity"] == "Warning"


async def test_the_tag_moves_only_when_the_health_does(desk: Desk) -> None:
    await served_for(desk, 60)
    tags = []
    for days in (1, 1, 29, 1):
        await after(desk, days * DAY_S)
        tags.append((await desk.send("GET", OWN)).headers["ETag"])
    assert tags[0] == tags[1] != tags[2] == tags[3]


async def test_a_chain_lives_as_long_as_its_weakest_part(desk: Desk) -> None:
    middle = an_authority("middle", ROOT, days=(-1, 20))
    leaf = made(by=middle, days=(-1, 300))
    text = leaf.key_pem + leaf.pem + middle.pem
    assert (await desk.replace(text, "PEMchain")).status == 204
    assert (await desk.get(OWN))["Status"]["Health"] == "Warning"


async def test_a_replacement_heals(desk: Desk) -> None:
    await served_for(desk, 5)
    assert (await desk.get(OWN))["Status"]["Health"] == "Critical"
    await served_for(desk, 300)
    assert (await desk.get(OWN))["Status"] == {"State": "Enabled", "Health": "OK"}


async def test_what_the_service_made_itself_is_renewed_before_it_ails(desk: Desk) -> None:
    first = desk.shown()
    await after(desk, 790 * DAY_S)
    assert desk.shown() == first
    status = await after(desk, 10 * DAY_S)
    assert desk.shown() != first
    assert status == {"State": "Enabled", "Health": "OK"}
    assert (await desk.get(OWN))["CertificateString"] == desk.shown()


async def test_a_renewal_that_fails_is_told_and_tried_again(
    desk: Desk, caplog, monkeypatch
) -> None:
    first, real = desk.shown(), serving.ensure_certificate

    def full(*_: object) -> None:
        raise TlsError("cannot write TLS files in x: no space")

    monkeypatch.setattr(serving, "ensure_certificate", full)
    status = await after(desk, 800 * DAY_S)
    assert status["Health"] == "Warning"
    assert "the certificate from before is served on: cannot write" in caplog.text
    assert desk.shown() == first
    monkeypatch.setattr(serving, "ensure_certificate", real)
    assert (await after(desk, serving.AGAIN_S))["Health"] == "OK"
    assert desk.shown() != first


async def test_nothing_is_made_anew_while_nothing_changes(desk: Desk) -> None:
    assert desk.certificates.context is not None
    before = desk.certificates.context.newest
    await after(desk, 3 * DAY_S)
    assert desk.certificates.context.newest is before


async def test_authorities_expire_as_well(desk: Desk) -> None:
    uri = await trusted(desk, an_authority(days=(-1, 40)))
    assert (await desk.get(uri))["Status"]["Health"] == "OK"
    await after(desk, 11 * DAY_S)
    assert (await desk.get(uri))["Status"]["Health"] == "Warning"


# -- the operator's files ----------------------------------------------------------------------


def files(place: Path, pair: Made, name: str) -> dict[str, Path]:
    place.mkdir(exist_ok=True)
    cert, key = place / f"{name}.pem", place / f"{name}-key.pem"
    cert.write_text(pair.pem)
    key.write_text(pair.key_pem)
    return {"tls_cert": cert, "tls_key": key}


async def test_the_operators_files_win_over_what_was_replaced_before(tmp_path: Path) -> None:
    durable, given, ours = DurableState(), made("given.example"), made("ours.example")
    async with a_desk(tmp_path, durable) as desk:
        await desk.replace(ours.key_pem + ours.pem)
    chosen = files(tmp_path, given, "a")
    async with a_desk(tmp_path, durable, **chosen) as desk:
        assert desk.shown() == given.pem
        assert (await desk.get(OWN))["CertificateString"] == given.pem
    async with a_desk(tmp_path, durable) as desk:
        assert desk.shown() == ours.pem


async def test_a_key_in_the_operators_file_is_not_shown(tmp_path: Path) -> None:
    given = made("given.example")
    chosen = files(tmp_path, given, "a")
    chosen["tls_cert"].write_text(given.pem + given.key_pem)
    async with a_desk(tmp_path, **chosen) as desk:
        assert (await desk.get(OWN))["CertificateString"] == given.pem


async def test_read_anew_the_files_are_served_and_shown(tmp_path: Path) -> None:
    first, second = made("a.example"), made("b.example")
    chosen = files(tmp_path, first, "a")
    async with a_desk(tmp_path, **chosen) as desk:
        other = files(tmp_path, second, "b")
        desk.certificates.load(Config(topology="two-hosts", ephemeral=True, **other))
        assert desk.shown() == second.pem
        assert (await desk.get(OWN))["CertificateString"] == second.pem


async def test_files_that_can_not_be_used_leave_all_as_it_was(tmp_path: Path) -> None:
    first = made("a.example")
    chosen = files(tmp_path, first, "a")
    async with a_desk(tmp_path, **chosen) as desk:
        chosen["tls_key"].write_text(made().key_pem)
        with pytest.raises(TlsError):
            desk.certificates.load(Config(topology="two-hosts", ephemeral=True, **chosen))
        assert desk.shown() == first.pem


async def test_files_count_from_when_they_are_read_anew_and_not_before(tmp_path: Path) -> None:
    first, second = made("a.example"), made("b.example")
    chosen = files(tmp_path, first, "a")
    async with a_desk(tmp_path, **chosen) as desk:
        files(tmp_path, second, "a")
        await trusted(desk)
        await settle(desk, Enabled=True)
        await after(desk, DAY_S)
        assert desk.shown() == first.pem
        assert await status(desk, holding(desk)) == 200


async def test_notes_in_the_operators_file_do_no_harm(tmp_path: Path) -> None:
    given = made("given.example")
    chosen = files(tmp_path, given, "a")
    chosen["tls_cert"].write_text(f"für Anne\n{given.pem}", encoding="utf-8")
    async with a_desk(tmp_path, **chosen) as desk:
        await trusted(desk)
        await settle(desk, Enabled=True)
        assert desk.shown() == given.pem
        assert (await desk.get(OWN))["CertificateString"] == given.pem


# -- clients -----------------------------------------------------------------------------------


async def trusted(desk: Desk, authority: Made = ROOT) -> str:
    body = {"CertificateString": authority.pem, "CertificateType": "PEM"}
    response = await desk.send("POST", CLIENT_AUTHORITIES, body)
    assert response.status == 201, response.body
    return response.headers["Location"]


async def settle(desk: Desk, **settings: Any):
    body = {"MultiFactorAuth": {"ClientCertificate": settings}}
    return await desk.send("PATCH", ACCOUNT_SERVICE, body)


def holding(desk: Desk, **how: Any) -> ClientCertificate:
    """Return what a handshake of now proves of somebody whose common name is anne."""
    now_s = desk.clock.wall_s()
    assert desk.certificates.context is not None
    given = {
        "trust": desk.certificates.context.newest.trust.tag,
        "common_names": ("anne",),
        "principal_names": ("anne@example.org",),
        "not_before_s": now_s - DAY_S,
        "not_after_s": now_s + DAY_S,
    }
    return ClientCertificate(**{**given, **how})


async def status(desk: Desk, certificate: ClientCertificate, uri: str = ANNE) -> int:
    return (await desk.send("GET", uri, certificate=certificate)).status


async def test_before_anybody_sets_it_nobody_is_asked_and_everybody_answered(desk: Desk) -> None:
    settings = (await desk.get(ACCOUNT_SERVICE))["MultiFactorAuth"]["ClientCertificate"]
    assert settings == {
        "Enabled": False,
        "CertificateMappingAttribute": "CommonName",
        "CertificateMappingAttribute@Redfish.AllowableValues": ["CommonName", "UserPrincipalName"],
        "RespondToUnauthenticatedClients": True,
        "Certificates": {"@odata.id": CLIENT_AUTHORITIES},
    }


async def test_a_certificate_stands_for_the_user_it_names(desk: Desk) -> None:
    await trusted(desk)
    assert (await settle(desk, Enabled=True)).status == 200
    anne = holding(desk)
    assert anne.trust == Trust((ROOT.pem,)).tag
    assert await status(desk, anne) == 200
    # As anne, and not more than that.
    refused = await desk.send("DELETE", ANNE, certificate=anne)
    assert refused.status == 403


async def test_it_is_off_until_it_is_switched_on_and_after_it_is_switched_off(desk: Desk) -> None:
    await trusted(desk)
    tag = Trust((ROOT.pem,)).tag
    assert await status(desk, holding(desk, trust=tag)) == 401
    await settle(desk, Enabled=True)
    assert await status(desk, holding(desk, trust=tag)) == 200
    await settle(desk, Enabled=False)
    assert await status(desk, holding(desk, trust=tag)) == 401


NOT_ACCEPTED = {
    "expired since it connected": {"not_after_s": 0.0},
    "not valid yet": {"not_before_s": 1e12},
    "of an unknown user": {"common_names": ("nobody",)},
    "of two users": {"common_names": ("anne", "admin")},
    "of no user": {"common_names": ()},
    "checked against others": {"trust": "other"},
    "never checked": {"trust": ""},
}


@pytest.mark.parametrize("why", NOT_ACCEPTED)
async def test_what_is_not_accepted_is_answered_401(desk: Desk, why: str) -> None:
    await trusted(desk)
    await settle(desk, Enabled=True)
    refused = await desk.send("GET", ANNE, certificate=holding(desk, **NOT_ACCEPTED[why]))
    assert refused.status == 401
    assert refused.headers["WWW-Authenticate"].startswith("Basic")


async def test_it_expires_while_the_connection_lasts(desk: Desk) -> None:
    await trusted(desk)
    await settle(desk, Enabled=True)
    anne = holding(desk)
    await desk.clock.advance(DAY_S - 1)
    assert await status(desk, anne) == 200
    await desk.clock.advance(1)
    assert await status(desk, anne) == 401


async def test_an_authority_that_goes_takes_its_users_along(desk: Desk) -> None:
    uri = await trusted(desk)
    await settle(desk, Enabled=True)
    anne = holding(desk)
    assert (await desk.send("DELETE", uri)).status == 204
    assert await status(desk, anne) == 401


async def test_an_authority_that_goes_is_gone_even_where_nothing_new_can_be_served(
    desk: Desk, monkeypatch, caplog
) -> None:
    uri = await trusted(desk)
    await settle(desk, Enabled=True)
    anne = holding(desk)

    def full(*_: object) -> None:
        raise TlsError("cannot write TLS files in x: no space")

    monkeypatch.setattr(serving, "ensure_certificate", full)
    assert (await desk.send("DELETE", uri)).status == 204
    assert "the certificate from before is served on" in caplog.text
    assert await status(desk, anne) == 401


async def test_accounts_that_may_not_log_in_may_not_with_a_certificate(desk: Desk) -> None:
    await trusted(desk)
    await settle(desk, Enabled=True)
    anne = holding(desk)
    await desk.send("PATCH", ANNE, {"Enabled": False})
    assert await status(desk, anne) == 401
    await desk.send("PATCH", ANNE, {"Enabled": True})
    assert await status(desk, anne) == 200
    await desk.send("DELETE", ANNE)
    assert await status(desk, anne, "/redfish/v1/Systems") in (401, 404)
    assert await status(desk, anne, ACCOUNT_SERVICE) == 401


async def test_a_due_new_password_is_due_with_a_certificate_as_well(desk: Desk) -> None:
    await trusted(desk)
    await settle(desk, Enabled=True)
    await desk.send("PATCH", ANNE, {"PasswordChangeRequired": True})
    assert await status(desk, holding(desk)) == 200
    assert await status(desk, holding(desk), ACCOUNT_SERVICE) == 403


async def test_the_principal_name_can_be_what_counts(desk: Desk) -> None:
    await trusted(desk)
    user = "anne@example.org"
    made_account = {"UserName": user, "Password": "an-invented-word", "RoleId": "ReadOnly"}
    accounts = "/redfish/v1/AccountService/Accounts"
    assert (await desk.send("POST", accounts, made_account)).status == 201
    await settle(desk, Enabled=True, CertificateMappingAttribute="UserPrincipalName")
    assert await status(desk, holding(desk, common_names=("nobody",)), ACCOUNT_SERVICE) == 200
    assert await status(desk, holding(desk, principal_names=()), ACCOUNT_SERVICE) == 401


async def test_credentials_in_the_request_win_over_the_certificate(desk: Desk) -> None:
    await trusted(desk)
    await settle(desk, Enabled=True)
    refused = await desk.send("GET", ANNE, certificate=holding(desk), x_auth_token="0" * 64)
    assert refused.status == 401


async def test_settings_and_authorities_survive_a_restart(tmp_path: Path) -> None:
    durable = DurableState()
    async with a_desk(tmp_path, durable, crash=True) as desk:
        await trusted(desk)
        await settle(desk, Enabled=True)
        anne = holding(desk)
    async with a_desk(tmp_path, durable, clock=desk.clock) as desk:
        assert holding(desk) == anne
        assert await status(desk, anne) == 200


@pytest.mark.parametrize(
    ("settings", "key", "place"),
    [
        (
            {"CertificateMappingAttribute": "Whole"},
            "PropertyValueNotInList",
            "CertificateMappingAttribute",
        ),
        ({"Enabled": None}, "PropertyValueTypeError", "Enabled"),
        (
            {"RespondToUnauthenticatedClients": False},
            "PropertyNotWritable",
            "RespondToUnauthenticatedClients",
        ),
    ],
)
async def test_settings_that_can_not_be_are_refused(
    desk: Desk, settings: dict[str, Any], key: str, place: str
) -> None:
    refused = await settle(desk, **settings)
    assert refused.status == 400
    assert [each.rpartition(".")[2] for each in keys(refused)] == [key]
    assert related(refused) == [f"#/MultiFactorAuth/ClientCertificate/{place}"]


async def test_plain_http_believes_no_certificate(tmp_path: Path) -> None:
    async with a_desk(tmp_path, http=True) as desk:
        await trusted(desk)
        await settle(desk, Enabled=True)
        tag = Trust((ROOT.pem,)).tag
        anne = ClientCertificate(tag, ("anne",), (), 0.0, 1e12)
        assert await status(desk, anne) == 401


# -- what else is listed -----------------------------------------------------------------------


async def test_certificates_of_other_resources_are_listed_too(tmp_path: Path) -> None:
    place = "/redfish/v1/Systems/x/Certificates"
    further = {
        place: {"@odata.id": place, "@odata.type": "#CertificateCollection.CertificateCollection"},
        f"{place}/a": {"@odata.id": f"{place}/a", "@odata.type": "#Certificate.v1_0_0.Certificate"},
    }
    async with a_desk(tmp_path, further=further) as desk:
        listed = (await desk.get(CERTIFICATE_LOCATIONS))["Links"]["Certificates"]
        assert {"@odata.id": f"{place}/a"} in listed and {"@odata.id": OWN} in listed

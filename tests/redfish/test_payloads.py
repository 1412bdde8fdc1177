"""What a Task keeps of a request: enough to know what was asked, and no secret."""

import pytest

from redfish_fm.redfish.payloads import BODY_BYTES_MAX, Payload, payload_of, shown
from redfish_fm.redfish.requests import Request

ZONES = "/redfish/v1/Fabrics/F/Zones"
SECRET = "hunter2-and-more"
SECRET_HEADERS = ("authorization", "cookie", "idempotency-key", "x-auth-token", "x-made-up")


def asked(body: bytes = b'{"Name":"z"}', **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("POST", f"{ZONES}/", (), named, body, "192.0.2.1")


def test_method_uri_headers_and_body_are_kept() -> None:
    kept = payload_of(asked(content_type="application/json", if_match='"a"'))
    told = ("Content-Type: application/json", 'If-Match: "a"')
    assert kept == Payload("POST", ZONES, told, '{"Name":"z"}')


@pytest.mark.parametrize("name", SECRET_HEADERS)
def test_a_header_that_is_not_known_to_be_harmless_is_left_out(name: str) -> None:
    kept = payload_of(asked(**{name: SECRET, "accept": "*/*"}))
    assert kept.headers == ("Accept: */*",)
    assert SECRET not in repr(kept)


def test_a_header_without_a_value_is_left_out() -> None:
    assert payload_of(asked(accept="")).headers == ()


@pytest.mark.parametrize(
    "body",
    [
        b'{"Password": "%s"}',
        b'{"Oem": {"X": [{"bmc_PassWord": "%s"}]}}',
        b'{"\\u0050assword": "%s"}',
        b'{"PrivateKey": "%s"}',
        b'{"HttpHeaders": [{"X": "%s"}]}',
        b'{"SnmpCommunity": "%s"}',
    ],
)
def test_a_body_that_names_a_secret_is_hidden_as_a_whole(body: bytes) -> None:
    kept = payload_of(asked(body.replace(b"%s", SECRET.encode()), accept="*/*"))
    assert kept == Payload("POST", ZONES, hidden=True)
    assert shown(kept) == {"HidePayload": True}


def test_a_value_that_sounds_like_a_secret_hides_nothing() -> None:
    assert not payload_of(asked(b'{"Name": "password"}')).hidden


def test_a_large_body_is_hidden() -> None:
    body = b'{"Name":"%s"}' % (b"a" * BODY_BYTES_MAX)
    assert payload_of(asked(body)).hidden


def test_a_request_without_a_body_shows_none() -> None:
    described = shown(payload_of(asked(b"")))
    assert described["HidePayload"] is False
    assert "JsonBody" not in described["Payload"]

"""Tests of redfish_fm.server.tls."""

import asyncio
import datetime
import ipaddress
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from redfish_fm.server.tls import (
    LEAF_DAYS,
    TlsError,
    TlsFiles,
    ensure_certificate,
    host_names,
    operator_certificate,
    say_lacking,
    server_context,
)

from .conftest import Serve
from .wire import get, post, until

NOW_S = time.time()
DAY_S = 86_400.0


def leaf_of(files: TlsFiles) -> x509.Certificate:
    return x509.load_pem_x509_certificate(files.cert.read_bytes())


def trusting(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


@pytest.fixture
def made(tmp_path: Path) -> TlsFiles:
    return ensure_certificate(tmp_path / "tls", "127.0.0.1", NOW_S)


def test_key_is_for_its_owner_only(made: TlsFiles) -> None:
    assert made.key.stat().st_mode & 0o777 == 0o600
    assert made.key.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in made.key.parent.iterdir()) == [
        "ca.pem",
        "cert.pem",
        "key.pem",
    ]


def test_directory_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    ensure_certificate(tmp_path, "127.0.0.1", NOW_S)
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_leaf_carries_all_names_and_lives_825_days(tmp_path: Path) -> None:
    leaf = leaf_of(ensure_certificate(tmp_path, "fm.example", NOW_S))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    dns = names.get_values_for_type(x509.DNSName)
    assert {"localhost", "fm.example", socket.gethostname()} <= set(dns)
    addresses = names.get_values_for_type(x509.IPAddress)
    assert set(addresses) == {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")}
    assert leaf.not_valid_after_utc - leaf.not_valid_before_utc == datetime.timedelta(LEAF_DAYS)
    key = leaf.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])  # noqa: S104
def test_wildcard_host_is_no_name(host: str) -> None:
    assert host not in host_names(host)


def test_a_made_certificate_carries_the_addresses_it_is_announced_by(tmp_path: Path) -> None:
    files = ensure_certificate(tmp_path, "0.0.0.0", NOW_S, ["192.0.2.7", "2001:db8::7"])  # noqa: S104
    names = leaf_of(files).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(each) for each in names.get_values_for_type(x509.IPAddress)}
    assert {"192.0.2.7", "2001:db8::7", "127.0.0.1"} <= addresses


def test_another_address_makes_no_other_certificate_but_is_said(
    made: TlsFiles, caplog: pytest.LogCaptureFixture
) -> None:
    """Everybody would have to trust a new authority, for an address that comes and goes."""
    before = made.cert.read_bytes()
    addresses = ["127.0.0.1", "192.0.2.7"]
    assert ensure_certificate(made.cert.parent, "127.0.0.1", NOW_S, addresses) == made
    assert made.cert.read_bytes() == before
    say_lacking(made, addresses)
    (said,) = [each for each in caplog.messages if "lacks" in each]
    assert "192.0.2.7" in said and "127.0.0.1" not in said


def test_a_certificate_with_all_addresses_is_not_talked_about(
    made: TlsFiles, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    say_lacking(made, ["127.0.0.1", "::1"])
    assert caplog.messages == []


def test_certificate_is_kept_over_a_restart(made: TlsFiles) -> None:
    before = made.cert.read_bytes()
    assert ensure_certificate(made.cert.parent, "127.0.0.1", NOW_S + 790 * DAY_S) == made
    assert made.cert.read_bytes() == before


def test_certificate_about_to_expire_is_made_anew(made: TlsFiles) -> None:
    before = leaf_of(made)
    later_s = NOW_S + 800 * DAY_S
    after = leaf_of(ensure_certificate(made.cert.parent, "127.0.0.1", later_s))
    assert after.not_valid_after_utc > before.not_valid_after_utc
    assert after.serial_number != before.serial_number


def test_certificate_from_the_future_is_made_anew(made: TlsFiles) -> None:
    before = leaf_of(made)
    assert leaf_of(ensure_certificate(made.cert.parent, "127.0.0.1", NOW_S - DAY_S)) != before


def test_certificate_without_the_host_is_made_anew(made: TlsFiles) -> None:
    before = leaf_of(made)
    files = ensure_certificate(made.cert.parent, "other.example", NOW_S)
    assert leaf_of(files) != before


@pytest.mark.parametrize("name", ["ca.pem", "cert.pem", "key.pem"])
@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\nrubbish"])
def test_damaged_set_is_made_anew(made: TlsFiles, name: str, content: bytes | None) -> None:
    path = made.cert.parent / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    server_context(ensure_certificate(made.cert.parent, "127.0.0.1", NOW_S))
    assert b"rubbish" not in path.read_bytes()
    assert made.key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["ca.pem", "key.pem"])
def test_set_mixed_from_two_is_made_anew(made: TlsFiles, tmp_path: Path, name: str) -> None:
    other = ensure_certificate(tmp_path / "other", "127.0.0.1", NOW_S)
    strange = (other.cert.parent / name).read_bytes()
    (made.cert.parent / name).write_bytes(strange)
    files = ensure_certificate(made.cert.parent, "127.0.0.1", NOW_S)
    assert (files.cert.parent / name).read_bytes() != strange


def test_directory_that_can_not_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TlsError, match=r"cannot write TLS files in .*file"):
        ensure_certificate(tmp_path / "file", "127.0.0.1", NOW_S)


# -- an operator's certificate -------------------------------------------------------------------


def test_pair_that_does_not_match_is_refused(made: TlsFiles, tmp_path: Path) -> None:
    other = ensure_certificate(tmp_path / "other", "127.0.0.1", NOW_S)
    with pytest.raises(TlsError, match="does not belong to certificate"):
        server_context(operator_certificate(made.cert, other.key))


def test_file_that_is_not_there_is_named(made: TlsFiles, tmp_path: Path) -> None:
    with pytest.raises(TlsError, match=r"TLS key .*absent\.pem can not be read"):
        operator_certificate(made.cert, tmp_path / "absent.pem")


def test_files_that_are_no_pem_are_refused(tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("rubbish")
    with pytest.raises(TlsError, match="no usable unencrypted PEM pair"):
        server_context(operator_certificate(rubbish, rubbish))


def test_encrypted_key_is_refused_without_asking(made: TlsFiles, tmp_path: Path) -> None:
    locked = tmp_path / "locked.pem"
    subprocess.run(
        ["openssl", "pkey", "-in", made.key, "-aes256", "-passout", "pass:x", "-out", locked],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    with pytest.raises(TlsError, match="no usable unencrypted PEM pair"):
        server_context(operator_certificate(made.cert, locked))


# -- over a socket -----------------------------------------------------------------------------


async def test_client_that_trusts_the_authority_is_served(serve: Serve, made: TlsFiles) -> None:
    served = await serve(context=server_context(made))
    client = await served.connect(trusting(made))
    assert (await client.ask(get())).status == 200
    assert served.seen[0].tls
    assert served.listener.url == f"https://127.0.0.1:{served.listener.port}"


async def test_client_that_closes_over_tls_is_forgotten(serve: Serve, made: TlsFiles) -> None:
    served = await serve(context=server_context(made))
    for request in (get(), get("/x", "Connection: close"), b"GET /x HT", b""):
        client = await served.connect(trusting(made))
        await client.send(request)
        if request.endswith(b"\r\n\r\n"):
            await client.reply()
        await client.close()
    await until(lambda: served.server.connections == 0)


async def test_stop_closes_tls_connections(serve: Serve, made: TlsFiles) -> None:
    served = await serve(context=server_context(made))
    idle, half = [await served.connect(trusting(made)) for _ in range(2)]
    await idle.ask(get())
    await half.send(b"GET /x HT")
    await asyncio.sleep(0.005)
    await served.listener.close()
    await served.server.stop(0.05)
    assert await idle.ended()
    assert await half.ended()


async def test_client_that_does_not_trust_it_refuses(serve: Serve, made: TlsFiles) -> None:
    served = await serve(context=server_context(made))
    with pytest.raises(ssl.SSLCertVerificationError):
        await served.connect(ssl.create_default_context())


async def test_operator_certificate_is_served(serve: Serve, made: TlsFiles) -> None:
    served = await serve(context=server_context(operator_certificate(made.cert, made.key)))
    assert (await (await served.connect(trusting(made))).ask(get())).status == 200


async def test_tls_1_1_is_refused_and_1_2_is_not(serve: Serve, made: TlsFiles) -> None:
    served = await serve(context=server_context(made))
    old = trusting(made)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await served.connect(old)
    good = trusting(made)
    good.maximum_version = ssl.TLSVersion.TLSv1_2
    assert (await (await served.connect(good)).ask(get())).status == 200


async def test_http_1_1_is_what_alpn_agrees_on(serve: Serve, made: TlsFiles) -> None:
    context = trusting(made)
    context.set_alpn_protocols(["h2", "http/1.1"])
    client = await (await serve(context=server_context(made))).connect(context)
    assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"


async def test_tls_connection_holds_one_record_of_buffer(serve: Serve, made: TlsFiles) -> None:
    served = await serve(context=server_context(made))
    await (await served.connect(trusting(made))).ask(get())
    # Nothing public tells what asyncio really allocated.
    (transport,) = served.server._open.values()  # noqa: SLF001
    protocol = transport._ssl_protocol  # type: ignore[attr-defined]  # noqa: SLF001
    assert len(protocol._ssl_buffer) == protocol.max_size == 16 << 10  # noqa: SLF001


async def test_big_bodies_pass_through_the_small_buffer(serve: Serve, made: TlsFiles) -> None:
    served = await serve(context=server_context(made))
    client = await served.connect(trusting(made))
    assert (await client.ask(post(bytes(1_000_000)))).body == b"1000000"


async def test_plain_http_on_the_tls_port_is_dropped_in_silence(
    serve: Serve, made: TlsFiles
) -> None:
    client = await (await serve(context=server_context(made))).connect()
    await client.send(get())
    async with asyncio.timeout(5):
        assert b"HTTP" not in await client.reader.read()

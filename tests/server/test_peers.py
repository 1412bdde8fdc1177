"""Client certificates in real handshakes: what is believed of them, and who is cut off."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from redfish_fm.redfish.client_certificates import ClientCertificate
from redfish_fm.server.tls import (
    LiveContext,
    TlsError,
    Trust,
    ensure_certificate,
    pair_context,
    server_context,
)
from tests.certificates_made import CLIENT, SERVER, Made, an_authority, made, name, now, principal

from .conftest import Serve
from .wire import Client, Served, get, until

ROOT = an_authority()
TRUST = Trust((ROOT.pem,))
NOW_S = now().timestamp()

Identified = Callable[..., ssl.SSLContext]


@pytest.fixture
def live(tmp_path: Path) -> LiveContext:
    return LiveContext(server_context(ensure_certificate(tmp_path, "127.0.0.1", NOW_S), TRUST))


@pytest.fixture
def identified(tmp_path: Path, live: LiveContext) -> Identified:
    """Return a function that makes a client's context, with a certificate or without."""

    def context(*chain: Made, tls_1_2: bool = False) -> ssl.SSLContext:
        client = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        if tls_1_2:
            client.maximum_version = ssl.TLSVersion.TLSv1_2
        if chain:
            file = tmp_path / "client.pem"
            file.write_text(chain[0].key_pem + "".join(each.pem for each in chain))
            client.load_cert_chain(file)
        return client

    return context


def user(*names: str, **how) -> Made:
    how = {"by": ROOT, "purposes": [CLIENT], "alternatives": (), **how}
    return made(name(*names), **how)


async def proved(served: Served, context: ssl.SSLContext) -> ClientCertificate | None:
    client = await served.connect(context)
    assert (await client.ask(get())).status == 200
    return served.seen[-1].certificate


@pytest.mark.parametrize("tls_1_2", [False, True])
async def test_a_trusted_certificate_names_its_holder(
    serve: Serve, live: LiveContext, identified: Identified, tls_1_2: bool
) -> None:
    anne = user("anne", alternatives=[principal("anne@example.org"), x509.DNSName("a.example")])
    found = await proved(await serve(context=live), identified(anne, tls_1_2=tls_1_2))
    valid = anne.certificate
    assert found == ClientCertificate(
        TRUST.tag,
        ("anne",),
        ("anne@example.org",),
        valid.not_valid_before_utc.timestamp(),
        valid.not_valid_after_utc.timestamp(),
    )


async def test_a_client_without_one_is_nobody_and_is_answered(
    serve: Serve, live: LiveContext, identified: Identified
) -> None:
    assert await proved(await serve(context=live), identified()) is None


async def test_nobody_is_asked_where_no_authority_is_trusted(
    serve: Serve, tmp_path: Path, identified: Identified
) -> None:
    files = ensure_certificate(tmp_path, "127.0.0.1", NOW_S)
    served = await serve(context=LiveContext(server_context(files)))
    assert await proved(served, identified(user("anne"))) is None


async def test_who_vouches_in_between_may_come_along(
    serve: Serve, live: LiveContext, identified: Identified
) -> None:
    middle = an_authority("middle", ROOT)
    found = await proved(await serve(context=live), identified(user("anne", by=middle), middle))
    assert found is not None and found.common_names == ("anne",)


async def test_who_vouches_in_between_can_be_trusted_alone(
    serve: Serve, tmp_path: Path, live: LiveContext, identified: Identified
) -> None:
    middle = an_authority("middle", ROOT)
    files = ensure_certificate(tmp_path, "127.0.0.1", NOW_S)
    live.newest = server_context(files, Trust((middle.pem,)))
    served = await serve(context=live)
    assert await proved(served, identified(user("anne", by=middle))) is not None
    await refused(served, identified(user("anne")))


def forged() -> Made:
    """Return a certificate that says it is of our authority and was signed by somebody else."""
    liar = Made(ROOT.certificate, an_authority().key)
    return user("admin", by=liar)


REFUSED = {
    "expired": lambda: user("anne", days=(-2, -1)),
    "not valid yet": lambda: user("anne", days=(1, 2)),
    "foreign": lambda: user("anne", by=an_authority("somebody else's")),
    "of a namesake": lambda: user("anne", by=an_authority()),
    "self-signed": lambda: user("anne", by=None),
    "forged": forged,
    "for servers": lambda: user("anne", purposes=[SERVER]),
    "signed by a user": lambda: user("admin", by=user("anne")),
}


@pytest.mark.parametrize("tls_1_2", [False, True])
@pytest.mark.parametrize("why", REFUSED)
async def test_who_can_not_prove_it_is_cut_off_in_the_handshake(
    serve: Serve, live: LiveContext, identified: Identified, why: str, tls_1_2: bool
) -> None:
    served = await serve(context=live)
    await refused(served, identified(REFUSED[why](), tls_1_2=tls_1_2))
    assert served.seen == []
    # Nobody else suffers.
    assert await proved(served, identified(user("anne"))) is not None


async def refused(served: Served, context: ssl.SSLContext) -> None:
    """Expect the connection to end without an answer: in TLS 1.3 the client learns it late."""
    before = served.server.connections
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        client: Client = await served.connect(context)
        await client.ask(get())
    await until(lambda: served.server.connections == before)


async def test_what_was_proved_under_another_trust_says_so(
    serve: Serve, tmp_path: Path, live: LiveContext, identified: Identified
) -> None:
    served = await serve(context=live)
    client = await served.connect(identified(user("anne")))
    await client.ask(get())
    other = Trust((ROOT.pem, an_authority("another").pem))
    live.newest = server_context(ensure_certificate(tmp_path, "127.0.0.1", NOW_S), other)
    await client.ask(get())
    assert [each.certificate and each.certificate.trust for each in served.seen] == [TRUST.tag] * 2
    found = await proved(served, identified(user("anne")))
    assert found is not None and found.trust == other.tag != TRUST.tag


@pytest.mark.parametrize("tls_1_2", [False, True])
async def test_a_ticket_of_before_proves_nothing_after_the_trust_has_changed(
    tmp_path: Path, live: LiveContext, identified: Identified, tls_1_2: bool
) -> None:
    context = identified(user("anne"), tls_1_2=tls_1_2)
    ticket = shake_hands(live, context, None)[0].session
    again, far = shake_hands(live, context, ticket)
    assert again.session_reused and far.getpeercert(binary_form=True)
    live.newest = server_context(ensure_certificate(tmp_path, "127.0.0.1", NOW_S), Trust())
    after, far = shake_hands(live, context, ticket)
    assert not after.session_reused and far.getpeercert(binary_form=True) is None


def shake_hands(
    live: LiveContext, context: ssl.SSLContext, ticket: ssl.SSLSession | None
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Return both ends of a connection in memory, after a first word from each."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = context.wrap_bio(back, there, server_hostname="127.0.0.1", session=ticket)
    far = live.wrap_bio(there, back, server_side=True)
    for step in (near.do_handshake, far.do_handshake) * 3:
        try:
            step()
        except ssl.SSLWantReadError:
            continue
    far.write(b"hello")
    assert near.read() == b"hello"
    return near, far


def test_an_authority_that_is_none_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(TlsError, match="an authority of clients"):
        server_context(ensure_certificate(tmp_path, "127.0.0.1", NOW_S), Trust(("rubbish",)))


def test_a_pair_leaves_no_file_behind(tmp_path: Path) -> None:
    leaf = made()
    pair_context(leaf.pem, leaf.key_pem.encode(), tmp_path / "tls")
    assert list((tmp_path / "tls").iterdir()) == []
    with pytest.raises(TlsError, match="does not belong"):
        pair_context(leaf.pem, made().key_pem.encode(), tmp_path / "tls")
    assert list((tmp_path / "tls").iterdir()) == []


def test_equal_sets_of_authorities_are_one_trust() -> None:
    other = an_authority("another").pem
    assert Trust((ROOT.pem, other)).tag == Trust((other, ROOT.pem)).tag != TRUST.tag
    assert Trust().tag == ""


async def test_a_principal_name_that_is_no_text_is_nobodys(
    serve: Serve, live: LiveContext, identified: Identified, caplog
) -> None:
    other = x509.OtherName(principal("x").type_id, b"\x13\x04anne")
    served = await serve(context=live)
    assert await proved(served, identified(user("x", alternatives=[other]))) is None
    assert "a client's certificate can not be read" in caplog.text


@pytest.mark.parametrize("raw", [b"\xe9t\xe9.example", b"a\x00b", b"\xff"])
async def test_a_name_in_no_known_writing_costs_the_identity_and_not_the_connection(
    serve: Serve, live: LiveContext, identified: Identified, raw: bytes, caplog
) -> None:
    """asyncio reads all names of a certificate when the handshake ends; it may not fall over."""
    # SEQUENCE of one dNSName [2], whose bytes are no IA5String.
    inner = b"\x82" + bytes([len(raw)]) + raw
    names = x509.UnrecognizedExtension(
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"\x30" + bytes([len(inner)]) + inner
    )
    anne = user("anne", further=[names])
    served = await serve(context=live)
    await proved(served, identified(anne))
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


async def test_long_principal_names_are_read(
    serve: Serve, live: LiveContext, identified: Identified
) -> None:
    long = "a" * 150 + "@example.org"
    served = await serve(context=live)
    found = await proved(served, identified(user("x", alternatives=[principal(long)])))
    assert found is not None and found.principal_names == (long,)


@pytest.mark.parametrize(
    "cipher", ["AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-SHA256"]
)
async def test_weak_ciphers_are_refused(
    serve: Serve, live: LiveContext, identified: Identified, cipher: str
) -> None:
    weak = identified(tls_1_2=True)
    weak.set_ciphers(f"{cipher}:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await (await serve(context=live)).connect(weak)

"""Cases TRANSPORT of shared/cases.jsonl: the service as a process, over TLS and plain sockets.

Their timings are rows of tests/bench; here nothing may hang, mix or fail.
"""

import asyncio
import gzip
import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509

from tests.cases.stack import ROOT
from tests.e2e.service import PASSWORD, USER, serving, zone_body
from tests.server.wire import Client, Reply, get

FABRIC = f"{ROOT}/Fabrics/PCIe"
ZONES = f"{FABRIC}/Zones"
READERS, READS = 200, 4
WRITERS, WRITES = 20, 3
PATIENCE_S = 60.0
"""Before something hangs: 220 clients at once share a core or two with other tests."""

BROWSER = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language: en,de;q=0.5",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Connection: keep-alive",
    "Upgrade-Insecure-Requests: 1",
    "Sec-Fetch-Dest: document",
    "Cache-Control: max-age=0",
)


@dataclass(frozen=True)
class Place:
    """A running service: where it listens, its CA file, a token."""

    port: int
    ca: Path
    token: str

    @property
    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca)

    async def connect(self) -> Client:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.context, limit=1 << 24
        )
        return Client(reader, writer, PATIENCE_S)

    async def ask(self, *requests: bytes) -> list[Reply]:
        """Send requests one after the other over one connection."""
        client = await self.connect()
        try:
            return [await client.ask(each, each.startswith(b"HEAD")) for each in requests]
        finally:
            await client.close()

    def get(self, uri: str, *headers: str, method: str = "GET") -> bytes:
        return get(uri, f"X-Auth-Token: {self.token}", *headers, method=method)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    state = tmp_path_factory.mktemp("transport")
    flags = ("--topology", "two-hosts", "--state", str(state))
    with serving(*flags, tls=True) as (_, url):
        port, ca = int(urlsplit(url).port or 0), state / "tls" / "ca.pem"
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port, context=ssl.create_default_context(cafile=ca)
        )
        login = json.dumps({"UserName": USER, "Password": PASSWORD})
        where = f"{ROOT}/SessionService/Sessions"
        connection.request("POST", where, login, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.read()
        token = response.headers["X-Auth-Token"]
        connection.close()
        yield Place(port, ca, token)


async def test_tr_01_nobody_gets_a_coding_that_was_not_asked_for(place: Place) -> None:
    uri = f"{ROOT}/Fabrics?$expand=*"
    identity, nothing, anything = await place.ask(
        place.get(uri, "Accept-Encoding: identity"),
        place.get(uri),
        place.get(uri, "Accept-Encoding: gzip, deflate, br"),
    )
    for reply in (identity, nothing, anything):
        assert reply.status == 200
        coding = reply.headers.get("Content-Encoding", "identity")
        body = gzip.decompress(reply.body) if coding == "gzip" else reply.body
        assert body == identity.body
        assert int(reply.headers["Content-Length"]) == len(reply.body)
        assert "Transfer-Encoding" not in reply.headers
        # The answer depends on Accept-Encoding only where a coding was chosen by it.
        assert ("Vary" in reply.headers) == (coding != "identity")
    assert "Content-Encoding" not in identity.headers
    assert "Content-Encoding" not in nothing.headers
    json.loads(identity.body)


async def test_tr_03_odata_version_4_0_or_412(place: Place) -> None:
    uri = f"{ROOT}/"
    old, right, none = await place.ask(
        get(uri, "OData-Version: 3.0"), get(uri, "OData-Version: 4.0"), get(uri)
    )
    assert [old.status, right.status, none.status] == [412, 200, 200]
    told = old.json()["error"]["@Message.ExtendedInfo"]
    assert [each["MessageId"].rpartition(".")[2] for each in told] == ["PreconditionFailed"]
    for reply in (old, right, none):
        assert reply.headers["OData-Version"] == "4.0"
        assert reply.headers["Cache-Control"]
    for reply in (right, none):
        assert reply.headers["Link"].endswith("rel=describedby")


@pytest.mark.parametrize("uri", [f"{ROOT}/", FABRIC, f"{ZONES}/none", f"{ROOT}/$metadata"])
async def test_tr_05_head_is_get_without_its_body(place: Place, uri: str) -> None:
    head, full, after = await place.ask(
        place.get(uri, method="HEAD"), place.get(uri), place.get(ROOT)
    )
    assert head.status == full.status == (404 if uri.endswith("none") else 200)
    dated = {"Date"}
    assert {k: v for k, v in head.headers.items() if k not in dated} == {
        k: v for k, v in full.headers.items() if k not in dated
    }
    if full.status == 200:
        assert {"ETag", "Content-Type", "Allow"} <= head.headers.keys()
    # Had the HEAD carried a body, the connection would be out of step by now.
    assert after.json()["@odata.id"] == f"{ROOT}/"


async def test_tr_06_a_browser_gets_every_page_over_one_connection(place: Place) -> None:
    client = await place.connect()
    page = place.get(FABRIC, *BROWSER)
    for _ in range(10):
        reply = await client.ask(page)
        assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
        assert int(reply.headers["Content-Length"]) == len(reply.body)
    await client.send(page + place.get(ZONES, *BROWSER))
    assert [(await client.reply()).json()["@odata.id"] for _ in range(2)] == [FABRIC, ZONES]
    await client.close()


async def test_tr_06_http_1_0_is_answered_and_closed(place: Place) -> None:
    client = await place.connect()
    reply = await client.ask(f"GET {ROOT}/ HTTP/1.0\r\n\r\n".encode())
    assert (reply.status, reply.headers["Connection"]) == (200, "close")
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    assert await client.ended()
    await client.close()


def test_tr_07_a_first_start_makes_a_certificate_that_clients_can_verify(tmp_path: Path) -> None:
    flags = ("--topology", "two-hosts", "--state", str(tmp_path))
    certificates = []
    for _ in range(2):
        with serving(*flags, tls=True) as (service, url):
            certificates.append(served_leaf(tmp_path, url))
            assert unverified_is_refused(url)
            assert service.terminate() == 0
    assert certificates[0] == certificates[1]
    leaf = x509.load_der_x509_certificate(certificates[0])
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    addresses = [str(each) for each in names.get_values_for_type(x509.IPAddress)]
    assert {"127.0.0.1", "::1"} <= set(addresses)
    assert (leaf.not_valid_after_utc - leaf.not_valid_before_utc).days >= 365
    assert (tmp_path / "tls" / "key.pem").stat().st_mode & 0o777 == 0o600


def served_leaf(state: Path, url: str) -> bytes:
    """Return the certificate that a client with our CA file is shown, both by name and address."""
    port = urlsplit(url).port
    context = ssl.create_default_context(cafile=state / "tls" / "ca.pem")
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    shown: set[bytes | None] = set()
    for host in ("127.0.0.1", "localhost"):
        with (
            socket.create_connection(("127.0.0.1", port), 30) as plain,
            context.wrap_socket(plain, server_hostname=host) as sock,
        ):
            shown.add(sock.getpeercert(binary_form=True))
    (leaf,) = shown
    assert leaf is not None
    return leaf


def unverified_is_refused(url: str) -> bool:
    """Tell whether a client that does not know the CA turns away, as curl does without -k."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", urlsplit(url).port, context=ssl.create_default_context(), timeout=30
    )
    try:
        connection.request("GET", "/redfish")
    except ssl.SSLCertVerificationError:
        return True
    finally:
        connection.close()
    return False


async def test_tr_08_readers_and_writers_at_once_get_their_own_answers(place: Place) -> None:
    """200 readers of the whole tree beside 20 writers: nothing mixed, nothing lost, no 5xx."""
    uris = await tree(place)
    assert len(uris) > 40
    async with asyncio.TaskGroup() as tasks:
        for number in range(READERS):
            tasks.create_task(crawl(place, uris, number))
        written = [tasks.create_task(write(place, number)) for number in range(WRITERS)]
    made = {uri for task in written for uri in task.result()}
    assert len(made) == WRITERS * WRITES
    (zones,) = await place.ask(place.get(ZONES))
    assert not made & {each["@odata.id"] for each in zones.json()["Members"]}


async def tree(place: Place) -> list[str]:
    """Return what links lead to from the fabrics; nothing there goes while zones come and go."""
    found: dict[str, Any] = {}
    todo = [f"{ROOT}/Fabrics"]
    client = await place.connect()
    while todo:
        uri = todo.pop()
        if uri not in found:
            found[uri] = (await client.ask(place.get(uri))).json()
            todo += [each["@odata.id"] for each in found[uri].get("Members", ())]
            todo += [
                each["@odata.id"]
                for each in found[uri].values()
                if isinstance(each, dict) and set(each) == {"@odata.id"}
            ]
    await client.close()
    return sorted(found)


async def crawl(place: Place, uris: list[str], number: int) -> None:
    client = await place.connect()
    for step in range(READS):
        uri = uris[(number * 7 + step * 31) % len(uris)]
        reply = await client.ask(place.get(uri))
        assert reply.status == 200, (uri, reply)
        assert reply.json()["@odata.id"].rstrip("/") == uri.rstrip("/")
    await client.close()


async def write(place: Place, number: int) -> list[str]:
    """Make and delete zones; return their URIs."""
    client, made = await place.connect(), []
    for step in range(WRITES):
        name = f"writer {number} zone {step}"
        body = json.dumps(zone_body(Name=name)).encode()
        head = place.get(
            ZONES, "Content-Type: application/json", f"Content-Length: {len(body)}", method="POST"
        )
        reply = await client.ask(head + body)
        assert (reply.status, reply.json()["Name"]) == (201, name)
        made.append(reply.headers["Location"])
        gone = await client.ask(place.get(made[-1], method="DELETE"))
        assert gone.status == 204, gone
    await client.close()
    return made

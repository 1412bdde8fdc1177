"""The event stream of a real process: what the DMTF validator asserts of it, and what it outlives.

The validator's own assertions (PROTOCOL.md 71 and 84) are switched off in its newest release.
"""

import json
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.service import PASSWORD, USER, Client, serving

SSE = "/redfish/v1/EventService/SSE"
SUBSCRIPTIONS = "/redfish/v1/EventService/Subscriptions"
SESSIONS = "/redfish/v1/SessionService/Sessions"
ZONES = "/redfish/v1/Fabrics/CXL/Zones"
PATIENCE_S = 30.0


class Stream:
    """A client that reads the stream as the standard of server-sent events says."""

    def __init__(self, sock: socket.socket) -> None:
        self.ended = threading.Event()
        self.status = 0
        self.headers: dict[str, str] = {}
        self._sock = sock
        self._file = sock.makefile("rb")
        self._messages: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def begin(self, target: str, headers: Mapping[str, str]) -> None:
        """Ask for the stream; read the head of the answer, then the rest as it comes."""
        lines = [f"GET {target} HTTP/1.1", "Host: fm", *(f"{k}: {v}" for k, v in headers.items())]
        self._sock.sendall("\r\n".join([*lines, "", ""]).encode())
        self.status = int(self._file.readline().split()[1])
        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(": ")
            self.headers[name] = value
        self._reader.start()

    def _read(self) -> None:
        text = b""
        try:
            while size := int(self._file.readline() or b"0", 16):
                text += self._file.read(size + 2)[:-2]
                *whole, text = text.split(b"\n\n")
                for each in whole:
                    self._take(each.decode().splitlines())
        except OSError:
            # Killed, or closed by the test itself.
            pass
        self.ended.set()

    def _take(self, lines: list[str]) -> None:
        fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
        if "data" in fields:
            self._messages.put((fields["id"], json.loads(fields["data"])))

    def next(self, timeout_s: float = PATIENCE_S) -> tuple[str, dict[str, Any]]:
        return self._messages.get(timeout=timeout_s)

    def until_told_of(self, uri: str) -> list[tuple[str, dict[str, Any]]]:
        """Return all messages up to the one that says that a zone was created."""
        found = []
        while True:
            found.append(self.next())
            (event,) = found[-1][1]["Events"]
            created = event["MessageId"].endswith(".ZoneCreated")
            if created and event["OriginOfCondition"] == {"@odata.id": uri}:
                return found

    def close(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._reader.join(PATIENCE_S)
        self._file.close()
        self._sock.close()


def connect(url: str, cafile: Path | None = None) -> socket.socket:
    at = urlsplit(url)
    sock = socket.create_connection((str(at.hostname), at.port), PATIENCE_S)
    if cafile is None:
        return sock
    context = ssl.create_default_context(cafile=cafile)
    return context.wrap_socket(sock, server_hostname=at.hostname)


@contextmanager
def streaming(
    url: str, token: str, target: str = SSE, cafile: Path | None = None, **headers: str
) -> Iterator[Stream]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    stream = Stream(connect(url, cafile))
    stream.begin(target, {"X-Auth-Token": token, "Accept": "text/event-stream", **sent})
    try:
        assert stream.status == 200
        assert stream.headers["Content-Type"] == "text/event-stream"
        yield stream
    finally:
        stream.close()


def login(client: Client) -> tuple[str, str]:
    """Return token and URI of a new session."""
    answer = client("POST", SESSIONS, {"UserName": USER, "Password": PASSWORD})
    assert answer.status == 201, answer
    return answer.headers["x-auth-token"], answer.headers["location"]


def make_zone(client: Client, name: str = "zone") -> str:
    answer = client("POST", ZONES, {"Name": name})
    assert answer.status == 201, answer
    return str(answer.headers["location"])


def destinations(client: Client) -> list[str]:
    return [each["@odata.id"] for each in client.get(SUBSCRIPTIONS)["Members"]]


def wait_for(condition: Any, timeout_s: float = PATIENCE_S) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_stream_is_what_the_validator_asserts_over_tls(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with serving("--topology", "two-hosts", "--state", str(state), tls=True) as (_, url):
        (cafile,) = state.rglob("ca*.pem")
        client = Client(url, cafile=cafile)
        token, _ = login(client)
        # A wrong Accept is refused in JSON, and the service goes on.
        refused = client("GET", SSE, headers={"Accept": "application/json"})
        assert refused.status == 406
        error = refused.json["error"]
        assert error["code"] and error["message"] and error["@Message.ExtendedInfo"]
        with streaming(url, token, cafile=cafile) as stream:
            # Opening it made one EventDestination, whose Context is a text.
            (destination,) = destinations(client)
            assert isinstance(client.get(destination)["Context"], str)
            told = stream.until_told_of(make_zone(client))
            told += stream.until_told_of(make_zone(client))
            ids = [id for id, _ in told]
            assert len(set(ids)) == len(ids) >= 4
            assert all("#Event." in event["@odata.type"] for _, event in told)
        # Closing it deletes that.
        wait_for(lambda: destinations(client) == [])
        client.close()


def test_deleting_its_destination_closes_the_stream(tmp_path: Path) -> None:
    with serving("--topology", "two-hosts", "--ephemeral") as (_, url):
        client = Client(url)
        token, _ = login(client)
        with streaming(url, token) as stream:
            (destination,) = destinations(client)
            assert client("DELETE", destination).status in (200, 204)
            assert stream.ended.wait(5)
        client.close()


def test_a_stream_outlives_the_session_that_opened_it() -> None:
    with serving("--topology", "two-hosts", "--ephemeral") as (_, url):
        client = Client(url)
        token, session = login(client)
        with streaming(url, token) as stream:
            assert client("DELETE", session).status in (200, 204)
            assert client("GET", session).status == 404
            stream.until_told_of(make_zone(client))
            assert not stream.ended.is_set()
        client.close()


def test_a_client_comes_back_after_kill_9_and_has_missed_nothing(tmp_path: Path) -> None:
    where = ("--topology", "two-hosts", "--state", str(tmp_path / "state"))
    with serving(*where) as (service, url):
        client = Client(url)
        token, _ = login(client)
        with streaming(url, token) as stream:
            heard = [id for id, _ in stream.until_told_of(make_zone(client, "heard"))]
        missed = make_zone(client, "missed")
        client.close()
        service.kill()
    with serving(*where) as (_, url):
        client = Client(url)
        wait_for(lambda: destinations(client) == [])
        with streaming(url, token, Last_Event_ID=heard[-1]) as stream:
            told = stream.until_told_of(missed)
            assert not {id for id, _ in told} & set(heard)
            assert sum(_about(event) == missed for _, event in told) == 2
            stream.until_told_of(make_zone(client, "new"))
        client.close()


def test_a_service_that_ends_ends_its_streams_in_time(tmp_path: Path) -> None:
    with serving("--topology", "two-hosts", "--ephemeral") as (service, url):
        client = Client(url)
        token, _ = login(client)
        with streaming(url, token) as one, streaming(url, token) as two:
            assert service.terminate(5) == 0
            assert one.ended.wait(5) and two.ended.wait(5)
        client.close()


def test_a_filter_is_heard_and_head_does_not_hang() -> None:
    with serving("--topology", "two-hosts", "--ephemeral") as (_, url):
        client = Client(url)
        token, _ = login(client)
        assert client("HEAD", SSE).status == 200
        only = f"{SSE}?$filter=RegistryPrefix%20eq%20'Fabric'"
        with streaming(url, token, only) as stream:
            told = stream.until_told_of(make_zone(client))
            assert [event["Events"][0]["MessageId"].split(".")[0] for _, event in told] == [
                "Fabric"
            ]
        client.close()


def test_a_client_from_pypi_reads_the_stream() -> None:
    sseclient = pytest.importorskip("sseclient", reason="sseclient-py is not installed")
    requests = pytest.importorskip("requests")
    with serving("--topology", "two-hosts", "--ephemeral") as (_, url):
        client = Client(url)
        response = requests.get(
            f"{url}{SSE}", auth=(USER, PASSWORD), stream=True, timeout=PATIENCE_S,
            headers={"Accept": "text/event-stream"},
        )  # fmt: skip
        zone = make_zone(client)
        reader = sseclient.SSEClient(response).events()
        first, second = next(reader), next(reader)
        assert [_about(json.loads(each.data)) for each in (first, second)] == [zone, zone]
        assert first.id != second.id
        response.close()
        client.close()


def _about(event: dict[str, Any]) -> str:
    (member,) = event["Events"]
    return str(member["OriginOfCondition"]["@odata.id"])

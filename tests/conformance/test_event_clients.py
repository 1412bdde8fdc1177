"""redfish-utilities' event tools and our delivery: subscribe, be told, unsubscribe.

The listener that DMTF publishes is not on PyPI. `Listener` stands on Python's own web server and
TLS instead, as many in labs do: it answers 204 and closes. That it is one that such tools agree
with, the test event of redfish-utilities shows.
"""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.certificates_made import an_authority, made
from tests.conformance.client_tools import run_tool
from tests.e2e.service import PASSWORD, USER, Client, serving
from tests.event_receiver import Receiver

LOOPBACK = ("--topology", "two-hosts", "--event-destinations", "127.0.0.0/8", "--ephemeral")
ZONES = "/redfish/v1/Fabrics/PCIe/Zones"
SUBSCRIPTIONS = "/redfish/v1/EventService/Subscriptions"
TEST = "/redfish/v1/EventService/Actions/EventService.TestEventSubscription"
PATIENCE_S = 30.0


class Listener:
    """A web server over TLS that keeps the headers and the payload of what is posted to it."""

    def __init__(self, place: Path) -> None:
        leaf = made(by=an_authority())
        pem = place / "leaf.pem"
        pem.write_text(leaf.pem + leaf.key_pem)
        self.got: list[tuple[dict[str, str], dict[str, Any]]] = []
        keep = self.got.append

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                keep((dict(self.headers), json.loads(body)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pem)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}/events"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(PATIENCE_S)
        self._server.server_close()

    def told_of(self, words: str) -> tuple[dict[str, str], dict[str, Any]]:
        """Return headers and payload of the first request with these words in it."""
        end_s = time.monotonic() + PATIENCE_S
        while True:
            for headers, payload in self.got:
                if words in json.dumps(payload):
                    return headers, payload
            assert time.monotonic() < end_s, self.got
            time.sleep(0.02)


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    running = Listener(tmp_path)
    yield running
    running.close()


def tool(place: Path, url: str, *arguments: str) -> str:
    login = ("-u", USER, "-p", PASSWORD, "-r", url)
    code, told = run_tool(place, "rf_event_service.py", *login, *arguments)
    assert code == 0, told
    return told


def use(place: Path, url: str, port: int) -> str:
    """Subscribe, make a zone, look; return the Id of the subscription."""
    destination = f"http://127.0.0.1:{port}/events"
    more = ("-c", "ours", "-reg", "Fabric", "-rt", "Zone", "-hh", "X-Key:k")
    tool(place, url, "subscribe", "-dest", destination, *more)
    client = Client(url)
    assert client("POST", ZONES, {"Name": "a"}).status == 201
    (member,) = client.get(SUBSCRIPTIONS)["Members"]
    client.close()
    assert destination in tool(place, url, "info")
    return str(member["@odata.id"]).rsplit("/", 1)[-1]


async def test_redfish_utilities_subscribe_are_told_and_unsubscribe(tmp_path: Path) -> None:
    receiver = Receiver()
    async with receiver.running():
        with serving(*LOOPBACK) as (_, url):
            subscription = await asyncio.to_thread(use, tmp_path, url, receiver.port)
            await receiver.count(1)
            await asyncio.to_thread(tool, tmp_path, url, "unsubscribe", "--id", subscription)
            client = Client(url)
            assert client.get(SUBSCRIPTIONS)["Members"] == []
            client.close()
    (got,) = receiver.got
    assert got.payload["Context"] == "ours"
    assert [each["MessageId"] for each in got.payload["Events"]] == ["Fabric.1.0.ZoneCreated"]
    assert got.header("X-Key") == ["k"]


def test_a_web_server_over_tls_gets_the_context_and_the_headers_that_the_tool_was_given(
    tmp_path: Path, listener: Listener
) -> None:
    with serving(*LOOPBACK) as (_, url):
        client = Client(url)
        headers = ("-hh", "Authorization:Basic who:word", "X-Site: lab 7")
        tool(
            tmp_path, url, "subscribe", "-dest", listener.url, "-c", "mine", "-f", "Event", *headers
        )
        assert "Context: mine" in tool(tmp_path, url, "info")
        for name in "abc":
            assert client("POST", ZONES, {"Id": name, "Name": name}).status == 201
            got, payload = listener.told_of(f"{ZONES}/{name}")
            assert payload["Context"] == "mine"
            assert got["Authorization"] == "Basic d2hvOndvcmQ="
            assert got["X-Site"] == "lab 7"
        client.close()


def test_an_older_way_to_subscribe_works_and_sends_the_resource_along(
    tmp_path: Path, listener: Listener
) -> None:
    with serving(*LOOPBACK) as (_, url):
        client = Client(url)
        older = ("-et", "ResourceAdded", "Alert", "-e")
        tool(tmp_path, url, "subscribe", "-dest", listener.url, *older)
        assert client("POST", ZONES, {"Id": "a", "Name": "a"}).status == 201
        _, payload = listener.told_of(f"{ZONES}/a")
        assert payload["Events"][0]["OriginOfCondition"]["Name"] == "a"
        client.close()


def test_a_test_event_of_ours_says_all_that_one_of_the_tools_says(
    tmp_path: Path, listener: Listener
) -> None:
    code, said = run_tool(
        tmp_path, "rf_test_event_listener.py", "--listener", listener.url, "--context", "mine"
    )
    assert (code, "204" in said) == (0, True), said
    ((_, theirs),) = listener.got
    listener.got.clear()
    with serving(*LOOPBACK) as (_, url):
        client = Client(url)
        tool(tmp_path, url, "subscribe", "-dest", listener.url, "-c", "mine")
        assert client("POST", TEST, {}).status == 204
        _, ours = listener.told_of("TestMessage")
        assert theirs.keys() <= ours.keys()
        assert theirs["Events"][0].keys() <= ours["Events"][-1].keys()
        assert ours["Context"] == theirs["Context"]
        client.close()

"""Events from the service as a process to a receiver as a process, over TLS; both are killed.

Case EV-10 of ../shared/cases.jsonl over real sockets.
"""

import asyncio
import contextlib
import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.certificates_made import an_authority, made
from tests.e2e.service import PASSWORD, ROOT, USER, Client, Service, serving
from tests.event_receiver import ANSWER_200, ANSWER_204, Received, Receiver
from tests.event_streams import CountedStream, digest_of, streams

EVENT_SERVICE = "/redfish/v1/EventService"
SUBSCRIPTIONS = f"{EVENT_SERVICE}/Subscriptions"
ZONES = "/redfish/v1/Fabrics/PCIe/Zones"
LOOPBACK = ("--topology", "two-hosts", "--event-destinations", "127.0.0.0/8")
STREAM = (
    f"{EVENT_SERVICE}/SSE?$filter=MessageId%20eq%20'ResourceEvent.ResourceCreated'"
    "%20and%20ResourceType%20eq%20'Zone'"
)
CREATED = {"MessageIds": ["ResourceEvent.ResourceCreated"], "ResourceTypes": ["Zone"]}


class ReceiverProcess:
    """The receiver as a process of its own; what it took is in a file."""

    def __init__(self, place: Path) -> None:
        self.file = place / "events.jsonl"
        self.file.touch()
        self.authority = place / "authority.pem"
        by = an_authority()
        self.authority.write_text(by.pem)
        leaf = made(by=by)
        self._leaf, self._key = place / "leaf.pem", place / "key.pem"
        self._leaf.write_text(leaf.pem)
        self._key.write_text(leaf.key_pem)
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        words = [sys.executable, "-m", "tests.event_receiver", "--file", str(self.file)]
        words += ["--port", str(self.port), "--cert", str(self._leaf), "--key", str(self._key)]
        self._process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def events(self) -> list[dict[str, Any]]:
        whole = self.file.read_text("utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def wait(self, names: list[str], timeout_s: float = 30.0) -> None:
        """Wait until all of these were told of."""
        deadline_s = time.monotonic() + timeout_s
        while not set(names) <= set(about(self.events())):
            assert time.monotonic() < deadline_s, (names, about(self.events()))
            time.sleep(0.01)


def about(events: list[dict[str, Any]]) -> list[str]:
    return [each["OriginOfCondition"]["@odata.id"].rsplit("/", 1)[-1] for each in events]


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[ReceiverProcess]:
    process = ReceiverProcess(tmp_path)
    process.start()
    yield process
    process.kill()


@contextlib.contextmanager
def started(place: Path, receiver: ReceiverProcess) -> Iterator[tuple[Service, Client]]:
    config = place / "config.toml"
    config.write_text(f'event_authorities = "{receiver.authority}"\n')
    state = ("--state", str(place / "state"), "--config", str(config))
    with serving(*LOOPBACK, *state) as (service, url):
        client = Client(url)
        try:
            yield service, client
        finally:
            client.close()


def subscribe(client: Client, receiver: ReceiverProcess, **more: Any) -> str:
    settings = {"DeliveryRetryIntervalSeconds": 1, "DeliveryRetryAttempts": 100}
    assert client("PATCH", EVENT_SERVICE, settings).status == 200
    body = {
        "Destination": f"https://127.0.0.1:{receiver.port}/events",
        "Protocol": "Redfish",
        "DeliveryRetryPolicy": "RetryForever",
        "VerifyCertificate": True,
        **CREATED,
        **more,
    }
    answer = client("POST", SUBSCRIPTIONS, body)
    assert answer.status == 201, answer
    return answer.headers["location"]


def make(client: Client, *names: str) -> None:
    for name in names:
        assert client("POST", ZONES, {"Id": name, "Name": name}).status == 201


def check(events: list[dict[str, Any]], names: list[str]) -> None:
    """Every one at least once, in order; twice only with the same id."""
    first = list(dict.fromkeys(about(events)))
    assert first == names
    ids: dict[str, set[str]] = {}
    for name, event in zip(about(events), events, strict=True):
        ids.setdefault(name, set()).add(event["EventId"])
    assert all(len(each) == 1 for each in ids.values())
    assert len(set.union(*ids.values())) == len(names)


def kills(place: Path, receiver: ReceiverProcess, rounds: int) -> None:
    names: list[str] = []
    for round_ in range(rounds):
        with started(place, receiver) as (service, client):
            if round_ == 0:
                subscribe(client, receiver)
            batch = [f"r{round_}-{number}" for number in range(10)]
            make(client, *batch[:4])
            if round_ % 2:
                receiver.kill()
            make(client, *batch[4:8])
            if round_ % 2:
                receiver.start()
            make(client, *batch[8:])
            names += batch
            # In the middle: some of it is on its way, some was taken and not yet noted down.
            service.kill()
    with started(place, receiver) as (_, client):
        make(client, "last")
        receiver.wait([*names, "last"])
    check(receiver.events(), [*names, "last"])


def test_no_event_is_lost_when_service_and_receiver_are_killed_in_turn(
    tmp_path: Path, receiver: ReceiverProcess
) -> None:
    kills(tmp_path, receiver, 3)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_no_event_is_lost_in_twenty_kills(tmp_path: Path, receiver: ReceiverProcess) -> None:
    kills(tmp_path, receiver, 20)


def test_a_stopped_service_sends_nothing_twice(tmp_path: Path, receiver: ReceiverProcess) -> None:
    for round_ in range(2):
        with started(tmp_path, receiver) as (service, client):
            if round_ == 0:
                subscribe(client, receiver)
            make(client, f"z{round_}")
            receiver.wait([f"z{round_}"])
            assert service.terminate() == 0
    assert about(receiver.events()) == ["z0", "z1"]


def test_a_test_event_that_was_answered_arrives_though_the_service_is_killed_at_once(
    tmp_path: Path, receiver: ReceiverProcess
) -> None:
    with started(tmp_path, receiver) as (service, client):
        subscribe(client, receiver, MessageIds=[], ResourceTypes=[])
        receiver.kill()
        test = f"{EVENT_SERVICE}/Actions/EventService.TestEventSubscription"
        assert client("POST", test, {}).status == 204
        service.kill()
    receiver.start()
    with started(tmp_path, receiver):
        deadline_s = time.monotonic() + 30
        while not any("TestMessage" in each["MessageId"] for each in receiver.events()):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)


async def test_ev_10_naive_listeners_get_whole_requests_in_order(tmp_path: Path) -> None:
    async def closing(_: Received, __: asyncio.StreamWriter) -> bytes:
        return b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"

    async def with_body(_: Received, __: asyncio.StreamWriter) -> bytes:
        return ANSWER_200

    async def slow(_: Received, __: asyncio.StreamWriter) -> bytes:
        await asyncio.sleep(5)
        return ANSWER_204

    listeners = [Receiver(closing), Receiver(with_body), Receiver(slow)]
    async with contextlib.AsyncExitStack() as stack:
        for each in listeners:
            await stack.enter_async_context(each.running())
        with serving(*LOOPBACK, "--ephemeral") as (_, url):
            await asyncio.to_thread(_three_events, url, [each.port for each in listeners])
            began_s = time.monotonic()
            await asyncio.gather(*(_events(each, 3) for each in listeners[:2]))
            assert time.monotonic() - began_s < 4
            await _events(listeners[2], 3)
    for listener in listeners:
        assert about(listener.events)[:3] == ["a", "b", "c"]
        for got in listener.got:
            assert got.line == "POST /events HTTP/1.1"
            assert got.header("Content-Length") == [str(len(got.body))]
            assert got.header("Content-Type") == ["application/json"]
            assert len(got.header("Host")) == 1
            assert got.header("Transfer-Encoding") == []
            assert got.first.endswith(got.body)
    assert listeners[0].connections == len(listeners[0].got)
    assert listeners[1].connections == 1


def _three_events(url: str, ports: list[int]) -> None:
    client = Client(url)
    for port in ports:
        destination = f"http://127.0.0.1:{port}/events"
        body = {"Destination": destination, "Protocol": "Redfish", **CREATED}
        assert client("POST", SUBSCRIPTIONS, body).status == 201
    for name in "abc":
        make(client, name)
        time.sleep(0.15)
    client.close()


async def _events(receiver: Receiver, count: int, timeout_s: float = 20) -> None:
    async with asyncio.timeout(timeout_s):
        while receiver.told < count:
            receiver.news.clear()
            await receiver.news.wait()


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_ten_thousand_changes_reach_all_who_subscribe_and_all_who_listen(tmp_path: Path) -> None:
    """Of 20 receivers two are dead and two slow, of 200 streams four slow; each of the others gets
    everything once and in order."""
    asyncio.run(_soak(tmp_path, changes=10_000, writers=16, listening=200))


def test_a_few_changes_reach_all_who_subscribe_and_all_who_listen(tmp_path: Path) -> None:
    asyncio.run(_soak(tmp_path, changes=64, writers=4, listening=12))


async def _soak(place: Path, changes: int, writers: int, listening: int) -> None:
    healthy = [Receiver() for _ in range(16)]
    slow = [Receiver(_slowly) for _ in range(2)]
    by = an_authority()
    leaf = made(by=by)
    (place / "authority.pem").write_text(by.pem)
    (place / "leaf.pem").write_text(leaf.pem + leaf.key_pem)
    (place / "config.toml").write_text(f'event_authorities = "{place}/authority.pem"\n')
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(place / "leaf.pem")
    arguments = ("--state", str(place / "state"), "--config", str(place / "config.toml"))
    async with contextlib.AsyncExitStack() as stack:
        for each in (*healthy, *slow):
            await stack.enter_async_context(each.running(context))
        dead = Receiver()
        async with dead.running():
            pass
        service, url = stack.enter_context(serving(*LOOPBACK, *arguments))
        ports = [each.port for each in (*healthy, *slow)] + [dead.port] * 2
        await asyncio.to_thread(_subscriptions, url, ports)
        pauses_s = [0.0] * (listening - 4) + [0.5] * 4
        heard = await stack.enter_async_context(streams(url, STREAM, (USER, PASSWORD), pauses_s))
        before = _rss_bytes(service.process.pid)
        began_s, spent_s = time.monotonic(), _cpu_s(service.process.pid)
        share = changes // writers
        writing = (asyncio.to_thread(_write, url, f"w{n}", share) for n in range(writers))
        await asyncio.gather(*writing)
        took_s, spent_s = time.monotonic() - began_s, _cpu_s(service.process.pid) - spent_s
        await asyncio.gather(*(_events(each, changes, 300) for each in healthy))
        await _heard(heard, changes, 300)
        assert not any(each.ended for each in heard)
        grown = _rss_bytes(service.process.pid) - before
        whole_s = time.monotonic() - began_s
    print(f"{changes} changes in {took_s:.1f} s, each {spent_s / changes * 1000:.2f} ms CPU;")
    print(f"all was told after {whole_s:.1f} s, with {grown / 2**20:.0f} MiB more than before")
    _check_soak(changes, healthy, slow, heard)
    # The zones themselves are most of it: some 4 KiB each, and 10,000 events in the ring.
    assert grown < 200 * 1024 * 1024


def _check_soak(
    changes: int, healthy: list[Receiver], slow: list[Receiver], heard: list[CountedStream]
) -> None:
    """Everything once and in order; what the slow receivers have, without holes."""
    expected = [each["EventId"] for each in healthy[0].events]
    assert len(expected) == changes
    places = [tuple(map(int, each.split("."))) for each in expected]
    assert places == sorted(set(places))
    for each in healthy:
        assert [event["EventId"] for event in each.events] == expected
    for each in slow:
        ids = [event["EventId"] for event in each.events]
        assert ids == expected[: len(ids)]
    for stream in heard:
        assert (stream.wrong, stream.told) == (None, changes)
        assert stream.digest == digest_of(expected)


async def _heard(heard: list[CountedStream], count: int, timeout_s: float) -> None:
    async with asyncio.timeout(timeout_s):
        while not all(each.told >= count or each.ended for each in heard):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _slowly(_: Received, __: asyncio.StreamWriter) -> bytes:
    await asyncio.sleep(2)
    return ANSWER_204


def _subscriptions(url: str, ports: list[int]) -> None:
    client = Client(url)
    for port in ports:
        body = {"Destination": f"https://127.0.0.1:{port}/", "Protocol": "Redfish", **CREATED}
        assert client("POST", SUBSCRIPTIONS, {**body, "VerifyCertificate": True}).status == 201
    client.close()


def _write(url: str, name: str, count: int) -> None:
    client = Client(url)
    make(client, *(f"{name}-{number}" for number in range(count)))
    client.close()


def _rss_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text("ascii")
    (line,) = [each for each in status.splitlines() if each.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


def _cpu_s(process: int) -> float:
    """Return the CPU time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""An answer never leaves before its change is on the disk: seen in the system calls, and felt."""

import asyncio
import re
import shutil
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import pytest

from redfish_fm import app, logs
from redfish_fm.config import Config, Secret
from redfish_fm.redfish.changes import Change
from redfish_fm.store.sqlite import SqliteStore
from tests.e2e.service import PASSWORD, USER, Client, serving, zone_body

FABRIC = "/redfish/v1/Fabrics/PCIe"
ZONES = f"{FABRIC}/Zones"
WRITERS, WRITES = 4, 8
_CALL = re.compile(r"(\d+)\s+(\d+\.\d+) (fdatasync|fsync)\((.*)")
_RESUMED = re.compile(r"(\d+)\s+(\d+\.\d+) <\.\.\. (?:fdatasync|fsync) resumed>")
_LASTED = re.compile(r"= 0 <(\d+\.\d+)>")


def traceable(place: Path) -> bool:
    if shutil.which("strace") is None:
        return False
    words = ["strace", "-o", str(place / "probe"), "true"]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


def syncs(trace: str) -> list[tuple[float, float]]:
    """Return begin and end (seconds since 1970) of every flush of the log that succeeded."""
    found, begun = [], {}
    for line in trace.splitlines():
        called, resumed = _CALL.match(line), _RESUMED.match(line)
        lasted = _LASTED.search(line)
        if called is not None and "state.db-wal" in called.group(4):
            if lasted is not None:
                begin_s = float(called.group(2))
                found.append((begin_s, begin_s + float(lasted.group(1))))
            else:
                begun[called.group(1)] = float(called.group(2))
        elif resumed is not None and lasted is not None and resumed.group(1) in begun:
            begin_s = begun.pop(resumed.group(1))
            found.append((begin_s, begin_s + float(lasted.group(1))))
    return found


class Asking(threading.Thread):
    """Writes zones one after another and notes when it asked and when it was answered."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self._client, self._name = Client(url), name
        self.spans: list[tuple[float, float, str]] = []

    def run(self) -> None:
        for number in range(WRITES):
            uri = f"{ZONES}/{self._name}-{number}"
            body = zone_body(f"{FABRIC}/Endpoints/host1-1", Id=uri.rsplit("/", 1)[-1])
            self._ask("POST", ZONES, body)
            self._ask("PATCH", uri, {"Name": "changed"})
            self._ask("DELETE", uri, None)
        self._client.close()

    def _ask(self, method: str, uri: str, body: object) -> None:
        begin_s = time.time()
        answer = self._client(method, uri, body)
        assert 200 <= answer.status < 300, answer
        self.spans.append((begin_s, time.time(), f"{method} {uri}"))


def test_a_2xx_follows_a_flush_that_began_after_its_request(tmp_path: Path) -> None:
    if not traceable(tmp_path):
        pytest.skip("strace is absent, or may not trace here")
    trace = tmp_path / "trace"
    wrapper = ("strace", "-f", "-ttt", "-T", "-y", "-e", "trace=fdatasync,fsync", "-o", str(trace))
    where = ("--topology", "two-hosts", "--state", str(tmp_path / "state"))
    with serving(*where, wrapper=wrapper) as (_, url):
        asking = [Asking(url, f"w{number}") for number in range(WRITERS)]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
    flushes = syncs(trace.read_text())
    spans = [span for each in asking for span in each.spans]
    assert len(spans) == WRITERS * WRITES * 3
    for begin_s, end_s, what in spans:
        assert any(begin_s <= begun and ended <= end_s for begun, ended in flushes), what


def test_the_trace_is_read_rightly() -> None:
    trace = """\
12 100.5 fdatasync(7</x/state.db-wal>) = 0 <0.25>
13 101.0 fdatasync(7</x/state.db-wal> <unfinished ...>
12 101.1 fsync(8</x/virtual.db-wal>) = 0 <0.1>
13 101.5 <... fdatasync resumed>) = 0 <0.5>
12 102.0 fdatasync(7</x/state.db-wal>) = -1 EIO (Input/output error) <0.1>
"""
    assert syncs(trace) == [(100.5, 100.75), (101.0, 101.5)]


class Slow(SqliteStore):
    """Each commit takes DELAY_S longer than it does."""

    async def commit(self, base_seq: int, changes: Sequence[Change]) -> int:
        seq = await super().commit(base_seq, changes)
        await asyncio.sleep(DELAY_S)
        return seq


DELAY_S = 0.2


@pytest.fixture
async def slow_url(tmp_path, monkeypatch, capsys):
    """Serve, in this process, from a store whose commits take 200 ms longer."""
    stop = asyncio.Event()
    monkeypatch.setattr(app, "SqliteStore", Slow)
    monkeypatch.setattr(app, "_stop_on_signals", lambda: stop)
    monkeypatch.setattr(logs, "configure", lambda *_: None)
    config = Config(
        port=0,
        http=True,
        topology="two-hosts",
        state=tmp_path / "state",
        admin_password=Secret(PASSWORD),
    )
    serving = asyncio.create_task(app.serve(config))
    text = ""
    while "ready URL=" not in text and not serving.done():
        await asyncio.sleep(0.01)
        text += capsys.readouterr().out
    if serving.done():
        await serving
    yield text.split("URL=")[1].strip().removesuffix("/redfish/v1/")
    stop.set()
    assert await serving == 0


async def test_a_store_that_takes_200_ms_longer_delays_every_write(slow_url: str) -> None:
    loop = asyncio.get_running_loop()
    login = {"Authorization": f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"}
    async with aiohttp.ClientSession(slow_url, headers=login) as session:
        async with session.get("/redfish/v1/Systems") as answer:
            assert answer.status == 200

        async def took_s(method: str, uri: str, body: object, status: int) -> float:
            begin_s = loop.time()
            async with session.request(method, uri, json=body) as answer:
                assert answer.status == status, await answer.text()
                return loop.time() - begin_s

        body = zone_body(f"{FABRIC}/Endpoints/host1-1", Id="z")
        assert await took_s("POST", ZONES, body, 201) >= DELAY_S
        assert await took_s("PATCH", f"{ZONES}/z", {"Name": "n"}, 200) >= DELAY_S
        # A refusal that rests on what is being written waits for it as well.
        first = asyncio.create_task(took_s("POST", ZONES, zone_body(Id="y"), 201))
        await asyncio.sleep(0.01)
        assert await took_s("POST", ZONES, zone_body(Id="y"), 409) >= DELAY_S / 2
        await first
        assert await took_s("DELETE", f"{ZONES}/z", None, 204) >= DELAY_S

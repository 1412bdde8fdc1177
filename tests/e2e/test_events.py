"""kill -9 and what happened meanwhile: the log of events has everything once, with one id.

The log follows the stream as any subscriber does, from where it is durable; so this is also a test
of the ids that subscribers get.
"""

import http.client
import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.state import virtual_db
from tests.e2e.service import Client, Service, serving

FABRIC = "/redfish/v1/Fabrics/PCIe"
ZONES = f"{FABRIC}/Zones"
PORT = f"{FABRIC}/Switches/pcie1/Ports/D1"
ENTRIES = "/redfish/v1/Managers/FabricManager/LogServices/EventLog/Entries"
WRITERS = 4
PATIENCE_S = 30.0


def write(url: str, token: str, name: str, acknowledged: list[str]) -> None:
    """Make zones until the service is gone."""
    client = Client(url, token)
    try:
        for number in range(10_000):
            answer = client("POST", ZONES, {"Name": f"{name}-{number}"})
            assert answer.status == 201, answer
            acknowledged.append(answer.headers["location"])
    except (OSError, http.client.HTTPException):
        client.close()


def entries(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(ENTRIES)["Members"]
    return found


def about(found: list[dict[str, Any]], key: str) -> list[str]:
    """Return what the entries of a message are about, one for each."""
    ids = [each for each in found if each["MessageId"].endswith(f".{key}")]
    return [each["Links"]["OriginOfCondition"]["@odata.id"] for each in ids]


def set_link(state: Path, up: bool) -> None:
    """Let the link of a port be up or down, as a hand at the cable would, with no service there."""
    with sqlite3.connect(virtual_db(state)) as db:
        db.execute(
            "INSERT OR REPLACE INTO port"
            " (fabric, switch, port, link_up, present, health, width, gen)"
            " VALUES ('PCIe', 'pcie1', 'D1', ?, 1, 'OK', NULL, NULL)",
            (up,),
        )
    db.close()


def waited_for(client: Client, zones: set[str], links: Counter[str]) -> list[dict[str, Any]]:
    """Return the log once it has what it must have; it may take a look at the fabric."""
    end_s = time.monotonic() + PATIENCE_S
    while True:
        found = entries(client)
        told = {key: len(about(found, key)) for key in links}
        if (zones <= set(about(found, "ZoneCreated")) and told == links) or (
            time.monotonic() > end_s
        ):
            return found
        time.sleep(0.2)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_after_every_kill_nothing_is_missing_and_nothing_is_told_twice(
    tmp_path: Path, rounds: int
) -> None:
    config = tmp_path / "all.toml"
    config.write_text("event_log_entries = 100000\n")
    state = tmp_path / "state"
    where = ("--topology", "two-hosts", "--state", str(state), "--config", str(config))
    acknowledged: list[str] = []
    links: Counter[str] = Counter()
    ids: dict[str, str] = {}
    for number in range(rounds + 1):
        with serving(*where) as (service, url):
            client = Client(url)
            found = waited_for(client, set(acknowledged), links)
            made = Counter(about(found, "ZoneCreated"))
            assert set(acknowledged) <= set(made)
            assert set(made.values()) <= {1}
            assert {key: len(about(found, key)) for key in links} == links
            for each in found:
                known = ids.setdefault(each["EventId"], each["Message"])
                assert known == each["Message"]
            assert len({each["EventId"] for each in found}) == len(found)
            if number < rounds:
                killed(service, client, url, acknowledged)
                client.close()
                up = bool(number % 2)
                set_link(state, up)
                links["DownstreamLinkEstablished" if up else "DownstreamLinkDropped"] += 1
            else:
                client.close()
    assert acknowledged


def killed(service: Service, client: Client, url: str, acknowledged: list[str]) -> None:
    """Let writers write, and kill the service amid it."""
    token = client("POST", "/redfish/v1/SessionService/Sessions", {
        "UserName": "admin", "Password": "an-invented-Passw0rd",
    }).headers["x-auth-token"]  # fmt: skip
    writers = [
        threading.Thread(target=write, args=(url, token, f"w{number}", acknowledged))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    time.sleep(0.7)
    service.kill()
    for writer in writers:
        writer.join(PATIENCE_S)

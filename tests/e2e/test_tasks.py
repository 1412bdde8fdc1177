"""Following long work from outside: by curl, by the redfish library, over restarts and kill -9."""

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.service import PASSWORD, USER, Answer, Client, serving, zone_body

FABRIC = "/redfish/v1/Fabrics/PCIe"
ZONES = f"{FABRIC}/Zones"
ASYNC = {"Prefer": "respond-async"}
BODY = zone_body(f"{FABRIC}/Endpoints/host1-1", f"{FABRIC}/Endpoints/gpu1", Name="followed")
SLOW = """\
faults:
- {at_s: 0, fault: slow, object: pcie1, parameters: {step: bind, delay_s: 2.5}}
"""


def arguments(place: Path) -> tuple[str, ...]:
    faults = place / "faults.yaml"
    faults.write_text(SLOW, encoding="utf-8")
    return ("--topology", "two-hosts", "--state", str(place / "state"), "--faults", str(faults))


def begun(client: Client) -> tuple[str, str]:
    """Ask for a zone that takes a while; return its Task and monitor."""
    answer = client("POST", ZONES, BODY, ASYNC)
    assert answer.status == 202, answer
    return answer.json["@odata.id"], answer.headers["location"]


def over(client: Client, monitor: str) -> Answer:
    for _ in range(600):
        answer = client("GET", monitor)
        if answer.status != 202:
            return answer
        assert int(answer.headers["retry-after"]) > 0
        time.sleep(0.1)
    raise AssertionError(f"{monitor} does not end")


def curl(url: str, *more: str) -> tuple[int, dict[str, str], Any]:
    """Return status, headers and JSON of what curl gets."""
    words = ["curl", "--silent", "--show-error", "--include", "--user", f"{USER}:{PASSWORD}", *more]
    run = subprocess.run([*words, url], check=True, capture_output=True, text=True, timeout=60)
    head, _, body = run.stdout.partition("\n\n")
    status, *lines = head.splitlines()
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    return int(status.split()[1]), headers, json.loads(body) if body else None


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_a_monitor_followed_by_curl_ends_in_what_was_asked_for(tmp_path: Path) -> None:
    with serving(*arguments(tmp_path)) as (_, url):
        sent = ("--header", "Prefer: respond-async", "--json", json.dumps(BODY))
        status, headers, task = curl(f"{url}{ZONES}", *sent)
        assert (status, task["TaskState"]) == (202, "Running")
        monitor, seen = headers["location"], 0
        while status == 202:
            seen += 1
            assert seen < 100
            time.sleep(float(headers["retry-after"]))
            status, headers, body = curl(f"{url}{monitor}")
        assert (status, body["Name"]) == (201, "followed")
        assert curl(f"{url}{headers['location']}")[2] == body
        assert headers["etag"] == body["@odata.etag"]
        assert curl(f"{url}{monitor}")[0] == 201
        assert curl(f"{url}{task['@odata.id']}", "--request", "DELETE")[0] == 204
        assert curl(f"{url}{monitor}")[0] == 404


def test_a_monitor_followed_by_the_redfish_library_ends_in_what_was_asked_for(
    tmp_path: Path,
) -> None:
    redfish = pytest.importorskip("redfish")
    with serving(*arguments(tmp_path)) as (_, url):
        client = redfish.redfish_client(base_url=url, username=USER, password=PASSWORD)
        client.login(auth="basic")
        answer = client.post(ZONES, body=BODY, headers=ASYNC)
        assert answer.is_processing
        for _ in range(600):
            answer = answer.monitor(client)
            if not answer.is_processing:
                break
            time.sleep(0.1)
        assert answer.status == 201
        assert client.get(answer.getheader("Location")).dict["Name"] == "followed"
        client._session.close()  # noqa: SLF001


def test_a_task_goes_on_after_kill_9_and_its_monitor_ends_as_it_would_have(tmp_path: Path) -> None:
    where = arguments(tmp_path)
    with serving(*where) as (service, url):
        client = Client(url)
        task, monitor = begun(client)
        client.close()
        service.kill()
    with serving(*where[:-2]) as (_, url):
        client = Client(url)
        ended = over(client, monitor)
        assert (ended.status, ended.json["Name"]) == (201, "followed")
        assert client.get(task)["TaskState"] == "Completed"
        assert client.get(ended.headers["location"])["Name"] == "followed"
        client.close()


def test_how_a_task_ended_is_told_after_a_restart_too(tmp_path: Path) -> None:
    where = arguments(tmp_path)
    with serving(*where) as (service, url):
        client = Client(url)
        task, monitor = begun(client)
        ended = over(client, monitor)
        client.close()
        assert service.terminate() == 0
    with serving(*where[:-2]) as (_, url):
        client = Client(url)
        again = client("GET", monitor)
        assert (again.status, again.headers["location"]) == (201, ended.headers["location"])
        assert again.json["@odata.id"] == ended.json["@odata.id"]
        assert client("DELETE", monitor).status == 204
        assert client("GET", task).status == 404
        client.close()

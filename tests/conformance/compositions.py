"""What clients have composed by the time a validator looks, and what has failed since.

As tests.conformance.content; the services answer at once (sync_budget_s 0), so that Tasks stay.
"""

import time
from collections.abc import Mapping
from typing import Any

from tests.e2e.service import Client, links

SYSTEMS = "/redfish/v1/Systems"
SERVICE = "/redfish/v1/CompositionService"
COMPOSE = f"{SERVICE}/Actions/CompositionService.Compose"

_FAILED_S = 25
"""When faults strike, by the service's clock: all is composed long before."""
_TIMEOUT_S = 120.0
_POLL_S = 0.25
_GIB = 1024

AI_POD_FAULTS = f"""faults:
  - {{at_s: {_FAILED_S}, fault: lost, object: gpu1}}
  - {{at_s: {_FAILED_S}, fault: health, object: nvme9, parameters: {{health: Critical}}}}
  - {{at_s: {_FAILED_S}, fault: power-off, object: gpu17}}
  - {{at_s: {_FAILED_S}, fault: lost, object: appliance2}}
"""
EX5410P_FAULTS = f"""faults:
  - {{at_s: {_FAILED_S}, fault: lost, object: gpu1}}
  - {{at_s: {_FAILED_S}, fault: power-off, object: memory1}}
  - {{at_s: {_FAILED_S}, fault: health, object: gpu4, parameters: {{health: Warning}}}}
"""


def ai_pod(client: Client) -> list[str]:
    """Six systems, two expanded hosts, two composed blocks, two reservations; devices fail."""
    made = [
        *_system(client, "host1", "gpu1", "gpu2", "nvme1"),
        *_system(client, "host2", "nvme9", "nic1-h1"),
        *_wished(client, Processors=_wish(2, ProcessorType="GPU")),
        *_wished(client, Memory=_wish(1, CapacityMiB=64 * _GIB), **_policy("Mirrored")),
        *_wished(client, Memory=_wish(2, CapacityMiB=512 * _GIB)),
        *_wished(client, Memory=_wish(2, CapacityMiB=32 * _GIB), Storage=_wish(1)),
        *_expanded(client, "host7", "gpu17"),
        *_expanded(client, "host8", "gpu18"),
        _block(client, "gpu19", "gpu20"),
        _block(client, "nvme10", "nvme11"),
        _reservation(client, "gpu21", "gpu22"),
        _reservation(client, "nvme12"),
    ]
    broken = (_block_of("gpu1"), _block_of("nvme9"), _block_of("gpu17"))
    _wait(client, dict.fromkeys(broken, "Unavailable"))
    return [*made, *broken, f"{SERVICE}/FreePool", f"{SERVICE}/ActivePool"]


def ex5410p(client: Client) -> list[str]:
    """Two systems, an expanded node, seven composed blocks, a reservation; devices fail."""
    memory = _wish(2, CapacityMiB=1024 * _GIB)
    functions = [f"nic1-f{number}" for number in range(2, 5)]
    made = [
        *_system(client, "node1", "gpu1", "gpu2"),
        *_wished(client, Memory=memory, **_policy("Mirrored")),
        *_expanded(client, "node4", "gpu3"),
        *(_block(client, f"gpu{number}") for number in range(4, 8)),
        *(_block(client, name) for name in functions),
        _reservation(client, "node3", "gpu8", kind="ComposeSystem"),
    ]
    _wait(client, {_block_of("gpu1"): "Unavailable"})
    return [*made, _block_of("gpu1"), f"{SERVICE}/FreePool", f"{SERVICE}/ActivePool"]


def _block_of(name: str) -> str:
    return f"{SERVICE}/ResourceBlocks/{name}"


def _wish(count: int, **more: Any) -> dict[str, Any]:
    return {"Members": [{"@Redfish.RequestedCount": count, **more}]}


def _policy(name: str) -> dict[str, Any]:
    return {"Oem": {"RedfishFM": {"MemoryPolicy": name}}}


def _system(client: Client, *blocks: str) -> list[str]:
    return _wished(client, Links={"ResourceBlocks": links(*map(_block_of, blocks))})


def _wished(client: Client, **body: Any) -> list[str]:
    """Compose a system; return its Task's URI, and its own."""
    answer = client("POST", SYSTEMS, {"Name": "Made", **body})
    task = _done(client, answer)
    made = client("GET", answer.headers["location"]).headers["location"]
    return [task, made]


def _expanded(client: Client, host: str, block: str) -> list[str]:
    action = f"{SYSTEMS}/{host}/Actions/ComputerSystem.AddResourceBlock"
    given = {"ResourceBlock": {"@odata.id": _block_of(block)}}
    return [_done(client, client("POST", action, given)), f"{SYSTEMS}/{host}"]


def _done(client: Client, answer: Any) -> str:
    """Wait until the Task that was answered is Completed; return its URI."""
    assert answer.status == 202, answer
    task = str(answer.json["@odata.id"])
    end_s = time.monotonic() + _TIMEOUT_S
    while "EndTime" not in (document := client.get(task)):
        assert time.monotonic() < end_s, document
        time.sleep(_POLL_S)
    assert document["TaskState"] == "Completed", document
    return task


def _block(client: Client, *blocks: str) -> str:
    """Compose a block of blocks; return its URI."""
    answer = _compose(client, "Apply", "ComposeResource", *blocks)
    return str(answer["Manifest"]["Stanzas"][0]["Response"]["@odata.id"])


def _reservation(client: Client, *blocks: str, kind: str = "ComposeResource") -> str:
    answer = _compose(client, "PreviewReserve", kind, *blocks)
    return f"{SERVICE}/CompositionReservations/{answer['ReservationId']}"


def _compose(client: Client, request: str, kind: str, *blocks: str) -> Any:
    named = "ResourceBlocks" if kind == "ComposeSystem" else "SupplyingResourceBlocks"
    asked = {"Name": "Made", "Links": {named: links(*map(_block_of, blocks))}}
    stanza = {"StanzaType": kind, "StanzaId": "1", "Request": asked}
    body = {
        "RequestFormat": "Manifest",
        "RequestType": request,
        "Manifest": {"Stanzas": [stanza]},
    }
    answer = client("POST", COMPOSE, body)
    assert answer.status == 200, answer
    return answer.json


def _wait(client: Client, states: Mapping[str, str]) -> None:
    """Wait until blocks show these CompositionStates."""
    end_s = time.monotonic() + _TIMEOUT_S
    while True:
        found = {uri: client.get(uri)["CompositionStatus"]["CompositionState"] for uri in states}
        if found == states:
            return
        assert time.monotonic() < end_s, found
        time.sleep(_POLL_S)

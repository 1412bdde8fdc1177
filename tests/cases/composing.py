"""What the cases of compositions share: requests, and what is true of blocks and of hardware."""

import json
from typing import Any

from redfish_fm.redfish.requests import Response
from tests.cases.stack import Stack
from tests.control.builders import TASKS, links

SYSTEMS = "/redfish/v1/Systems"
SERVICE = "/redfish/v1/CompositionService"
BLOCKS = f"{SERVICE}/ResourceBlocks"
RESERVATIONS = f"{SERVICE}/CompositionReservations"
COMPOSE = f"{SERVICE}/Actions/CompositionService.Compose"
MONITORS = "/redfish/v1/TaskService/TaskMonitors"


def block(name: str) -> str:
    return f"{BLOCKS}/{name}"


def of_blocks(*names: str, **more: Any) -> dict[str, Any]:
    """Return a request for a system of these blocks."""
    return {"Links": {"ResourceBlocks": links(*map(block, names))}, **more}


def wish(count: int = 1, **more: Any) -> dict[str, Any]:
    return {"Members": [{"@Redfish.RequestedCount": count, **more}]}


def gpus(count: int, **more: Any) -> dict[str, Any]:
    return {"Processors": wish(count, ProcessorType="GPU", **more)}


def memory(capacity_mib: int, count: int = 1, **more: Any) -> dict[str, Any]:
    return {"Memory": wish(count, CapacityMiB=capacity_mib, **more)}


def stanza(kind: str = "ComposeSystem", name: str = "s1", **request: Any) -> dict[str, Any]:
    return {"StanzaType": kind, "StanzaId": name, "Request": request}


def undo(uri: str, kind: str = "DecomposeSystem", name: str = "s1") -> dict[str, Any]:
    return {"StanzaType": kind, "StanzaId": name, "Request": {"@odata.id": uri}}


def manifest(kind: str, *stanzas: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the body of Compose; `more` goes into the manifest."""
    return {
        "RequestFormat": "Manifest",
        "RequestType": kind,
        "Manifest": {"Stanzas": list(stanzas), **more},
    }


def told(response: Response) -> list[dict[str, Any]]:
    """Return the messages of a refusal."""
    found: list[dict[str, Any]] = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return found


def responses(response: Response) -> list[dict[str, Any]]:
    """Return what Compose answers in each stanza."""
    assert response.status == 200, response.body
    stanzas = json.loads(response.body)["Manifest"]["Stanzas"]
    return [each["Response"] for each in stanzas]


async def state(stack: Stack, name: str) -> tuple[str, int, bool]:
    """Return the CompositionState of a block, in how many systems it is, and if it is reserved."""
    status = (await stack.get(block(name)))["CompositionStatus"]
    return status["CompositionState"], status["NumberOfCompositions"], status["Reserved"]


async def made_of(stack: Stack, system: str) -> list[str]:
    """Return the names of a system's blocks."""
    found = (await stack.get(system))["Links"]["ResourceBlocks"]
    return [each["@odata.id"].rsplit("/", 1)[-1] for each in found]


async def holdings(stack: Stack, system: str) -> dict[str, list[str]]:
    found = (await stack.get(system))["Oem"]["RedfishFM"]["Composition"]
    return {
        name: [each["@odata.id"] for each in row]
        for name, row in found.items()
        if name != "Mirrors"
    }


async def everything(stack: Stack) -> dict[str, Any]:
    """Return all that a composition could have changed."""
    states = {}
    for name in ("ResourceBlocks", "FreePool", "ActivePool"):
        found = await stack.get(f"{SERVICE}/{name}")
        states[name] = sorted(each["@odata.id"] for each in found["Members"])
    for uri in states["ResourceBlocks"]:
        document = await stack.get(uri)
        states[uri] = document["CompositionStatus"], document["Pool"]
    index = stack.rig.published.state.index.snapshot()
    bound = {name: stack.rig.bound(name) for name in stack.rig.hardware}
    return {"states": states, "index": index, "bound": bound}


def bindings(stack: Stack) -> int:
    """Return how many bindings there are in the hardware of all fabrics."""
    return sum(len(stack.rig.bound(name)) for name in stack.rig.hardware)


def acted(stack: Stack, fabric: str, after: int = 0) -> list[tuple[str, str | None]]:
    """Return what the hardware of a fabric did after action `after`: (what, on which port)."""
    actions = stack.rig.oracle(fabric).actions(fabric, after)
    return [(each.what, each.port) for each in actions if each.what in ("bind", "unbind")]


def newest(stack: Stack, fabric: str) -> int:
    """Return the number of the newest action of a fabric's hardware."""
    return max((each.n for each in stack.rig.oracle(fabric).actions(fabric)), default=0)


def commits(stack: Stack) -> int:
    return stack.durable.seq


async def free(stack: Stack) -> None:
    """Wait until nothing is bound and no operation is open, anywhere."""
    for name in stack.rig.hardware:
        await stack.rig.until(lambda name=name: not stack.rig.bound(name))
        await stack.rig.converged(name)


async def tasks(stack: Stack) -> list[str]:
    found = await stack.get(TASKS)
    return [each["@odata.id"] for each in found["Members"]]

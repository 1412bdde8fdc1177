"""redfish-utilities' event tool and our delivery, over TLS: subscribe, be told, unsubscribe."""

import asyncio
from pathlib import Path

from tests.conformance.client_tools import run_tool
from tests.e2e.service import PASSWORD, USER, Client, serving
from tests.event_receiver import Receiver

LOOPBACK = ("--topology", "two-hosts", "--event-destinations", "127.0.0.0/8", "--ephemeral")
ZONES = "/redfish/v1/Fabrics/PCIe/Zones"
SUBSCRIPTIONS = "/redfish/v1/EventService/Subscriptions"


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

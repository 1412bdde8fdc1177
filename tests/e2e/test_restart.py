"""A restart changes nothing that a client can see: equal resources, equal ETags."""

import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.service import Client, serving, unpacked_mockup, zone_body

PCIE = "/redfish/v1/Fabrics/PCIe"
CXL = "/redfish/v1/Fabrics/CXL"
LOGIN = {"UserName": "admin", "Password": "an-invented-Passw0rd"}
LOGS = tuple(
    f"/redfish/v1/Managers/FabricManager/LogServices/{log}/Entries"
    for log in ("EventLog", "AuditLog")
)
"""Entries come up to 0.2 s after what they tell of."""
"""What is seen anew after a restart is told there."""
CHUNK = "/redfish/v1/Chassis/mem1/MemoryDomains/0/MemoryChunks/1"


def settled(client: Client) -> dict[str, str]:
    """Return the tag of every resource, once two crawls agree."""
    while True:
        first = tags(client)
        time.sleep(0.01)
        if first == tags(client):
            return first


def tags(client: Client) -> dict[str, str]:
    found = client.crawl(skip=LOGS)
    return {uri: document["@odata.etag"] for uri, document in found.items()}


def work(client: Client) -> None:
    """Leave zones, a connection, an endpoint, an overlay and a session behind."""
    made = [
        client(
            "POST",
            f"{PCIE}/Zones",
            zone_body(f"{PCIE}/Endpoints/{host}", f"{PCIE}/Endpoints/{gpu}"),
        )
        for host, gpu in (("host1-1", "gpu1"), ("host2-1", "gpu2"))
    ]
    ends = (f"{CXL}/Endpoints/host1-2", f"{CXL}/Endpoints/mem1-ld0")
    made.append(client("POST", f"{CXL}/Zones", zone_body(*ends)))
    connection = {
        "Links": {
            "InitiatorEndpoints": [{"@odata.id": ends[0]}],
            "TargetEndpoints": [{"@odata.id": ends[1]}],
        },
        "MemoryChunkInfo": [{"AccessCapabilities": ["Read"], "MemoryChunk": {"@odata.id": CHUNK}}],
    }
    made.append(client("POST", f"{CXL}/Connections", connection))
    assert {each.status for each in made} == {201}, made
    zone = made[0].headers["location"]
    assert client("PATCH", zone, {"Description": "kept"}).status == 200


def test_every_resource_has_the_tag_it_had_before_the_restart(tmp_path: Path) -> None:
    where = ("--topology", "two-hosts", "--state", str(tmp_path / "state"))
    with serving(*where) as (service, url):
        client = Client(url)
        answer = client("POST", "/redfish/v1/SessionService/Sessions", LOGIN)
        client.close()
        token = answer.headers["x-auth-token"]
        client = Client(url, token)
        work(client)
        before = settled(client)
        client.close()
        assert service.terminate() == 0
    # What listens is shown: at another port one resource would have another tag.
    with serving(*where, "--port", str(urlsplit(url).port)) as (service, url):
        client = Client(url, token)
        assert len(before) > 100
        after = settled(client)
        assert {
            uri: (tag, after.get(uri)) for uri, tag in before.items() if tag != after.get(uri)
        } == {}
        assert after.keys() == before.keys()
        unless = {"If-None-Match": before[f"{PCIE}/Zones"]}
        assert client("GET", f"{PCIE}/Zones", None, unless).status == 304
        client.close()
        assert service.terminate() == 0


def test_an_imported_mockup_is_served_from_the_state_after_the_first_start(
    shared: Path, tmp_path: Path
) -> None:
    mockup = unpacked_mockup(shared, tmp_path, "public-cxl")
    where = ("--mockup", str(mockup), "--state", str(tmp_path / "state"))
    with serving(*where) as (service, url):
        client = Client(url)
        before = settled(client)
        client.close()
        assert service.terminate() == 0
    (mockup / "Fabrics" / "index.json").unlink()
    with serving(*where, "--port", str(urlsplit(url).port)) as (service, url):
        client = Client(url)
        after = settled(client)
        client.close()
        assert service.terminate() == 0
    changed = {uri for uri, tag in before.items() if tag != after.get(uri)}
    assert changed == set()

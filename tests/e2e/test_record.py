"""Export, import, export: our own service recorded, served from the recording, recorded again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.service import PASSWORD, ROOT, USER, Client, links, serving, zone_body
from tests.e2e.test_restart import work

FABRICS = "/redfish/v1/Fabrics"
PCIE, CXL, NVME = f"{FABRICS}/PCIe", f"{FABRICS}/CXL", f"{FABRICS}/NVMeoF"
CHUNKS = "/redfish/v1/Chassis/pooled1/MemoryDomains/1/MemoryChunks"
VOLUMES = "/redfish/v1/Storage/jbof1/Volumes"

WHERE_IT_LISTENS = "Managers/FabricManager/NetworkProtocol/index.json"
WHAT_IT_TOLD = "v1/Managers/FabricManager/LogServices/EventLog/"
"""What differs between two services that serve the same: their ports, and what each has told."""


def record(url: str, folder: Path, *flags: str) -> dict[str, Any]:
    """Record with headers; return what the command said, after it said all is recorded."""
    result = subprocess.run(
        (
            *(sys.executable, "-m", "redfish_fm", "mockup", "record", "--json", "--headers"),
            *("--user", USER, *flags, url, str(folder)),
        ),
        cwd=ROOT,
        env={"REDFISH_PASSWORD": PASSWORD, "PATH": "/usr/bin:/bin", "HOME": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder / "redfish").as_posix(): path for path in files}
    return {
        name: path.read_bytes()
        for name, path in named.items()
        if not path.match(WHERE_IT_LISTENS) and not name.startswith(WHAT_IT_TOLD)
    }


def settled_record(client: Client, url: str, folder: Path) -> dict[str, bytes]:
    """Return the recorded tree, once nothing changes by itself: two recordings agree."""
    before: dict[str, bytes] = {}
    for attempt in range(20):
        record(url, folder / str(attempt))
        now = tree(folder / str(attempt))
        if now == before:
            return now
        before = now
    raise AssertionError("the service does not settle")


def came_back(client: Client, url: str, folder: Path, first: dict[str, bytes]) -> list[str]:
    """Return the files that are not as they were, once nothing changes by itself."""
    record(url, folder / "once")
    if tree(folder / "once") == first:
        return []
    return differing(first, settled_record(client, url, folder))


def last(place: Path) -> Path:
    return max(place.iterdir(), key=lambda path: int(path.name))


def made(client: Client, collection: str, body: Any) -> str:
    answer = client("POST", collection, body)
    assert answer.status == 201, answer
    return answer.headers["location"]


def pcie_zone(*names: str) -> Any:
    return zone_body(*(f"{PCIE}/Endpoints/{name}" for name in names))


def mixed_work(client: Client) -> None:
    """Leave zones, connections, a chunk and a volume behind; devices on several ports are zoned."""
    made(client, f"{PCIE}/Zones", pcie_zone("host1-1", "gpu1", "dpnvme1-p1", "mhnic1-h1"))
    made(client, f"{PCIE}/Zones", pcie_zone("host2-1", "mhnic1-h3"))
    ends = (f"{CXL}/Endpoints/host1-3", f"{CXL}/Endpoints/pooled1-ld0")
    made(client, f"{CXL}/Zones", zone_body(*ends, f"{CXL}/Endpoints/mhmem1-h1"))
    chunk = made(client, CHUNKS, {"MemoryChunkSizeMiB": 1024})
    made(client, f"{CXL}/Connections", granting("Memory", *ends, "MemoryChunk", chunk))
    volume = made(client, VOLUMES, {"CapacityBytes": 1 << 30})
    ends = (f"{NVME}/Endpoints/host1", f"{NVME}/Endpoints/jbof1")
    made(client, f"{NVME}/Connections", granting("Storage", *ends, "Volume", volume))


def granting(kind: str, initiator: str, target: str, name: str, part: str) -> dict[str, Any]:
    """Return the body of a Connection that grants a chunk or a volume."""
    row = {"AccessCapabilities": ["Read", "Write"], name: {"@odata.id": part}}
    ends = {"InitiatorEndpoints": links(initiator), "TargetEndpoints": links(target)}
    return {"ConnectionType": kind, f"{name}Info": [row], "Links": ends}


def differing(first: dict[str, bytes], second: dict[str, bytes]) -> list[str]:
    """Return the files that are not the same, byte for byte, or in one of both only."""
    return sorted(name for name in first | second if first.get(name) != second.get(name))


def zones(client: Client, *wanted: tuple[int, str, str]) -> None:
    """Ask for zones of one host and one device, and compare the status of the answers."""
    for status, host, device in wanted:
        answer = client("POST", f"{PCIE}/Zones", pcie_zone(host, device))
        assert answer.status == status, (host, device, answer)


@pytest.mark.timeout(400)
def test_two_hosts_with_zones_come_out_as_they_went_in_and_isolation_holds(tmp_path: Path) -> None:
    with serving("--topology", "two-hosts", "--ephemeral") as (service, url):
        client = Client(url)
        work(client)
        first = settled_record(client, url, tmp_path / "1")
        client.close()
        assert service.terminate() == 0
    assert sum(name.endswith("index.json") for name in first) > 500
    with serving("--mockup", str(last(tmp_path / "1")), "--ephemeral") as (service, url):
        client = Client(url)
        differs = came_back(client, url, tmp_path / "2", first)
        # What is held is refused to others, and what is free is given.
        zones(client, (409, "host2-1", "gpu1"), (201, "host1-1", "nvme1"))
        bmc = client.get("/redfish/v1/Managers/host1-bmc")["Actions"]["#Manager.Reset"]
        assert client("POST", bmc["target"], {"ResetType": "ForceRestart"}).status == 204
        client.close()
        assert service.terminate() == 0
    assert differs == []


@pytest.mark.timeout(400)
def test_mixed_comes_out_as_it_went_in_and_every_way_to_a_device_is_guarded(tmp_path: Path) -> None:
    with serving("--topology", "mixed", "--ephemeral") as (service, url):
        client = Client(url)
        mixed_work(client)
        first = settled_record(client, url, tmp_path / "1")
        client.close()
        assert service.terminate() == 0
    with serving("--mockup", str(last(tmp_path / "1")), "--ephemeral") as (service, url):
        client = Client(url)
        differs = came_back(client, url, tmp_path / "2", first)
        # host1 has the drive by its other port, and the first head of the adapter.
        zones(
            client,
            (409, "host2-2", "dpnvme1-p2"),
            (409, "host2-1", "mhnic1-h1"),
            (201, "host2-1", "mhnic1-h2"),
        )
        client.close()
        assert service.terminate() == 0
    assert differs == []


def network_work(client: Client) -> None:
    """Leave a volume behind that a host has by a connection."""
    volume = made(client, VOLUMES, {"CapacityBytes": 1 << 30})
    ends = (f"{NVME}/Endpoints/compute1", f"{NVME}/Endpoints/jbof1")
    made(client, f"{NVME}/Connections", granting("Storage", *ends, "Volume", volume))


@pytest.mark.timeout(400)
def test_nvmeof_jbof_comes_out_as_it_went_in_and_its_hosts_have_power_and_bmcs(
    tmp_path: Path,
) -> None:
    with serving("--topology", "nvmeof-jbof", "--ephemeral") as (service, url):
        client = Client(url)
        network_work(client)
        first = settled_record(client, url, tmp_path / "1")
        client.close()
        assert service.terminate() == 0
    with serving("--mockup", str(last(tmp_path / "1")), "--ephemeral") as (service, url):
        client = Client(url)
        differs = came_back(client, url, tmp_path / "2", first)
        host = "/redfish/v1/Systems/compute2"
        reset = client.get(host)["Actions"]["#ComputerSystem.Reset"]["target"]
        assert client("POST", reset, {"ResetType": "ForceOff"}).status == 204
        assert client.get(host)["PowerState"] == "Off"
        client.close()
        assert service.terminate() == 0
    assert differs == []


def bound_work(client: Client) -> list[tuple[str, str, str]]:
    """Leave a zone behind on every fabric that has a free device for a host.

    Returns (zones, another host, device) of each.
    """
    left = []
    for fabric in client.get(FABRICS)["Members"]:
        at = fabric["@odata.id"]
        hosts, devices = roles(client, f"{at}/Endpoints")
        for device in devices[:8]:
            answer = client("POST", f"{at}/Zones", zone_body(hosts[0], device))
            if answer.status == 201:
                left.append((f"{at}/Zones", hosts[-1], device))
                break
    return left


def roles(client: Client, collection: str) -> tuple[list[str], list[str]]:
    """Return the initiators and the targets of a collection of endpoints."""
    found: dict[str, list[str]] = {"Initiator": [], "Target": []}
    for member in client.get(collection)["Members"]:
        uri = member["@odata.id"]
        found[client.get(uri)["ConnectedEntities"][0]["EntityRole"]].append(uri)
    return found["Initiator"], found["Target"]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "topology",
    [
        pytest.param("ai-pod", marks=pytest.mark.soak),
        pytest.param("ex5410p", marks=pytest.mark.soak),
        "scale:hosts=2,gpus=4,switches=2,memory=2",
    ],
)
def test_a_shipped_fabric_comes_out_as_it_went_in_with_zones(tmp_path: Path, topology: str) -> None:
    with serving("--topology", topology, "--ephemeral") as (service, url):
        client = Client(url)
        left = bound_work(client)
        assert left
        first = settled_record(client, url, tmp_path / "1")
        client.close()
        assert service.terminate() == 0
    with serving("--mockup", str(last(tmp_path / "1")), "--ephemeral") as (service, url):
        client = Client(url)
        differs = came_back(client, url, tmp_path / "2", first)
        for zones, other, device in left:
            answer = client("POST", zones, zone_body(other, device))
            assert answer.status == 409, (other, device, answer)
        client.close()
        assert service.terminate() == 0
    assert differs == []


@pytest.mark.timeout(300)
def test_a_recording_over_tls_has_no_secret_and_leaves_no_session(tmp_path: Path) -> None:
    state = tmp_path / "state"
    flags = ("--topology", "two-hosts", "--state", str(state))
    with serving(*flags, tls=True) as (service, url):
        told = record(url, tmp_path / "rack", "--cafile", str(state / "tls" / "ca.pem"))
        client = Client(url, cafile=state / "tls" / "ca.pem")
        assert client.get("/redfish/v1/SessionService/Sessions")["Members"] == []
        client.close()
        assert service.terminate() == 0
    assert told["left_out"]["SessionCollection"] == 1
    texts = tree(tmp_path / "rack").values()
    assert not any(PASSWORD.encode() in text or b'oken": "' in text for text in texts)
    assert not any(b"@odata.etag" in text for text in texts)

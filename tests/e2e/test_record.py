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
    return {
        path.relative_to(folder / "redfish").as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
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
        second = settled_record(client, url, tmp_path / "2")
        # What is held is refused to others, and what is free is given.
        zones(client, (409, "host2-1", "gpu1"), (201, "host1-1", "nvme1"))
        bmc = client.get("/redfish/v1/Managers/host1-bmc")["Actions"]["#Manager.Reset"]
        assert client("POST", bmc["target"], {"ResetType": "ForceRestart"}).status == 204
        client.close()
        assert service.terminate() == 0
    assert differing(first, second) == []


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
        second = settled_record(client, url, tmp_path / "2")
        # host1 has the drive by its other port, and the first head of the adapter.
        zones(
            client,
            (409, "host2-2", "dpnvme1-p2"),
            (409, "host2-1", "mhnic1-h1"),
            (201, "host2-1", "mhnic1-h2"),
        )
        client.close()
        assert service.terminate() == 0
    assert differing(first, second) == []


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

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
PCIE, NVME = f"{FABRICS}/PCIe", f"{FABRICS}/NVMeoF"
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


def recorded_from(folder: Path, place: Path) -> dict[str, bytes]:
    """Return what is recorded of a service that serves the mockup in `folder`."""
    with serving("--mockup", str(folder), "--ephemeral") as (service, url):
        client = Client(url)
        found = settled_record(client, url, place)
        client.close()
        assert service.terminate() == 0
    return found


def last(place: Path) -> Path:
    return max(place.iterdir(), key=lambda path: int(path.name))


def made(client: Client, collection: str, body: Any) -> str:
    answer = client("POST", collection, body)
    assert answer.status == 201, answer
    return answer.headers["location"]


def mixed_work(client: Client) -> None:
    """Leave zones, connections, a chunk and a volume behind."""
    made(client, f"{PCIE}/Zones", zone_body(f"{PCIE}/Endpoints/host1-1", f"{PCIE}/Endpoints/gpu1"))
    made(client, CHUNKS, {"MemoryChunkSizeMiB": 1024})
    volume = made(client, VOLUMES, {"CapacityBytes": 1 << 30})
    row = {"AccessCapabilities": ["Read", "Write"], "Volume": {"@odata.id": volume}}
    ends = {
        "InitiatorEndpoints": links(f"{NVME}/Endpoints/host1"),
        "TargetEndpoints": links(f"{NVME}/Endpoints/jbof1"),
    }
    body = {"ConnectionType": "Storage", "VolumeInfo": [row], "Links": ends}
    made(client, f"{NVME}/Connections", body)


def without_bmc_reset(found: dict[str, bytes]) -> dict[str, Any]:
    """Return the documents but for the one thing that no import does: resetting a host's BMC."""
    documents: dict[str, Any] = {name: json_or_text(raw) for name, raw in found.items()}
    for name, document in documents.items():
        if name.startswith("v1/Managers/") and isinstance(document, dict):
            document.pop("Actions", None)
    return documents


def json_or_text(raw: bytes) -> Any:
    return json.loads(raw) if raw[:1] in b"{[" else raw


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
        for host, device, status in (("host2-1", "gpu1", 409), ("host1-1", "nvme1", 201)):
            ends = (f"{PCIE}/Endpoints/{host}", f"{PCIE}/Endpoints/{device}")
            answer = client("POST", f"{PCIE}/Zones", zone_body(*ends))
            assert answer.status == status, answer
        client.close()
        assert service.terminate() == 0
    assert without_bmc_reset(second) == without_bmc_reset(first)
    differing = {name for name in first | second if first.get(name) != second.get(name)}
    assert differing <= {"v1/Managers/host1-bmc/index.json", "v1/Managers/host2-bmc/index.json"}


@pytest.mark.timeout(400)
def test_mixed_with_chunks_and_volumes_is_a_fixed_point_after_its_import(tmp_path: Path) -> None:
    with serving("--topology", "mixed", "--ephemeral") as (service, url):
        client = Client(url)
        mixed_work(client)
        first = settled_record(client, url, tmp_path / "1")
        client.close()
        assert service.terminate() == 0
    second = recorded_from(last(tmp_path / "1"), tmp_path / "2")
    assert second.keys() == first.keys()
    assert recorded_from(last(tmp_path / "2"), tmp_path / "3") == second


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

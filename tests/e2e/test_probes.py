"""/healthz, /readyz and /metrics of a process whose disk gives way."""

import resource
import time
from pathlib import Path

from tests.e2e.service import Answer, Client, Service, serving

ZONES = "/redfish/v1/Fabrics/PCIe/Zones"
PATIENCE_S = 90.0


def limit_files(service: Service, size: int) -> None:
    """Let the process write no file beyond `size` bytes, as a full disk would."""
    _, hard = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (size, hard))


def until_ready(client: Client, status: int) -> Answer:
    end_s = time.monotonic() + PATIENCE_S
    while (answer := client("GET", "/readyz")).status != status:
        assert time.monotonic() < end_s, answer
        time.sleep(0.1)
    return answer


def test_a_service_whose_store_gives_way_is_alive_and_not_ready_until_it_can_write(
    tmp_path: Path,
) -> None:
    with serving("--topology", "two-hosts", "--state", str(tmp_path / "state")) as (service, url):
        client = Client(url)
        until_ready(client, 200)
        limit_files(service, 1)
        assert client("POST", ZONES, {"Name": "lost"}).status in (503, 507)
        answer = until_ready(client, 503)
        assert [each["part"] for each in answer.json["notReady"]] == ["store"]
        assert answer.headers["retry-after"] == "1"
        assert client("GET", "/healthz").status == 200
        assert "\nredfish_fm_store_writable 0.0" in client("GET", "/metrics").body.decode()
        limit_files(service, resource.RLIM_INFINITY)
        # Nobody writes: it finds out by itself.
        assert until_ready(client, 200).json["notReady"] == []
        assert client("POST", ZONES, {"Name": "kept"}).status == 201
        client.close()


def test_probes_answer_without_a_login_and_take_only_get_and_head(tmp_path: Path) -> None:
    with serving("--topology", "two-hosts", "--state", str(tmp_path / "state")) as (_, url):
        client = Client(url, token="nobody's")
        for path in ("/healthz", "/readyz", "/metrics"):
            assert client("GET", path).status == 200, path
            assert client("HEAD", path).body == b"", path
            refused = client("POST", path, {})
            assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD"), path
        client.close()

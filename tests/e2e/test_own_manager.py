"""The service as its own manager, as a process: it restarts, it redirects, it remembers."""

import http.client
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conformance.packs import tool
from tests.conformance.processes import tool_environment
from tests.e2e.service import PASSWORD, USER, Client, serving, zone_body

MANAGER = "/redfish/v1/Managers/FabricManager"
PROTOCOLS = f"{MANAGER}/NetworkProtocol"
AUDIT = f"{MANAGER}/LogServices/AuditLog"
ENTRIES = f"{AUDIT}/Entries"
RESET = f"{MANAGER}/Actions/Manager.Reset"
PCIE = "/redfish/v1/Fabrics/PCIe"
ZONE = zone_body(f"{PCIE}/Endpoints/host1-1", f"{PCIE}/Endpoints/gpu1", Name="kept")
GROUPED_S = 10.0


def entries(client: Client, count: int) -> list[dict[str, Any]]:
    """Return the entries of the audit log, once there are `count`."""
    end_s = time.monotonic() + GROUPED_S
    while True:
        found: list[dict[str, Any]] = client.get(ENTRIES)["Members"]
        if len(found) >= count or time.monotonic() > end_s:
            assert len(found) == count, found
            return found
        time.sleep(0.02)


def test_a_reset_is_answered_and_everything_is_there_again_at_the_same_port(tmp_path: Path) -> None:
    with serving("--topology", "two-hosts", "--state", str(tmp_path / "state")) as (service, url):
        client = Client(url)
        assert client("POST", f"{PCIE}/Zones", ZONE).status == 201
        token = client(
            "POST",
            "/redfish/v1/SessionService/Sessions",
            {"UserName": USER, "Password": PASSWORD},
        ).headers["x-auth-token"]
        assert client("POST", RESET, {"ResetType": "GracefulRestart"}).status == 204
        client.close()
        assert service.ready() == url
        again = Client(url, token)
        (zone,) = [
            member
            for member in again.get(f"{PCIE}/Zones")["Members"]
            if not member["@odata.id"].endswith("Default")
        ]
        assert again.get(zone["@odata.id"])["Name"] == "kept"
        assert "LastResetTime" in again.get(MANAGER)
        told = [entry["MessageArgs"][:2] for entry in again.get(ENTRIES)["Members"]]
        assert ["POST", RESET] in told
        again.close()
        assert service.terminate() == 0


def test_who_connects_during_a_restart_waits_and_is_answered(tmp_path: Path) -> None:
    with serving("--topology", "two-hosts", "--ephemeral") as (service, url):
        client = Client(url)
        assert client("POST", f"{PCIE}/Zones", ZONE).status == 201
        assert client("POST", RESET, {"ResetType": "GracefulRestart"}).status == 204
        client.close()
        seen = 0
        while service.process.poll() is None:
            each = Client(url)
            # The process answers 200, or has just closed a connection that it had not begun with.
            try:
                seen = each("GET", "/redfish/v1/").status
            except (http.client.RemoteDisconnected, ConnectionResetError):
                continue
            finally:
                each.close()
            if len([line for line in service.lines if " ready " in line]) == 2:
                break
        assert seen == 200
        again = Client(url)
        # Nothing is on disk, and what was written is there all the same.
        assert len(again.get(f"{PCIE}/Zones")["Members"]) == 2
        again.close()
        assert service.terminate() == 0


def test_other_ways_to_reset_are_refused_and_nothing_happens(tmp_path: Path) -> None:
    with serving("--topology", "two-hosts", "--ephemeral") as (service, url):
        client = Client(url)
        for value in ("ForceRestart", "ForceOff", "GracefulShutdown"):
            assert client("POST", RESET, {"ResetType": value}).status == 400
        assert "LastResetTime" not in client.get(MANAGER)
        assert len([line for line in service.lines if " ready " in line]) == 1
        client.close()


def test_a_restart_with_an_unusable_configuration_goes_on_with_the_old_one(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("page_size = 3\n", encoding="utf-8")
    arguments = ("--topology", "two-hosts", "--ephemeral", "--config", str(settings))
    with serving(*arguments) as (service, url):
        client = Client(url)
        settings.write_text("page_size = 'many'\n", encoding="utf-8")
        assert client("POST", RESET, {"ResetType": "GracefulRestart"}).status == 204
        client.close()
        assert service.ready() == url
        again = Client(url)
        assert len(again.get("/redfish/v1/Registries")["Members"]) == 3
        again.close()
        assert service.terminate() == 0
        assert any("page_size" in line for line in service.complaints)


def test_the_audit_log_survives_a_kill_and_its_clearing_does_too(tmp_path: Path) -> None:
    arguments = ("--topology", "two-hosts", "--state", str(tmp_path / "state"))
    with serving(*arguments) as (service, url):
        client = Client(url)
        assert client("POST", f"{PCIE}/Zones", ZONE).status == 201
        assert client("POST", f"{PCIE}/Zones", ZONE).status == 409
        first = entries(client, 2)
        client.close()
        service.kill()
    with serving(*arguments) as (service, url):
        client = Client(url)
        assert entries(client, 2) == first
        assert client("POST", f"{AUDIT}/Actions/LogService.ClearLog", {}).status == 204
        (clearing,) = entries(client, 1)
        assert clearing["MessageArgs"][1].endswith("LogService.ClearLog")
        assert int(clearing["Id"]) > int(first[-1]["Id"])
        client.close()
        service.kill()
    with serving(*arguments) as (service, url):
        client = Client(url)
        assert entries(client, 1) == [clearing]
        client.close()
        assert service.terminate() == 0


def _plain(url: str, port: int, method: str, target: str, **headers: str) -> Any:
    host = urlsplit(url).hostname
    connection = http.client.HTTPConnection(str(host), port, timeout=10)
    try:
        connection.request(method, target, headers=headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def test_plain_http_leads_to_https_and_can_be_switched(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("http_redirect_port = 0\n", encoding="utf-8")
    state = tmp_path / "state"
    arguments = ("--topology", "two-hosts", "--state", str(state), "--config", str(settings))
    with serving(*arguments, tls=True) as (service, url):
        client = Client(url, cafile=state / "tls" / "ca.pem")
        shown = client.get(PROTOCOLS)
        assert shown["HTTPS"]["ProtocolEnabled"] is True
        assert shown["HTTPS"]["Port"] == urlsplit(url).port
        assert shown["HTTP"]["ProtocolEnabled"] is True
        port = shown["HTTP"]["Port"]
        status, headers, _ = _plain(url, port, "GET", "/redfish/v1/Systems?$top=1")
        assert (status, headers["Location"]) == (308, f"{url}/redfish/v1/Systems?%24top=1")
        status, headers, body = _plain(url, port, "POST", "/redfish/v1/SessionService/Sessions")
        assert status == 403
        assert "Location" not in headers
        assert json.loads(body)["error"]["code"]
        off = client("PATCH", PROTOCOLS, {"HTTP": {"ProtocolEnabled": False}})
        assert (off.status, off.json["HTTP"]["ProtocolEnabled"]) == (200, False)
        with pytest.raises(ConnectionRefusedError):
            _plain(url, port, "GET", "/redfish/v1/")
        on = client("PATCH", PROTOCOLS, {"HTTP": {"ProtocolEnabled": True}})
        assert on.json["HTTP"]["ProtocolEnabled"] is True
        assert _plain(url, on.json["HTTP"]["Port"], "HEAD", "/redfish/v1/")[0] == 308
        client.close()
        assert service.terminate() == 0


def test_redfish_utilities_read_and_clear_the_log_and_restart_the_service(tmp_path: Path) -> None:
    with serving("--topology", "two-hosts", "--ephemeral") as (service, url):

        def run(name: str, *arguments: str) -> str:
            command = tool(name)
            if not Path(command).exists():
                pytest.skip(f"{name} is not installed")
            login = ("--user", USER, "--password", PASSWORD, "--rhost", url)
            done = subprocess.run(
                [sys.executable, command, *login, "--manager", "FabricManager", *arguments],
                cwd=tmp_path,
                env=tool_environment(),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, (name, arguments, done.stdout[-800:], done.stderr[-800:])
            return done.stdout

        client = Client(url)
        assert client("POST", f"{PCIE}/Zones", ZONE).status == 201
        entries(client, 1)
        assert "Zones' by 'admin'" in run("rf_logs.py", "--log", "AuditLog", "--details")
        run("rf_logs.py", "--log", "AuditLog", "--clear")
        assert "Zones' by 'admin'" not in run("rf_logs.py", "--log", "AuditLog")
        assert "GracefulRestart" in run("rf_manager_config.py", "reset", "--info")
        assert "SSDP" in run("rf_manager_config.py", "getprotocol")
        client.close()
        run("rf_manager_config.py", "reset", "--type", "GracefulRestart")
        assert service.ready() == url
        assert service.terminate() == 0

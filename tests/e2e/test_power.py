"""Power of hosts as an operator and a client have it: over a socket, over kill -9, on an import."""

import time
from pathlib import Path
from typing import Any

from tests.e2e.service import Client, serving, unpacked_mockup

HOST1, HOST2 = "/redfish/v1/Systems/host1", "/redfish/v1/Systems/host2"
UPSTREAM = "/redfish/v1/Fabrics/CXL/Switches/cxl1/Ports/U1"


def reset(client: Client, how: str, uri: str = HOST1) -> Any:
    return client("POST", f"{uri}/Actions/ComputerSystem.Reset", {"ResetType": how})


def becomes(client: Client, uri: str, name: str, value: str) -> None:
    """Read until a property has a value; it takes seconds of real time."""
    for _ in range(600):
        if client.get(uri)[name] == value:
            return
        time.sleep(0.05)
    raise AssertionError(f"{name} of {uri} is never {value}")


def test_hosts_run_on_while_the_service_is_killed(tmp_path: Path) -> None:
    where = ("--topology", "two-hosts", "--state", str(tmp_path / "state"))
    with serving(*where) as (service, url):
        client = Client(url)
        assert reset(client, "ForceOff").status == 204
        assert reset(client, "GracefulRestart", HOST2).status == 204
        becomes(client, UPSTREAM, "LinkStatus", "LinkDown")
        client.close()
        service.kill()
    with serving(*where) as (_, url):
        client = Client(url)
        becomes(client, HOST1, "PowerState", "Off")
        becomes(client, UPSTREAM, "LinkStatus", "LinkDown")
        becomes(client, HOST2, "PowerState", "On")
        assert client.get(HOST1)["LastResetTime"]
        assert reset(client, "On").status == 204
        becomes(client, UPSTREAM, "LinkStatus", "LinkUp")
        client.close()


def test_a_file_orders_faults_of_hosts_and_another_sets_moods(tmp_path: Path) -> None:
    faults, settings = tmp_path / "faults.yaml", tmp_path / "settings.toml"
    faults.write_text(
        "faults:\n  - {at_s: 0, fault: mains-lost, object: host2}\n"
        "  - {at_s: 0, fault: reset-refused, object: host1, parameters: {reason: locked}}\n"
    )
    settings.write_text("[emulation]\nreset_outage_s = 2\nreset_ends_sessions = false\n")
    arguments = ("--faults", str(faults), "--config", str(settings), "--ephemeral")
    with serving("--topology", "two-hosts", *arguments) as (_, url):
        client = Client(url)
        becomes(client, HOST2, "PowerState", "Off")
        refused = reset(client, "ForceOff")
        assert refused.status == 409
        assert b"locked" in refused.body
        manager = "/redfish/v1/Managers/FabricManager/Actions/Manager.Reset"
        assert client("POST", manager, {"ResetType": "GracefulRestart"}).status == 204
        away = client("GET", HOST1)
        assert (away.status, away.headers["retry-after"]) == (503, "2")
        assert client("GET", "/healthz").status == 200
        time.sleep(2.1)
        assert client("GET", HOST1).status == 200
        client.close()


def test_hosts_of_an_import_are_reset_and_systems_that_are_none_are_not(
    shared: Path, tmp_path: Path
) -> None:
    folder = unpacked_mockup(shared, tmp_path, "public-cxl")
    with serving("--mockup", str(folder), "--state", str(tmp_path / "state")) as (_, url):
        client = Client(url)
        systems = [each["@odata.id"] for each in client.get("/redfish/v1/Systems")["Members"]]
        driven = [uri for uri in systems if "Actions" in client.get(uri)]
        assert driven
        for uri in systems:
            if uri not in driven:
                assert reset(client, "ForceOff", uri).status == 400
        before = client.get(driven[0])
        assert reset(client, "ForceOff", driven[0]).status == 204
        off = client.get(driven[0])
        assert off["PowerState"] == "Off"
        assert off["Status"]["State"] == "StandbyOffline"
        assert reset(client, "On", driven[0]).status == 204
        becomes(client, driven[0], "PowerState", "On")
        after = client.get(driven[0])
        assert after["Status"] == before["Status"]
        client.close()

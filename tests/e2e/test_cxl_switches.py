"""A service that manages switches of another service over a socket, both as processes."""

import contextlib
import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.service import Client, Service, serving, zone_body
from tests.e2e.test_fmapi_wire import port_of

FABRIC = "/redfish/v1/Fabrics/REAL"
SWITCH = f"{FABRIC}/Switches/real1"
OFFLINE = {"State": "UnavailableOffline", "Health": "Critical"}
THERE = "/redfish/v1/Fabrics/CXL/Switches/cxl1/VCSs/1/VPPBs"
WAIT_S = 30.0
VIRTUAL = ("--topology", "two-hosts", "--ephemeral")


def until(asked: Callable[[], Any], wanted: Any) -> None:
    """Ask until the answer is as wanted."""
    until_s = time.monotonic() + WAIT_S
    while (seen := asked()) != wanted:
        assert time.monotonic() < until_s, f"{seen} instead of {wanted}"
        time.sleep(0.05)


def stanza(id_: str, fabric: str, port: int) -> str:
    return (
        f'[[switches]]\nid = "{id_}"\nfabric = "{fabric}"\nlink = "mctp-tcp"\n'
        f'address = "127.0.0.1:{port}"\nhosts = {{ "0" = "{id_}-a", "1" = "{id_}-b" }}\n'
    )


def health(client: Client, uri: str) -> dict[str, str]:
    status = client.get(uri)["Status"]
    return {name: status[name] for name in OFFLINE}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def sld_of(client: Client) -> str:
    members = client.get(f"{FABRIC}/Endpoints")["Members"]
    (found,) = [
        each["@odata.id"] for each in members if re.search(r"-P3(-\w+)?$", each["@odata.id"])
    ]
    return found


def bound_there(client: Client) -> str:
    return client.get(f"{THERE}/0")["BindingStatus"]


def test_a_switch_on_a_wire_is_shown_bound_lost_and_found_again(tmp_path: Path) -> None:
    port, config = free_port(), tmp_path / "switches.toml"
    config.write_text(stanza("real1", "REAL", port), encoding="utf-8")
    with serving("--config", str(config), "--ephemeral") as (manager, url):
        client = Client(url)
        # DR-10: what is configured and does not answer is offline, and nothing stands in for it.
        assert health(client, FABRIC) == OFFLINE == health(client, SWITCH)
        assert client.get(f"{SWITCH}/Ports")["Members"] == []
        listen = ("--fmapi-listen", f"127.0.0.1:{port}")
        with (
            serving(*VIRTUAL, *listen) as (_, there_url),
            contextlib.closing(Client(there_url)) as there,
        ):
            until(lambda: health(client, FABRIC), {"State": "Enabled", "Health": "OK"})
            assert len(client.get(f"{SWITCH}/Ports")["Members"]) == 4
            body = zone_body(f"{FABRIC}/Endpoints/real1-a-real1-0", sld_of(client))
            for _ in range(3):
                zone = client("POST", f"{FABRIC}/Zones", body)
                assert zone.status == 201, zone
                assert bound_there(there) == "BoundPhysicalPort"
                vppb = client.get(f"{SWITCH}/VCSs/0/VPPBs/0")
                assert vppb["BindingStatus"] == "BoundPhysicalPort"
                assert client("DELETE", zone.headers["location"]).status in (200, 204)
                assert bound_there(there) == "Unbound"
            zone = client("POST", f"{FABRIC}/Zones", body)
            assert zone.status == 201
        until(lambda: health(client, FABRIC), OFFLINE)
        started_s = time.monotonic()
        assert client.get(zone.headers["location"])["Links"]["Endpoints"]
        assert time.monotonic() - started_s < 1.0
        with (
            serving(*VIRTUAL, *listen) as (_, there_url),
            contextlib.closing(Client(there_url)) as there,
        ):
            # It has forgotten everything meanwhile; what is wanted is bound again.
            until(lambda: bound_there(there), "BoundPhysicalPort")
            until(lambda: health(client, FABRIC), {"State": "Enabled", "Health": "OK"})
        client.close()
        assert manager.terminate() == 0
        assert not [line for line in manager.complaints if " ERROR " in line]


def test_switches_come_and_go_by_sighup_and_the_others_never_notice(tmp_path: Path) -> None:
    config = tmp_path / "switches.toml"
    wire = ("--fmapi-listen", "127.0.0.1:0")
    with serving(*VIRTUAL, *wire) as (first, _), serving(*VIRTUAL, *wire) as (second, _):
        ports = port_of(first), port_of(second)
        one = stanza("real1", "REAL", ports[0])
        config.write_text(one, encoding="utf-8")
        with serving("--config", str(config), "--ephemeral") as (manager, url):
            client = Client(url)
            until(lambda: health(client, FABRIC)["Health"], "OK")
            config.write_text(one + stanza("real2", "MORE", ports[1]), encoding="utf-8")
            manager.process.send_signal(signal.SIGHUP)
            until(lambda: client("GET", "/redfish/v1/Fabrics/MORE").status, 200)
            until(lambda: health(client, "/redfish/v1/Fabrics/MORE")["Health"], "OK")
            body = zone_body(f"{FABRIC}/Endpoints/real1-a-real1-0", sld_of(client))
            assert client("POST", f"{FABRIC}/Zones", body).status == 201
            config.write_text(one, encoding="utf-8")
            manager.process.send_signal(signal.SIGHUP)
            until(lambda: client("GET", "/redfish/v1/Fabrics/MORE").status, 404)
            assert health(client, FABRIC)["Health"] == "OK"
            assert connections(manager, "real1") == 1
            config.write_text(one.replace('"REAL"', '"RE AL"'), encoding="utf-8")
            manager.process.send_signal(signal.SIGHUP)
            until(lambda: any("everything stays" in line for line in manager.complaints), True)
            assert health(client, FABRIC)["Health"] == "OK"
            client.close()
            assert manager.terminate() == 0
            assert connections(manager, "real2") == 1
            assert not [line for line in manager.complaints if " ERROR " in line]


def connections(manager: Service, switch: str) -> int:
    return sum(f"{switch} is connected" in line for line in tuple(manager.complaints))

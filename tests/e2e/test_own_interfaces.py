"""The machine's network interfaces, in a namespace that has one, judged by a foreign client."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import use_cases
from tests.conformance.packs import tool
from tests.conformance.processes import tool_environment

from . import namespaces
from .namespaces import INTERFACE, Network
from .service import PASSWORD, USER, serving

MANAGER = "/redfish/v1/Managers/FabricManager"
PRINTED = """
import json, ssl, sys, urllib.request
passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
passwords.add_password(None, sys.argv[1], sys.argv[2], sys.argv[3])
context = ssl.create_default_context(cafile=sys.argv[4])
opener = urllib.request.build_opener(
    urllib.request.HTTPBasicAuthHandler(passwords), urllib.request.HTTPSHandler(context=context)
)
print(json.dumps([json.load(opener.open(sys.argv[1] + uri)) for uri in sys.argv[5:]]))
"""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    reason = namespaces.unavailable()
    if reason is not None:
        pytest.skip(reason)
    with namespaces.alone() as made:
        yield made


def got(network: Network, url: str, state: Path, *uris: str) -> list[Any]:
    ca = str(state / "tls" / "ca.pem")
    arguments = ("python3", "-c", PRINTED, url, USER, PASSWORD, ca, *uris)
    found: list[Any] = json.loads(network.run(*arguments))
    return found


def served(network: Network, state: Path, *flags: str) -> Any:
    arguments = ("--topology", "two-hosts", "--state", str(state), *flags)
    return serving(*arguments, tls=True, wrapper=network.enter)


def test_the_interface_that_is_listened_on_is_shown_with_its_addresses(
    network: Network, tmp_path: Path
) -> None:
    with served(network, tmp_path, "--host", network.ipv4) as (_, url):
        uris = (f"{MANAGER}/EthernetInterfaces", f"{MANAGER}/EthernetInterfaces/{INTERFACE}")
        collection, interface = got(network, url, tmp_path, *uris)
    assert collection["Members"] == [{"@odata.id": uris[1]}]
    (row,) = interface["IPv4Addresses"]
    assert (row["Address"], row["SubnetMask"]) == (network.ipv4, "255.255.255.0")
    assert "IPv6Addresses" not in interface


def test_on_loopback_there_is_none(network: Network, tmp_path: Path) -> None:
    with served(network, tmp_path) as (_, url):
        (manager,) = got(network, url, tmp_path, MANAGER)
    assert "EthernetInterfaces" not in manager


def test_the_use_case_checkers_find_no_fault(network: Network, tmp_path: Path) -> None:
    checkers = tool("rf_use_case_checkers")
    if not Path(checkers).exists():
        pytest.skip("rf_use_case_checkers is not installed")
    place = tmp_path / "report"
    place.mkdir()
    with served(network, tmp_path / "state", "--host", network.ipv4) as (_, url):
        done = subprocess.run(
            [
                *(*network.enter, checkers, "--rhost", url, "--user", USER),
                *("--password", PASSWORD, "--report-dir", str(place)),
                *("--test-list", "ManagerEthernetInterfaces"),
            ],
            cwd=place,
            env=tool_environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    (log,) = place.glob("*/RedfishUseCaseCheckersDebug_*.log")
    report = use_cases.read(done.stdout, log.read_text(encoding="utf-8"))
    assert (report.failed, report.warned) == (0, 0), report.findings
    assert report.passed >= 10

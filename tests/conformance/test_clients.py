"""redfish, sushy, redfishtool and redfish-utilities against `two-hosts` over TLS.

Every write that needs the switch is answered with a Task here (sync_budget_s 0): the clients'
own ways of following one are part of what is tested.
"""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client_tools import run_tool
from tests.e2e.service import PASSWORD, USER, serving, zone_body

ZONES = "/redfish/v1/Fabrics/PCIe/Zones"
ENDPOINTS = "/redfish/v1/Fabrics/PCIe/Endpoints"
TASKS = "/redfish/v1/TaskService/Tasks"
POLLS_MAX = 10_000
POLL_S, PATIENCE = 0.2, 300
"""How often, and how many times, the power of a host is asked for."""

Served = tuple[str, Path]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve two-hosts over TLS; give the URL and the file of the authority."""
    place = tmp_path_factory.mktemp("clients")
    settings, state = place / "settings.toml", place / "state"
    settings.write_text("sync_budget_s = 0\n", encoding="utf-8")
    arguments = ("--topology", "two-hosts", "--config", str(settings), "--state", str(state))
    with serving(*arguments, tls=True) as (_, url):
        yield url, state / "tls" / "ca.pem"


@pytest.fixture(autouse=True)
def no_other_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle in the environment would overrule the one the client is given."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


# -- redfish (python-redfish-library) --------------------------------------------------------


@pytest.fixture
def library(served: Served) -> Iterator[Any]:
    redfish = pytest.importorskip("redfish")
    url, cafile = served
    client = redfish.redfish_client(
        base_url=url, username=USER, password=PASSWORD, cafile=str(cafile)
    )
    client.login(auth="session")
    yield client
    client.logout()
    client._session.close()  # noqa: SLF001


def walk(client: Any) -> dict[str, Any]:
    """Return every resource that links lead to, schema files aside: they are many and alike."""
    found: dict[str, Any] = {}
    todo = ["/redfish/v1/"]
    while todo:
        uri = todo.pop()
        if uri in found or uri.startswith("/redfish/v1/JsonSchemas/"):
            continue
        answer = client.get(uri)
        assert answer.status == 200, (uri, answer.text)
        found[uri] = answer.dict
        todo += targets(answer.dict)
    return found


def targets(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "@odata.id":
                if "#" not in inner:
                    yield inner
            else:
                yield from targets(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from targets(inner)


def test_redfish_walks_the_whole_tree(library) -> None:
    found = walk(library)
    types = {document["@odata.type"].split(".")[0] for document in found.values()}
    assert {"#Fabric", "#Endpoint", "#ZoneCollection", "#Port", "#MemoryChunks"} <= types
    # Its own session is a resource as well.
    assert "#Session" in types


def test_redfish_makes_a_zone_follows_its_task_and_deletes_it(library) -> None:
    body = zone_body(f"{ENDPOINTS}/host1-1", f"{ENDPOINTS}/gpu1", Name="by redfish")
    made = library.post(ZONES, body=body)
    assert made.is_processing, made.text
    task = made.dict["@odata.id"]
    zone = followed(made, library)
    assert zone.status == 201, zone.text
    uri = zone.getheader("Location")
    assert library.get(uri).dict["Name"] == "by redfish"
    assert library.get(f"{ENDPOINTS}/gpu1").dict["Links"]["Zones"] == [{"@odata.id": uri}]
    done = library.get(task).dict
    assert (done["TaskState"], done["PercentComplete"]) == ("Completed", 100)
    assert done["Links"]["CreatedResources"] == [{"@odata.id": uri}]
    gone = library.delete(uri)
    assert followed(gone, library).status in (200, 204)
    assert library.get(uri).status == 404
    assert library.delete(task).status in (200, 204)


def followed(answer: Any, client: Any) -> Any:
    """Poll the monitor of a 202 until it tells how things ended."""
    for _ in range(POLLS_MAX):
        if not answer.is_processing:
            return answer
        answer = answer.monitor(client)
    raise AssertionError(f"still running: {answer.text}")


def test_redfish_is_told_what_is_wrong(library) -> None:
    refused = library.post(ZONES, body=zone_body(f"{ENDPOINTS}/nobody"))
    assert 400 <= refused.status < 500
    assert f"{ENDPOINTS}/nobody" in refused.text
    assert refused.dict["error"]["@Message.ExtendedInfo"][0]["MessageId"].startswith("Base.")


# -- sushy ------------------------------------------------------------------------------------


@pytest.fixture
def connector(served: Served) -> Iterator[Any]:
    sushy = pytest.importorskip("sushy")
    from sushy import connector as connectors  # noqa: PLC0415 - absent where sushy is

    url, cafile = served
    connector = connectors.Connector(url, verify=str(cafile))
    root = sushy.Sushy(url, auth=sushy.auth.SessionOrBasicAuth(USER, PASSWORD), connector=connector)
    yield root, connector
    root._auth.close()  # noqa: SLF001
    connector.close()


def test_sushy_reads_fabrics_systems_chassis_and_tasks(connector) -> None:
    root, _ = connector
    fabrics = {fabric.identity: fabric for fabric in root.get_fabric_collection().get_members()}
    assert set(fabrics) == {"CXL", "PCIe"}
    endpoints = fabrics["PCIe"].endpoints.get_members()
    assert {"host1-1", "gpu1"} <= {endpoint.identity for endpoint in endpoints}
    systems = root.get_system_collection().get_members()
    assert {system.identity for system in systems} == {"host1", "host2"}
    assert root.get_chassis_collection().get_members()
    assert root.get_task_service().tasks.get_members() is not None


def test_sushy_makes_a_zone_follows_its_task_and_deletes_it(connector) -> None:
    root, wire = connector
    task_monitors = pytest.importorskip("sushy.taskmonitor")
    body = zone_body(f"{ENDPOINTS}/host2-1", f"{ENDPOINTS}/nvme1", Name="by sushy")
    made = wire.post(ZONES, data=body)
    assert made.status_code == http.client.ACCEPTED
    monitor = task_monitors.TaskMonitor(wire, made.headers["Location"], response=made)
    settle(monitor)
    task = root.get_task_service().tasks.get_members()[-1]
    assert task.task_state.value == "Completed"
    default = {"@odata.id": f"{ZONES}/Default"}
    (zone,) = [each for each in wire.get(ZONES).json()["Members"] if each != default]
    document = wire.get(zone["@odata.id"]).json()
    assert document["Name"] == "by sushy"
    gone = wire.delete(zone["@odata.id"])
    if gone.status_code == http.client.ACCEPTED:
        settle(task_monitors.TaskMonitor(wire, gone.headers["Location"], response=gone))
    assert wire.get(ZONES).json()["Members"] == [default]


def settle(monitor: Any) -> None:
    for _ in range(POLLS_MAX):
        if not monitor.check_is_processing:
            return
    raise AssertionError(f"still running: {monitor.task_monitor_uri}")


# -- command-line tools ----------------------------------------------------------------------


def run(place: Path, name: str, *arguments: str) -> str:
    """Run a tool of this environment; return what it printed. Skips where it is absent."""
    code, printed = run_tool(place, name, *arguments)
    assert code == 0, (name, arguments, printed[-1600:])
    return printed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("rf_sys_inventory.py", "--details"), "PCIeDevice: gpu1"),
        (("rf_sensor_list.py",), "Module of gpu1"),
        (("rf_accounts.py",), USER),
        (("rf_manager_config.py", "--manager", "FabricManager", "info"), "Service"),
        (("rf_raw_request.py", "--request", ZONES), "ZoneCollection"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_redfish_utilities_read_it(served, tmp_path, arguments, told) -> None:
    url, _ = served
    name, *more = arguments
    output = run(tmp_path, name, "--user", USER, "--password", PASSWORD, "--rhost", url, *more)
    assert told in output


@pytest.mark.parametrize(
    ("arguments", "property_name"),
    [
        (("root",), "RedfishVersion"),
        (("versions",), "v1"),
        (("odata",), "value"),
        (("Systems", "-I", "host1"), "SystemType"),
        (("Chassis", "-I", "gpu1"), "ChassisType"),
        (("Managers", "-I", "FabricManager"), "ManagerType"),
        (("AccountService",), "Accounts"),
        (("SessionService",), "Sessions"),
        (("raw", "GET", ZONES), "Members"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_redfishtool_reads_it(served, tmp_path, arguments, property_name) -> None:
    assert property_name in redfishtool(served, tmp_path, "Basic", *arguments)


def test_redfishtool_logs_in_by_a_session(served, tmp_path) -> None:
    assert redfishtool(served, tmp_path, "Session", "Systems", "-I", "host1")["Id"] == "host1"


def redfishtool(served: Served, place: Path, login: str, *arguments: str) -> dict[str, Any]:
    address = served[0].removeprefix("https://")
    options = ("-r", address, "-u", USER, "-p", PASSWORD, "-S", "Always", "-A", login)
    document: dict[str, Any] = json.loads(run(place, "redfishtool", *options, *arguments))
    return document


# -- the power of hosts ----------------------------------------------------------------------


def powered(read: Callable[[], str], wanted: str) -> None:
    """Wait in real time until a system says that it is in a state; it takes seconds."""
    for _ in range(PATIENCE):
        if read() == wanted:
            return
        time.sleep(POLL_S)
    raise AssertionError(f"never {wanted}: {read()}")


def test_sushy_turns_a_system_off_and_on_and_lets_it_boot_from_the_network_once(connector) -> None:
    sushy = pytest.importorskip("sushy")
    root, _ = connector
    system = root.get_system("/redfish/v1/Systems/host1")
    assert {"ForceOff", "On"} <= {each.value for each in system.get_allowed_reset_system_values()}

    def state() -> str:
        system.refresh(force=True)
        return str(system.power_state.value)

    system.reset_system(sushy.ResetType.FORCE_OFF)
    powered(state, "Off")
    once = {"target": sushy.BootSource.PXE, "enabled": sushy.BootSourceOverrideEnabled.ONCE}
    system.set_system_boot_options(**once)
    system.refresh(force=True)
    assert (system.boot.target, system.boot.enabled) == (once["target"], once["enabled"])
    system.reset_system(sushy.ResetType.ON)
    powered(state, "On")
    assert system.boot.enabled is sushy.BootSourceOverrideEnabled.DISABLED
    with pytest.raises(sushy.exceptions.InvalidParameterValueError):
        system.reset_system(sushy.ResetType.NMI)


def test_redfishtool_resets_a_system_and_sets_what_it_boots_from(served, tmp_path) -> None:
    def state() -> str:
        found: str = redfishtool(served, tmp_path, "Basic", "Systems", "-I", "host2")["PowerState"]
        return found

    address = served[0].removeprefix("https://")
    login = ("-r", address, "-u", USER, "-p", PASSWORD, "-S", "Always", "-A", "Basic")
    system = ("Systems", "-I", "host2")
    run(tmp_path, "redfishtool", *login, *system, "reset", "ForceOff")
    powered(state, "Off")
    run(tmp_path, "redfishtool", *login, *system, "setBootOverride", "Once", "Pxe")
    run(tmp_path, "redfishtool", *login, *system, "reset", "On")
    powered(state, "On")


def test_redfish_utilities_restart_a_system_and_follow_its_task(served, tmp_path) -> None:
    url, _ = served
    login = ("--user", USER, "--password", PASSWORD, "--rhost", url)
    output = run(tmp_path, "rf_power_reset.py", *login, "--system", "host2", "--info")
    assert "PowerCycle" in output
    run(tmp_path, "rf_power_reset.py", *login, "--system", "host2", "--type", "ForceRestart")

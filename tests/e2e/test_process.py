"""The process: what it prints, how it ends, and what it says when it can not start."""

import re
import socket
import threading
import time

import pytest

from tests.e2e.service import PASSWORD, Client, Service, serving, zone_body

PCIE = "/redfish/v1/Fabrics/PCIe"
TWO_HOSTS = ("--topology", "two-hosts")


def failing(*arguments: str) -> tuple[int, list[str], list[str]]:
    """Start a service that can not start; return its exit code and both outputs."""
    service = Service("--http", *arguments)
    try:
        return service.wait(), service.lines, service.complaints
    finally:
        service.close()


def test_stdout_has_the_password_line_at_the_first_start_only_and_one_ready_line(tmp_path) -> None:
    where = ("--state", str(tmp_path / "state"), *TWO_HOSTS)
    with serving(*where, password=None) as (service, _):
        assert service.terminate() == 0
        first, ready = service.lines
        told = re.fullmatch(r"redfish-fm first start: user admin password (\S+)", first)
        assert told is not None
        assert re.fullmatch(r"redfish-fm ready URL=http://127\.0\.0\.1:\d+/redfish/v1/", ready)
    with serving(*where, password=None) as (service, url):
        client = Client(url)
        assert client("GET", "/redfish/v1/Systems").status == 401
        body = {"UserName": "admin", "Password": told.group(1)}
        assert client("POST", "/redfish/v1/SessionService/Sessions", body).status == 201
        client.close()
        assert service.terminate() == 0
        assert len(service.lines) == 1 and service.lines[0].startswith("redfish-fm ready ")


def test_a_password_from_the_environment_is_not_shown_anywhere(tmp_path) -> None:
    with serving("--state", str(tmp_path / "state"), *TWO_HOSTS) as (service, url):
        client = Client(url)
        assert client("GET", "/redfish/v1/Systems").status == 200
        client.close()
        assert service.terminate() == 0
        assert len(service.lines) == 1
        assert PASSWORD not in "\n".join(service.lines + service.complaints)


def test_sigterm_ends_it_with_0_in_3_s_with_open_connections_and_a_running_operation(
    tmp_path,
) -> None:
    # A command of the virtual switch takes 2 ms of fabric time, so here more than a minute.
    slow = ("--time-scale", "0.00003")
    with serving("--state", str(tmp_path / "state"), *TWO_HOSTS, *slow) as (service, url):
        host, port = url.removeprefix("http://").split(":")
        idle = socket.create_connection((host, int(port)))
        kept, waiting, answers = Client(url), Client(url), []
        kept.get("/redfish/v1/Systems")
        body = zone_body(f"{PCIE}/Endpoints/host1-1", f"{PCIE}/Endpoints/gpu1", Id="z")

        def ask() -> None:
            answers.append(waiting("POST", f"{PCIE}/Zones", body))

        asking = threading.Thread(target=ask)
        asking.start()
        while kept("GET", f"{PCIE}/Zones/z").status != 200:
            time.sleep(0.01)
        begun_s = time.monotonic()
        assert service.terminate() == 0
        assert time.monotonic() - begun_s < 3.0
        asking.join(10)
        # The truth, not a cut connection: the zone is stored and the work goes on after a start.
        (answer,) = answers
        assert answer.status == 202 and answer.json["TaskState"] == "Running", answer
        for each in (kept, waiting):
            each.close()
        idle.close()
        assert not [line for line in service.complaints if "Traceback" in line]
    with serving("--state", str(tmp_path / "state"), *TWO_HOSTS) as (service, url):
        client = Client(url)
        task = answer.json["@odata.id"]
        while client.get(task)["TaskState"] == "Running":
            time.sleep(0.01)
        assert client.get(task)["TaskState"] == "Completed"
        client.close()


def test_a_second_process_on_the_same_state_says_so_in_one_line_and_ends(tmp_path) -> None:
    where = ("--state", str(tmp_path / "state"), *TWO_HOSTS)
    with serving(*where) as (service, url):
        code, lines, complaints = failing(*where, "--port", "0")
        assert (code, lines) == (1, [])
        assert "in use" in complaints[0] and not any("Traceback" in each for each in complaints)
        client = Client(url)
        client.get("/redfish/v1/Systems")
        client.close()
        assert service.terminate() == 0


def test_a_state_of_another_topology_is_refused_in_one_line(tmp_path) -> None:
    where = ("--state", str(tmp_path / "state"))
    with serving(*where, *TWO_HOSTS) as (service, _):
        assert service.terminate() == 0
    code, lines, complaints = failing(*where, "--topology", "ai-pod", "--port", "0")
    assert (code, lines) == (1, [])
    assert "belongs to" in complaints[0] and "two-hosts" in complaints[0]
    assert not any("Traceback" in each for each in complaints)


def test_a_taken_port_is_told_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, lines, complaints = failing("--ephemeral", *TWO_HOSTS, "--port", str(port))
    assert code == 1 and lines == []
    assert any(str(port) in each and "in use" in each for each in complaints)
    assert not any("Traceback" in each for each in complaints)


@pytest.mark.parametrize("fault", ["port", "certificate", "faults"])
def test_a_start_that_fails_leaves_the_password_line_to_the_one_that_does_not(
    tmp_path, fault
) -> None:
    where = ("--state", str(tmp_path / "state"), *TWO_HOSTS)
    wrong = tmp_path / "wrong"
    wrong.write_text("nothing of use\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        mistake = {
            "port": ("--http", "--port", str(taken.getsockname()[1])),
            "certificate": ("--port", "0", "--tls-cert", str(wrong), "--tls-key", str(wrong)),
            "faults": ("--http", "--port", "0", "--faults", str(wrong)),
        }[fault]
        service = Service(*where, *mistake, password=None)
        assert (service.wait(), service.lines) == (1, [])
        service.close()
    assert not (tmp_path / "state" / "tls").exists()
    with serving(*where, password=None) as (service, _):
        assert service.lines[0].startswith("redfish-fm first start: user admin password ")


def test_a_taken_port_is_noticed_before_anything_is_made(tmp_path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, *_ = failing("--state", str(tmp_path / "state"), *TWO_HOSTS, "--port", port)
    assert code == 1
    assert not (tmp_path / "state").exists()


def test_of_two_that_start_at_once_on_one_port_only_one_shows_a_password(tmp_path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    both = [
        Service(
            "--http", "--port", port, "--state", str(tmp_path / name), *TWO_HOSTS, password=None
        )
        for name in ("one", "other")
    ]
    while all(each.process.poll() is None for each in both):
        time.sleep(0.01)
    loser, winner = sorted(both, key=lambda each: each.process.poll() is None)
    assert (loser.wait(), loser.lines) == (1, [])
    winner.ready()
    assert winner.terminate() == 0 and len(winner.lines) == 2
    for each in both:
        each.close()


def test_a_link_that_flaps_without_a_pause_does_not_outlive_the_service(tmp_path) -> None:
    faults = tmp_path / "faults.yaml"
    flap = "{fault: link-flap, object: pcie1/D1, parameters: {times: 1000000000, period_s: 0}"
    faults.write_text(f"faults:\n- {flap}, at_s: 0}}\n")
    where = ("--state", str(tmp_path / "state"), *TWO_HOSTS)
    with serving(*where, "--faults", str(faults)) as (service, _):
        assert service.terminate() == 0
        assert not [line for line in service.complaints if "closed" in line or "Trace" in line]


def test_a_fault_of_the_file_is_seen_in_redfish(tmp_path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text("faults:\n- {at_s: 2, fault: link-down, object: pcie1/D1}\n")
    with serving("--ephemeral", *TWO_HOSTS, "--faults", str(faults)) as (_, url):
        client = Client(url)
        port = f"{PCIE}/Switches/pcie1/Ports/D1"
        deadline_s = time.monotonic() + 60
        while (seen := client.get(port))["LinkStatus"] != "LinkDown":
            assert time.monotonic() < deadline_s, seen
            time.sleep(0.05)
        client.close()


def test_a_file_of_faults_with_mistakes_ends_it_before_anything_is_served(tmp_path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text(
        "faults:\n- {at_s: 2, fault: nope, object: pcie1/D1}\n"
        "- {at_s: 2, fault: link-up, object: nowhere}\n"
    )
    code, lines, told = failing("--ephemeral", *TWO_HOSTS, "--faults", str(faults))
    assert code == 1 and not any("ready" in line for line in lines)
    assert any("line 2" in each and "'nope'" in each for each in told)
    assert any("line 3" in each and "'nowhere'" in each for each in told)
    assert not any("Traceback" in each for each in told)


def test_metrics_and_health_answer_without_a_login(tmp_path) -> None:
    with serving("--state", str(tmp_path / "state"), *TWO_HOSTS) as (_, url):
        client = Client(url)
        body = zone_body(f"{PCIE}/Endpoints/host1-1", f"{PCIE}/Endpoints/gpu1")
        assert client("POST", f"{PCIE}/Zones", body).status == 201
        assert client("GET", "/healthz").status == 200
        text = client("GET", "/metrics").body.decode()
        assert 'redfish_fm_observations_total{fabric="PCIe"}' in text
        assert re.search(r"^redfish_fm_http_requests_total\{[^}]*\} [1-9]", text, re.MULTILINE)
        assert "\nredfish_fm_failed_requests_total 0.0" in text
        commits = re.search(r"^redfish_fm_commits_total (\S+)", text, re.MULTILINE)
        assert commits is not None and float(commits.group(1)) >= 2
        client.close()


def test_requests_with_an_empty_body_are_answered_again_and_again() -> None:
    with serving("--ephemeral", *TWO_HOSTS) as (_, url):
        client = Client(url)
        for _ in range(3):
            answer = client("DELETE", f"{PCIE}/Zones/none", None, {"Content-Length": "0"})
            assert answer.status == 404
        client.close()

"""The doctor says what it looked at, finds what is wrong, and changes nothing."""

import asyncio
import json
import os
import socket
import sys

import pytest

from redfish_fm.cli import doctor
from redfish_fm.clocks import SystemClock
from redfish_fm.resources import ResourcesMissing
from redfish_fm.store.lock import DirectoryLock
from redfish_fm.store.sqlite import SqliteStore
from tests.cli.test_mockup import CLEAN, DEFECTIVE
from tests.store.test_mockup import write


def checks(command, *words: str) -> dict[str, dict[str, object]]:
    found = json.loads(command("doctor", "--json", *words).stdout)
    return {check["name"]: check for check in found}


def test_a_healthy_machine_passes_every_check(command, tmp_path) -> None:
    result = command("doctor", "--port", "0")
    assert result.exit_code == 0, result.stdout
    looked_at = [line.split("\t")[0] for line in result.stdout.splitlines()]
    assert looked_at == [
        *("check", "python", "schemas", "mockups", "configuration", "topology", "state"),
        *("password", "certificate", "port"),
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_found(command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = command("doctor", "--port", str(port))
        assert result.exit_code == 1
        assert "--port" in str(checks(command, "--port", str(port))["port"]["detail"])


def test_a_state_folder_that_can_not_be_written_is_found(command, tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    check = checks(command, "--port", "0", "--state", str(blocked / "state"))["state"]
    assert check["ok"] is False
    assert str(blocked) in str(check["detail"])


def test_a_state_folder_in_use_is_found(command, tmp_path) -> None:
    held = DirectoryLock(tmp_path)
    words = ("--port", "0", "--state", str(tmp_path))
    check = checks(command, *words)["state"]
    assert check["ok"] is False
    assert f"in use by process {os.getpid()}" in str(check["detail"])
    held.release()
    assert checks(command, *words)["state"]["ok"] is True


def test_a_state_folder_will_be_made_later_not_by_the_doctor(command, tmp_path) -> None:
    state = tmp_path / "a" / "b"
    check = checks(command, "--port", "0", "--state", str(state))["state"]
    assert check["ok"] is True
    assert not state.exists()


def test_ephemeral_needs_no_state_folder(command) -> None:
    assert checks(command, "--port", "0", "--ephemeral")["state"]["ok"] is True


def test_each_mistake_of_the_configuration_is_a_failed_check(command) -> None:
    result = command("doctor", "--json", "--port", "x", "--seed", "y")
    assert result.exit_code == 1
    failed = [check["detail"] for check in json.loads(result.stdout) if not check["ok"]]
    assert [detail.split(":")[0] for detail in failed] == ["port", "seed"]


def test_an_unknown_topology_is_found_and_the_known_ones_named(command) -> None:
    check = checks(command, "--port", "0", "--topology", "two-hotels")["topology"]
    assert check["ok"] is False
    assert "two-hosts" in str(check["detail"])


def test_each_mistake_of_a_topology_file_is_a_failed_check(command, tmp_path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("name: wrong\nhosts: 1\n")
    result = command("doctor", "--json", "--port", "0", "--topology", str(file))
    assert result.exit_code == 1
    failed = [check["detail"] for check in json.loads(result.stdout) if not check["ok"]]
    assert len(failed) == 2
    assert any("hosts (line 2)" in detail for detail in failed)


def test_a_folder_without_a_mockup_is_found(command, tmp_path) -> None:
    check = checks(command, "--port", "0", "--mockup", str(tmp_path))["mockup"]
    assert check["ok"] is False
    assert "index.json" in str(check["detail"])


def test_a_mockup_is_told_with_what_is_in_it(command, tmp_path) -> None:
    write(tmp_path / "rack", CLEAN)
    check = checks(command, "--port", "0", "--mockup", str(tmp_path / "rack"))["mockup"]
    assert check["ok"] is True
    assert "3 documents, 0 fabrics" in str(check["detail"])


def test_a_defect_of_a_mockup_is_found_where_none_is_accepted(command, tmp_path) -> None:
    where = ("--port", "0", "--mockup", str(write(tmp_path / "rack", DEFECTIVE)))
    assert checks(command, *where)["mockup"]["ok"] is True
    assert checks(command, "--strict", *where)["mockup"]["ok"] is False


def test_faults_that_can_befall_nothing_are_found(command, tmp_path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text(
        "faults:\n- {at_s: 2, fault: nope, object: x}\n"
        "- {at_s: 2, fault: link-down, object: pcie1/D1}\n"
    )
    words = ("--port", "0", "--topology", "two-hosts", "--faults", str(faults))
    check = checks(command, *words)["faults"]
    assert check["ok"] is False
    assert "line 2" in str(check["detail"]) and "line 3" not in str(check["detail"])
    faults.write_text("faults:\n- {at_s: 2, fault: link-down, object: pcie1/D1}\n")
    assert checks(command, *words)["faults"]["ok"] is True


async def test_a_state_of_another_topology_is_found_and_left_as_it_is(command, tmp_path) -> None:
    state = tmp_path / "state"
    store = SqliteStore(state, "two-hosts", SystemClock())
    await store.load()
    await store.close()
    before = {path.name: path.read_bytes() for path in state.iterdir()}
    words = ("doctor", "--json", "--port", "0", "--topology", "mixed", "--state", str(state))
    result = await asyncio.to_thread(command, *words)
    (check,) = [each for each in json.loads(result.stdout) if each["name"] == "state"]
    assert check["ok"] is False
    assert "belongs to two-hosts, not to mixed" in check["detail"]
    assert {path.name: path.read_bytes() for path in state.iterdir()} == before


def test_a_state_that_is_no_database_is_found(command, tmp_path) -> None:
    (tmp_path / "state.db").write_text("not one\n" * 100)
    check = checks(command, "--port", "0", "--state", str(tmp_path))["state"]
    assert check["ok"] is False
    assert "state.db is not a database" in str(check["detail"])


def test_where_the_first_password_comes_from_is_told_and_never_what_it_is(command) -> None:
    assert "shown once" in str(checks(command, "--port", "0", "--ephemeral")["password"]["detail"])
    command.environ["REDFISH_FM_ADMIN_PASSWORD"] = "hunter2hunter2"
    result = command("doctor", "--port", "0", "--ephemeral")
    assert "user admin is made with REDFISH_FM_ADMIN_PASSWORD" in result.stdout
    assert "hunter2" not in result.stdout + result.stderr


def test_a_certificate_that_is_none_is_found(command, tmp_path) -> None:
    file = tmp_path / "x.pem"
    file.write_text("no certificate\n")
    words = ("--port", "0", "--tls-cert", str(file), "--tls-key", str(file))
    assert checks(command, *words)["certificate"]["ok"] is False


def test_an_old_python_is_found(command, monkeypatch) -> None:
    monkeypatch.setattr(doctor, "_PYTHON_OLDEST", (sys.version_info[0], sys.version_info[1] + 1))
    assert checks(command, "--port", "0")["python"]["ok"] is False


@pytest.mark.parametrize("name", ["schemas", "mockups"])
def test_a_missing_data_folder_is_found(command, monkeypatch, name) -> None:
    def missing() -> None:
        raise ResourcesMissing(f"the {name} folder is gone")

    monkeypatch.setattr(doctor, f"{name}_dir", missing)
    check = checks(command, "--port", "0")[name]
    assert (check["ok"], check["detail"]) == (False, f"the {name} folder is gone")

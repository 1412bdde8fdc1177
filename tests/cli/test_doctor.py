"""The doctor says what it looked at, finds what is wrong, and changes nothing."""

import json
import os
import socket
import sys

import pytest

from redfish_fm.cli import doctor
from redfish_fm.resources import ResourcesMissing
from redfish_fm.store.lock import DirectoryLock


def checks(command, *words: str) -> dict[str, dict[str, object]]:
    found = json.loads(command("doctor", "--json", *words).stdout)
    return {check["name"]: check for check in found}


def test_a_healthy_machine_passes_every_check(command, tmp_path) -> None:
    result = command("doctor", "--port", "0")
    assert result.exit_code == 0, result.stdout
    for name in ("python", "schemas", "mockups", "configuration", "topology", "state", "port"):
        assert name in result.stdout
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

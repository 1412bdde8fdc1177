"""Flags become a Config; the end of the service becomes an exit code and one clear line."""

import errno
from collections.abc import Callable

import pytest

from redfish_fm import app
from redfish_fm.config import Config
from redfish_fm.errors import FmError
from redfish_fm.server.listener import ListenError
from redfish_fm.server.tls import TlsError
from redfish_fm.store.base import StoreInUse, StoreUnreadable
from redfish_fm.store.mockup_files import MockupError


class Service:
    """Stands where app.serve is: remembers its Config, ends as told."""

    def __init__(self) -> None:
        self.config: Config | None = None
        self.again: Callable[[], Config] | None = None
        self.end: int | Exception = 0
        self.progress: object = None

    async def __call__(self, config: Config, again: Callable[[], Config], progress: object) -> int:
        self.config, self.again, self.progress = config, again, progress
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


@pytest.fixture
def service(monkeypatch) -> Service:
    stand_in = Service()
    monkeypatch.setattr(app, "serve", stand_in)
    return stand_in


def test_every_flag_reaches_the_configuration(command, service, tmp_path) -> None:
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).touch()
    result = command(
        *("serve", "--topology", "two-hosts", "--host", "::1", "--port", "0", "--state", "/s"),
        *("--seed", "7", "--time-scale", "0", "--event-destinations", "127.0.0.0/8,::1"),
        *("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")),
        *("--log-format", "json"),
    )
    assert result.exit_code == 0, result.stderr
    config = service.config
    assert config is not None
    assert (config.topology, config.host, config.port) == ("two-hosts", "::1", 0)
    assert (str(config.state), config.seed, config.time_scale) == ("/s", 7, 0.0)
    assert config.event_destinations == ("127.0.0.0/8", "::1")
    assert (config.tls_cert, config.tls_key) == (tmp_path / "cert.pem", tmp_path / "key.pem")
    assert config.log_format == "json"


def test_switches_reach_the_configuration(command, service, tmp_path) -> None:
    result = command("serve", "--http", "--ephemeral", "--mockup", str(tmp_path))
    assert result.exit_code == 0, result.stderr
    config = service.config
    assert config is not None
    assert (config.http, config.ephemeral, config.mockup) == (True, True, tmp_path)


def test_the_environment_and_the_file_count_where_no_flag_is_given(
    command, service, tmp_path
) -> None:
    file = tmp_path / "fm.toml"
    file.write_text("seed = 3\nport = 3\n")
    command.environ["REDFISH_FM_PORT"] = "4"
    assert command("serve", "--config", str(file)).exit_code == 0
    assert service.config is not None
    assert (service.config.seed, service.config.port) == (3, 4)


def test_the_exit_code_is_the_one_of_the_service(command, service) -> None:
    service.end = 1
    assert command("serve").exit_code == 1


def test_a_wrong_configuration_is_usage_and_names_everything(command, service) -> None:
    result = command("serve", "--port", "x", "--http", "--host", "0.0.0.0")  # noqa: S104
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "redfish-fm: port: must be an integer" in result.stderr
    assert "redfish-fm: http: plain HTTP is served on loopback only" in result.stderr
    assert service.config is None


@pytest.mark.parametrize(
    ("end", "line", "hint"),
    [
        (ListenError("cannot listen on ::1:80: permission denied"), "::1:80", "--port"),
        (OSError(errno.EROFS, "Read-only file system", "/s"), "/s: Read-only", "doctor"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files", "doctor"),
        (StoreInUse("state /s is in use by process 7"), "state /s is in use", "--ephemeral"),
        (StoreUnreadable("/s is damaged"), "/s is damaged", "--state"),
        (MockupError("/m: no mockup"), "/m: no mockup", "index.json"),
        (TlsError("/c can not be read"), "/c can not be read", "--tls-cert"),
        (FmError("no fabric"), "no fabric", "doctor"),
    ],
    ids=["listen", "read-only", "other-os", "taken", "damaged", "mockup", "tls", "other"],
)
def test_a_service_that_can_not_start_says_why_in_one_line(
    command, service, end, line, hint
) -> None:
    service.end = end
    result = command("serve")
    assert result.exit_code == 1
    assert result.stdout == ""
    message, advice = result.stderr.splitlines()
    assert message.startswith("redfish-fm: ") and line in message
    assert advice.startswith("hint: ") and hint in advice


def test_an_unknown_topology_is_wrong_usage_and_told_with_the_nearest_name(command) -> None:
    words = ("serve", "--ephemeral", "--port", "0", "--topology", "two-hots:hosts=4")
    result = command(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    message, advice = result.stderr.splitlines()
    assert "two-hots" in message and "no such topology" in message
    assert advice.startswith("hint: did you mean two-hosts? ")


def test_each_mistake_of_a_topology_file_is_one_line_and_no_wrong_usage(command, tmp_path) -> None:
    (tmp_path / "x.yaml").write_text("nmae: x\n")
    words = ("serve", "--ephemeral", "--port", "0", "--topology", str(tmp_path / "x.yaml"))
    result = command(*words)
    assert result.exit_code == 1
    *messages, advice = result.stderr.splitlines()
    assert messages and all(f"redfish-fm: {tmp_path}" in line for line in messages)
    assert "did you mean" not in advice


@pytest.mark.parametrize("parameters", ["hosts=0", "hots=4", "hosts", "hosts=4,hosts=5"])
def test_a_parameter_that_can_not_be_is_wrong_usage(command, parameters) -> None:
    words = ("serve", "--ephemeral", "--port", "0", "--topology", f"scale:{parameters}")
    result = command(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "parameters" in result.stderr.splitlines()[-1]


def test_a_topology_file_that_is_not_there_is_wrong_usage(command, tmp_path) -> None:
    words = ("serve", "--ephemeral", "--port", "0", "--topology", str(tmp_path / "x.yaml"))
    assert command(*words).exit_code == 2


def test_who_takes_a_mockup_for_a_topology_is_told_so(command, tmp_path) -> None:
    words = ("serve", "--ephemeral", "--port", "0", "--topology", f"{tmp_path}/")
    result = command(*words)
    assert result.exit_code == 1
    assert f"hint: a mockup is a folder or zip: redfish-fm serve --mockup {tmp_path}" in (
        result.stderr
    )


def test_who_takes_a_topology_for_a_mockup_is_told_so(command, service, tmp_path) -> None:
    file = tmp_path / "rack.yaml"
    file.touch()
    service.end = MockupError("no mockup")
    result = command("serve", "--mockup", str(file))
    assert result.exit_code == 1
    assert f"redfish-fm serve --topology {file}" in result.stderr.splitlines()[-1]


def test_the_reading_of_a_mockup_shows_on_a_terminal_only(command, service, monkeypatch) -> None:
    command("serve")
    assert service.progress is None
    monkeypatch.setenv("FORCE_COLOR", "1")
    command("serve")
    assert service.progress is not None


def test_what_sighup_reads_is_flags_environment_and_file_as_they_are_then(
    command, service, tmp_path
) -> None:
    file = tmp_path / "fm.toml"
    file.write_text("seed = 3\n")
    assert command("serve", "--config", str(file), "--port", "5").exit_code == 0
    file.write_text("seed = 4\n")
    assert service.again is not None
    assert (service.again().seed, service.again().port) == (4, 5)

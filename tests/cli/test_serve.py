"""Flags become a Config; the end of the service becomes an exit code and one clear line."""

import errno
import socket

import pytest

from redfish_fm import app
from redfish_fm.config import Config
from redfish_fm.errors import FmError
from redfish_fm.store.base import StoreInUse


class Service:
    """Stands where app.serve is: remembers its Config, ends as told."""

    def __init__(self) -> None:
        self.config: Config | None = None
        self.end: int | Exception = 0

    async def __call__(self, config: Config) -> int:
        self.config = config
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
        (OSError(errno.EADDRINUSE, "in use"), "127.0.0.1:8443 is already in use", "--port"),
        (OSError(errno.EACCES, "no"), "127.0.0.1:8443 is not open to this user", "--port"),
        (OSError(errno.EADDRNOTAVAIL, "no"), "is not an address of this machine", "--host"),
        (socket.gaierror(-2, "unknown"), "host 127.0.0.1 is unknown", "--host"),
        (OSError(errno.EROFS, "Read-only file system", "/s"), "/s: Read-only", "doctor"),
        (StoreInUse("state /s is in use by process 7"), "state /s is in use", "--state"),
        (FmError("no fabric"), "no fabric", "doctor"),
    ],
    ids=["port-taken", "port-closed", "no-address", "no-host", "read-only", "state-taken", "other"],
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

"""SIGHUP: what is taken over, what waits for a restart, and that mistakes change nothing."""

import logging
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from redfish_fm import logs
from redfish_fm.config import Config, ConfigError
from redfish_fm.reload import Reload
from redfish_fm.server.tls import TlsError
from tests.e2e.service import serving

BEFORE = Config(topology="two-hosts", ephemeral=True)


@pytest.fixture
def configured(monkeypatch) -> list[tuple[str, str]]:
    calls: list[tuple[str, str]] = []
    monkeypatch.setattr(logs, "configure", lambda *how: calls.append(how))
    return calls


@pytest.fixture
def said(caplog) -> Iterator[Callable[[], list[str]]]:
    def lines() -> list[str]:
        found = [r.getMessage() for r in caplog.records if r.name == "redfish_fm.reload"]
        caplog.clear()
        return found

    with caplog.at_level(logging.INFO, "redfish_fm"):
        yield lines


def changed(**how: object) -> Config:
    return msgspec.structs.replace(BEFORE, **how)


def test_the_log_changes_at_once(configured, said) -> None:
    Reload(BEFORE, lambda: changed(log_format="json", log_level="debug"))()
    assert configured == [("json", "debug")]
    assert said() == ["reloaded: log_format, log_level"]


def test_what_needs_a_restart_is_named_each_time(configured, said) -> None:
    reload = Reload(BEFORE, lambda: changed(port=1, log_level="error"))
    reload()
    assert said() == ["reloaded: log_level", "needs a restart: port"]
    reload()
    assert said() == ["reloaded: nothing has changed", "needs a restart: port"]


def test_a_wrong_configuration_changes_nothing_and_every_mistake_is_told(configured, said) -> None:
    def read() -> Config:
        raise ConfigError(("port: must be …", "host: must be …"))

    Reload(BEFORE, read)()
    assert configured == []
    assert said() == [
        "not reloaded, everything stays as it was: port: must be …",
        "not reloaded, everything stays as it was: host: must be …",
    ]


class Served:
    """Whoever serves the certificate: takes the configurations it is given, or minds one."""

    def __init__(self, minds: str = "") -> None:
        self.taken: list[Config] = []
        self._minds = minds

    def load(self, config: Config) -> None:
        if self._minds:
            raise TlsError(self._minds)
        self.taken.append(config)


def test_the_certificate_is_read_anew_each_time(configured, said) -> None:
    wanted = changed(tls_cert=Path("b"), tls_key=Path("b"))
    reload = Reload(BEFORE, lambda: wanted)
    reload.certificate = served = Served()
    reload()
    reload()
    assert served.taken == [wanted, wanted]
    assert said() == [
        "reloaded: tls_cert, tls_key, the TLS certificate",
        "reloaded: the TLS certificate",
    ]


def test_a_certificate_that_can_not_be_used_leaves_all_as_it_was(configured, said) -> None:
    reload = Reload(BEFORE, lambda: changed(log_level="error"))
    reload.certificate = Served("none can not be used")
    reload()
    assert configured == []
    assert said() == ["not reloaded, everything stays as it was: none can not be used"]


def test_sighup_reloads_a_running_service(tmp_path: Path) -> None:
    file = tmp_path / "fm.toml"
    file.write_text('topology = "two-hosts"\nephemeral = true\n')
    with serving("--config", str(file), tls=True) as (service, _):
        for text, wanted in (
            ('log_format = "json"\nseed = 3\n', '"message": "needs a restart: seed"'),
            ("prot = 1\n", "everything stays as it was: prot: unknown key; did you mean port?"),
        ):
            file.write_text(f'topology = "two-hosts"\nephemeral = true\n{text}')
            service.process.send_signal(signal.SIGHUP)
            wait_for(service.complaints, wanted)
        assert service.terminate() == 0
    assert any('"message": "reloaded: log_format, the TLS' in line for line in service.complaints)


def wait_for(lines: list[str], wanted: str) -> None:
    deadline_s = time.monotonic() + 30
    while not any(wanted in line for line in lines):
        assert time.monotonic() < deadline_s, lines
        time.sleep(0.01)

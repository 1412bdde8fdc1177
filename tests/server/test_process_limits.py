"""Tests of redfish_fm.server.process_limits."""

import resource

import pytest

from redfish_fm.server.limits import Limits
from redfish_fm.server.process_limits import FILES_BESIDE, keep_no_core, usual_limits

ENDLESS = resource.RLIM_INFINITY


class System:
    """The limits of a process that a test makes up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.limits: dict[int, tuple[int, int]] = {}
        monkeypatch.setattr(resource, "getrlimit", lambda what: self.limits[what])
        monkeypatch.setattr(resource, "setrlimit", self.limits.__setitem__)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> System:
    return System(monkeypatch)


@pytest.mark.parametrize(
    ("soft", "hard", "after", "connections"),
    [
        (1024, 4096, 1024 + FILES_BESIDE, 1024),
        (1024, ENDLESS, 1024 + FILES_BESIDE, 1024),
        (20_000, 20_000, 20_000, 1024),
        (ENDLESS, ENDLESS, ENDLESS, 1024),
        (256, 1024, 1024, 1024 - FILES_BESIDE),
        (128, 128, 128, 64),
    ],
)
def test_connections_are_no_more_than_there_can_be_files(
    system: System, soft: int, hard: int, after: int, connections: int
) -> None:
    system.limits[resource.RLIMIT_NOFILE] = (soft, hard)
    limits = usual_limits(Limits().body_bytes)
    assert system.limits[resource.RLIMIT_NOFILE] == (after, hard)
    assert limits.connections == connections
    assert limits.connections_per_peer < limits.connections


def test_without_need_the_limits_are_the_usual_ones(system: System) -> None:
    system.limits[resource.RLIMIT_NOFILE] = (20_000, 20_000)
    assert usual_limits(Limits().body_bytes) == Limits()


def test_bodies_of_the_allowed_size_have_room(system: System) -> None:
    system.limits[resource.RLIMIT_NOFILE] = (20_000, 20_000)
    limits = usual_limits(1 << 30)
    assert limits.bodies_bytes >= limits.body_bytes == 1 << 30


def test_no_core_dump_is_written(system: System) -> None:
    system.limits[resource.RLIMIT_CORE] = (ENDLESS, ENDLESS)
    keep_no_core()
    assert system.limits[resource.RLIMIT_CORE] == (0, ENDLESS)

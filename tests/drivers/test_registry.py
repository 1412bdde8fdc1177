"""Drivers are found by name, with and without installed metadata."""

from importlib.metadata import EntryPoint

import pytest

from redfish_fm.drivers import registry
from redfish_fm.drivers.virtual.driver import create


def _install(monkeypatch: pytest.MonkeyPatch, *entries: EntryPoint) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)


def test_our_own_drivers_are_known_without_installed_metadata(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _install(monkeypatch)
    assert registry.names() == ("cxl_fmapi", "virtual")
    assert registry.factory("virtual") is create


def test_an_installed_driver_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, EntryPoint("other", "builtins:dict", registry.GROUP))
    assert registry.names() == ("cxl_fmapi", "other", "virtual")
    assert registry.factory("other") is dict


def test_an_unknown_driver_is_refused_naming_those_there_are() -> None:
    with pytest.raises(registry.UnknownDriver, match=r"no driver 'nope'.*virtual"):
        registry.factory("nope")


@pytest.mark.parametrize("target", ["no_such_module:create", "builtins:no_such_name", "math:pi"])
def test_a_driver_that_can_not_be_loaded_says_so(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    _install(monkeypatch, EntryPoint("broken", target, registry.GROUP))
    with pytest.raises(registry.DriverBroken, match="broken"):
        registry.factory("broken")

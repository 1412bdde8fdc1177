"""Resets judged and power shown, without any loop: words, statuses, what is laid over what."""

from typing import Any

import msgspec
import pytest

from redfish_fm.control.published import lay_over
from redfish_fm.fabric.health import Condition, Health
from redfish_fm.fabric.power import HostState, Machine, PowerState, ResetType
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.mapping.observed_hosts import ACTION_INFO, ObservedHosts, is_system, system_of
from redfish_fm.mapping.statuses import Statuses
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.resources import schemas_dir
from tests.drivers.fabrics import CXL, PCIE
from tests.mapping.builders import MemoryTip, a_tip

SYSTEM = "/redfish/v1/Systems/h1"
ALL = frozenset(ResetType)
ON, OFF = HostState(PowerState.ON, 1), HostState(PowerState.OFF, 1)


def tip_with(state: HostState | None, **more: Any) -> MemoryTip:
    tip = a_tip()
    tip.machines[SYSTEM] = Machine("h1", more.pop("resets", ALL), state, **more)
    return tip


REFUSED: dict[str, tuple[MemoryTip, str, int, str]] = {
    "nobody drives it": (a_tip(), "On", 400, "Base.ActionNotSupported"),
    "this host can not": (
        tip_with(ON, resets=frozenset({ResetType.ON})),
        "PowerCycle",
        400,
        "Base.ActionParameterValueNotInList",
    ),
    "its BMC is silent": (tip_with(None), "On", 503, "Base.ResourceInStandby"),
    "it is busy": (tip_with(ON, busy_s=4.2), "ForceOff", 409, "Base.ResourceInStandby"),
    "it starts": (
        tip_with(HostState(PowerState.POWERING_ON)),
        "GracefulShutdown",
        409,
        "Base.ResourceInStandby",
    ),
}


@pytest.mark.parametrize(("tip", "how", "status", "key"), REFUSED.values(), ids=REFUSED)
def test_a_reset_is_refused(tip: MemoryTip, how: str, status: int, key: str) -> None:
    with pytest.raises(RedfishError) as refused:
        tip.act(SYSTEM, "ComputerSystem.Reset", ResetType=how)
    assert refused.value.status == status
    assert refused.value.messages[-1].key == key
    if status > 400:
        assert int(refused.value.headers["Retry-After"]) >= 1


def test_a_reset_is_an_operation_that_holds_its_system_and_edits_nothing() -> None:
    draft = tip_with(OFF).act(SYSTEM, "ComputerSystem.Reset", ResetType="On")
    assert draft.edits == ()
    assert draft.operation is not None
    wish = draft.operation.reset
    assert wish is not None
    assert (wish.host, wish.asked, wish.before) == ("h1", ResetType.ON, OFF)
    assert draft.operation.resources == {SYSTEM}


class Shown:
    """Documents with what is said now laid over those it is said of."""

    def __init__(self, base: dict[str, Any], statuses: Statuses) -> None:
        self._base = base
        self._statuses = statuses
        self._patches: dict[str, Any] = {}

    def now(self) -> dict[str, Any]:
        self._patches |= self._statuses.take_patches("2026-01-01T00:00:00Z")
        documents = {uri: msgspec.json.decode(msgspec.json.encode(self._base[uri]))
                     for uri in self._base}  # fmt: skip
        for uri, patch in self._patches.items():
            lay_over(documents[uri], patch or {})
        return documents


def test_a_host_that_is_off_and_on_again_is_as_before_in_every_document() -> None:
    rendered = render_inventories([PCIE, CXL])
    resets = {"host1": ALL, "host2": ALL}
    statuses = Statuses()
    hosts, shown = ObservedHosts(statuses), Shown(rendered.documents, statuses)
    hosts.look(rendered.facts, resets, {"host1": ON, "host2": ON})
    on = shown.now()
    hosts.look(rendered.facts, resets, {"host1": OFF, "host2": ON})
    off = shown.now()
    different = {uri for uri in on if off[uri] != on[uri]}
    assert len(different) > 5
    assert not {uri for uri in different if "host2" in uri}
    assert hosts.look(rendered.facts, resets, {"host1": ON}) == []
    again = shown.now()
    assert {uri for uri in different if again[uri] != on[uri]} == set()


def test_a_silent_bmc_keeps_what_was_last_seen_and_starts_are_told_once() -> None:
    rendered = render_inventories([CXL])
    resets, statuses = {"host1": ALL, "host2": ALL}, Statuses()
    hosts = ObservedHosts(statuses)
    assert hosts.look(rendered.facts, resets, {"host1": OFF}) == []
    statuses.take_patches(None)
    assert hosts.look(rendered.facts, resets, {}) == []
    assert statuses.take_patches(None) == {}
    started = HostState(PowerState.POWERING_ON, 2)
    assert hosts.look(rendered.facts, resets, {"host1": started}) == ["host1"]
    assert hosts.look(rendered.facts, resets, {"host1": started}) == []


def test_health_of_what_a_host_depends_on_stands_beside_its_power() -> None:
    rendered = render_inventories([CXL])
    statuses = Statuses()
    system = "/redfish/v1/Systems/host1"
    statuses.graph.link("x", system)
    statuses.graph.set_own("x", [Condition(Health.CRITICAL, "x", "RedfishFM.LinkDown", (), "down")])
    ObservedHosts(statuses).look(rendered.facts, {"host1": ALL}, {"host1": OFF})
    patch = statuses.take_patches("2026-01-01T00:00:00Z")[system]
    assert patch is not None
    assert patch["Status"]["State"] == "StandbyOffline"
    assert patch["Status"]["HealthRollup"] == "Critical"
    assert patch["Status"]["Conditions"]


def test_parameters_of_an_action_are_described_where_the_protocol_does() -> None:
    service = msgspec.json.decode((schemas_dir() / "service.json").read_bytes())
    assert ACTION_INFO.format(action="{Action}") == service["action_info"]
    row = service["types"]["ComputerSystem"]["values"]["ComputerSystem.Reset"]
    assert set(row["ResetType"]) == {each.value for each in ResetType}


def test_only_systems_are_reset_whatever_an_import_knows_a_host_by() -> None:
    assert system_of("host1") == "/redfish/v1/Systems/host1"
    assert is_system(system_of("/redfish/v1/Systems/CXL-System"))
    for uri in ("/redfish/v1/Fabrics/CXL/Endpoints/I1", "/redfish/v1/Systems/a/Processors/1",
                "/redfish/v1/Systems/", "NQN:X"):  # fmt: skip
        assert not is_system(uri)


def test_a_look_in_parts_says_one_host_at_a_time() -> None:
    rendered = render_inventories([PCIE, CXL])
    statuses = Statuses()
    hosts = ObservedHosts(statuses)
    both = {"host1": ALL, "host2": ALL}
    parts = hosts.look_in_parts(rendered.facts, both, {"host1": OFF, "host2": OFF})
    assert (next(parts), hosts.rendered) == (("host1", False), 1)
    assert (next(parts), hosts.rendered) == (("host2", False), 2)
    assert next(parts, None) is None

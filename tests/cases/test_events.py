"""Cases EV-01, EV-06, HE-03 and ZN-15: what a subscriber is told of; and the log of events."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from redfish_fm.drivers.virtual.faults import Refuse
from redfish_fm.fabric.model import Bind, BindTarget, PortId, Unbind
from redfish_fm.mapping.uris import SUBSCRIPTIONS
from tests.cases.composing import SYSTEMS, of_blocks
from tests.cases.life import GPU1, HOST1
from tests.cases.stack import ROOT, Stack, a_stack
from tests.control.builders import PCIE_FABRIC, PCIE_ZONES, zone_body
from tests.redfish.builders import REGISTRIES
from tests.virtual_time import in_virtual_time

D1 = PortId("pcie1", "D1")
SWITCH = f"{PCIE_FABRIC}/Switches/pcie1"
PORT = f"{SWITCH}/Ports/D1"
DEVICE = f"{ROOT}/Chassis/gpu1/PCIeDevices/gpu1"
LOG = f"{ROOT}/Managers/FabricManager/LogServices/EventLog"
ENTRIES = f"{LOG}/Entries"
LOOK_S = 4.0
"""Longer than a look, the announcement of what was seen, and a delivery."""


class Operator:
    """Somebody who subscribed to everything, and reads what comes."""

    def __init__(self, stack: Stack, subscription: str) -> None:
        self.stack = stack
        self._subscription = subscription
        self._read = 0

    async def news(self) -> list[dict[str, Any]]:
        """Return the events since the last time, in the order in which they came."""
        await self.stack.clock.sleep(LOOK_S)
        found = self.stack.outbox.events(self._subscription)
        news, self._read = found[self._read :], len(found)
        return news


@asynccontextmanager
async def an_operator(**more: Any) -> AsyncIterator[Operator]:
    body = {"Destination": "http://192.0.2.50/all", "Protocol": "Redfish", **more}
    async with a_stack() as stack:
        operator = Operator(stack, await stack.made(SUBSCRIPTIONS, body))
        await operator.news()
        yield operator


def about(events: list[dict[str, Any]], uri: str) -> list[str]:
    """Return the messages about a resource, "ResourceEvent.ResourceCreated" style."""
    return [_key(each) for each in events if _origin(each) == uri]


def _origin(event: dict[str, Any]) -> str:
    return str(event["OriginOfCondition"]["@odata.id"])


def _key(event: dict[str, Any]) -> str:
    prefix, *_, key = event["MessageId"].split(".")
    return f"{prefix}.{key}"


@in_virtual_time
async def test_ev_01_the_origin_is_a_link_to_a_resource_that_is_served() -> None:
    async with an_operator() as operator:
        stack = operator.stack
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        stack.rig.hardware["PCIe"].set_port(D1, health="Critical")
        events = await operator.news()
        assert about(events, zone)[:2] == ["ResourceEvent.ResourceCreated", "Fabric.ZoneCreated"]
        for event in events:
            assert list(event["OriginOfCondition"]) == ["@odata.id"]
            found = await stack.get(_origin(event))
            assert "Members" not in found
            assert _key(event).partition(".")[0] in REGISTRIES.registries


@in_virtual_time
async def test_ev_01_what_is_gone_is_still_named_and_said_to_be_unavailable() -> None:
    async with an_operator() as operator:
        zone = await operator.stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        await operator.news()
        await operator.stack.ask("DELETE", zone)
        events = await operator.news()
        assert about(events, zone) == ["ResourceEvent.ResourceRemoved", "Fabric.ZoneRemoved"]
        for event in events:
            there = (await operator.stack.ask("GET", _origin(event))).status == 200
            assert there is not event.get("OriginOfConditionUnavailable", False)


@in_virtual_time
async def test_ev_06_a_new_zone_is_told_of_once_by_each_registry() -> None:
    async with an_operator() as operator:
        zone = await operator.stack.made(PCIE_ZONES, {"Name": "n"})
        told = [each for each in await operator.news() if _origin(each) == zone]
        assert [each["EventType"] for each in told].count("ResourceAdded") == 1
        assert [_key(each) for each in told] == [
            "ResourceEvent.ResourceCreated",
            "Fabric.ZoneCreated",
        ]


@in_virtual_time
async def test_he_03_a_subscriber_is_told_once_of_each_direction() -> None:
    async with an_operator(ResourceTypes=["Endpoint"]) as operator:
        hardware = operator.stack.rig.hardware["PCIe"]
        for health, wanted in (
            ("Critical", "ResourceEvent.ResourceStatusChangedCritical"),
            ("OK", "ResourceEvent.ResourceStatusChangedOK"),
        ):
            hardware.set_port(D1, health=health)
            events = await operator.news()
            changes = [each for each in events if each["EventType"] == "StatusChange"]
            assert [(_origin(each), _key(each)) for each in changes] == [(GPU1, wanted)]
            assert changes[0]["MessageSeverity"] == health
            assert await operator.news() == []


@in_virtual_time
async def test_zn_15_a_zone_whose_binding_was_lost_is_told_of_and_so_is_its_return() -> None:
    async with an_operator(ResourceTypes=["Zone"]) as operator:
        stack = operator.stack
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        await operator.news()
        ((vppb, target),) = stack.rig.bound().items()
        stack.rig.faults().next_apply(None, Refuse("bay is locked"), times=None)
        stack.rig.hardware["PCIe"].execute(Unbind(vppb, target), "outside")
        events = await operator.news()
        assert about(events, zone) == [
            "ResourceEvent.ResourceErrorsDetected",
            "ResourceEvent.ResourceStatusChangedCritical",
        ]
        assert events[0]["MessageArgs"][1] == "hardware has no binding for what was granted"
        assert (await stack.get(zone))["Status"]["Health"] == "Critical"
        stack.rig.faults().clear()
        await stack.clock.sleep(120)
        assert about(await operator.news(), zone) == [
            "ResourceEvent.ResourceErrorsCorrected",
            "ResourceEvent.ResourceStatusChangedOK",
        ]


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_binding_of_somebody_else_and_what_it_breaks_is_told_of() -> None:
    async with an_operator(RegistryPrefixes=["RedfishFM"]) as operator:
        stack = operator.stack
        hardware = stack.rig.hardware["CXL"]
        facts = stack.kernel.published.base.facts
        (_, vppb), uri = next(iter(facts.vppb_uris.items()))
        box = BindTarget("cxl1", "D2")
        hardware.execute(Bind(vppb, box), "outside")
        events = await operator.news()
        keys = [_key(each) for each in events]
        assert "RedfishFM.ForeignBinding" in about(events, uri)
        assert "RedfishFM.IsolationViolated" in keys
        hardware.execute(Unbind(vppb, box), "outside")
        keys = [_key(each) for each in await operator.news()]
        assert "RedfishFM.ForeignBindingGone" in keys
        assert "RedfishFM.IsolationRestored" in keys


@in_virtual_time
async def test_a_link_flap_reads_as_port_switch_system_composition_and_recovery() -> None:
    async with an_operator() as operator:
        stack = operator.stack
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        assert await operator.news()
        hardware = stack.rig.hardware["PCIe"]

        hardware.set_port(D1, link_up=False)
        down = await operator.news()
        first = {uri: index for index, uri in reversed([*enumerate(map(_origin, down))])}
        assert about(down, PORT)[:2] == [
            "ResourceEvent.ResourceChanged",
            "Fabric.DownstreamLinkDropped",
        ]
        assert "Fabric.SwitchDegraded" in about(down, SWITCH)
        assert "ResourceEvent.ResourceStatusChangedCritical" in about(down, system)
        host = f"{SYSTEMS}/host1"
        assert "RedfishFM.HealthRollupCritical" in about(down, host)
        order = [PORT, DEVICE, SWITCH, PCIE_FABRIC, host, system]
        assert sorted(order, key=first.__getitem__) == order
        # One cause: whoever reads one of them finds the others.
        assert len({each["EventGroupId"] for each in down}) == 1
        conditions = (await stack.get(system))["Status"]["Conditions"]
        assert {each["OriginOfCondition"]["@odata.id"] for each in conditions} == {DEVICE}

        hardware.set_port(D1, link_up=True)
        up = await operator.news() + await operator.news()
        assert "Fabric.DownstreamLinkEstablished" in about(up, PORT)
        assert "Fabric.SwitchOK" in about(up, SWITCH)
        assert "RedfishFM.HealthRollupOK" in about(up, host)
        assert "ResourceEvent.ResourceStatusChangedOK" in about(up, system)
        assert "Conditions" not in (await stack.get(system))["Status"]
        left = [each for each in up if each["MessageSeverity"] != "OK"]
        assert left == []


@in_virtual_time
async def test_a_device_that_is_pulled_and_put_back_is_told_of() -> None:
    async with an_operator(ResourceTypes=["Drive", "Endpoint"]) as operator:
        hardware = operator.stack.rig.hardware["PCIe"]
        hardware.remove_device("nvme1")
        keys = [_key(each) for each in await operator.news()]
        assert "StorageDevice.DriveRemoved" in keys
        assert "ResourceEvent.ResourceStateChanged" in keys
        hardware.return_device("nvme1")
        keys = [_key(each) for each in [*await operator.news(), *await operator.news()]]
        assert "StorageDevice.DriveInserted" in keys


async def logged(stack: Stack, query: str = "") -> list[dict[str, Any]]:
    """Return the entries of the event log, once everything is in it."""
    await stack.clock.sleep(LOOK_S)
    await stack.itself.logs.close()
    answer = await stack.ask("GET", f"{ENTRIES}{query}")
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = json.loads(answer.body)["Members"]
    return found


@in_virtual_time
async def test_the_event_log_has_what_happened_and_links_only_what_is_there() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        link = {"OriginOfCondition": {"@odata.id": zone}}
        (made,) = [each for each in await logged(stack) if each.get("Links") == link]
        assert made["MessageId"] == "Fabric.1.0.ZoneCreated"
        await stack.ask("DELETE", zone)
        gone = await logged(stack)
        assert not [each for each in gone if each.get("Links") == link]
        assert [each["MessageId"] for each in gone if each.get("OriginOfConditionUnavailable")] == [
            "Fabric.1.0.ZoneCreated",
            "Fabric.1.0.ZoneRemoved",
        ]
        tree = await stack.crawl()
        assert ENTRIES in tree


@in_virtual_time
async def test_the_event_log_is_asked_for_times_and_severities() -> None:
    async with a_stack() as stack:
        await stack.made(PCIE_ZONES, {"Name": "before"})
        before = (await logged(stack))[-1]["Created"]
        await stack.clock.sleep(60)
        stack.rig.hardware["PCIe"].set_port(D1, health="Critical")
        await stack.clock.sleep(LOOK_S)
        everything = await logged(stack)
        late = f"Created gt '{before}'"
        for query, wanted in (
            ("Severity eq 'Critical'", [e for e in everything if e["Severity"] == "Critical"]),
            (late, [e for e in everything if e["Created"] > before]),
            (
                f"{late} and Severity eq 'Critical'",
                [e for e in everything if e["Created"] > before and e["Severity"] == "Critical"],
            ),
        ):
            found = await logged(stack, f"?$filter={query}")
            assert [each["Id"] for each in found] == [each["Id"] for each in wanted]
            assert 0 < len(found) < len(everything)


@in_virtual_time
async def test_the_event_log_is_cleared_up_to_what_was_seen() -> None:
    async with a_stack() as stack:
        await stack.made(PCIE_ZONES, {"Name": "seen"})
        assert await logged(stack)
        tag = (await stack.get(ENTRIES))["@odata.etag"]
        zone = await stack.made(PCIE_ZONES, {"Name": "not seen"})
        clear = f"{LOG}/Actions/LogService.ClearLog"
        answer = await stack.ask("POST", clear, {"LogEntriesETag": tag})
        assert answer.status == 204, answer.body
        assert (await stack.get(ENTRIES))["Members"] == []
        left = [each["Links"]["OriginOfCondition"]["@odata.id"] for each in await logged(stack)]
        assert left == [zone]


@in_virtual_time
async def test_whoever_is_logged_in_reads_the_event_log_and_not_everybody_clears_it() -> None:
    async with a_stack() as stack:
        assert (await stack.ask("GET", ENTRIES, user="ro")).status == 200
        clear = f"{LOG}/Actions/LogService.ClearLog"
        assert (await stack.ask("POST", clear, {}, user="ro")).status == 403

"""What the EventService says of itself: only what is really told, for the world that is served."""

import json
from dataclasses import replace

from redfish_fm import app
from redfish_fm.config import Config
from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTIONS
from redfish_fm.own_events import about_events
from tests.cases.stack import a_stack, two_hosts
from tests.control.builders import PCIE_ZONES
from tests.redfish.builders import CATALOG, PRIVILEGES, REGISTRIES
from tests.virtual_time import in_virtual_time


def test_types_of_the_world_and_of_the_service_itself_are_told() -> None:
    types = about_events(CATALOG, two_hosts().documents.odata_types()).resource_types
    assert {"Zone", "Port", "Switch", "Task", "EventDestination", "ManagerAccount"} <= set(types)


def test_types_that_nothing_ever_happens_to_are_not_told() -> None:
    types = about_events(CATALOG, two_hosts().documents.odata_types()).resource_types
    assert not {"ServiceRoot", "ZoneCollection", "PortMetrics", "JsonSchemaFile"} & set(types)


def test_types_that_are_not_served_are_not_told() -> None:
    assert "Fan" not in about_events(CATALOG, ["#Zone.v1_6_3.Zone"]).resource_types


@in_virtual_time
async def test_every_event_is_of_a_registry_and_a_type_that_are_listed() -> None:
    async with a_stack() as stack:
        service = await stack.get(EVENT_SERVICE)
        everything = {"Destination": "https://192.0.2.1/", "Protocol": "Redfish"}
        uri = await stack.made(SUBSCRIPTIONS, everything)
        zone = await stack.made(PCIE_ZONES, {"Name": "a"})
        await stack.ask("PATCH", zone, {"Name": "b"})
        await stack.ask("PATCH", "/redfish/v1/Chassis/gpu1", {"AssetTag": "7"})
        account = {"UserName": "x", "Password": "a long password", "RoleId": "Operator"}
        await stack.made("/redfish/v1/AccountService/Accounts", account)
        await stack.ask("PATCH", EVENT_SERVICE, {"DeliveryRetryAttempts": 5})
        minutes = {"TaskAutoDeleteTimeoutMinutes": 60}
        assert (await stack.ask("PATCH", "/redfish/v1/TaskService", minutes)).status == 200
        await stack.ask("DELETE", zone)
        await stack.clock.sleep(5)
        events = stack.outbox.events(uri)
        assert {each["MessageId"].partition(".")[0] for each in events} <= set(
            service["RegistryPrefixes"]
        )
        origins = {each["OriginOfCondition"]["@odata.id"] for each in events}
        types = {info.name for each in origins if (info := CATALOG.type_of(each)) is not None}
        assert {"Zone", "Chassis", "ManagerAccount", "EventService", "TaskService"} <= types
        assert types <= set(service["ResourceTypes"])


@in_virtual_time
async def test_what_is_not_offered_is_not_advertised() -> None:
    async with a_stack() as stack:
        service = await stack.get(EVENT_SERVICE)
        assert not {"SMTP", "EventTypesForSubscription"} & service.keys()
        made = {"Destination": "https://192.0.2.1/", "Protocol": "Redfish"}
        shown = json.dumps(await stack.get(await stack.made(SUBSCRIPTIONS, made)))
        assert not any(name in shown for name in ("Certificates", "SNMP", "Syslog", "Backup"))


@in_virtual_time
async def test_the_filter_of_a_stream_takes_what_the_service_lists_since_it_serves_more() -> None:
    async with a_stack() as stack:
        stream = (await stack.get(EVENT_SERVICE))["ServerSentEventUri"]
        wish = f"{stream}?$filter=ResourceType%20eq%20'Battery'"
        assert (await stack.ask("HEAD", wish)).status == 400
        world = two_hosts()
        battery = "/redfish/v1/Chassis/gpu1/PowerSubsystem/Batteries/new"
        new = {"@odata.id": battery, "@odata.type": CATALOG.types["Battery"].odata_type}
        documents = world.documents.copy()
        documents.update({battery: new})
        more = app._base(  # noqa: SLF001
            Config(topology="two-hosts"),
            app._Tables(CATALOG, REGISTRIES, PRIVILEGES),  # noqa: SLF001
            replace(world, documents=documents),
            set(),
            "11111111-2222-3333-4444-555555555555",
        )
        async with stack.kernel.published.looking:
            stack.kernel.rebase(more)
        assert "Battery" in (await stack.get(EVENT_SERVICE))["ResourceTypes"]
        assert (await stack.ask("HEAD", wish)).status == 200

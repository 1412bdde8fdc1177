"""Cases EV-03, EV-06 and EV-11 of ../shared/cases.jsonl, and who may subscribe to events."""

import json
from typing import Any

import pytest

from redfish_fm.config import Config
from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTIONS
from redfish_fm.redfish.changes import Space
from tests.cases.conftest import Tree
from tests.cases.stack import ROOT, Stack, a_stack
from tests.control.builders import PCIE_FABRIC, PCIE_ZONES, links
from tests.mapping.schemas import SchemaPack
from tests.virtual_time import in_virtual_time, run

LISTENER = "http://192.0.2.50"
PUSH = {"Destination": f"{LISTENER}/1", "Protocol": "Redfish"}
TOKEN = "Bearer invented"


def told(response: Any) -> list[tuple[str, str]]:
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return sorted(
        (each["MessageId"].rsplit(".", 1)[-1], *each.get("RelatedProperties", [""])[:1])
        for each in entries
    )


def _origin(event: dict[str, Any]) -> str:
    return str(event.get("OriginOfCondition", {}).get("@odata.id"))


async def settled(stack: Stack) -> None:
    """Let everything that happened reach whoever is told."""
    await stack.clock.sleep(5)


@in_virtual_time
async def test_ev_03_an_old_clients_subscription_is_taken() -> None:
    body = {**PUSH, "EventTypes": ["ResourceAdded", "Alert"], "Context": "a"}
    async with a_stack() as stack:
        made = await stack.get(await stack.made(SUBSCRIPTIONS, body))
        assert (made["Context"], made["EventTypes"]) == ("a", ["ResourceAdded", "Alert"])


@in_virtual_time
async def test_ev_03_a_new_clients_subscription_has_context_and_type() -> None:
    body = {
        **PUSH,
        "RegistryPrefixes": ["ResourceEvent"],
        "ResourceTypes": ["Zone"],
        "EventFormatType": "Event",
    }
    async with a_stack() as stack:
        made = await stack.get(await stack.made(SUBSCRIPTIONS, body))
        assert made["Context"] is None
        assert made["SubscriptionType"] == "RedfishEvent"


@in_virtual_time
async def test_ev_03_a_wrapped_body_is_refused_naming_what_it_has_and_lacks() -> None:
    async with a_stack() as stack:
        body = {"EventDestination": {"Destination": f"{LISTENER}/3"}}
        response = await stack.ask("POST", SUBSCRIPTIONS, body)
        assert response.status == 400
        assert told(response) == [
            ("PropertyMissing", "#/Destination"),
            ("PropertyMissing", "#/Protocol"),
            ("PropertyUnknown", "#/EventDestination"),
        ]


@in_virtual_time
async def test_ev_03_a_subscription_without_destination_is_refused() -> None:
    async with a_stack() as stack:
        response = await stack.ask("POST", SUBSCRIPTIONS, {"Protocol": "Redfish"})
        assert (response.status, told(response)) == (400, [("PropertyMissing", "#/Destination")])


@in_virtual_time
async def test_ev_06_overlapping_origins_give_one_event_of_each_kind() -> None:
    body = {
        **PUSH,
        "Context": "f",
        "OriginResources": links(f"{ROOT}/Fabrics", PCIE_FABRIC, PCIE_ZONES),
        "IncludeOriginOfCondition": False,
        "SubordinateResources": True,
    }
    async with a_stack() as stack:
        subscription = await stack.made(SUBSCRIPTIONS, body)
        zone = await stack.made(PCIE_ZONES, {"Name": "n"})
        await settled(stack)
        events = stack.outbox.events(subscription)
        about = [each for each in events if each["OriginOfCondition"] == {"@odata.id": zone}]
        ids = [each["MessageId"] for each in about]
        assert ids.count("ResourceEvent.1.4.ResourceCreated") == 1
        assert len(set(ids)) == len(ids)


@in_virtual_time
async def test_ev_06_the_same_destination_may_be_subscribed_twice() -> None:
    async with a_stack() as stack:
        first = await stack.made(SUBSCRIPTIONS, {**PUSH, "Context": "a"})
        second = await stack.made(SUBSCRIPTIONS, {**PUSH, "Context": "b"})
        zone = await stack.made(PCIE_ZONES, {"Name": "n"})
        await settled(stack)
        about = [
            [each["EventId"] for each in stack.outbox.events(subscription) if _origin(each) == zone]
            for subscription in (first, second)
        ]
        assert about[0]
        assert about[0] == about[1]


@pytest.fixture(scope="module")
def subscribed() -> Tree:
    """The EventService with a subscription that says much and one that says little."""

    async def read() -> Tree:
        async with a_stack() as stack:
            much = {
                **PUSH,
                "Context": "c",
                "HttpHeaders": [{"Authorization": TOKEN}],
                "SendHeartbeat": True,
                "MessageIds": ["ResourceEvent.ResourceCreated"],
                "OriginResources": links(PCIE_ZONES),
            }
            for body in (much, PUSH):
                await stack.made(SUBSCRIPTIONS, body)
            return {
                uri: document
                for uri, document in (await stack.crawl()).items()
                if uri.startswith(EVENT_SERVICE)
            }

    return run(read())


def test_ev_11_service_and_subscriptions_follow_their_schemas(
    subscribed: Tree, schemas: SchemaPack
) -> None:
    assert len(subscribed) == 4
    for uri, document in subscribed.items():
        assert schemas.errors(document) == [], uri


def test_ev_11_a_subscription_has_what_is_required(subscribed: Tree) -> None:
    for uri, document in subscribed.items():
        if uri.startswith(f"{SUBSCRIPTIONS}/"):
            required = {"Context", "Id", "Name", "SubscriptionType", "Destination", "Protocol"}
            assert required <= document.keys()
            assert TOKEN not in json.dumps(document)


@in_virtual_time
async def test_ev_11_what_is_listed_can_be_subscribed_to() -> None:
    async with a_stack() as stack:
        service = await stack.get(EVENT_SERVICE)
        body = {
            **PUSH,
            "RegistryPrefixes": service["RegistryPrefixes"],
            "ResourceTypes": service["ResourceTypes"],
            "Severities": service["Severities"],
        }
        await stack.made(SUBSCRIPTIONS, body)


@in_virtual_time
async def test_secrets_stay_out_of_answers_feed_and_errors() -> None:
    async with a_stack() as stack:
        body = {**PUSH, "HttpHeaders": [{"Authorization": TOKEN}]}
        uri = await stack.made(SUBSCRIPTIONS, body)
        shown = await stack.ask("GET", uri)
        wrong = await stack.ask(
            "PATCH", uri, {"HttpHeaders": [{"Authorization": f"{TOKEN}\r\n"}, {"X": 5}]}
        )
        assert wrong.status == 400
        assert b"invented" not in shown.body + wrong.body
        feed = [each async for each in stack.store.follow(0)]
        assert "invented" not in repr(feed)
        assert b"invented" in stack.durable.spaces[Space.SECRET][uri]


@pytest.mark.parametrize(
    ("user", "status"),
    [("admin", 201), ("op", 201), ("keeper", 201), ("builder", 201), ("ro", 403), ("reader", 403)],
)
def test_who_configures_may_subscribe(user: str, status: int) -> None:
    async def subscribe() -> int:
        async with a_stack() as stack:
            return (await stack.ask("POST", SUBSCRIPTIONS, PUSH, user=user)).status

    assert run(subscribe()) == status


@in_virtual_time
async def test_an_operator_may_change_and_delete_its_own_subscription_alone() -> None:
    async with a_stack() as stack:
        own = (await stack.ask("POST", SUBSCRIPTIONS, PUSH, user="op")).headers["Location"]
        foreign = await stack.made(SUBSCRIPTIONS, PUSH)
        suspend = "/Actions/EventDestination.SuspendSubscription"
        for method, path, body in (
            ("PATCH", "", {"Context": "x"}),
            ("POST", suspend, {}),
            ("DELETE", "", None),
        ):
            refused = await stack.ask(method, foreign + path, body, user="op")
            assert refused.status == 403
            allowed = await stack.ask(method, own + path, body, user="op")
            assert allowed.status in (200, 204)


@in_virtual_time
async def test_one_subscription_more_than_configured_is_refused() -> None:
    config = Config(topology="two-hosts", subscription_limit=1)
    async with a_stack(config=config) as stack:
        await stack.made(SUBSCRIPTIONS, PUSH)
        response = await stack.ask("POST", SUBSCRIPTIONS, PUSH)
        assert response.status == 503
        assert told(response) == [("EventSubscriptionLimitExceeded", "")]


@pytest.mark.parametrize(
    "destination",
    [
        "http://127.0.0.1/",
        "http://localhost:8080/",
        "http://a.localhost/",
        "http://LOCALHOST./",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[fe80::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://0.0.0.0/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://user:word@192.0.2.50/",
        "http://192.0.2.50:0/",
        "ftp://192.0.2.50/",
        "file:///etc/passwd",
        "//192.0.2.50/",
        "192.0.2.50",
        "http:///x",
        "http://192.0.2.50\\@127.0.0.1/",
    ],
)
def test_a_destination_of_the_services_own_surroundings_is_refused(destination: str) -> None:
    async def refuse() -> None:
        async with a_stack() as stack:
            body = {**PUSH, "Destination": destination}
            response = await stack.ask("POST", SUBSCRIPTIONS, body)
            assert response.status == 400
            assert "#/Destination" in {place for _, place in told(response)}
            assert (await stack.get(SUBSCRIPTIONS))["Members"] == []

    run(refuse())

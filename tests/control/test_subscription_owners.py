"""Subscriptions and the accounts that made them: deleted, disabled, renamed, made anew."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from redfish_fm.control.delivery import Parcel
from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTIONS
from redfish_fm.store.memory import DurableState
from tests.cases.stack import Outbox, Stack, a_stack
from tests.control.builders import PCIE_ZONES
from tests.control.test_streams import account_of, made_anew
from tests.virtual_time import in_virtual_time

ACCOUNTS = "/redfish/v1/AccountService/Accounts"
PUSH = {
    "Destination": "https://192.0.2.50/a",
    "Protocol": "Redfish",
    "MessageIds": ["ResourceEvent.ResourceCreated"],
    "ResourceTypes": ["Zone"],
}
TERMINATED = "Base.1.22.SubscriptionTerminated"
SUSPEND = "/Actions/EventDestination.SuspendSubscription"


@contextlib.asynccontextmanager
async def subscribed(
    outbox: Outbox | None = None, user: str = "op", **more: Any
) -> AsyncIterator[tuple[Stack, str]]:
    async with a_stack(outbox=outbox, **more) as stack:
        yield stack, (await stack.ask("POST", SUBSCRIPTIONS, PUSH, user=user)).headers["Location"]


async def zones(stack: Stack, *names: str) -> None:
    for name in names:
        await stack.made(PCIE_ZONES, {"Name": name, "Id": name})
    await stack.clock.sleep(5)


async def change(stack: Stack, user: str, **body: Any) -> None:
    assert (await stack.ask("PATCH", await account_of(stack, user), body)).status == 200


async def delete(stack: Stack, user: str) -> None:
    assert (await stack.ask("DELETE", await account_of(stack, user))).status == 204


def told(outbox: Outbox, uri: str) -> list[str]:
    """Return the zones, or else the messages, that a subscription was told of, in order."""
    return [_about(each) for each in outbox.events(uri)]


def _about(event: Mapping[str, Any]) -> str:
    origin = event.get("OriginOfCondition")
    return str(event["MessageId"] if origin is None else origin["@odata.id"].rsplit("/", 1)[-1])


async def status(stack: Stack, uri: str) -> tuple[str, str]:
    found = (await stack.get(uri))["Status"]
    return found["State"], found["Health"]


@in_virtual_time
async def test_the_subscriptions_of_a_deleted_account_end_and_their_receivers_hear_so() -> None:
    async with subscribed() as (stack, uri):
        other = await stack.made(SUBSCRIPTIONS, PUSH)
        await zones(stack, "before")
        await delete(stack, "op")
        await zones(stack, "after")
        assert told(stack.outbox, uri) == ["before", TERMINATED]
        assert told(stack.outbox, other) == ["before", "after"]
        assert (await stack.ask("GET", uri)).status == 404
        (ids,) = {tuple(each["EventId"] for each in stack.outbox.events(uri))}
        assert len(set(ids)) == 2


@in_virtual_time
async def test_the_last_message_has_the_context_of_the_subscription() -> None:
    async with a_stack() as stack:
        await stack.ask("POST", SUBSCRIPTIONS, {**PUSH, "Context": "mine"}, user="op")
        await delete(stack, "op")
        await stack.clock.sleep(1)
        (parcel,) = stack.outbox.taken
        assert json.loads(parcel.body)["Context"] == "mine"


@in_virtual_time
async def test_a_new_account_of_the_same_name_inherits_nothing() -> None:
    async with subscribed() as (stack, uri):
        await made_anew(stack, "op")
        await zones(stack, "after")
        assert "after" not in told(stack.outbox, uri)
        assert (await stack.get(SUBSCRIPTIONS))["Members"] == []


@in_virtual_time
async def test_whoever_deletes_a_subscription_itself_hears_no_more_of_it() -> None:
    async with subscribed() as (stack, uri):
        assert (await stack.ask("DELETE", uri, user="op")).status == 204
        await zones(stack, "after")
        assert told(stack.outbox, uri) == []


@pytest.mark.parametrize("why", ["silent", "suspended", "disabled", "switched off"])
def test_nobody_who_was_not_sent_anything_hears_of_the_end(why: str) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with subscribed() as (stack, uri):
            if why == "silent":
                stack.outbox.answer = lambda _: "no answer in time"
            if why == "suspended":
                await stack.ask("POST", uri + SUSPEND, {})
            if why == "disabled":
                await change(stack, "op", Enabled=False)
            if why == "switched off":
                await stack.ask("PATCH", EVENT_SERVICE, {"ServiceEnabled": False})
            await zones(stack, "before")
            tried = len(stack.outbox.tried)
            stack.outbox.answer = lambda _: None
            await delete(stack, "op")
            await zones(stack, "after")
            assert told(stack.outbox, uri) == []
            assert len(stack.outbox.tried) == tried

    scenario()


@in_virtual_time
async def test_a_receiver_that_hangs_while_it_hears_of_the_end_does_not_hold_up_a_stop() -> None:
    async with subscribed() as (stack, _):
        sending: list[str] = []

        async def hang(_: Parcel) -> str | None:
            sending.append("begun")
            try:
                await asyncio.sleep(3600)
            finally:
                sending.append("over")
            return None

        common = stack.events.subscriptions._common  # noqa: SLF001
        object.__setattr__(common, "send", hang)
        await delete(stack, "op")
        await stack.clock.sleep(1)
        assert sending == ["begun"]
        began_s = stack.clock.now_s()
        await stack.events.close()
        assert sending == ["begun", "over"]
        assert stack.clock.now_s() - began_s < 1


@in_virtual_time
async def test_nothing_is_sent_while_an_account_is_disabled_and_nothing_is_lost() -> None:
    async with subscribed() as (stack, uri):
        await zones(stack, "before")
        await change(stack, "op", Enabled=False)
        await zones(stack, "meanwhile")
        assert told(stack.outbox, uri) == ["before"]
        assert await status(stack, uri) == ("Disabled", "Warning")
        (condition,) = (await stack.get(uri))["Status"]["Conditions"]
        assert "may not log in" in condition["Message"]
        await change(stack, "op", Enabled=True)
        await zones(stack, "after")
        assert told(stack.outbox, uri) == ["before", "meanwhile", "after"]
        assert await status(stack, uri) == ("Enabled", "OK")


@in_virtual_time
async def test_an_account_that_is_disabled_while_its_receiver_fails_is_left_alone() -> None:
    async with subscribed() as (stack, uri):
        await stack.ask("PATCH", EVENT_SERVICE, {"DeliveryRetryIntervalSeconds": 1})
        stack.outbox.answer = lambda _: "no answer in time"
        await zones(stack, "before")
        await change(stack, "op", Enabled=False)
        tried = len(stack.outbox.tried)
        await stack.clock.sleep(600)
        assert len(stack.outbox.tried) == tried
        assert await status(stack, uri) == ("Disabled", "Warning")
        stack.outbox.answer = lambda _: None
        await change(stack, "op", Enabled=True)
        await zones(stack, "after")
        assert told(stack.outbox, uri) == ["before", "after"]


@in_virtual_time
async def test_what_fails_while_an_account_is_being_disabled_does_not_show_instead() -> None:
    async with subscribed() as (stack, uri):

        async def slowly(_: Parcel) -> str:
            await asyncio.sleep(20)
            return "no answer in time"

        common = stack.events.subscriptions._common  # noqa: SLF001
        object.__setattr__(common, "send", slowly)
        await zones(stack, "before")
        await change(stack, "op", Enabled=False)
        await stack.clock.sleep(60)
        (condition,) = (await stack.get(uri))["Status"]["Conditions"]
        assert "may not log in" in condition["Message"]
        assert stack.events.subscriptions.waiting == 0


@in_virtual_time
async def test_who_loses_login_with_its_role_hears_no_more_until_it_is_back() -> None:
    async with subscribed(user="builder") as (stack, uri):
        role = "/redfish/v1/AccountService/Roles/Builder"
        without = {"AssignedPrivileges": ["ConfigureComponents"]}
        assert (await stack.ask("PATCH", role, without)).status == 200
        await zones(stack, "meanwhile")
        assert told(stack.outbox, uri) == []
        again = {"AssignedPrivileges": ["Login", "ConfigureComponents"]}
        assert (await stack.ask("PATCH", role, again)).status == 200
        await zones(stack, "after")
        assert told(stack.outbox, uri) == ["meanwhile", "after"]


@pytest.mark.parametrize("body", [{"RoleId": "ReadOnly"}, {"PasswordChangeRequired": True}])
def test_who_may_only_read_or_needs_a_new_password_is_still_told(body: dict[str, Any]) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with subscribed() as (stack, uri):
            await change(stack, "op", **body)
            await zones(stack, "after")
            assert told(stack.outbox, uri) == ["after"]
            if "RoleId" in body:
                assert (await stack.ask("POST", SUBSCRIPTIONS, PUSH, user="op")).status == 403
                assert (await stack.ask("DELETE", uri, user="op")).status == 204

    scenario()


@in_virtual_time
async def test_a_renamed_account_keeps_its_subscriptions_and_the_old_name_has_none() -> None:
    async with subscribed() as (stack, uri):
        await change(stack, "op", UserName="operator")
        body = {"UserName": "op", "Password": "an other password", "RoleId": "Operator"}
        await stack.made(ACCOUNTS, body)
        await zones(stack, "after")
        assert told(stack.outbox, uri) == ["after"]
        assert (await stack.ask("DELETE", uri, user="op")).status == 403
        assert (await stack.ask("DELETE", uri, user="operator")).status == 204


@in_virtual_time
async def test_a_request_whose_account_is_deleted_meanwhile_makes_no_subscription() -> None:
    async with a_stack() as stack:
        account = await account_of(stack, "op")
        await stack.token("op")
        deleting = asyncio.create_task(stack.ask("DELETE", account))
        making = asyncio.create_task(stack.ask("POST", SUBSCRIPTIONS, PUSH, user="op"))
        assert [(await each).status for each in (deleting, making)] == [204, 403]
        assert (await stack.get(SUBSCRIPTIONS))["Members"] == []


@pytest.mark.parametrize("crash", [False, True])
def test_who_was_disabled_before_a_restart_hears_nothing_after_it(crash: bool) -> None:
    @in_virtual_time
    async def scenario() -> None:
        durable, outbox = DurableState(), Outbox()
        async with subscribed(outbox, durable=durable, crash=crash) as (stack, uri):
            await change(stack, "op", Enabled=False)
            await zones(stack, "before")
        async with a_stack(durable=durable, outbox=outbox) as stack:
            await zones(stack, "after")
            assert told(outbox, uri) == []
            assert await status(stack, uri) == ("Disabled", "Warning")
            await change(stack, "op", Enabled=True)
            await stack.clock.sleep(5)
            assert told(outbox, uri) == ["before", "after"]

    scenario()

"""Event streams: what reaches whom, in which order, and what a slow client costs the others."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from redfish_fm.config import Config
from redfish_fm.control import streams as module
from redfish_fm.control.streams import GREETING, KEEP_ALIVE
from redfish_fm.mapping.subscriptions import ended
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.events import Position, position_of
from redfish_fm.redfish.sse_filter import EVERYTHING, StreamFilter, stream_filter
from redfish_fm.redfish.streams import StreamWish
from redfish_fm.redfish.writes import Write, WriteKind
from redfish_fm.store.base import StoreFailed
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.cases.stack import Stack, a_stack
from tests.virtual_time import in_virtual_time

ZONES = "/redfish/v1/Fabrics/CXL/Zones"
SUBSCRIPTIONS = "/redfish/v1/EventService/Subscriptions"


class Reader:
    """Stands for one connection; `room` bytes are taken before it is behind."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.room = room
        self.got = b""
        self.over = False
        self._told: list[Callable[[], None]] = []
        self._read = asyncio.Event()

    @property
    def behind(self) -> bool:
        return len(self.got) > self.room

    def on_over(self, told: Callable[[], None]) -> None:
        if self.over:
            told()
        else:
            self._told.append(told)

    def send(self, data: bytes) -> None:
        if not self.over:
            self.got += data

    async def drained(self) -> None:
        while self.behind and not self.over:
            self._read.clear()
            await self._read.wait()

    def read_on(self, room: int = 1 << 30) -> None:
        self.room = room
        self._read.set()

    def go(self) -> None:
        self.over = True
        self._read.set()
        for told in self._told:
            told()

    @property
    def ids(self) -> list[str]:
        return re.findall(r"^id: (.*)$", self.got.decode(), re.MULTILINE)

    @property
    def events(self) -> list[dict[str, Any]]:
        found = re.findall(r"^data: (.*)$", self.got.decode(), re.MULTILINE)
        return [event for each in found for event in json.loads(each)["Events"]]

    def told_of(self, uri: str) -> list[str]:
        return [
            each["MessageId"]
            for each in self.events
            if each.get("OriginOfCondition", {}).get("@odata.id") == uri
        ]


class Listening:
    """A stream that runs, as the server runs it."""

    def __init__(self, stream: Any, reader: Reader) -> None:
        self.uri: str = stream.uri
        self.reader = reader
        self.task = asyncio.create_task(stream.run(reader))

    async def close(self) -> None:
        self.reader.go()
        await self.task


async def listen(
    stack: Stack,
    *,
    user: str = "admin",
    wish: StreamFilter = EVERYTHING,
    after: Position | None = None,
    reader: Reader | None = None,
) -> Listening:
    stream = await stack.events.streams.open(StreamWish(user, "192.0.2.1", wish, after))
    listening = Listening(stream, reader or Reader())
    await asyncio.sleep(1)
    return listening


async def members(stack: Stack) -> list[str]:
    found = await stack.get(SUBSCRIPTIONS)
    return [each["@odata.id"] for each in found["Members"]]


@in_virtual_time
async def test_a_stream_begins_with_something_to_read_and_then_tells_what_happens() -> None:
    async with a_stack() as stack:
        before = await stack.made(ZONES, {"Name": "before"})
        heard = await listen(stack)
        assert heard.reader.got == GREETING
        zone = await stack.made(ZONES, {"Name": "after"})
        await asyncio.sleep(1)
        told = heard.reader.told_of(zone)
        assert [each.rpartition(".")[2] for each in told] == ["ResourceCreated", "ZoneCreated"]
        assert heard.reader.told_of(before) == []
        await heard.close()


@in_virtual_time
async def test_ids_grow_and_each_message_is_one_event_under_its_id() -> None:
    async with a_stack() as stack:
        heard = await listen(stack)
        for number in range(5):
            await stack.made(ZONES, {"Name": f"zone {number}"})
        await asyncio.sleep(1)
        ids = heard.reader.ids
        places = [position_of(each) for each in ids]
        assert None not in places and len(set(ids)) == len(ids) >= 10
        assert places == sorted(places)  # type: ignore[type-var]
        assert [each["EventId"] for each in heard.reader.events] == ids
        assert heard.reader.got.removeprefix(GREETING).count(b"\n\n") == len(ids)
        await heard.close()


@in_virtual_time
async def test_a_client_that_comes_back_gets_exactly_what_it_missed() -> None:
    async with a_stack() as stack:
        heard = await listen(stack)
        first = await stack.made(ZONES, {"Name": "heard"})
        await asyncio.sleep(1)
        await heard.close()
        last = heard.reader.ids[-1]
        missed = await stack.made(ZONES, {"Name": "missed"})
        again = await listen(stack, after=position_of(last))
        now = await stack.made(ZONES, {"Name": "now"})
        await asyncio.sleep(1)
        assert again.reader.told_of(first) == []
        assert len(again.reader.told_of(missed)) == len(again.reader.told_of(now)) == 2
        assert not set(heard.reader.ids) & set(again.reader.ids)
        await again.close()


@in_virtual_time
async def test_an_id_from_after_the_end_of_all_means_what_comes_now() -> None:
    async with a_stack() as stack:
        heard = await listen(stack, after=(10**18, 1))
        zone = await stack.made(ZONES, {"Name": "now"})
        await asyncio.sleep(1)
        assert len(heard.reader.told_of(zone)) == 2
        await heard.close()


@in_virtual_time
async def test_streams_that_want_the_same_get_the_same_and_others_get_theirs() -> None:
    async with a_stack() as stack:
        fabric = stream_filter("RegistryPrefix eq 'Fabric'", {})
        first, second = await listen(stack, wish=fabric), await listen(stack, wish=fabric)
        every = await listen(stack)
        zone = await stack.made(ZONES, {"Name": "zone"})
        await asyncio.sleep(1)
        assert first.reader.got == second.reader.got
        assert [each.rpartition(".")[2] for each in first.reader.told_of(zone)] == ["ZoneCreated"]
        assert len(every.reader.told_of(zone)) == 2
        for each in (first, second, every):
            await each.close()


@in_virtual_time
async def test_a_client_that_reads_slowly_delays_nobody_and_loses_nothing() -> None:
    async with a_stack() as stack:
        slow = await listen(stack, reader=Reader(room=len(GREETING)))
        quick = await listen(stack)
        made = [await stack.made(ZONES, {"Name": f"zone {number}"}) for number in range(40)]
        await asyncio.sleep(1)
        assert all(quick.reader.told_of(zone) for zone in made)
        assert len(slow.reader.events) < 10
        room = len(slow.reader.got)
        while len(slow.reader.events) < len(quick.reader.events):
            room += 4000
            slow.reader.read_on(room)
            await asyncio.sleep(0.2)
        mine = [each for each in slow.reader.events if each["EventId"] in quick.reader.ids]
        assert mine == quick.reader.events
        late = await stack.made(ZONES, {"Name": "late"})
        slow.reader.read_on()
        await asyncio.sleep(1)
        assert len(slow.reader.told_of(late)) == len(quick.reader.told_of(late)) == 2
        await slow.close()
        await quick.close()


@in_virtual_time
async def test_one_that_comes_in_the_middle_of_a_round_misses_nothing_and_hears_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 1)
    async with a_stack() as stack:
        readers = [await listen(stack) for _ in range(8)]
        expected: list[str] = []
        for number in range(12):
            expected.append(await stack.made(ZONES, {"Name": f"zone {number}"}))
            readers.append(await listen(stack, after=position_of(readers[0].reader.ids[0])
                                        if readers[0].reader.ids else None))  # fmt: skip
        await asyncio.sleep(2)
        for each in readers:
            assert len(set(each.reader.ids)) == len(each.reader.ids)
        for zone in expected:
            assert len(readers[0].reader.told_of(zone)) == 2
        behind = readers[-1].reader.ids
        assert behind == readers[0].reader.ids[-len(behind) :]
        for each in readers:
            await each.close()


@in_virtual_time
async def test_one_that_comes_before_a_round_is_not_told_of_what_was_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "GATHER_S", 30.0)
    async with a_stack() as stack:
        heard = await listen(stack)
        await stack.made(ZONES, {"Name": "begins a rest"})
        await asyncio.sleep(1)
        before = await stack.made(ZONES, {"Name": "before"})
        newcomer = await listen(stack)
        after = await stack.made(ZONES, {"Name": "after"})
        await asyncio.sleep(40)
        assert len(heard.reader.told_of(before)) == len(heard.reader.told_of(after)) == 2
        assert newcomer.reader.told_of(before) == []
        assert len(newcomer.reader.told_of(after)) == 2
        await heard.close()
        await newcomer.close()


@in_virtual_time
async def test_each_stream_is_an_event_destination_for_as_long_as_it_lasts() -> None:
    async with a_stack() as stack:
        wish = stream_filter("RegistryPrefix eq 'Fabric'", {})
        heard = await listen(stack, wish=wish)
        assert await members(stack) == [heard.uri]
        document = await stack.get(heard.uri)
        assert document["SubscriptionType"] == "SSE"
        assert isinstance(document["Context"], str)
        assert document["RegistryPrefixes"] == ["Fabric"]
        await heard.close()
        await asyncio.sleep(1)
        assert await members(stack) == []


@in_virtual_time
async def test_readers_that_come_and_go_are_not_told_to_each_other() -> None:
    async with a_stack() as stack:
        heard, other = await listen(stack), await listen(stack)
        await other.close()
        await asyncio.sleep(1)
        assert heard.reader.events == []
        await heard.close()


@in_virtual_time
async def test_who_deletes_its_destination_closes_the_stream() -> None:
    async with a_stack() as stack:
        heard = await listen(stack)
        other = await listen(stack)
        assert (await stack.ask("DELETE", heard.uri)).status in (200, 204)
        async with asyncio.timeout(1):
            await heard.task
        assert not other.task.done()
        await other.close()


@pytest.mark.parametrize("change", [{"Enabled": False}, {"PasswordChangeRequired": True}])
def test_an_account_that_may_no_more_hears_no_more(change: dict[str, bool]) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            heard, admin = await listen(stack, user="reader"), await listen(stack)
            account = await account_of(stack, "reader")
            assert (await stack.ask("PATCH", account, change)).status == 200
            async with asyncio.timeout(1):
                await heard.task
            assert not admin.task.done()
            await admin.close()

    scenario()


@in_virtual_time
async def test_a_deleted_account_hears_no_more_but_an_ended_session_does_not_matter() -> None:
    async with a_stack() as stack:
        heard = await listen(stack, user="reader")
        sessions = await stack.get("/redfish/v1/SessionService/Sessions")
        for each in sessions["Members"]:
            session = await stack.get(each["@odata.id"])
            if session["UserName"] == "reader":
                await stack.ask("DELETE", each["@odata.id"])
        zone = await stack.made(ZONES, {"Name": "still heard"})
        await asyncio.sleep(1)
        assert len(heard.reader.told_of(zone)) == 2
        assert (await stack.ask("DELETE", await account_of(stack, "reader"))).status in (200, 204)
        async with asyncio.timeout(1):
            await heard.task


@in_virtual_time
async def test_who_may_no_more_by_the_time_the_stream_is_open_hears_nothing() -> None:
    async with a_stack() as stack:
        account = await account_of(stack, "reader")
        barring = asyncio.create_task(stack.ask("PATCH", account, {"Enabled": False}))
        opening = asyncio.create_task(listen(stack, user="reader"))
        assert (await barring).status == 200
        heard = await opening
        async with asyncio.timeout(1):
            await heard.task
        await asyncio.sleep(1)
        assert await members(stack) == []


@in_virtual_time
async def test_whose_account_is_deleted_meanwhile_gets_no_stream() -> None:
    async with a_stack() as stack:
        account = await account_of(stack, "reader")
        deleting = asyncio.create_task(stack.ask("DELETE", account))
        opening = asyncio.create_task(listen(stack, user="reader"))
        assert (await deleting).status in (200, 204)
        with pytest.raises(RedfishError, check=lambda error: error.status == 403):
            await opening
        assert await members(stack) == []


@in_virtual_time
async def test_a_new_account_of_the_same_name_does_not_get_the_stream_of_the_one_before() -> None:
    async with a_stack() as stack:
        heard = await listen(stack, user="reader")
        await made_anew(stack, "reader")
        assert stack.identity.may_listen("reader")
        async with asyncio.timeout(1):
            await heard.task


@in_virtual_time
async def test_a_renamed_account_hears_no_more() -> None:
    async with a_stack() as stack:
        heard = await listen(stack, user="reader")
        change = {"UserName": "other"}
        assert (await stack.ask("PATCH", await account_of(stack, "reader"), change)).status == 200
        async with asyncio.timeout(1):
            await heard.task
        assert await members(stack) == []


async def left_by_a_dead_service(durable: DurableState) -> str:
    """Leave a stream in the store as kill -9 does; return its EventDestination."""
    async with a_stack(durable=durable, crash=True) as stack:
        heard = await listen(stack)
        heard.task.cancel()
        return heard.uri


def refusing(monkeypatch: pytest.MonkeyPatch, actor: str, times: int) -> None:
    """Have the store refuse the first changes of an actor."""
    commit, left = MemoryStore.commit, [None] * times

    async def refuse(self: MemoryStore, seq: int, changes: Sequence[Change]) -> int:
        if left and any(each.actor == actor for each in changes):
            left.pop()
            raise StoreFailed("invented")
        return await commit(self, seq, changes)

    monkeypatch.setattr(MemoryStore, "commit", refuse)


@pytest.mark.parametrize("refusals", [0, 3])
def test_streams_of_an_earlier_life_are_deleted_as_soon_as_the_store_takes_it(
    monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    @in_virtual_time
    async def scenario() -> None:
        durable = DurableState()
        left = await left_by_a_dead_service(durable)
        assert left in durable.spaces[Space.DOCUMENT]
        refusing(monkeypatch, "events", refusals)
        async with a_stack(durable=durable) as stack:
            await asyncio.sleep(10)
            assert await members(stack) == []
        assert left not in durable.spaces[Space.DOCUMENT]
        assert left not in durable.spaces[Space.SECRET]

    scenario()


@in_virtual_time
async def test_a_stream_that_is_opened_before_they_are_deleted_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    durable = DurableState()
    left = await left_by_a_dead_service(durable)
    refusing(monkeypatch, "events", 3)
    async with a_stack(durable=durable) as stack:
        heard = await listen(stack)
        assert left in await members(stack)
        await asyncio.sleep(10)
        assert await members(stack) == [heard.uri]
        assert not heard.task.done()
        await heard.close()


@in_virtual_time
async def test_what_is_made_under_the_id_of_a_stream_that_was_left_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    durable = DurableState()
    left = await left_by_a_dead_service(durable)
    refusing(monkeypatch, "events", 3)
    async with a_stack(durable=durable) as stack:
        await asyncio.sleep(1.5)
        assert (await stack.ask("DELETE", left)).status == 204
        body = {"Destination": "https://192.0.2.50/a", "Protocol": "Redfish"}
        made = await stack.made(SUBSCRIPTIONS, {**body, "Id": left.rpartition("/")[2]})
        await asyncio.sleep(10)
        assert await members(stack) == [made] == [left]


@in_virtual_time
async def test_a_stream_whose_destination_is_gone_by_the_time_it_is_open_is_closed() -> None:
    async with a_stack() as stack:
        writer = stack.kernel.writer
        uri = f"{SUBSCRIPTIONS}/{writer.tip_view.next_id}"
        opening = asyncio.create_task(listen(stack))
        await asyncio.sleep(0)
        await writer.submit(lambda tip: ended(uri, tip), "admin")
        heard = await opening
        assert heard.uri == uri
        async with asyncio.timeout(1):
            await heard.task


@in_virtual_time
async def test_a_stream_offers_no_action_that_it_refuses() -> None:
    async with a_stack() as stack:
        heard = await listen(stack)
        assert "Actions" not in await stack.get(heard.uri)
        await heard.close()


@in_virtual_time
async def test_where_events_are_switched_off_streams_end_and_none_begins() -> None:
    async with a_stack() as stack:
        heard = await listen(stack)
        off = await stack.ask("PATCH", "/redfish/v1/EventService", {"ServiceEnabled": False})
        assert off.status == 200, off.body
        async with asyncio.timeout(1):
            await heard.task
        with pytest.raises(RedfishError) as caught:
            await listen(stack)
        assert caught.value.status == 503
        assert caught.value.messages[0].key == "Base.ServiceDisabled"
        assert caught.value.messages[0].args == ("/redfish/v1/EventService",)


@in_virtual_time
async def test_there_are_no_more_streams_than_the_limit_also_when_all_come_at_once() -> None:
    async with a_stack(config=Config(topology="two-hosts", event_stream_limit=3)) as stack:
        opened = await asyncio.gather(*(listen(stack) for _ in range(6)), return_exceptions=True)
        refused = [each for each in opened if isinstance(each, RedfishError)]
        assert [each.status for each in refused] == [503] * 3
        assert {each.messages[0].key for each in refused} == {"Base.EventSubscriptionLimitExceeded"}
        heard = [each for each in opened if isinstance(each, Listening)]
        await heard[0].close()
        await asyncio.sleep(1)
        again = await listen(stack)
        for each in [*heard[1:], again]:
            await each.close()


@in_virtual_time
async def test_a_silent_stream_gets_a_comment_within_half_a_minute() -> None:
    async with a_stack() as stack:
        heard = await listen(stack)
        for _ in range(4):
            before = heard.reader.got.count(KEEP_ALIVE)
            await asyncio.sleep(30)
            assert heard.reader.got.count(KEEP_ALIVE) > before
        await heard.close()


@in_virtual_time
async def test_what_is_no_longer_known_is_told_as_a_gap_once() -> None:
    async with a_stack() as stack:
        for number in range(4):
            await stack.made(ZONES, {"Name": f"zone {number}"})
        forget_feed_before(stack, 3)
        heard = await listen(stack, after=(1, 1))
        told = [each["MessageId"].rpartition(".")[2] for each in heard.reader.events]
        assert told.count("EventBufferExceeded") == 1
        assert told[0] == "EventBufferExceeded" and len(told) > 1
        places = [position_of(each) for each in heard.reader.ids]
        assert places == sorted(places)  # type: ignore[type-var]
        await heard.close()


@in_virtual_time
async def test_a_round_makes_the_bytes_of_an_event_once_for_all_who_want_it() -> None:
    async with a_stack() as stack:
        heard = [await listen(stack) for _ in range(20)]
        made: list[object] = []
        words = stack.events.subscriptions.words
        real = words.payload

        def counted(*given: Any, **more: Any) -> bytes:
            made.append(given)
            return real(*given, **more)

        words.payload = counted  # type: ignore[method-assign]
        zone = await stack.made(ZONES, {"Name": "zone"})
        await asyncio.sleep(1)
        assert all(len(each.reader.told_of(zone)) == 2 for each in heard)
        assert len(made) == len(heard[0].reader.told_of(zone))
        for each in heard:
            await each.close()


async def made_anew(stack: Stack, user: str) -> None:
    """Delete an account and make another of the same name; both are published in one step."""
    account = await account_of(stack, user)
    collection = account.rpartition("/")[0]
    body = {"UserName": user, "RoleId": "Operator"}
    secret = b"scrypt$1$1$1$00$00"
    writes = (
        Write(WriteKind.DELETE, account, "ManagerAccount", "admin"),
        Write(WriteKind.CREATE, collection, "ManagerAccount", "admin", body, secret=secret),
    )
    batches: list[int] = []
    stack.kernel.writer.on_publish.add(lambda changes: batches.append(len(changes)))
    await asyncio.gather(*(stack.kernel.commits.commit(each) for each in writes))
    assert batches == [2]


async def account_of(stack: Stack, user: str) -> str:
    accounts = await stack.get("/redfish/v1/AccountService/Accounts")
    for each in accounts["Members"]:
        if (await stack.get(each["@odata.id"]))["UserName"] == user:
            return str(each["@odata.id"])
    raise AssertionError(user)


def forget_feed_before(stack: Stack, seq: int) -> None:
    """Let the store keep fewer records than there were, as retention does."""
    feed = stack.durable.feed
    while feed and feed[0][1].seq < seq:
        feed.popleft()
    stack.events.stream.start(stack.kernel.published.seq)

"""Cases SS-01 and SS-03, and how the stream is asked for: status by status."""

import json
from urllib.parse import quote

import pytest

from redfish_fm.control.streams import KEEP_ALIVE
from redfish_fm.redfish.requests import Response
from tests.cases.stack import Stack, a_stack
from tests.control.test_streams import Listening, Reader
from tests.virtual_time import in_virtual_time

SSE = "/redfish/v1/EventService/SSE"
STREAM = "text/event-stream"
ZONES = "/redfish/v1/Fabrics/CXL/Zones"


async def opened(stack: Stack, target: str = SSE, **headers: str) -> Response:
    response = await stack.ask("GET", target, **headers)
    assert response.status == 200, response.body
    return response


def listening(response: Response) -> Listening:
    assert response.flow is not None
    return Listening(response.flow, Reader())


@pytest.mark.parametrize("accept", [STREAM, "*/*", "text/*", None, "application/json;q=0.1, */*"])
def test_ss_01_a_stream_opens_for_every_accept_that_takes_it(accept: str | None) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            headers = {} if accept is None else {"accept": accept}
            response = await opened(stack, **headers)
            assert response.headers["Content-Type"] == STREAM
            await listening(response).close()

    scenario()


@in_virtual_time
async def test_ss_01_the_service_tells_where_its_stream_is_and_that_leads_there() -> None:
    async with a_stack() as stack:
        service = await stack.get("/redfish/v1/EventService")
        response = await opened(stack, service["ServerSentEventUri"])
        await listening(response).close()
        assert all(service["SSEFilterPropertiesSupported"].values())


@in_virtual_time
async def test_ss_01_a_stream_on_which_nothing_happens_gets_a_comment_every_half_minute() -> None:
    async with a_stack() as stack:
        heard = listening(await opened(stack))
        for _ in range(10):
            before = len(heard.reader.got)
            await stack.clock.sleep(30)
            assert KEEP_ALIVE in heard.reader.got[before:]
        assert not heard.task.done()
        await heard.close()


@in_virtual_time
async def test_ss_01_head_answers_at_once_and_opens_nothing() -> None:
    async with a_stack() as stack:
        response = await stack.ask("HEAD", SSE)
        assert (response.status, response.flow) == (200, None)
        assert response.headers["Content-Type"] == STREAM
        assert stack.events.streams.open_now == 0


@pytest.mark.parametrize(
    ("method", "target", "user", "headers", "status", "message"),
    [
        ("GET", SSE, None, {}, 401, "NoValidSession"),
        ("GET", SSE, "admin", {"accept": "application/json"}, 406, "HeaderInvalid"),
        ("POST", SSE, "admin", {}, 405, "OperationNotAllowed"),
        ("DELETE", SSE, "admin", {}, 405, "OperationNotAllowed"),
        ("GET", f"{SSE}?$filter=", "admin", {}, 400, "QueryParameterValueFormatError"),
        ("GET", f"{SSE}?$filter=Colour eq 'red'", "admin", {}, 400, "QueryParameterOutOfRange"),
        ("GET", f"{SSE}?$filter=RegistryPrefix eq 'X'", "admin", {}, 400,
         "QueryParameterOutOfRange"),
        ("GET", f"{SSE}?$filter=RegistryPrefix eq 5", "admin", {}, 400,
         "QueryParameterValueTypeError"),
        ("GET", f"{SSE}?$filter=startswith(MessageId,'B')", "admin", {}, 501,
         "QueryParameterUnsupported"),
        ("GET", f"{SSE}?$top=5", "admin", {}, 400, "QueryNotSupportedOnResource"),
        ("GET", f"{SSE}?$count=true", "admin", {}, 501, "QueryParameterUnsupported"),
    ],
)  # fmt: skip
def test_ss_01_what_is_no_request_for_a_stream_is_refused_and_opens_none(
    method: str, target: str, user: str | None, headers: dict[str, str], status: int, message: str
) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            response = await stack.ask(method, quote(target, "/?$=&"), user=user, **headers)
            assert response.status == status, response.body
            (told, *_) = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
            assert told["MessageId"].rpartition(".")[2] == message
            assert stack.events.streams.open_now == 0
            await listening(await opened(stack)).close()

    scenario()


@in_virtual_time
async def test_ss_03_a_client_comes_back_with_the_last_id_it_has_heard() -> None:
    async with a_stack() as stack:
        first = listening(await opened(stack))
        for number in range(3):
            await stack.made(ZONES, {"Name": f"zone {number}"})
        await stack.clock.sleep(1)
        await first.close()
        heard = first.reader.ids
        assert len(heard) == 6
        middle = heard[2]
        missed = await stack.made(ZONES, {"Name": "missed"})

        again = listening(await opened(stack, last_event_id=middle))
        await stack.clock.sleep(1)
        assert [each for each in again.reader.ids if each in heard] == heard[3:]
        assert len(again.reader.told_of(missed)) == 2
        live = await stack.made(ZONES, {"Name": "live"})
        await stack.clock.sleep(1)
        assert len(again.reader.told_of(live)) == 2
        await again.close()


@pytest.mark.parametrize("last", ["garbage", "", "5", "1.2.3", "-1.0", "9" * 400 + ".1", "é.1"])
def test_ss_03_an_id_that_was_never_given_means_what_comes_now(last: str) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            before = await stack.made(ZONES, {"Name": "before"})
            heard = listening(await opened(stack, last_event_id=last))
            await stack.clock.sleep(1)
            zone = await stack.made(ZONES, {"Name": "now"})
            await stack.clock.sleep(1)
            assert heard.reader.told_of(before) == []
            assert len(heard.reader.told_of(zone)) == 2
            await heard.close()

    scenario()


@in_virtual_time
async def test_ss_03_without_an_id_nothing_is_told_again() -> None:
    async with a_stack() as stack:
        before = await stack.made(ZONES, {"Name": "before"})
        heard = listening(await opened(stack))
        await stack.clock.sleep(1)
        assert heard.reader.told_of(before) == []
        await heard.close()

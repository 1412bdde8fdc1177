"""PROTOCOL.md 35 to 42: entity tags of accounts, read, compared, raced for."""

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest

from tests.redfish.builders import keys
from tests.redfish.house import ADMIN, House, a_house, basic

UNKNOWN = '"0123456789abcdef.0123456789abcdef"'


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as running:
        yield running


@pytest.fixture
async def bob(house: House) -> str:
    return await house.add("bob")


async def test_pv_35_the_tag_is_one_quoted_string(house: House, bob: str) -> None:
    assert re.fullmatch(r'(W/)?"[\x21\x23-\x7e]+"', await house.etag(bob))


async def test_pv_36_header_and_body_say_the_same(house: House, bob: str) -> None:
    response = await house.send("GET", bob)
    assert response.headers["ETag"] == json.loads(response.body)["@odata.etag"]


async def test_pv_37_time_alone_changes_no_tag(house: House, bob: str) -> None:
    before = await house.etag(bob)
    house.clock.time_s += 2
    assert await house.etag(bob) == before


async def test_pv_38_a_known_copy_is_not_sent_again(house: House, bob: str) -> None:
    tag = await house.etag(bob)
    response = await house.send("GET", bob, if_none_match=tag)
    assert (response.status, response.body) == (304, b"")
    assert (await house.send("GET", bob, if_none_match=UNKNOWN)).status == 200


async def test_pv_39_a_foreign_tag_wins_over_a_bad_body(house: House, bob: str) -> None:
    before = await house.get(bob)
    for body in ({"RoleId": "Operator"}, {"Bogus": 1}, None):
        response = await house.send("PATCH", bob, body, if_match=UNKNOWN)
        assert (response.status, keys(response)) == (412, ["PreconditionFailed"])
    assert (await house.send("DELETE", bob, if_match=UNKNOWN)).status == 412
    assert await house.get(bob) == before


async def test_pv_40_the_current_tag_succeeds_and_changes(house: House, bob: str) -> None:
    before = await house.etag(bob)
    response = await house.send("PATCH", bob, {"RoleId": "Operator"}, if_match=before)
    assert response.status == 200
    assert (await house.get(bob))["RoleId"] == "Operator"
    assert response.headers["ETag"] == await house.etag(bob) != before


async def test_pv_41_a_tag_from_before_the_write_is_stale(house: House, bob: str) -> None:
    before = await house.etag(bob)
    await house.send("PATCH", bob, {"RoleId": "Operator"}, if_match=before)
    response = await house.send("PATCH", bob, {"RoleId": "Administrator"}, if_match=before)
    assert response.status == 412
    assert (await house.get(bob))["RoleId"] == "Operator"


@pytest.mark.parametrize("with_password", [False, True])
async def test_pv_42_of_four_at_once_exactly_one_wins(
    house: House, bob: str, with_password: bool
) -> None:
    tag, header = await house.etag(bob), basic("admin", "admin-password")
    more = {"Password": "second-password"} if with_password else {}
    answers = await asyncio.gather(
        *(
            house.send(
                "PATCH", bob, {"Description": f"by {n}", **more}, if_match=tag, authorization=header
            )
            for n in range(4)
        )
    )
    assert sorted(answer.status for answer in answers) == [200, 412, 412, 412]
    won = next(n for n, answer in enumerate(answers) if answer.status == 200)
    assert (await house.get(bob))["Description"] == f"by {won}"


async def test_et_01_every_way_to_echo_a_tag_is_understood(house: House, bob: str) -> None:
    async def patch(name: str, tag: str | None) -> int:
        more = {} if tag is None else {"if_match": tag}
        return (await house.send("PATCH", bob, {"Name": name}, **more)).status

    assert await patch("n1", await house.etag(bob)) == 200
    assert await patch("n2", (await house.get(bob))["@odata.etag"]) == 200
    assert await patch("n3", "*") == 200
    assert await patch("n4", "W/" + await house.etag(bob)) == 200
    assert await patch("n5", (await house.etag(bob)).strip('"')) == 200
    assert await patch("n6", None) == 200


async def test_equal_accounts_have_equal_tags_after_a_restart() -> None:
    async with a_house() as house:
        before, durable = await house.etag(ADMIN), house.durable
    async with a_house(durable) as house:
        assert await house.etag(ADMIN) == before

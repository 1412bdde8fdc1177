"""Trying passwords: who is heard, what a flood can and can not do. Hashing is made instant."""

import asyncio
import json
import threading
from typing import Any

import pytest

from redfish_fm.redfish import accounts as accounts_module
from redfish_fm.redfish.accounts import ACCOUNTS, Account, Accounts
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.credentials import (
    FAILURE_EVERY_S,
    FAILURES_AT_ONCE,
    WAITING_MAX,
    WAITING_OF_PEER_MAX,
    Credentials,
    LoginRefused,
)
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.locks import Locks
from redfish_fm.redfish.policy import AccountPolicy
from tests.redfish.builders import FakeClock

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Door:
    """Credentials over two accounts whose secret is their password, and what was hashed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FakeClock()
        self.accounts = Accounts()
        self.hashed: list[str] = []
        monkeypatch.setattr(accounts_module, "verify_password", self._verify)
        for name in ("bob", "eve"):
            uri = f"{ACCOUNTS}/{name}"
            document = {
                "@odata.type": "#ManagerAccount.v1_14_1.ManagerAccount",
                "UserName": name,
                "RoleId": "ReadOnly",
            }
            self.accounts.apply(
                [
                    Edit(Space.SECRET, uri, None, f"{name}-password".encode()),
                    Edit(Space.DOCUMENT, uri, None, json.dumps(document).encode()),
                ]
            )
        self.locks = Locks(self.accounts, self.clock)
        self.credentials = Credentials(self.accounts, self.locks, self.clock)

    def _verify(self, password: str, secret: bytes) -> bool:
        self.hashed.append(password)
        return secret == password.encode()

    async def tries(self, user: str, password: str = "", peer: str = HERE) -> Account | int:
        """Return the account that opened, or the status of the refusal."""
        try:
            return await self.credentials.admit(user, password or f"{user}-password", peer)
        except RedfishError as error:
            return error.status

    async def fails(self, times: int, user: str = "bob", peer: str = HERE) -> list[Any]:
        return [await self.tries(user, "wrong-password", peer) for _ in range(times)]


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    door = Door(monkeypatch)
    door.accounts.policy = AccountPolicy(lockout_threshold=0)
    return door


async def test_a_peer_that_failed_too_often_is_not_heard_and_costs_no_hash(door: Door) -> None:
    assert await door.fails(FAILURES_AT_ONCE) == [401] * FAILURES_AT_ONCE
    hashed = len(door.hashed)
    assert await door.fails(3) == [503] * 3
    assert await door.tries("bob") == 503
    assert len(door.hashed) == hashed
    door.clock.time_s += FAILURE_EVERY_S
    assert isinstance(await door.tries("bob"), Account)


async def test_a_refusal_for_haste_says_when_to_come_back(door: Door) -> None:
    await door.fails(FAILURES_AT_ONCE)
    with pytest.raises(RedfishError) as refused:
        await door.credentials.admit("bob", "x", HERE)
    assert refused.value.headers == {"Retry-After": "2"}
    assert not isinstance(refused.value, LoginRefused)


async def test_other_peers_are_heard_meanwhile(door: Door) -> None:
    await door.fails(FAILURES_AT_ONCE + 1)
    assert isinstance(await door.tries("bob", peer=THERE), Account)


async def test_a_client_that_has_got_in_is_let_in_again_from_a_throttled_address(
    door: Door,
) -> None:
    """One that tries wrong passwords next to it does not throw it out."""
    assert isinstance(await door.tries("eve"), Account)
    await door.fails(FAILURES_AT_ONCE + 1)
    assert isinstance(await door.tries("eve"), Account)
    assert await door.tries("bob") == 503


async def test_right_passwords_are_never_counted(door: Door) -> None:
    for _ in range(2 * FAILURES_AT_ONCE):
        door.accounts.apply(_described("bob"))
        assert isinstance(await door.tries("bob"), Account)


async def test_a_flood_at_once_is_cut_off_after_the_burst(door: Door) -> None:
    flood = [door.tries("bob", "wrong-password") for _ in range(4 * FAILURES_AT_ONCE)]
    statuses = await asyncio.gather(*flood)
    assert len(door.hashed) <= FAILURES_AT_ONCE + 2
    assert set(statuses) == {401, 503}


async def test_a_crowd_of_peers_is_told_to_come_back(door: Door) -> None:
    crowd = [
        door.tries("bob", "wrong-password", f"10.0.{number >> 8}.{number & 255}")
        for number in range(WAITING_MAX + 10)
    ]
    statuses = await asyncio.gather(*crowd)
    assert statuses.count(503) == 10
    assert isinstance(await door.tries("bob"), Account)


async def test_one_peer_does_not_fill_the_queue(door: Door) -> None:
    door.accounts.policy = AccountPolicy(lockout_threshold=0)
    flood = [door.tries("bob", "wrong-password") for _ in range(WAITING_MAX)]
    other = door.tries("bob", peer=THERE)
    *statuses, last = await asyncio.gather(*flood, other)
    assert statuses.count(503) >= WAITING_MAX - WAITING_OF_PEER_MAX
    assert isinstance(last, Account)


async def test_one_peers_flood_does_not_make_others_wait_for_it(door: Door) -> None:
    flood = [door.tries("bob", "wrong-password") for _ in range(FAILURES_AT_ONCE)]
    await asyncio.gather(*flood, door.tries("eve", peer=THERE))
    assert door.hashed.index("eve-password") <= 3


async def test_a_throttled_peer_does_not_even_wait(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    await door.fails(FAILURES_AT_ONCE)
    go_on = threading.Event()

    def slowly(password: str, secret: bytes) -> bool:
        return go_on.wait(5.0)

    monkeypatch.setattr(accounts_module, "verify_password", slowly)
    others = [asyncio.create_task(door.tries("bob", peer=f"192.0.2.{n}")) for n in range(3, 8)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(2.0):
            assert await door.tries("bob") == 503
    finally:
        go_on.set()
    assert all(isinstance(each, Account) for each in await asyncio.gather(*others))


async def test_a_password_that_was_right_until_a_moment_ago_opens_nothing(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed_first(password: str, secret: bytes) -> bool:
        edit = Edit(Space.SECRET, f"{ACCOUNTS}/bob", secret, b"another-password")
        door.accounts.apply([edit])
        return secret == password.encode()

    monkeypatch.setattr(accounts_module, "verify_password", changed_first)
    assert await door.tries("bob") == 401


async def test_an_account_that_is_described_anew_meanwhile_is_no_wrong_password(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def described_first(password: str, secret: bytes) -> bool:
        door.accounts.apply(_described("bob"))
        return secret == password.encode()

    monkeypatch.setattr(accounts_module, "verify_password", described_first)
    assert isinstance(await door.tries("bob"), Account)


async def test_throttling_does_not_tell_a_locked_account_from_another(door: Door) -> None:
    door.accounts.policy = AccountPolicy(lockout_threshold=2)
    locked = await door.fails(FAILURES_AT_ONCE + 1, "bob", HERE)
    unknown = await door.fails(FAILURES_AT_ONCE + 1, "nobody", THERE)
    assert locked == unknown
    account = door.accounts.find("bob")
    assert account is not None
    assert door.locks.bars(account)


async def test_throttled_tries_do_not_count_towards_a_lock(door: Door) -> None:
    door.accounts.policy = AccountPolicy(lockout_threshold=FAILURES_AT_ONCE + 5)
    await door.fails(FAILURES_AT_ONCE + 20)
    assert isinstance(await door.tries("bob", peer=THERE), Account)


async def test_names_that_nobody_has_take_no_memory(door: Door) -> None:
    for number in range(FAILURES_AT_ONCE):
        await door.tries(f"nobody{number}", "x")
    assert door.locks._tries == {}  # noqa: SLF001 - what must not grow


async def test_a_remembered_password_does_not_open_an_account_that_has_just_been_locked(
    door: Door,
) -> None:
    """Before the lock is written down, and with the work that a wrong password takes."""
    door.accounts.policy = AccountPolicy(lockout_threshold=2)
    assert isinstance(await door.tries("bob"), Account)
    await door.fails(2)
    hashed = len(door.hashed)
    assert await door.tries("bob") == 401
    assert len(door.hashed) == hashed + 1


async def test_a_lock_that_comes_while_the_right_password_is_hashed_wins(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = door.accounts.find("bob")
    assert account is not None
    door.accounts.policy = AccountPolicy(lockout_threshold=1)

    def locks_first(password: str, secret: bytes) -> bool:
        door.locks.failed(account)
        return secret == password.encode()

    monkeypatch.setattr(accounts_module, "verify_password", locks_first)
    assert await door.tries("bob") == 401


def _described(name: str) -> list[Edit]:
    """Return a change of an account that makes its password be hashed anew."""
    document = {
        "@odata.type": "#ManagerAccount.v1_14_1.ManagerAccount",
        "UserName": name,
        "RoleId": "ReadOnly",
    }
    return [Edit(Space.DOCUMENT, f"{ACCOUNTS}/{name}", b"", json.dumps(document).encode())]


async def test_a_remembered_password_is_no_way_to_guess_from_another_address(door: Door) -> None:
    """A right guess of a throttled peer is answered as a wrong one is."""
    assert isinstance(await door.tries("bob", peer=THERE), Account)
    await door.fails(FAILURES_AT_ONCE + 1, user="nobody")
    assert await door.tries("bob") == 503
    assert isinstance(await door.tries("bob", peer=THERE), Account)


async def test_a_remembered_password_stands_few_guesses_from_its_own_address(door: Door) -> None:
    assert isinstance(await door.tries("bob"), Account)
    await door.fails(FAILURES_AT_ONCE + 1)
    assert await door.tries("bob") == 503

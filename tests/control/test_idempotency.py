"""Idempotency-Key: done once, answered again; in the change's transaction; for a day; bounded."""

import asyncio
import hashlib
from typing import Any

import pytest

from redfish_fm.control import retries
from redfish_fm.control.reconcile import Policy
from redfish_fm.drivers.virtual.faults import Refuse, Slow
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.passwords import hash_password
from redfish_fm.redfish.retries import Retry
from redfish_fm.redfish.writes import Outcome, OutcomeKind, WriteKind
from redfish_fm.store.base import StoreFull
from tests.control.builders import PCIE_ZONES, TASKS, Rig, pcie, refused, running_kernel, zone_body
from tests.virtual_time import in_virtual_time

PATIENT = Policy(apply_timeout_s=60.0)
BODY = zone_body(pcie("host1-1"), pcie("gpu1"))
ADMIN = "/redfish/v1/AccountService/Accounts/admin"


@pytest.fixture
def short_day(monkeypatch: pytest.MonkeyPatch) -> float:
    """Make the day a minute: the fabric is looked at every second, also in virtual time."""
    assert retries.KEPT_S == 24 * 60 * 60
    monkeypatch.setattr(retries, "KEPT_S", 60.0)
    return retries.KEPT_S


def key(name: str = "k1", request: str = "the same", account: str = ADMIN) -> Retry:
    digest = hashlib.sha256(request.encode()).hexdigest()
    return Retry(f"{account} {name}", digest, digest)


async def post(rig: Rig, retry: Retry | None, **more: Any) -> Outcome:
    """POST one zone; without a key a second one would be refused: the unit is taken."""
    return await rig.commit(WriteKind.CREATE, PCIE_ZONES, body={**BODY, **more}, retry=retry)


def zones(rig: Rig) -> list[str]:
    return [each["@odata.id"] for each in rig.get(PCIE_ZONES)["Members"]]


def kept(rig: Rig) -> dict[str, bytes]:
    return rig.durable.spaces.get(Space.ANSWER, {})


@in_virtual_time
async def test_a_repeat_is_answered_the_same_and_not_done_again() -> None:
    async with running_kernel() as rig:
        first = await post(rig, key())
        seq = rig.published.seq
        assert first.kind is OutcomeKind.CREATED
        assert await post(rig, key()) == first
        assert await rig.kernel.retries.outcome(key()) == first
        assert rig.published.seq == seq
        assert zones(rig) == [first.uri]


@in_virtual_time
async def test_the_record_is_in_the_transaction_of_the_change() -> None:
    async with running_kernel() as rig:
        outcome = await post(rig, key())
        changes = [record async for record in rig.store.follow(0)]
        made = next(each for each in changes if each.entries)
        assert [entry.uri for entry in made.entries] == [outcome.uri]
        assert set(kept(rig)) == {key().key}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_batch_that_was_not_stored_remembers_nothing() -> None:
    def fault(batch: int) -> StoreFull | None:
        return StoreFull("full") if batch == 0 else None

    async with running_kernel(fault_before=fault) as rig:
        assert (await refused(post(rig, key()))).status == 507
        assert kept(rig) == {}
        assert (await post(rig, key())).kind is OutcomeKind.CREATED


@in_virtual_time
async def test_repeats_wait_for_the_first_while_it_runs() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(2.0))
        answers = await asyncio.gather(*(post(rig, key()) for _ in range(8)))
        assert len(set(answers)) == 1
        assert answers[0].kind is OutcomeKind.CREATED
        assert zones(rig) == [answers[0].uri]


@in_virtual_time
async def test_a_client_that_went_away_finds_what_it_asked_for() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(2.0))
        lost = rig.later(post(rig, key()))
        await asyncio.sleep(0.5)
        lost.cancel()
        outcome = await post(rig, key())
        assert outcome.kind is OutcomeKind.CREATED
        assert zones(rig) == [outcome.uri]
        assert rig.published.state.operations == {}


@in_virtual_time
async def test_a_refusal_that_nobody_waits_for_is_no_fault() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(2.0), Refuse(), times=None)
        lost = rig.later(post(rig, key()))
        await asyncio.sleep(0.1)
        lost.cancel()
        await rig.until(lambda: not rig.kernel.operations.open_of("PCIe"))
        rig.faults().clear()


@in_virtual_time
async def test_an_accepted_write_is_accepted_again_with_the_same_task_to_its_end() -> None:
    async with running_kernel(sync_budget_s=0.0) as rig:
        first = await post(rig, key())
        assert first.kind is OutcomeKind.ACCEPTED and first.task is not None
        assert await post(rig, key()) == first
        await rig.converged()
        assert await post(rig, key()) == first
        await rig.commit(WriteKind.DELETE, first.task)
        assert not rig.published.exists(first.task)
        assert await post(rig, key()) == first


@in_virtual_time
async def test_the_outcome_survives_a_restart() -> None:
    async with running_kernel() as rig:
        first = await post(rig, key())
        durable, hardware = rig.durable, rig.hardware
    async with running_kernel(durable=durable, hardware=hardware) as rig:
        assert await rig.kernel.first_observed(60.0)
        assert await post(rig, key()) == first
        assert zones(rig) == [first.uri]


@in_virtual_time
async def test_an_accepted_outcome_survives_a_crash() -> None:
    async with running_kernel(sync_budget_s=0.0, crash=True) as rig:
        first = await post(rig, key())
        durable, hardware = rig.durable, rig.hardware
    async with running_kernel(durable=durable, hardware=hardware) as rig:
        assert await post(rig, key()) == first
        await rig.converged()
        assert await post(rig, key()) == first


@in_virtual_time
async def test_after_a_crash_before_the_answer_a_repeat_is_told_of_the_task() -> None:
    async with running_kernel(policy=PATIENT, crash=True) as rig:
        rig.faults().next_apply(None, Slow(2.0))
        rig.later(post(rig, key()))
        await rig.until(lambda: bool(kept(rig)))
        durable, hardware = rig.durable, rig.hardware
    async with running_kernel(durable=durable, hardware=hardware, policy=PATIENT) as rig:
        outcome = await post(rig, key())
        assert outcome.kind is OutcomeKind.ACCEPTED and outcome.task is not None
        assert outcome.task.startswith(TASKS)
        await rig.converged()
        assert await post(rig, key()) == outcome
        assert zones(rig) == [outcome.uri]


@in_virtual_time
async def test_refusals_are_not_remembered() -> None:
    async with running_kernel() as rig:
        taken = await post(rig, key("other"))
        assert (await refused(post(rig, key()))).status == 409
        assert set(kept(rig)) == {key("other").key}
        await rig.delete(taken.uri)
        await rig.converged()
        assert (await post(rig, key())).kind is OutcomeKind.CREATED


@in_virtual_time
async def test_what_hardware_refused_is_tried_again() -> None:
    async with running_kernel() as rig:
        rig.faults().next_apply(None, Refuse())
        assert (await refused(post(rig, key()))).status == 409
        assert kept(rig) == {}
        await rig.converged()
        assert (await post(rig, key())).kind is OutcomeKind.CREATED


@in_virtual_time
async def test_another_request_with_the_key_is_refused_also_while_the_first_runs() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(2.0))
        first = rig.later(post(rig, key()))
        await asyncio.sleep(0.5)
        assert (await refused(post(rig, key(request="another")))).status == 422
        await first
        assert (await refused(post(rig, key(request="another")))).status == 422
        assert len(zones(rig)) == 1


@in_virtual_time
async def test_keys_of_two_accounts_never_meet() -> None:
    async with running_kernel() as rig:
        await post(rig, key())
        other = key(account=f"{ADMIN}2", request="another")
        assert (await refused(post(rig, other))).status == 409
        assert await rig.kernel.retries.outcome(other) is None


@in_virtual_time
async def test_a_write_that_changed_nothing_is_remembered_too() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"), Name="a")).uri

        async def name(value: str, retry: Retry | None = None) -> OutcomeKind:
            body = {"Name": value}
            return (await rig.commit(WriteKind.PATCH, zone, body=body, retry=retry)).kind

        assert await name("a", key()) is OutcomeKind.NO_OPERATION
        assert await name("b") is OutcomeKind.CHANGED
        assert await name("a", key()) is OutcomeKind.NO_OPERATION
        assert rig.get(zone)["Name"] == "b"


@in_virtual_time
async def test_a_delete_is_answered_again_though_nothing_is_left_to_delete() -> None:
    async with running_kernel() as rig:
        zone = (await post(rig, None)).uri
        first = await rig.commit(WriteKind.DELETE, zone, retry=key())
        again = await rig.kernel.retries.outcome(key())
        assert first == again == Outcome(OutcomeKind.DELETED, zone)


@in_virtual_time
async def test_the_delete_of_a_task_is_remembered() -> None:
    async with running_kernel(sync_budget_s=0.0) as rig:
        task = (await post(rig, None)).task
        assert task is not None
        await rig.converged()
        first = await rig.commit(WriteKind.DELETE, task, retry=key())
        assert await rig.kernel.retries.outcome(key()) == first


@in_virtual_time
async def test_a_slow_fingerprint_recognises_its_request_and_no_other() -> None:
    async with running_kernel() as rig:
        plain = key()
        sealed = Retry(plain.key, plain.digest, hash_password(plain.digest).decode())
        first = await post(rig, sealed)
        assert plain.digest.encode() not in kept(rig)[plain.key]
        assert await rig.kernel.retries.outcome(plain) == first
        other = Retry(plain.key, key(request="another").digest, "unused")
        assert (await refused(rig.kernel.retries.outcome(other))).status == 422


@in_virtual_time
async def test_after_a_day_a_key_is_free_and_its_record_goes(short_day: float) -> None:
    async with running_kernel() as rig:
        first = await post(rig, key())
        await asyncio.sleep(short_day - 10)
        assert await rig.kernel.retries.outcome(key(request="the same")) == first
        await asyncio.sleep(11)
        assert await rig.kernel.retries.outcome(key(request="another")) is None
        await rig.patch(first.uri, {"Name": "a later commit"})
        assert kept(rig) == {}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_key_can_be_used_anew_after_a_day(short_day: float) -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        for name in ("a", "b"):
            retry = key(request=name)
            await rig.commit(WriteKind.PATCH, zone, body={"Name": name}, retry=retry)
            assert rig.get(zone)["Name"] == name
            assert set(kept(rig)) == {retry.key}
            await asyncio.sleep(short_day + 1)
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_records_are_bounded_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "KEPT_MAX", 5)
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        for n in range(9):
            body = {"Name": f"name {n}"}
            await rig.commit(WriteKind.PATCH, zone, body=body, retry=key(f"k{n}"))
        assert set(kept(rig)) == {key(f"k{n}").key for n in range(4, 9)}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_commit_looks_at_a_few_records_only(short_day: float) -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        for n in range(3 * retries.SWEPT_MAX):
            await rig.commit(WriteKind.PATCH, zone, body={"Name": f"{n}"}, retry=key(f"k{n}"))
        await asyncio.sleep(short_day + 1)
        before = len(kept(rig))
        await rig.patch(zone, {"Name": "later"})
        assert len(kept(rig)) == before - retries.SWEPT_MAX


@in_virtual_time
async def test_a_stop_answers_who_waits_and_ends_what_runs() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(30.0))
        waiting = rig.later(post(rig, key()))
        await rig.until(lambda: bool(kept(rig)))
        await rig.kernel.close()
        outcome = await waiting
        assert outcome.kind is OutcomeKind.ACCEPTED

"""Cases EMULATE: what real services do to their clients can be played, and is over afterwards."""

import asyncio
import json
from typing import Any

from redfish_fm.config import Config
from redfish_fm.redfish.emulation import SPREAD
from redfish_fm.redfish.requests import Response
from tests.cases.stack import ROOT, Stack, a_stack
from tests.virtual_time import in_virtual_time

FM = f"{ROOT}/Managers/FabricManager"
MANAGER_RESET = f"{FM}/Actions/Manager.Reset"
SYSTEM1, SYSTEM2 = f"{ROOT}/Systems/host1", f"{ROOT}/Systems/host2"
OUTAGE_S = 5.0
NOT_READY_S = 10.0


def playing(**settings: Any) -> Config:
    return Config(topology="two-hosts", **{f"emulation_{k}": v for k, v in settings.items()})


def keys(response: Response) -> list[str]:
    told = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return [each["MessageId"].rsplit(".", 1)[-1] for each in told]


async def reset(stack: Stack, system: str, reset_type: str) -> Response:
    action = f"{system}/Actions/ComputerSystem.Reset"
    return await stack.ask("POST", action, {"ResetType": reset_type})


async def away(stack: Stack) -> None:
    """Reset the service's own manager, and see that it is away for as long as it says."""
    before = (await stack.get(FM)).get("LastResetTime")
    await asyncio.sleep(2.0)
    answer = await stack.ask("POST", MANAGER_RESET, {"ResetType": "ForceRestart"})
    assert answer.status == 204
    token = stack.tokens["admin"]
    refused = await stack.ask("GET", f"{ROOT}/Systems", x_auth_token=token)
    assert refused.status == 503
    assert keys(refused) == ["ServiceTemporarilyUnavailable"]
    assert refused.headers["Retry-After"] == "5"
    assert (await stack.ask("GET", ROOT, user=None)).status == 503
    await asyncio.sleep(OUTAGE_S - 1)
    late = await stack.ask("GET", f"{ROOT}/Systems", x_auth_token=token)
    assert (late.status, late.headers["Retry-After"]) == (503, "1")
    await asyncio.sleep(2.0)
    assert (await stack.get(FM))["LastResetTime"] != before


@in_virtual_time
async def test_em_01_a_reset_manager_is_away_for_a_while_and_sessions_last() -> None:
    async with a_stack(config=playing(reset_outage_s=OUTAGE_S)) as stack:
        token = await stack.token("admin")
        await away(stack)
        assert not stack.itself.restart.is_set()
        again = await stack.ask("GET", f"{ROOT}/Systems", x_auth_token=token)
        assert again.status == 200
        # A second one has its own time.
        first = (await stack.get(FM))["LastResetTime"]
        await away(stack)
        assert (await stack.get(FM))["LastResetTime"] > first


@in_virtual_time
async def test_em_01_sessions_end_with_a_reset_where_that_is_asked_for() -> None:
    config = playing(reset_outage_s=OUTAGE_S, reset_ends_sessions=True)
    async with a_stack(config=config) as stack:
        token = await stack.token("admin")
        await away(stack)
        over = await stack.ask("GET", f"{ROOT}/Systems", x_auth_token=token)
        assert over.status == 401
        assert not [row for row in stack.durable.sessions.values() if row.user_name == "op"]
        assert (await stack.ask("GET", f"{ROOT}/Systems")).status == 200


@in_virtual_time
async def test_em_01_without_an_outage_a_reset_is_a_real_restart() -> None:
    async with a_stack() as stack:
        answer = await stack.ask("POST", MANAGER_RESET, {"ResetType": "ForceRestart"})
        assert (answer.status, keys(answer)) == (400, ["ActionParameterValueNotInList"])
        assert not stack.itself.restart.is_set()
        answer = await stack.ask("POST", MANAGER_RESET, {"ResetType": "GracefulRestart"})
        assert answer.status == 204
        assert stack.itself.restart.is_set()
        assert (await stack.ask("GET", f"{ROOT}/Systems")).status == 200


@in_virtual_time
async def test_em_01_who_may_not_reset_takes_nobody_away() -> None:
    async with a_stack(config=playing(reset_outage_s=OUTAGE_S)) as stack:
        body = {"ResetType": "ForceRestart"}
        answer = await stack.ask("POST", MANAGER_RESET, body, user="ro")
        assert answer.status == 403
        unknown = await stack.ask("POST", MANAGER_RESET, {"ResetType": "Nmi"})
        assert unknown.status == 400
        assert (await stack.ask("GET", f"{ROOT}/Systems")).status == 200


async def took_s(stack: Stack, target: str) -> float:
    begin_s = asyncio.get_running_loop().time()
    assert (await stack.ask("GET", target)).status == 200
    return asyncio.get_running_loop().time() - begin_s


@in_virtual_time
async def test_em_03_answers_are_late_by_as_much_as_is_asked_for_each_path() -> None:
    slow = f"{ROOT}/Systems"
    config = playing(
        latency_ms=200.0, latency_paths=(f"{slow}=5000", f"{SYSTEM2}=0", "/redfish/v1/Ch=9")
    )
    async with a_stack(config=config) as stack:
        usual = [await took_s(stack, f"{ROOT}/Chassis") for _ in range(40)]
        assert all(0.2 * (1 - SPREAD) <= each <= 0.2 * (1 + SPREAD) for each in usual)
        assert max(usual) > 0.21 and min(usual) < 0.19
        for target in (slow, f"{slow}/", SYSTEM1, f"{SYSTEM1}/Processors"):
            assert 5 * (1 - SPREAD) <= await took_s(stack, target) <= 5 * (1 + SPREAD)
        assert await took_s(stack, SYSTEM2) == 0.0


@in_virtual_time
async def test_em_03_the_same_seed_is_late_in_the_same_way() -> None:
    async def delays() -> list[float]:
        async with a_stack(config=playing(latency_ms=200.0)) as stack:
            return [round(await took_s(stack, f"{ROOT}/Chassis"), 9) for _ in range(5)]

    assert await delays() == await delays()


@in_virtual_time
async def test_em_03_a_host_takes_no_command_for_a_while_after_its_power_has_changed() -> None:
    async with a_stack(config=playing(not_ready_s=NOT_READY_S)) as stack:
        assert (await reset(stack, SYSTEM1, "ForceOff")).status == 204
        refused = await reset(stack, SYSTEM1, "On")
        assert (refused.status, keys(refused)) == (409, ["ResourceInStandby"])
        assert int(refused.headers["Retry-After"]) == NOT_READY_S
        assert (await stack.get(SYSTEM1))["PowerState"] == "Off"
        assert (await reset(stack, SYSTEM2, "ForceOff")).status == 204
        assert (await stack.ask("GET", SYSTEM1)).status == 200
        await asyncio.sleep(int(refused.headers["Retry-After"]) + 1)
        assert (await reset(stack, SYSTEM1, "On")).status == 204
        await asyncio.sleep(5.0)
        assert (await stack.get(SYSTEM1))["PowerState"] == "On"
        assert (await reset(stack, SYSTEM1, "ForceOff")).status == 409

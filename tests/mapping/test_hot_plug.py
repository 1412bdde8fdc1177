"""Hosts that stand no device coming or going while they have power."""

import pytest

from redfish_fm.fabric.composition import Block, BlockType
from redfish_fm.fabric.model import Host
from redfish_fm.fabric.power import HostState, Machine, PowerState
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.hot_plug import refuse_while_on
from redfish_fm.redfish.errors import RedfishError
from tests.mapping.builders import MemoryTip

HOST, GPU, COMPUTE = "/redfish/v1/Systems/h1", "/blocks/gpu1", "/blocks/h1"


def a_tip(power: PowerState | None, *, hot_plug: bool = False) -> MemoryTip:
    """Return a tip whose host is in that state; None: its BMC does not answer."""
    tip = MemoryTip({}, Facts())
    tip.facts.hosts[HOST] = Host("h1", "h1", "uuid", 1, 1, 1024, hot_plug=hot_plug)
    tip.index.put_block(Block(GPU, frozenset({BlockType.PROCESSOR}), units=frozenset({"u"})))
    tip.index.put_block(Block(COMPUTE, frozenset({BlockType.COMPUTE}), host=HOST))
    state = None if power is None else HostState(power)
    tip.machines[HOST] = Machine("h1", frozenset(), state)
    return tip


@pytest.mark.parametrize(
    "power", [PowerState.ON, PowerState.POWERING_ON, PowerState.POWERING_OFF, None]
)
def test_no_device_moves_while_the_host_has_power_or_nobody_knows(power: PowerState | None) -> None:
    with pytest.raises(RedfishError) as refused:
        refuse_while_on(HOST, [COMPUTE, GPU], a_tip(power))
    assert refused.value.status == 409
    assert refused.value.messages[0].args == (HOST,)


def test_devices_move_while_it_is_off() -> None:
    refuse_while_on(HOST, [COMPUTE, GPU], a_tip(PowerState.OFF))


def test_devices_move_at_any_time_where_the_host_can_hot_plug() -> None:
    refuse_while_on(HOST, [GPU], a_tip(PowerState.ON, hot_plug=True))


def test_a_block_without_devices_moves_at_any_time() -> None:
    refuse_while_on(HOST, [COMPUTE, "/blocks/unknown"], a_tip(PowerState.ON))


def test_of_a_host_that_nobody_described_nothing_is_refused() -> None:
    tip = a_tip(PowerState.ON)
    refuse_while_on("/elsewhere", [GPU], tip)
    refuse_while_on(None, [GPU], tip)

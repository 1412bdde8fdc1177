"""The driver keeps the contract over the wire, against each way of speaking that was seen."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from redfish_fm.fabric.model import BindTarget
from tests.drivers.contract.rig import Rig
from tests.drivers.contract.suite import names, run_on
from tests.drivers.cxl_fmapi.peer import FRAMES
from tests.drivers.cxl_fmapi.peer_switch import SwitchState
from tests.drivers.cxl_fmapi.rigs import SHORT_IDENTITY, peer_rig
from tests.virtual_time import run

RIGS: dict[str, Callable[[], AbstractAsyncContextManager[Rig]]] = {
    "standard": lambda: peer_rig(SwitchState()),
    "jrl": lambda: peer_rig(SwitchState(typed_tunnel=True), jrl=True),
    "pool": lambda: peer_rig(
        SwitchState(allocations=[4, 0, 4, 4]),
        target=BindTarget("sw0", "5", 0),
        other=BindTarget("sw0", "5", 2),
        part=BindTarget("sw0", "5", 1),
        part_mib=512,
    ),
    "frames": lambda: peer_rig(SwitchState(identity=SHORT_IDENTITY), FRAMES),
}


@pytest.mark.parametrize("kind", RIGS)
@pytest.mark.parametrize("name", names())
def test_contract(name: str, kind: str) -> None:
    run(run_on(RIGS[kind], name))

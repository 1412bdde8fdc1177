"""The whole contract, and how to run it: a driver's test file is one line of parametrize.

    from tests.drivers.contract.suite import names, run_on

    @pytest.mark.parametrize("name", names())
    async def test_my_driver(name: str) -> None:
        await run_on(my_rig, name)

`my_rig` is an async context manager that yields a fresh Rig (tests/drivers/contract/rig.py). The
suite talks to the Driver protocol only: a driver may reach its hardware over any wire. A test
whose means a rig lacks, or which a driver declares it can not do, is skipped with that reason.
"""

from tests.drivers.contract.bandwidth import BandwidthContract
from tests.drivers.contract.binding import BindingContract
from tests.drivers.contract.parts import PartContract
from tests.drivers.contract.proving import ProofContract
from tests.drivers.contract.rig import MakeRig


class DriverContract(BindingContract, ProofContract, PartContract, BandwidthContract):
    """Every test of the contract, each a method that takes a rig."""


def names() -> list[str]:
    """Return the names of all tests."""
    return sorted(name for name in dir(DriverContract) if name.startswith("test_"))


async def run_on(make: MakeRig, name: str) -> None:
    """Run one test of the contract on a fresh rig."""
    async with make() as rig:
        await getattr(DriverContract(), name)(rig)

"""Hardware's memory tells of a service that skips the scrub of what several hosts may share."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

import pytest

from redfish_fm.fabric.ground import Ground
from redfish_fm.fabric.model import BindTarget
from tests.control.test_parts import CONNECTIONS, REGION, a_shareable_region, connect, running
from tests.virtual_time import in_virtual_time


def scrubs_nothing_shareable() -> AbstractContextManager[Any]:
    """Take what is shareable for clean, whatever is in it."""
    scrub = vars(Ground)["scrub"]

    def mutant(self: Ground, target: BindTarget) -> bool:
        state = self.parts.get(target)
        shareable = state is not None and state.shareable
        return True if shareable else bool(scrub(self, target))

    return patch.object(Ground, "scrub", mutant)


@in_virtual_time
@pytest.mark.parametrize(
    ("service", "seen"),
    [(nullcontext, []), (scrubs_nothing_shareable, ["host1"])],
    ids=["as it is", "mutant"],
)
async def test_what_the_last_owner_left_in_a_shareable_region_is_seen_only_unscrubbed(
    service: Callable[[], AbstractContextManager[Any]], seen: list[str]
) -> None:
    with service():
        async with running() as rig:
            await a_shareable_region(rig)
            await connect(rig, 0, REGION)
            await rig.delete(f"{CONNECTIONS}/c0")
            await rig.until(lambda: not rig.bound("CXL"))
            await connect(rig, 1, REGION)
            await rig.until(lambda: bool(rig.bound("CXL")))
            assert [done.note for done in rig.oracle("CXL").exposures()] == seen

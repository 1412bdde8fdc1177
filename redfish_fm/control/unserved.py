"""Ends what is under way in fabrics that nobody looks after any more, taken out of configuration.

Nobody will see there what such an operation waits for, so its work there is over: releases end as
they are, and grants are taken back, which makes them releases. What is left there is remembered for
as long as its Task, and released when the fabric is configured again; after that it shows as bound
by somebody else. A fabric that is driven anew is never without inventory.
"""

import asyncio
import logging
from collections.abc import Container, Sequence

from redfish_fm.clocks import Clock
from redfish_fm.control.operations import Operations
from redfish_fm.control.published import Published
from redfish_fm.mapping.awaited import fabric_left
from redfish_fm.mapping.operations import Operation
from redfish_fm.redfish.changes import Change
from redfish_fm.redfish.errors import RedfishError

log = logging.getLogger(__name__)

RETRY_S = 1.0
"""Before the store is asked again that could not take an end."""


class Unserved:
    """Follows all operations. `looked_after` has the fabrics that a loop looks after.

    Run `run` as a task; `look` when there may be others.
    """

    def __init__(
        self,
        operations: Operations,
        published: Published,
        clock: Clock,
        looked_after: Container[str],
    ) -> None:
        self._operations = operations
        self._published = published
        self._clock = clock
        self._looked_after = looked_after
        self._news = asyncio.Event()
        self.look()

    def look(self) -> None:
        """Look whether any operation has work where nobody looks any more."""
        self._news.set()

    def published(self, _changes: Sequence[Change]) -> None:
        """Look again: operations were changed."""
        self.look()

    async def run(self) -> None:
        """End what has no end, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                for operation in [*self._published.state.operations.values()]:
                    if operation.open and operation.reset is None:
                        await self._leave(operation)
            except RedfishError as error:
                log.warning("an operation could not be ended: %s", error)
                await self._clock.sleep(RETRY_S)
                self.look()

    async def _leave(self, operation: Operation) -> None:
        """Bring an operation further where it has work in such fabrics. Raises RedfishError (503).

        What is recorded on the way is published, which brings it here again.
        """
        served = {each.id for each in self._published.base.facts.fabrics}
        left = {
            fabric
            for fabric in operation.fabrics
            if fabric not in self._looked_after and fabric not in served
        }
        if not left:
            return
        told = tuple(fabric_left(fabric) for fabric in sorted(left))
        if operation.port_reset is not None:
            await self._operations.fail(operation, told)
        elif any(operation.part(fabric).grants for fabric in left):
            await self._operations.take_back(operation, told)
        elif left - operation.left:
            await self._operations.leave(operation, frozenset(left), told)
        else:
            for fabric in left:
                await self._operations.seen(operation, fabric)

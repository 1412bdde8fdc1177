"""What a switch's event records tell of its devices, beyond that a look is due.

Records may be lost, may have been read by another manager, and come late. So they only ever add
doubt: a device is asked anew, and an LD that somebody was bound to is not clean any more.
"""

import asyncio
import logging
from collections.abc import Callable

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.client import EventBatch, SwitchClient
from redfish_fm.drivers.cxl_fmapi.contents import Contents
from redfish_fm.drivers.cxl_fmapi.events import (
    DYNAMIC_CAPACITY,
    Detail,
    EventRecord,
    MldPortEvent,
    VirtualSwitchEvent,
    detail,
)
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.numbers import (
    BindingStatus,
    EventLog,
    VirtualSwitchEventType,
)

log = logging.getLogger(__name__)

Touch = Callable[[int | None], None]
"""Lets the device at a port be asked anew, for None all."""


class Records:
    """The event logs of one switch, read by whoever comes first and one at a time."""

    def __init__(self, client: SwitchClient, contents: Contents, touch: Touch) -> None:
        self._client = client
        self._contents = contents
        self._touch = touch
        self._reading = asyncio.Lock()

    async def read(self) -> bool:
        """Read and clear all logs; return whether there was anything. Raises driver errors."""
        news = False
        # What is cleared has to be taken before anybody else finds the log empty.
        async with self._reading:
            for each in EventLog:
                batch = await self._client.events(each)
                self._take(batch)
                news |= bool(batch.records or batch.overflow)
        return news

    async def catch_up(self) -> None:
        """Take what happened until now, as far as the switch tells it."""
        try:
            await self.read()
        except (DriverUnavailable, DriverRejected, DriverUnsupported) as error:
            log.debug("%s does not tell what happened: %s", self._client.caller.link.name, error)

    def _take(self, batch: EventBatch) -> None:
        for record in batch.records:
            told = _read(record)
            if isinstance(told, MldPortEvent):
                self._touch(told.port_id)
            elif isinstance(told, VirtualSwitchEvent):
                self._bound(told)
            elif record.identifier == DYNAMIC_CAPACITY:
                self._touch(None)
        if batch.overflow:
            self._touch(None)
            self._contents.forget()

    def _bound(self, told: VirtualSwitchEvent) -> None:
        """Note whom a vPPB was bound to: by now that may be over, and no look has seen it."""
        changed = told.event_type == VirtualSwitchEventType.BINDING_CHANGE
        if not changed or told.binding_status == BindingStatus.UNBOUND:
            return
        if told.binding_status == BindingStatus.BOUND_LD:
            self._contents.soiled((told.port_id, told.ld_id))
        else:
            self._contents.forget(told.port_id)


def _read(record: EventRecord) -> Detail | None:
    try:
        return detail(record)
    except Malformed as error:
        log.debug("an event record can not be read: %s", error)
        return None

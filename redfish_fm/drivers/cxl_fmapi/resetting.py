"""Resets of ports: Physical Port Control (5102h) of one switch. Knows nothing of bindings.

A reset is sent once: one whose answer was lost has an unknown outcome. Only PERST# is looked at,
for a device that is held in reset does not come back by itself: while the switch shows it asserted,
it is released, whoever asserted it.
"""

import asyncio

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import (
    DriverError,
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
)
from redfish_fm.drivers.cxl_fmapi.attached import AttachedSwitch
from redfish_fm.drivers.cxl_fmapi.discovering import is_upstream
from redfish_fm.drivers.cxl_fmapi.numbers import DeviceType, PortOperation
from redfish_fm.drivers.cxl_fmapi.refusals import SwitchBusy
from redfish_fm.drivers.cxl_fmapi.switch_commands import PortState
from redfish_fm.fabric.model import PortId
from redfish_fm.fabric.port_control import PortReset

PERST_S = 0.15
"""How long PERST# is asserted: 100 ms at least, and clocks differ."""

AGAIN_S = 0.2
"""Before a port is looked at once more, of which it is not known whether PERST# is asserted."""


class Resetting:
    """Resets ports of one switch, each between steps of its bindings."""

    def __init__(self, switch: AttachedSwitch, clock: Clock, late_max_s: float) -> None:
        self._switch = switch
        self._clock = clock
        self._late_max_s = late_max_s
        self._client = switch.client

    async def reset(self, port: PortId, asked: PortReset, deadline_s: float) -> None:
        """Reset a port, as drivers.base.PortControl.reset_port says."""
        number = int(port.port) if port.port.isascii() and port.port.isdigit() else -1
        sent = False
        try:
            async with (
                asyncio.timeout(deadline_s - self._clock.now_s()),
                self._switch.changing,
            ):
                asserted = await self._is_held(number)
                sent = True
                if asked is PortReset.BRIDGE:
                    await self._control(number, PortOperation.RESET_PPB, deadline_s)
                else:
                    await self._hold(number, asserted, deadline_s)
        except TimeoutError as error:
            kind = DriverUnavailable if sent else DriverNotSent
            raise kind(f"port {port.port}: no end of its reset before the deadline") from error
        except DriverUnsupported:
            # It is not to be offered any more.
            self._switch.touch()
            raise

    async def _control(self, port: int, operation: PortOperation, deadline_s: float) -> None:
        """Send one command. Raises DriverNotSent where it did not run."""
        try:
            await self._client.control_port(port, operation, deadline_s)
        except SwitchBusy as error:
            raise DriverNotSent(str(error)) from error

    async def _is_held(self, port: int) -> bool:
        """Return whether PERST# is asserted already. Raises DriverRejected for no such device."""
        try:
            state = await self._look(port)
        except DriverUnavailable as error:
            raise DriverNotSent(f"port {port} was not reset: {error}") from error
        if state is None or is_upstream(state):
            raise DriverRejected(f"port {port} is not a downstream port")
        if state.device_type == DeviceType.NONE and not state.perst_asserted:
            raise DriverRejected(f"there is no device at port {port}")
        return state.perst_asserted

    async def _look(self, port: int) -> PortState | None:
        known = await self._switch.ready()
        # The whole list, for known switches answer wrongly about a lone port.
        return (await self._client.physical_ports(range(known.size.port_count))).get(port)

    async def _hold(self, port: int, asserted: bool, deadline_s: float) -> None:
        """Assert PERST# for a while; what asserted it before us has held it long enough."""
        lost: DriverUnavailable | None = None
        if not asserted:
            try:
                await self._control(port, PortOperation.ASSERT_PERST, deadline_s)
            except DriverNotSent:
                raise
            except DriverUnavailable as error:
                lost = error
            await self._clock.sleep(PERST_S)
        if lost is not None:
            await self._release(port, min(deadline_s, self._clock.now_s() + self._late_max_s), lost)
            return
        try:
            await self._control(port, PortOperation.DEASSERT_PERST, deadline_s)
        except (DriverRejected, DriverUnavailable) as error:
            await self._release(port, deadline_s, error, asserted=True)

    async def _release(
        self, port: int, until_s: float, why: DriverError, *, asserted: bool = False
    ) -> None:
        """Release PERST# once it is seen asserted; `asserted`: it was, so released is the end.

        Raises DriverUnavailable, for a device may still be held. What runs late of the commands
        before is what this does anyway.
        """
        while self._clock.now_s() + AGAIN_S < until_s:
            await self._clock.sleep(AGAIN_S)
            try:
                state = await self._look(port)
                if state is not None and state.perst_asserted:
                    await self._control(port, PortOperation.DEASSERT_PERST, until_s)
                    return
            except (DriverRejected, DriverUnavailable) as error:
                why = error
            else:
                if asserted:
                    return
        raise DriverUnavailable(f"port {port} may still be held in reset: {why}") from why

"""Waiting for a time or a call, whichever comes first, on the clock that one was given."""

import asyncio

from redfish_fm.clocks import Clock


async def pause(clock: Clock, wake: asyncio.Event, delay_s: float) -> None:
    """Wait `delay_s`, or until `wake` is set, which this clears."""
    sleeping = asyncio.ensure_future(clock.sleep(delay_s))
    called = asyncio.ensure_future(wake.wait())
    try:
        await asyncio.wait({sleeping, called}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        sleeping.cancel()
        called.cancel()
    wake.clear()

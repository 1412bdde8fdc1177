"""mDNS and DNS-SD: the service as `_redfish._tcp`, announced with python-zeroconf.

Knows zeroconf. No standard says what the TXT record of this type holds: `path`, `uuid` and
`protovers` are what its users write, `txtvers` is of RFC 6763.
"""

import asyncio
import contextlib
import logging
from collections.abc import Collection

from zeroconf import Error, ServiceInfo
from zeroconf.asyncio import AsyncZeroconf

from redfish_fm.server.interfaces import InterfaceAddress
from redfish_fm.server.ssdp import Announced

log = logging.getLogger(__name__)

TYPE = "_redfish._tcp.local."
_CLOSE_TIMEOUT_S = 1.0
"""Three goodbyes take a third of a second; a network that is gone must not hold up the end."""


def service_info(announced: Announced, places: Collection[InterfaceAddress]) -> ServiceInfo:
    """Return the records of the service.

    Names derive from the UUID, so that they do not collide with those of other services, nor with
    the machine's own name, which whoever answers mDNS for it may hold.
    """
    name = f"redfish-fm-{announced.uuid[:8]}"
    return ServiceInfo(
        TYPE,
        f"{name}.{TYPE}",
        port=announced.port,
        properties={
            "txtvers": "1",
            "path": announced.root.rstrip("/"),
            "uuid": announced.uuid,
            "protovers": announced.redfish_version,
        },
        server=f"{name}.local.",
        addresses=[place.ip.packed for place in places],
    )


class MdnsAnnouncer:
    """Announces the service on the interfaces of some addresses, from `open` to `close`."""

    def __init__(self, announced: Announced, places: Collection[InterfaceAddress]) -> None:
        self._info = service_info(announced, places)
        self._places = places
        self._zeroconf: AsyncZeroconf | None = None
        self._registering: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to announce; that the name is free takes most of a second to find out."""
        # Of an interface IPv4 is named by address, IPv6 by index.
        ways: list[str | int] = [str(each.ip) for each in self._places if each.ip.version == 4]
        ways += sorted({each.index for each in self._places if each.ip.version == 6})
        try:
            self._zeroconf = AsyncZeroconf(interfaces=ways)
        except (OSError, RuntimeError) as error:
            # RuntimeError is zeroconf's word for an interface that has gone meanwhile.
            log.warning("no mDNS: %s", error)
            return
        self._registering = asyncio.create_task(self._register(self._zeroconf))

    async def _register(self, zeroconf: AsyncZeroconf) -> None:
        wanted = self._info.name
        try:
            announced = await zeroconf.async_register_service(self._info, allow_name_change=True)
            await announced
        except (Error, OSError) as error:
            log.warning("no mDNS: %s", error)
            return
        if self._info.name != wanted:
            log.warning("mDNS: the name is taken, this service is %s", self._info.name)

    async def close(self) -> None:
        """Say goodbye, and stop to answer."""
        if self._registering is not None:
            self._registering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._registering
        if self._zeroconf is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                    await self._zeroconf.async_close()

"""Locks of accounts as redfish.locks wants them kept: a change like any other, by the service."""

from redfish_fm.control.writer import Writer
from redfish_fm.mapping.accounts import lock
from redfish_fm.redfish.locks import KeepLock

ACTOR = "service"
"""Who the feed says has done it: nobody in particular."""


def keeper(writer: Writer) -> KeepLock:
    """Return what makes ManagerAccount.Locked durable."""

    async def keep(uri: str, locked: bool) -> None:
        await writer.submit(lambda tip: lock(uri, locked, tip), ACTOR)

    return keep

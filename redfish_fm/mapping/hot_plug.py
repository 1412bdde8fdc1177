"""Hosts that stand no device coming or going while they have power.

Pure. Their resource blocks change only while they are off: a device that is taken from under a
running host, or shown to one that does not look for it, halts it. Redfish: ComputerSystem.v1_27_0
PowerState. Zones and connections that a client makes by hand are its own affair.
"""

from collections.abc import Iterable

from redfish_fm.fabric.composition import Block
from redfish_fm.mapping.drafts import Tip
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError


def refuse_while_on(host: str | None, moved: Iterable[str], tip: Tip) -> None:
    """Raise RedfishError (409) where devices of the blocks `moved` can not come or go now.

    `host` is the system that they are bound to.
    """
    known = None if host is None else tip.facts.hosts.get(host)
    if host is None or known is None or known.hot_plug or not _is_on(host, tip):
        return
    if any(_is_plugged(tip.index.blocks.get(name)) for name in moved):
        raise RedfishError(409, (messages.host_powered_on(host), messages.resource_in_use()))


def _is_on(host: str, tip: Tip) -> bool:
    """Return whether the host has power, or nobody can say."""
    machine = tip.machine(host)
    if machine is None or machine.state is None:
        return True
    return machine.state.power.powered


def _is_plugged(block: Block | None) -> bool:
    """Return whether the block brings what is bound to a host."""
    return block is not None and bool(block.units or block.pools)

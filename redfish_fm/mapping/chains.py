"""Links between switches: what the ports at their ends say, and how far hosts come in by them.

Pure. Redfish: Port.v1_18_0 PortType InterswitchPort, Links.ConnectedSwitches, ConnectedSwitchPorts.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from redfish_fm.fabric.model import Inventory, Port, PortId, Switch, VirtualSwitch
from redfish_fm.mapping import uris
from redfish_fm.mapping.device_ways import port_uri
from redfish_fm.mapping.rendering import refs


def peer_links(fabric: str, port: Port) -> dict[str, Any] | None:
    """Return the Links of a port to the switch at the far end; None where there is none."""
    if port.peer is None:
        return None
    there = port_uri(fabric, port.peer)
    return {
        "ConnectedPorts": refs([there]),
        "ConnectedSwitchPorts": refs([there]),
        "ConnectedSwitches": refs([uris.SWITCH.format(fabric=fabric, switch=port.peer.switch)]),
    }


def link_name(fabric: str, port: Port | None) -> str | None:
    """Return what the link between two switches is called, the same from both of its ends."""
    if port is None or port.peer is None:
        return None
    return min(port_uri(fabric, port.id), port_uri(fabric, port.peer))


def hops_of(inventory: Inventory) -> Mapping[tuple[str, str], int]:
    """Return (switch, vcs) -> how many switches its host has to pass to get there, with it.

    Only of those that come in through another switch; all others are the first.
    """
    chained = [vcs for vcs in _virtual_switches(inventory) if vcs.through is not None]
    through = {(vcs.switch, vcs.host): vcs.through for vcs in chained}
    found: dict[tuple[str, str], int] = {}
    for vcs in chained:
        met, at = {vcs.switch}, vcs.through
        while at is not None and at not in met:
            met.add(at)
            at = through.get((at, vcs.host))
        found[vcs.switch, vcs.id] = len(met)
    return found


def _virtual_switches(inventory: Inventory) -> Iterator[VirtualSwitch]:
    return (vcs for switch in inventory.switches for vcs in switch.virtual_switches)


def upstream_port(switch: Switch, vcs: VirtualSwitch) -> Port | None:
    """Return the port by which the host of a virtual switch comes in."""
    wanted = PortId(switch.id, vcs.upstream_port)
    return next((port for port in switch.ports if port.id == wanted), None)

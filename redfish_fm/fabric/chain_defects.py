"""Is what is said of switches below switches consistent? The part of `inventory` about chains.

Pure. A link between switches has two ports that name each other; who comes in by one has a virtual
switch at the other end as well, and so on up to a port of the host's own.
"""

from collections.abc import Iterator

from redfish_fm.fabric.model import Inventory, Port, PortId, PortRole, VirtualSwitch


def chain_defects(inventory: Inventory) -> Iterator[str]:
    """Yield one line per link between switches, or way over one, that can not be."""
    ports = {port.id: port for switch in inventory.switches for port in switch.ports}
    for port in ports.values():
        if port.peer is not None:
            yield from _peer(port, ports)
    ways = {
        (vcs.switch, vcs.host): vcs
        for switch in inventory.switches
        for vcs in switch.virtual_switches
    }
    for switch in inventory.switches:
        for vcs in switch.virtual_switches:
            if vcs.through is not None:
                where = f"switch {switch.id}: virtual switch {vcs.id}"
                yield from _way(where, vcs, ports, ways)


def _peer(port: Port, ports: dict[PortId, Port]) -> Iterator[str]:
    where = f"switch {port.id.switch}: port {port.id.port}"
    if port.role is not PortRole.INTERSWITCH:
        yield f"{where} leads to a switch and is a {port.role.value}"
    if port.host is not None or port.device is not None:
        yield f"{where} is cabled to a switch and to something else"
    peer = ports.get(port.peer) if port.peer is not None else None
    if peer is None or peer.peer != port.id or peer.id.switch == port.id.switch:
        yield f"{where} has peer {port.peer}, which is none"


def _way(
    where: str,
    vcs: VirtualSwitch,
    ports: dict[PortId, Port],
    ways: dict[tuple[str, str | None], VirtualSwitch],
) -> Iterator[str]:
    port = ports.get(PortId(vcs.switch, vcs.upstream_port))
    if port is None or port.peer is None or port.peer.switch != vcs.through:
        yield f"{where} comes in through {vcs.through}, where its upstream port does not lead"
    met: set[str] = set()
    at: VirtualSwitch | None = vcs
    while at is not None and at.through is not None and at.switch not in met:
        met.add(at.switch)
        at = ways.get((at.through, vcs.host))
    if at is None:
        yield f"{where} comes in where host {vcs.host} does not"
    elif at.through is not None:
        yield f"{where} comes in in a circle"

"""Cables: what leads from a switch port to a host, to a device elsewhere, or to another switch.

Pure. Redfish: Cable.v1_2_4. The end nearer to the host is upstream. A port without a cable is
one into which a device is plugged directly. Both ends, and the chassis they are in, link back.
How it is (CableStatus) the switch says: see port_status.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.fabric.equipment import Cable
from redfish_fm.fabric.model import Inventory, Port, Switch
from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_switches import switch_chassis_uri
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.device_ways import port_uri
from redfish_fm.mapping.host_scene import identity
from redfish_fm.mapping.hosts import host_port_uri, system_uri
from redfish_fm.mapping.rendering import Rendering, refs


def render_cables(out: Rendering, inventories: list[Inventory]) -> None:
    """Add every cable of all fabrics; call it when all that they lead to is rendered."""
    cabled = [
        (inventory, switch, port, port.cable)
        for inventory in inventories
        for switch in inventory.switches
        for port in switch.ports
        if port.cable is not None
    ]
    boxes = {
        switch.id: switch_chassis_uri(switch)
        for inventory in inventories
        for switch in inventory.switches
    }
    if cabled:
        out.collection(uris.CABLE_COLLECTION, "Cable", "Cables")
    for inventory, switch, port, cable in cabled:
        _render(out, inventory, switch, port, cable, boxes)


def _render(
    out: Rendering,
    inventory: Inventory,
    switch: Switch,
    port: Port,
    cable: Cable,
    boxes: Mapping[str, str | None],
) -> None:
    place = {"fabric": inventory.fabric, "switch": port.id.switch, "port": port.id.port}
    near = _End(out, "Upstream", uris.PORT.format(**place), switch_chassis_uri(switch))
    if port.host is not None:
        far = _End(out, "Upstream", host_port_uri(port), uris.CHASSIS.format(chassis=port.host))
        far.resource = system_uri(port.host)
        near.side = "Downstream"
        near.resource = uris.SWITCH.format(fabric=inventory.fabric, switch=switch.id)
    elif port.peer is not None:
        # A file says it of the switch that is farther from hosts, where one is.
        there = port_uri(inventory.fabric, port.peer)
        far = _End(out, "Upstream", there, boxes.get(port.peer.switch))
        far.resource = uris.SWITCH.format(fabric=inventory.fabric, switch=port.peer.switch)
        near.side = "Downstream"
        near.resource = uris.SWITCH.format(fabric=inventory.fabric, switch=switch.id)
    else:
        device = port.device or ""
        far = _End(out, "Downstream", None, uris.CHASSIS.format(chassis=device))
        far.resource = uris.DEVICE.format(chassis=device, device=device)
        near.resource = uris.SWITCH.format(fabric=inventory.fabric, switch=switch.id)
    uri = uris.CABLE.format(cable=f"{port.id.switch}-{port.id.port}")
    out.facts.link_resources[uri] = uris.PORT.format(**place)
    connector = "CDFP" if port.link.lanes == 16 else "SlimSAS"
    name = f"Cable of port {port.id.port} of {switch.name}"
    out.put(
        uri,
        "Cable",
        name,
        **identity(cable.part),
        CableClass="PCIe",
        CableType=f"{inventory.protocol} Gen{port.link.gen} x{port.link.lanes} copper",
        LengthMeters=cable.length_m,
        UpstreamConnectorTypes=[connector],
        DownstreamConnectorTypes=[connector],
        UpstreamName=far.name if far.side == "Upstream" else near.name,
        DownstreamName=far.name if far.side == "Downstream" else near.name,
        UserLabel=f"{port.id.switch} {port.id.port}",
        Status=OK,
        Links={**near.links(), **far.links()},
    )
    for end in (near, far):
        end.link_back(uri)


class _End:
    """One end of a cable: the port it is plugged into, what that is a port of, its chassis."""

    def __init__(self, out: Rendering, side: str, port: str | None, chassis: str | None) -> None:
        self.side = side
        self.resource: str | None = None
        self._out = out
        self._port = port
        self._chassis = chassis

    @property
    def name(self) -> str:
        """Return what is written on this end."""
        owner = (self.resource or "").rsplit("/", 1)[-1]
        return owner if self._port is None else f"{owner} {self._port.rsplit('/', 1)[-1]}"

    def links(self) -> dict[str, Any]:
        """Return Cable.Links of this end, as far as there are resources."""
        named = {"Ports": self._port, "Resources": self.resource, "Chassis": self._chassis}
        return {
            f"{self.side}{kind}": refs([uri])
            for kind, uri in named.items()
            if uri is not None and uri in self._out.documents
        }

    def link_back(self, cable: str) -> None:
        """Let the port and the chassis know the cable."""
        for uri in (self._port, self._chassis):
            document = self._out.documents.get(uri or "")
            if document is not None:
                links = document.setdefault("Links", {})
                links.setdefault("Cables", []).extend(refs([cable]))

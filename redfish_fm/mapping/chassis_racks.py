"""Racks: the failure domains of a topology as chassis that contain what stands in them.

Pure. Redfish: Chassis.v1_28_0 Links.Contains and ContainedBy, Resource.v1_23_0 Location.Placement.

For whoever renders a chassis (host, switch, device): `place(out, domain, chassis, …)` returns the
properties to put into it (`**place(...)`: Location, and Links with ContainedBy among its own
`links`), and notes it in `Facts.containers`. `rack_uri(domain)` is the rack. `render_racks(out)`
is called once, after everything else, by `inventory`.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_sensors import put_environment, put_sensors, total_power
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.metering import Meter
from redfish_fm.mapping.rendering import Rendering, ref, refs

RACK_UNITS = 42
"""Height of a rack, in units of EIA-310."""


def rack_uri(domain: str) -> str:
    """Return the URI of the chassis that a failure domain is."""
    return uris.CHASSIS.format(chassis=domain)


def place(
    out: Rendering,
    domain: str | None,
    chassis: str,
    *,
    container: str | None = None,
    service_label: str | None = None,
    links: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return Links and Location of a chassis in the rack of `domain`, and let the rack know it.

    `container` is the chassis (URI) in which it stands where that is no rack; `links` are its own
    links, `service_label` what is written on its place. A chassis without domain and container
    stands nowhere in particular: only its own links are returned.
    """
    around = container if container is not None or domain is None else rack_uri(domain)
    found: dict[str, Any] = dict(links or {})
    properties: dict[str, Any] = {}
    if around is not None:
        out.facts.containers[chassis] = around
        found["ContainedBy"] = ref(around)
    if found:
        properties["Links"] = found
    location: dict[str, Any] = {}
    if domain is not None:
        location["Placement"] = {"Rack": domain}
    if service_label is not None:
        location["PartLocation"] = {"ServiceLabel": service_label, "LocationType": "Slot"}
    if location:
        properties["Location"] = location
    return properties


def render_racks(out: Rendering) -> None:
    """Add every rack that something stands in, and Contains to whatever chassis contains others.

    What stands in a rack gets its place there, from the bottom up, where all of it fits.
    """
    contents: dict[str, list[str]] = {}
    for chassis, around in out.facts.containers.items():
        if chassis in out.documents:
            contents.setdefault(around, []).append(chassis)
    for around, inside in contents.items():
        for chassis in inside:
            _adopt(out, chassis)
        if around not in out.documents:
            metered = any(chassis in out.facts.meters for chassis in inside)
            _put_rack(out, around, metered=metered)
            _stack(out, inside)
        links = out.documents[around].setdefault("Links", {})
        links["Contains"] = refs(inside)


def _put_rack(out: Rendering, uri: str, *, metered: bool) -> None:
    domain = uri.rsplit("/", 1)[-1]
    name = f"Rack {domain}"
    measured: dict[str, Any] = {}
    if metered:
        out.facts.meters[uri] = Meter(domain, 0)
        sensors = [total_power(domain, name, uri)]
        measured["Sensors"] = put_sensors(out, domain, name, sensors)
        measured["EnvironmentMetrics"] = put_environment(out, domain, name)
    out.put(
        uri,
        "Chassis",
        name,
        ChassisType="Rack",
        PowerState="On",
        HeightRackUnits=RACK_UNITS,
        RackUnits="EIA_310",
        RackMountCapacityUnits=RACK_UNITS,
        EnvironmentalClass="A2",
        ElectricalSourceNames=[domain],
        LocationIndicatorActive=False,
        Location={"Placement": {"Rack": domain}},
        Status=OK,
        **measured,
        Links={"ManagedBy": refs([uris.MANAGER.format(manager=uris.FABRIC_MANAGER)])},
    )


def _stack(out: Rendering, inside: list[str]) -> None:
    """Say at which height each chassis of a rack begins."""
    heights = [(uri, out.documents[uri].get("HeightRackUnits")) for uri in inside]
    mounted = [(uri, units) for uri, units in heights if isinstance(units, int)]
    if sum(units for _, units in mounted) > RACK_UNITS:
        return
    offset = 1
    for uri, units in mounted:
        placement = out.documents[uri]["Location"]["Placement"]
        placement["RackOffset"] = offset
        placement["RackOffsetUnits"] = "EIA_310"
        offset += units


def _adopt(out: Rendering, chassis: str) -> None:
    """Count what a chassis without a meter of its own draws: a host, which has its own readings."""
    if chassis in out.facts.meters:
        return
    name = chassis.rsplit("/", 1)[-1]
    shown = out.documents.get(uris.ENVIRONMENT_METRICS.format(chassis=name), {})
    watts = shown.get("PowerWatts", {}).get("Reading")
    if isinstance(watts, int):
        out.facts.meters[chassis] = Meter(name, watts, shown=False)

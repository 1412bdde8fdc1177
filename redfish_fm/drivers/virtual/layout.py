"""From a topology's groups to inventories: one per fabric, over the same hosts.

Pure and deterministic: equal specs give equal inventories, ids, UUIDs and serial numbers.
"""

import re
from collections import Counter

from redfish_fm.drivers.virtual.host_layout import HostLayout
from redfish_fm.drivers.virtual.identities import Identities
from redfish_fm.drivers.virtual.size import fits
from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import FabricSpec, TopologySpec
from redfish_fm.drivers.virtual.subsystem_layout import SubsystemLayout
from redfish_fm.drivers.virtual.switch_layout import SwitchLayout
from redfish_fm.fabric.model import FabricKind, Inventory

NVME_OF = "NVMeOverFabrics"


def lay_out(spec: TopologySpec, problems: Problems) -> tuple[Inventory, ...]:
    """Return one inventory per fabric; what does not add up goes to `problems`."""
    if not fits(spec, problems):
        return ()
    identities = Identities(spec, problems)
    hosts = HostLayout(spec.hosts, identities, problems)
    counts = Counter(fabric.id for fabric in spec.fabrics)
    for name in (name for name, count in counts.items() if count > 1):
        problems.add("fabrics", f"fabric {name} is described {counts[name]} times")
    parts: list[SubsystemLayout | SwitchLayout] = []
    for i, fabric in enumerate(spec.fabrics):
        _check_words(fabric, f"fabrics[{i}]", problems)
        kind = SubsystemLayout if fabric.protocol == NVME_OF else SwitchLayout
        parts.append(kind(fabric, f"fabrics[{i}]", hosts, identities, problems))
    laid_out = list(zip(spec.fabrics, parts, strict=True))
    # A network is reached through a host's own adapter, which is there without any fabric.
    hosts.furnish([(each, laid.hosts) for each, laid in laid_out if each.protocol != NVME_OF])
    return tuple(_inventory(fabric, laid, hosts) for fabric, laid in laid_out)


def _inventory(
    spec: FabricSpec, parts: SubsystemLayout | SwitchLayout, hosts: HostLayout
) -> Inventory:
    nvme_of = spec.protocol == NVME_OF
    return Inventory(
        fabric=spec.id,
        name=spec.name or _named(spec),
        kind=FabricKind.CONNECTION_GRANTS if nvme_of else FabricKind.BIND,
        protocol=spec.protocol,
        switches=tuple(parts.switches.values()),
        hosts=hosts.among(parts.hosts),
        devices=tuple(parts.devices),
        max_zones=spec.max_zones,
    )


def _named(spec: FabricSpec) -> str:
    """Return a name for people; an id that is only the protocol again is not repeated."""
    word = "NVMe-oF" if spec.protocol == NVME_OF else spec.protocol
    same = re.sub(r"\W", "", word).lower() == re.sub(r"\W", "", spec.id).lower()
    return f"{word} fabric" if same else f"{word} fabric {spec.id}"


def _check_words(spec: FabricSpec, path: str, problems: Problems) -> None:
    """Check that the fabric has the words of its protocol, and no other's."""
    if spec.protocol == NVME_OF:
        if spec.subsystems is None:
            problems.add(f"{path}.subsystems", "missing")
        for word in ("switches", "devices"):
            if getattr(spec, word):
                problems.add(f"{path}.{word}", f"an {NVME_OF} fabric has subsystems only")
        return
    if spec.switches is None:
        problems.add(f"{path}.switches", "missing")
    if spec.subsystems is not None:
        problems.add(f"{path}.subsystems", f"a {spec.protocol} fabric has no subsystems")

"""Virtual switches of a mockup: those that it documents, and those that its hosts need besides.

Pure. Redfish: VirtualCXLSwitch, VirtualPCI2PCIBridge. A PCIe switch has partitions too, but no
resource that shows them: those of hosts that are cabled to it are no assumption.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

from redfish_fm.fabric.model import Link, Port, PortId, PortRole, VirtualSwitch, VppbId
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_cabling import SwitchKey
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.read import members

VPPBS_ASSUMED_MAX = 255
"""What Get Virtual CXL Switch Info can count (CXL FM API 5200: one byte); the rest is a guess."""


def documented_vcss(
    documents: Tree, facts: Facts, key: SwitchKey, findings: list[Finding]
) -> list[VirtualSwitch]:
    """Return the virtual switches that a switch's documents tell of, and note their vPPBs."""
    fabric, switch = key
    found = []
    for place in documents.below_of_type(f"{facts.switch_uris[key]}/VCSs", "VirtualCXLSwitch"):
        document = documents[place]
        vcs = place.rsplit("/", 1)[-1]
        port = next(iter(members(document, "Links/Port")), None)
        vppbs = documents.below_of_type(f"{place}/VPPBs", "VirtualPCI2PCIBridge")
        vppbs.sort(key=lambda each: (len(each), each))
        for number, each in enumerate(vppbs):
            facts.vppb_uris[fabric, VppbId(switch, vcs, number)] = each
        if port is None:
            text = "no Links.Port, so it serves no host"
            findings.append(Finding(FindingKind.COMPLETED, place, text))
            continue
        upstream, host = port.rsplit("/", 1)[-1], facts.port_hosts.get(port)
        found.append(VirtualSwitch(vcs, switch, upstream, host, len(vppbs)))
    return found


def complete(
    ports: list[Port],
    vcss: list[VirtualSwitch],
    wants: Mapping[str, int],
    uri: str,
    key: SwitchKey,
    protocol: str,
    findings: list[Finding],
) -> None:
    """Add virtual switches so that every host can have what its zones want; say what is assumed.

    `wants` has every host that gets to the switch, and how many units it may want there.
    """
    _, switch = key
    downstream = sum(port.role is PortRole.DOWNSTREAM for port in ports)
    spare = max(1, min(downstream, VPPBS_ASSUMED_MAX))
    there = Counter[str | None]()
    for vcs in vcss:
        there[vcs.host] += vcs.vppb_count
    cabled = {port.host: port for port in reversed(ports)}
    vcs_ids = _free("", {vcs.id for vcs in vcss})
    port_ids = _free("added-", {port.id.port for port in ports})
    for host, claims in sorted(wants.items()):
        known = there[host]
        needed = claims if known else max(claims, spare)
        if known >= needed:
            continue
        upstream = cabled.get(host)
        if upstream is None:
            upstream = Port(PortId(switch, next(port_ids)), PortRole.UPSTREAM, Link(5, 16), host)
            ports.append(upstream)
        vcs_id = next(vcs_ids)
        vcss.append(VirtualSwitch(vcs_id, switch, upstream.id.port, host, needed - known))
        if protocol != "PCIe" or known or host not in cabled:
            text = (
                f"virtual switch {vcs_id} with {needed - known} vPPBs added for {host}, "
                f"which has {known} and needs {needed}"
            )
            findings.append(Finding(FindingKind.COMPLETED, uri, text))


def _free(prefix: str, taken: set[str]) -> Iterator[str]:
    """Yield the numbered names that are not taken, lowest first."""
    names = (f"{prefix}{number}" for number in count(1))
    return (name for name in names if name not in taken)

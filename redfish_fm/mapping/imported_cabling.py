"""Cables of a mockup: its switches and their ports, and who is at the other end.

Pure. What the switch's port says of its cable wins over what the far end says. Redfish: Port
ConnectedPorts, ConnectedSwitchPorts and ConnectedSwitches.
"""

from collections.abc import Iterator
from itertools import count

from redfish_fm.fabric.model import PortId
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.read import members
from redfish_fm.mapping.uris import SYSTEM, fabric_of

SwitchKey = tuple[str, str]
"""Fabric and switch, as Facts.switch_uris has them."""


def read_cabling(documents: Tree, facts: Facts, findings: list[Finding]) -> None:
    """Fill in switches, their ports, who is at the other end, and which host that is."""
    _name_switches(documents, facts)
    switch_ports = set(facts.port_uris.values())
    far_ends: dict[str, str] = {}
    for uri in sorted(switch_ports):
        for far_end in members(documents[uri], "Links/ConnectedPorts"):
            if far_end not in switch_ports:
                _cable(far_end, uri, facts, far_ends, findings)
    for uri, document in documents.of_type("Port"):
        if uri not in switch_ports:
            for name in ("ConnectedSwitchPorts", "ConnectedPorts"):
                for port in members(document, f"Links/{name}"):
                    if port in switch_ports:
                        _cable(uri, port, facts, far_ends, findings)
    for far_end, port in facts.port_aliases.items():
        for place in enclosing(far_end):
            if place in facts.entity_hosts:
                facts.port_hosts.setdefault(port, facts.entity_hosts[place])
                break


def _cable(
    far_end: str, port: str, facts: Facts, far_ends: dict[str, str], findings: list[Finding]
) -> None:
    """Note one cable; `far_ends` are the port_aliases the other way round."""
    known, other = facts.port_aliases.get(far_end), far_ends.get(port)
    if known is None and other is not None:
        if _system_of(far_end) is not None and _system_of(far_end) == _system_of(other):
            return  # the root port, and the connector that the card of the same host has for it
        text = f"says it is cabled to {port}, where {other} is"
        findings.append(Finding(FindingKind.CONTRADICTION, far_end, text))
    elif known is None:
        facts.port_aliases[far_end] = port
        far_ends[port] = far_end
    elif known != port:
        text = f"cabled to {known} and to {port}; the first is taken"
        findings.append(Finding(FindingKind.CONTRADICTION, far_end, text))


def _system_of(uri: str) -> str | None:
    """Return the system in which `uri` lies, or None outside of any."""
    prefix = SYSTEM.format(system="")
    return uri[len(prefix) :].split("/", 1)[0] if uri.startswith(prefix) else None


def _name_switches(documents: Tree, facts: Facts) -> None:
    """Give switches ids that are unique over all fabrics, because vPPBs are named by them."""
    names: dict[str, int] = {}
    taken: set[str] = set()
    found = [uri for uri, _document in documents.of_type("Switch") if fabric_of(uri)]
    for uri in found:
        name = uri.rsplit("/", 1)[-1]
        names[name] = names.get(name, 0) + 1
    for uri in found:
        name, fabric = uri.rsplit("/", 1)[-1], fabric_of(uri) or ""
        switch = name if names[name] == 1 else f"{fabric}.{name}"
        switch = next(each for each in _numbered(switch) if each not in taken)
        taken.add(switch)
        facts.switch_uris[fabric, switch] = uri
        for port in documents.below(f"{uri}/Ports"):
            facts.port_uris[fabric, PortId(switch, port.rsplit("/", 1)[-1])] = port


def _numbered(name: str) -> Iterator[str]:
    """Yield `name`, and then further names that begin with it, without end."""
    yield name
    for number in count(2):
        yield f"{name}.{number}"


def joined_switches(documents: Tree, facts: Facts) -> dict[SwitchKey, frozenset[SwitchKey]]:
    """Return for each switch those that cables lead to from it, over others too; with itself."""
    near = _neighbours(documents, facts)
    found: dict[SwitchKey, frozenset[SwitchKey]] = {}
    for start in facts.switch_uris:
        if start in found:
            continue
        group, todo = {start}, [start]
        while todo:
            further = near.get(todo.pop(), set()) - group
            group |= further
            todo += further
        found.update(dict.fromkeys(group, frozenset(group)))
    return found


def _neighbours(documents: Tree, facts: Facts) -> dict[SwitchKey, set[SwitchKey]]:
    at = {uri: key for key, uri in facts.switch_uris.items()}
    at |= {uri: (fabric, port.switch) for (fabric, port), uri in facts.port_uris.items()}
    near: dict[SwitchKey, set[SwitchKey]] = {}
    for (fabric, port), uri in facts.port_uris.items():
        own = (fabric, port.switch)
        for name in ("ConnectedSwitchPorts", "ConnectedSwitches", "ConnectedPorts"):
            for far_end in members(documents[uri], f"Links/{name}"):
                other = at.get(far_end, own)
                if other != own and other[0] == fabric:
                    near.setdefault(own, set()).add(other)
                    near.setdefault(other, set()).add(own)
    return near

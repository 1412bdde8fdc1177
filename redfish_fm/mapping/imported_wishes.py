"""Which hosts of a mockup get to which switches, and how much they may want bound there at once.

Pure. A host gets where cables lead from it, over other switches too; to all switches of a fabric
where it is cabled to none that is known; and to what its zones and connections name. For all
fabrics at once, so that the work does not grow with hosts times switches.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_cabling import SwitchKey, joined_switches
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.read import members, read_endpoint
from redfish_fm.mapping.uris import fabric_of


@dataclass(frozen=True, slots=True)
class Wishes:
    """`hosts` of each fabric, in order; `at_switch` how many units each host may want there."""

    hosts: Mapping[str, list[str]]
    at_switch: Mapping[SwitchKey, Mapping[str, int]]


def read_wishes(documents: Tree, facts: Facts) -> Wishes:
    """Return what the hosts of all fabrics want of their switches."""
    claims = _claims(documents, facts)
    cabled: dict[tuple[str, str], set[SwitchKey]] = {}
    for (fabric, port), uri in facts.port_uris.items():
        host = facts.port_hosts.get(uri)
        if host is not None:
            claims.setdefault((fabric, host), {})
            cabled.setdefault((fabric, host), set()).add((fabric, port.switch))
    joined = joined_switches(documents, facts)
    everywhere: dict[str, list[SwitchKey]] = {}
    for key in facts.switch_uris:
        everywhere.setdefault(key[0], []).append(key)
    at_switch: dict[SwitchKey, dict[str, int]] = {}
    hosts: dict[str, list[str]] = {}
    for (fabric, host), units in sorted(claims.items()):
        hosts.setdefault(fabric, []).append(host)
        starts = cabled.get((fabric, host))
        near = (
            set().union(*(joined[key] for key in starts)) if starts else everywhere.get(fabric, ())
        )
        nowhere = len(units.get(None, ()))
        for key in {*near, *(each for each in units if each is not None)}:
            at_switch.setdefault(key, {})[host] = len(units.get(key, ())) + nowhere
    return Wishes(hosts, at_switch)


_Claims = dict[tuple[str, str], dict[SwitchKey | None, set[str]]]
"""(Fabric, host) -> switch, or None where that is not known -> units that it may want bound."""


def _claims(documents: Tree, facts: Facts) -> _Claims:
    claims: _Claims = {}
    for uri, document in documents.of_type("Endpoint"):
        host = read_endpoint(uri, document, facts).host
        if host is not None:
            claims.setdefault((fabric_of(uri) or "", host), {})
    for name in ("Zone", "Connection"):
        for uri, document in documents.of_type(name):
            _add_claims(documents, fabric_of(uri) or "", document, facts, claims)
    return claims


def _add_claims(
    documents: Tree, fabric: str, holder: Mapping[str, Any], facts: Facts, claims: _Claims
) -> None:
    paths = ("Links/Endpoints", "Links/InitiatorEndpoints", "Links/TargetEndpoints")
    ends = [
        read_endpoint(uri, documents[uri], facts)
        for path in paths
        for uri in members(holder, path)
        if uri in documents
    ]
    wanted: dict[SwitchKey | None, set[str]] = {}
    for unit in {unit for end in ends for unit in end.units}:
        place = facts.port_at(facts.resource_ports.get(unit, ""))
        key = None if place is None or place[0] != fabric else (fabric, place[1].switch)
        wanted.setdefault(key, set()).add(unit)
    for host in {end.host for end in ends if end.host is not None}:
        known = claims.setdefault((fabric, host), {})
        for key, units in wanted.items():
            known.setdefault(key, set()).update(units)

"""Hosts of a mockup: who is one, by which names it is known, its BMC, and whether it can be reset.

Pure. Redfish: ComputerSystem, Manager.Links.ManagerForServers, Chassis.Links.ComputerSystems.
"""

from collections.abc import Collection, Mapping
from typing import Any

from redfish_fm.fabric.model import Host
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import durable_names, entities_of, members

NIL_UUID = "00000000-0000-0000-0000-000000000000"
_RESET = "#ComputerSystem.Reset"


def read_hosts(documents: Tree, facts: Facts) -> None:
    """Fill in who is a host: physical systems, their chassis, and names they are known by."""
    for uri, document in documents.of_type("ComputerSystem"):
        if document.get("SystemType") not in ("Composed", "Virtual") and uri not in facts.beside:
            facts.entity_hosts[uri] = uri
            _know_uuid(uri, document, facts)
    for uri, document in documents.of_type("Processor"):
        host = next((each for each in enclosing(uri) if each in facts.entity_hosts), None)
        if host is not None:
            _know_uuid(host, document, facts)
    for uri, document in documents.of_type("Chassis"):
        systems = [
            each
            for each in members(document, "Links/ComputerSystems")
            if each in facts.entity_hosts
        ]
        if len(systems) == 1:
            facts.entity_hosts[uri] = systems[0]
    for _uri, document in documents.of_type("Endpoint"):
        for entity in entities_of(document):
            for link in uris_at(entity, ["EntityLink"]):
                _know_initiator(entity, link, facts)
    _read_bmcs(documents, facts)


def _read_bmcs(documents: Tree, facts: Facts) -> None:
    """Fill in the BMCs that are of one host alone: what resets them concerns no other."""
    found: dict[str, list[str]] = {}
    for uri, document in documents.of_type("Manager"):
        systems = members(document, "Links/ManagerForServers")
        if document.get("ManagerType") == "BMC" and len(systems) == 1:
            found.setdefault(systems[0], []).append(uri)
    for system, managers in found.items():
        if len(managers) == 1 and facts.entity_hosts.get(system) == system:
            facts.bmcs[system] = managers[0]


def _know_uuid(host: str, document: Mapping[str, Any], facts: Facts) -> None:
    if isinstance(document.get("UUID"), str):
        facts.durable_hosts.setdefault(f"UUID:{document['UUID']}".upper(), host)


def _know_initiator(entity: Mapping[str, Any], link: str, facts: Facts) -> None:
    if entity.get("EntityRole") not in ("Initiator", "Both"):
        return
    place = next((each for each in enclosing(link) if each in facts.entity_hosts), None)
    if place is not None:
        host = facts.entity_hosts[place]
        for name in durable_names(entity):
            facts.durable_hosts.setdefault(name, host)


def host_at(documents: Tree, host: str) -> Host:
    """Return a host as whoever drives it would describe it; of an unknown one there is little."""
    document = documents.get(host, {})
    processors, memory = document.get("ProcessorSummary"), document.get("MemorySummary")
    count = processors.get("Count") if isinstance(processors, Mapping) else None
    gib = memory.get("TotalSystemMemoryGiB") if isinstance(memory, Mapping) else None
    return Host(
        host,
        str(document.get("Name") or host),
        str(document.get("UUID") or NIL_UUID).lower(),
        count if isinstance(count, int) else 1,
        count if isinstance(count, int) else 1,
        int(gib * 1024) if isinstance(gib, int | float) else 0,
        powered=document.get("PowerState") != "Off",
    )


def resettable_hosts(documents: Tree, facts: Facts, driven: Collection[str]) -> list[Host]:
    """Return the hosts that could be reset where they were recorded, without those in `driven`.

    Whoever drives a fabric drives the hosts in it; these are in none that is driven, or in none.
    """
    return [
        host_at(documents, uri)
        for uri, document in documents.of_type("ComputerSystem")
        if facts.entity_hosts.get(uri) == uri
        and uri not in driven
        and isinstance(actions := document.get("Actions"), Mapping)
        and isinstance(actions.get(_RESET), Mapping)
    ]

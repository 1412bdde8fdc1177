"""What an import has against the rules may stay or shrink, and nothing may be added to it.

Random imports that nobody judged, then random edits by clients: what becomes of it is looked at by
a second, naive reading of the rules (tests.fabric.naive), in both directions.
"""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from tests.fabric.naive import exclusive, problems, reaches
from tests.mapping.builders import MemoryTip, imported_tip, links

FABRIC = "/redfish/v1/Fabrics/F"
HOSTS, DEVICES = ("h1", "h2", "h3"), ("d1", "d2", "d3")
FABRIC_TYPES = ("PCIe", "CXL", "NVMeOverFabrics", "SAS")
Documents = dict[str, dict[str, Any]]
Edited = tuple[str, str, dict[str, Any]]
"""Collection, name, and what is to stand in it; {} takes it away."""


def an_end(name: str) -> str:
    return f"{FABRIC}/Endpoints/{name}"


def a_rack(fabric_type: str) -> Documents:
    """Return one switch with three hosts and three devices, and nothing that is granted."""
    switch = f"{FABRIC}/Switches/1"
    found: Documents = {
        FABRIC: {"@odata.type": "#Fabric.v1_3_2.Fabric", "FabricType": fabric_type},
        switch: {"@odata.type": "#Switch.v1_10_0.Switch", "SwitchType": "PCIe"},
        **{
            f"{FABRIC}/{name}s": {"@odata.type": f"#{name}Collection.{name}Collection"}
            for name in ("Connection", "Endpoint", "EndpointGroup", "Zone")
        },
    }
    for name in (*HOSTS, *DEVICES):
        is_host = name in HOSTS
        entity = f"/redfish/v1/{'Systems' if is_host else 'Chassis/1/PCIeDevices'}/{name}"
        kind = (
            "#ComputerSystem.v1_27_0.ComputerSystem"
            if is_host
            else "#PCIeDevice.v1_19_0.PCIeDevice"
        )
        found[entity] = {"@odata.type": kind}
        port = f"{switch}/Ports/{name}"
        cable = {"ConnectedPorts": links(f"{entity}/Ports/1")}
        found[port] = {"@odata.type": "#Port.v1_17_0.Port", "Links": cable if is_host else {}}
        role = "Initiator" if is_host else "Target"
        found[an_end(name)] = {
            "@odata.type": "#Endpoint.v1_8_2.Endpoint",
            "ConnectedEntities": [{"EntityRole": role, "EntityLink": links(entity)[0]}],
            "Links": {"ConnectedPorts": links(port)},
        }
    return found


def some(names: tuple[str, ...], least: int = 0) -> st.SearchStrategy[list[str]]:
    ends = st.sampled_from([an_end(name) for name in names])
    return st.lists(ends, min_size=least, max_size=2, unique=True)


@st.composite
def zones(draw: st.DrawFn) -> dict[str, Any]:
    return {"Links": {"Endpoints": links(*draw(some(HOSTS)), *draw(some(DEVICES)))}}


@st.composite
def groups(draw: st.DrawFn) -> dict[str, Any]:
    return {"Links": {"Endpoints": links(*draw(some(HOSTS)))}}


@st.composite
def connections(draw: st.DrawFn) -> dict[str, Any]:
    """Return the links of a connection: endpoints on both sides, or a group of initiators."""
    found = {"TargetEndpoints": links(*draw(some(DEVICES, 1)))}
    if draw(st.booleans()):
        return {"Links": {**found, "InitiatorEndpoints": links(*draw(some(HOSTS, 1)))}}
    group = draw(st.sampled_from(NAMES))
    return {
        "Links": {**found, "InitiatorEndpointGroups": links(f"{FABRIC}/EndpointGroups/{group}")}
    }


NAMES = ("1", "2", "3")
KINDS = {"Zone": zones(), "Connection": connections(), "EndpointGroup": groups()}


@st.composite
def edits(draw: st.DrawFn) -> Edited:
    kind, name = draw(st.sampled_from([*KINDS])), draw(st.sampled_from(NAMES))
    if kind == "EndpointGroup":  # which somebody may name: none is taken away
        return f"{FABRIC}/{kind}s", name, draw(groups())
    return f"{FABRIC}/{kind}s", name, draw(st.one_of(st.just({}), KINDS[kind], KINDS[kind]))


@st.composite
def smaller(draw: st.DrawFn) -> tuple[str, str, int]:
    """Return where a client leaves out one member of many, or sends what stands there again."""
    kind, name = draw(st.sampled_from([*KINDS])), draw(st.sampled_from(NAMES))
    return f"{FABRIC}/{kind}s", name, draw(st.integers(0, 4))


def resolved(tip: MemoryTip, wish: tuple[str, str, Any]) -> Edited:
    """Return the edit that is meant by the number of the member to leave out."""
    collection, name, meant = wish
    if isinstance(meant, dict):
        return collection, name, meant
    raw = tip.documents.get(f"{collection}/{name}")
    found: dict[str, Any] = {} if raw is None else json.loads(raw)["Links"]
    sides = [side for side, members in found.items() if len(members) > 1]
    for side in sides[meant % 2 :][:1]:
        gone = found[side][meant % len(found[side])]
        found[side] = [each for each in found[side] if each != gone]
    return collection, name, {"Links": found} if found else {}


TYPES = {
    "Zones": "#Zone.v1_6_3.Zone",
    "Connections": "#Connection.v1_4_0.Connection",
    "EndpointGroups": "#EndpointGroup.v1_3_4.EndpointGroup",
}


@st.composite
def grants(draw: st.DrawFn) -> Documents:
    """Return what an import has of zones, connections and groups, whatever the rules say."""
    documents: Documents = {}
    for name in NAMES:
        documents[f"{FABRIC}/EndpointGroups/{name}"] = {
            "@odata.type": TYPES["EndpointGroups"],
            **draw(groups()),
        }
        for kind in ("Zone", "Connection"):
            if draw(st.booleans()):
                uri = f"{FABRIC}/{kind}s/{name}"
                documents[uri] = {"@odata.type": TYPES[f"{kind}s"], **draw(KINDS[kind])}
    return documents


def as_if(tip: MemoryTip, edited: Edited) -> MemoryTip:
    """Return a tip in which the edit was made without asking anybody."""
    collection, name, body = edited
    uri = f"{collection}/{name}"
    forced = copy.deepcopy(tip)
    pre = forced.documents.get(uri)
    odata_type = TYPES[collection.rpartition("/")[2]]
    post = json.dumps({"@odata.type": odata_type, **body}).encode() if body else None
    if pre != post:
        forced.apply((Edit(Space.DOCUMENT, uri, pre, post),))
    return forced


def ask(tip: MemoryTip, edited: Edited) -> Draft | RedfishError:
    """Let a client make the edit; return what it is told."""
    collection, name, body = edited
    uri = f"{collection}/{name}"
    try:
        if not body:
            return tip.delete(uri)
        return (
            tip.patch(uri, body)
            if uri in tip.documents
            else tip.post(collection, {"Id": name, **body})
        )
    except RedfishError as error:
        return error


def is_plain(tip: MemoryTip, edited: Edited) -> bool:
    """Return whether nothing but isolation can be against the edit."""
    collection, name, body = edited
    uri = f"{collection}/{name}"
    if not body and uri not in tip.documents:
        return False
    raw = tip.documents.get(uri)
    if raw is None or not body:
        return True
    # A side of a connection keeps to endpoints or to groups: PATCH merges what it does not name.
    before, after = json.loads(raw)["Links"], body["Links"]
    return not collection.endswith("Connections") or before.keys() == after.keys()


def complaints(tip: MemoryTip) -> set[tuple[str, ...]]:
    """Return what is wrong, by who takes part in it: a further holder of one thing is one more."""
    given = set(reaches(tip.index))
    shared = {
        ("shared", holder, unit, host, other)
        for unit, host, holder in given
        if exclusive(tip.index, unit)
        for same, other, _ in given
        if same == unit and other != host
    }
    return {each for each in problems(tip.index) if each[0] != "shared"} | shared


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(FABRIC_TYPES), grants(), st.lists(st.one_of(edits(), smaller()), max_size=8))
def test_what_is_wrong_may_stay_or_shrink_and_nothing_is_added(
    fabric_type: str, granted: Documents, wished: list[tuple[str, str, Any]]
) -> None:
    tip = imported_tip({**a_rack(fabric_type), **granted})
    for edited in (resolved(tip, each) for each in wished):
        if not is_plain(tip, edited):
            continue
        before, would_be = complaints(tip), complaints(as_if(tip, edited))
        answer = ask(tip, edited)
        if isinstance(answer, RedfishError):
            assert would_be - before, f"{edited} adds nothing, but: {answer}"
        else:
            assert would_be <= before, edited
            assert complaints(tip) == would_be
        for unit in {binding.unit for binding in tip.index.bindings.values()}:
            hosts = {each.host for each in tip.index.bindings_of_unit(unit)}
            assert len(hosts) == 1 or not exclusive(tip.index, unit)


def zone_of(*names: str) -> dict[str, Any]:
    ends = links(*map(an_end, names))
    return {"@odata.type": TYPES["Zones"], "Links": {"Endpoints": ends}}


def test_a_zone_that_loses_one_of_two_hosts_keeps_what_another_zone_has_bound() -> None:
    mine, shared = f"{FABRIC}/Zones/1", f"{FABRIC}/Zones/2"
    granted = {mine: zone_of("h1", "d1"), shared: zone_of("h1", "h2", "d1")}
    tip = imported_tip({**a_rack("PCIe"), **granted})
    (before,) = tip.index.bindings.values()
    # It gave the device to the second host before: nothing is added, and nothing can be bound.
    tip.patch(shared, {"Links": zone_of("h2", "d1")["Links"]})
    assert [*tip.index.bindings.values()] == [before]
    assert (before.host, before.holders) == ("/redfish/v1/Systems/h1", {mine})


def test_a_second_zone_for_another_host_is_refused_as_ever() -> None:
    tip = imported_tip({**a_rack("PCIe"), f"{FABRIC}/Zones/1": zone_of("h1", "d1")})
    tip.post(f"{FABRIC}/Zones", {"Links": zone_of("h2", "d2")["Links"], "Id": "2"})
    with pytest.raises(RedfishError):
        tip.patch(f"{FABRIC}/Zones/2", {"Links": zone_of("h2", "d2", "d1")["Links"]})

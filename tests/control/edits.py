"""Random edits of wanted state, always consistent with what is there (hypothesis strategies)."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from redfish_fm.control.state import WantedState
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.bindings import binding_edit, decode_binding
from redfish_fm.mapping.operations import (
    Operation,
    OperationState,
    decode_operation,
    encode_operation,
)
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind
from tests.control.builders import (
    CXL_FABRIC,
    PCIE_FABRIC,
    PCIE_ZONES,
    TASKS,
    cxl,
    document,
    links,
    pcie,
)

MEMBERS = [
    *map(pcie, ("gpu1", "gpu2", "nvme1", "host1-1", "host2-1", "absent")),
    *map(cxl, ("mem1-ld0", "mem2", "host1-2")),
]
ZONE_URIS = [f"{PCIE_ZONES}/{name}" for name in "abc"]
CONNECTION_URIS = [f"{CXL_FABRIC}/Connections/{name}" for name in "de"]
ENDPOINT_URIS = [f"{PCIE_FABRIC}/Endpoints/{name}" for name in ("mine", "yours")]
SYSTEM_URIS = [f"/redfish/v1/Systems/{name}" for name in ("made", "other")]
HOSTS = [f"/redfish/v1/Systems/{name}" for name in ("host1", "host2")]
BLOCKS = [
    f"/redfish/v1/CompositionService/ResourceBlocks/{name}"
    for name in ("host1", "host2", "gpu1", "nvme1", "mem1")
]
ENTITIES = ["/redfish/v1/Systems/host1", "/redfish/v1/Chassis/gpu1/Processors/gpu1"]
PORTS = [f"{PCIE_FABRIC}/Switches/pcie1/Ports/{name}" for name in ("U1", "D1")]
VPPBS = [VppbId("pcie1", vcs, n) for vcs in "12" for n in range(2)]
TARGETS = [BindTarget("pcie1", port) for port in ("D1", "D2")]
NAMES = st.sampled_from(["red", "blue"])
_SOME = st.lists(st.sampled_from(MEMBERS), max_size=4)


def _zone(uri: str) -> st.SearchStrategy[bytes]:
    return st.builds(
        lambda members, name: document(uri, Name=name, Links={"Endpoints": links(*members)}),
        _SOME,
        NAMES,
    )


def _connection(uri: str) -> st.SearchStrategy[bytes]:
    def made(ends: list[str], others: list[str]) -> bytes:
        sides = {"InitiatorEndpoints": links(*ends), "TargetEndpoints": links(*others)}
        return document(uri, "Connection", Links=sides)

    return st.builds(made, _SOME, _SOME)


def _endpoint(uri: str) -> st.SearchStrategy[bytes]:
    def made(entity: str, ports: list[str], role: str) -> bytes:
        entities = [{"EntityLink": {"@odata.id": entity}, "EntityRole": role}]
        linked = {"ConnectedPorts": links(*ports)}
        return document(uri, "Endpoint", ConnectedEntities=entities, Links=linked)

    return st.builds(
        made,
        st.sampled_from(ENTITIES),
        st.lists(st.sampled_from(PORTS), max_size=2, unique=True),
        st.sampled_from(["Initiator", "Target"]),
    )


def _system(uri: str) -> st.SearchStrategy[bytes]:
    """Make a system of blocks, whether or not any rule would let it be."""

    def made(blocks: list[str], zone: str) -> bytes:
        ours = {"RedfishFM": {"Composition": {"Zones": links(zone)}}}
        named = {"ResourceBlocks": links(*blocks)}
        return document(uri, "ComputerSystem", Links=named, Oem=ours, SystemType="Composed")

    blocks = st.lists(st.sampled_from(BLOCKS), max_size=3, unique=True)
    return st.builds(made, blocks, st.sampled_from(ZONE_URIS))


def _overlay(uri: str) -> st.SearchStrategy[dict[str, Any]]:
    """Lay a name over a resource; blocks over a host, a pool over a block."""
    if uri in BLOCKS:
        return st.sampled_from([{"Pool": "Free"}, {"Pool": "Unassigned"}])
    named = st.builds(lambda name: {"Name": name}, NAMES)
    if uri not in HOSTS:
        return named
    given = st.lists(st.sampled_from(BLOCKS[2:]), max_size=2, unique=True)
    return named | st.builds(lambda each: {"Links": {"ResourceBlocks": links(*each)}}, given)


def _binding(vppb: VppbId) -> st.SearchStrategy[Binding]:
    return st.builds(
        lambda target, holders: Binding(
            "PCIe",
            f"/redfish/v1/Chassis/gpu{target.port[-1]}/PCIeDevices/gpu{target.port[-1]}",
            f"/redfish/v1/Systems/host{vppb.vcs}",
            vppb,
            target,
            frozenset(holders),
        ),
        st.sampled_from(TARGETS),
        st.sets(st.sampled_from(ZONE_URIS), min_size=1, max_size=2),
    )


def _operation(identity: str) -> st.SearchStrategy[Operation]:
    return st.builds(
        lambda state, resources, granted: Operation(
            identity,
            f"{TASKS}/{identity}",
            OutcomeKind.CREATED,
            "PCIe",
            ZONE_URIS[0],
            frozenset(resources),
            "tester",
            "2026-12-01T00:00:00Z",
            state,
            granted=tuple(granted),
        ),
        st.sampled_from(
            [OperationState.RUNNING, OperationState.STOPPING, OperationState.COMPLETED]
        ),
        st.sets(st.sampled_from(ZONE_URIS + SYSTEM_URIS), max_size=2),
        st.lists(_binding(VPPBS[0]), max_size=1),
    )


@st.composite
def an_edit(draw: Any, state: WantedState) -> Edit:
    """Draw one edit that fits `state`: it makes, changes or deletes something."""
    kind = draw(st.sampled_from(["document", "document", "overlay", "binding", "operation"]))
    gone = draw(st.integers(0, 3)) == 0
    if kind == "document":
        uri = draw(st.sampled_from(ZONE_URIS + CONNECTION_URIS + ENDPOINT_URIS + SYSTEM_URIS))
        make = _zone if uri in ZONE_URIS else _connection
        make = _endpoint if uri in ENDPOINT_URIS else make
        make = _system if uri in SYSTEM_URIS else make
        return _fitting(state, Space.DOCUMENT, uri, None if gone else draw(make(uri)))
    if kind == "overlay":
        uri = draw(st.sampled_from([pcie("gpu1"), *HOSTS, BLOCKS[2]]))
        post = None if gone else msgspec.json.encode(draw(_overlay(uri)))
        return _fitting(state, Space.OVERLAY, uri, post)
    if kind == "binding":
        vppb = draw(st.sampled_from(VPPBS))
        before = state.index.bindings.get(vppb)
        after = None if gone and before is not None else draw(_binding(vppb))
        return binding_edit(before, after)
    identity = draw(st.sampled_from(["1", "9", "a", "10"]))
    post = None if gone else encode_operation(draw(_operation(identity)))
    return _fitting(state, Space.OPERATION, identity, post)


def _fitting(state: WantedState, space: Space, key: str, post: bytes | None) -> Edit:
    return Edit(space, key, state.spaces[space].get(key), post)


def readable(space: Space, raw: bytes) -> object:
    """Return a stored value for a failure report."""
    if space is Space.BINDING:
        return decode_binding(raw)
    return decode_operation(raw) if space is Space.OPERATION else msgspec.json.decode(raw)

"""Every fabric of every published mockup lives: it grants what is legal and refuses what is not.

What its documents already grant is taken back first, so that what is legal does not depend on
what a maker left; endpoints that a mockup lacks are made.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Binder, Endpoint, Role, ZoneType
from redfish_fm.redfish.requests import Response
from redfish_fm.worlds import World
from tests.cases.stack import Stack, a_stack, imported
from tests.store.packs import RAW, unpack_all
from tests.virtual_time import run

FABRICS = {
    ("mockups-dmtf-2025.4/public-cxl", "CXL"): FabricKind.BIND,
    ("mockups-dmtf-2025.4/public-cxl-multiswitch", "CXL"): FabricKind.BIND,
    ("mockups-dmtf-2025.4/public-nvmeof-jbof", "NVMeoF"): FabricKind.CONNECTION_GRANTS,
    ("mockups-dmtf-2025.4/public-sasfabric", "SAS"): FabricKind.ZONE_GRANTS,
    ("mockups-dmtf-2025.4/public-smartnic", "Ethernet"): FabricKind.REACH,
    ("mockups-snia-ebof/ebof", "Ethernet"): FabricKind.REACH,
    ("mockups-snia-ebof/ebof", "NVMeoF"): FabricKind.CONNECTION_GRANTS,
    ("mockups-sunfish/am_agent_Resources", "CXL"): FabricKind.BIND,
    ("mockups-sunfish/fm_agent_Resources", "CXL"): FabricKind.BIND,
    ("mockups-sunfish/nvmeof-mockups", "NVMe-oF"): FabricKind.CONNECTION_GRANTS,
    ("mockups-sunfish/utils_resources", "CXL"): FabricKind.BIND,
}
ZONELESS = {
    "mockups-dmtf-2025.4/public-nvmeof-jbof NVMeoF",
    "mockups-snia-ebof/ebof NVMeoF",
    "mockups-sunfish/am_agent_Resources CXL",
    "mockups-sunfish/fm_agent_Resources CXL",
    "mockups-sunfish/utils_resources CXL",
}
WITHOUT_DEVICES = {"mockups-sunfish/fm_agent_Resources CXL"}
"""A recording of switch and hosts only: nothing is there that could be granted."""


@pytest.fixture(scope="module")
def worlds(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    """Every raw mockup, imported."""
    folders = unpack_all(shared, tmp_path_factory)
    return {name: imported(folders[name]) for name in RAW}


def test_these_are_all_fabrics(worlds: dict[str, World]) -> None:
    found = {
        (name, fabric.id): fabric.kind
        for name, world in worlds.items()
        for fabric in world.facts.fabrics
    }
    assert found == FABRICS


@pytest.mark.parametrize("name", RAW)
def test_every_resource_of_a_published_mockup_is_served(
    worlds: dict[str, World], name: str
) -> None:
    async def check() -> None:
        async with a_stack(worlds[name]) as stack:
            for uri in (*worlds[name].documents, *_made(worlds[name])):
                assert (await stack.ask("GET", uri)).status == 200, uri

    run(check())


def _made(world: World) -> list[str]:
    return [edit.key for edit in world.first if edit.space.value == "document"]


@dataclass(frozen=True)
class Ground:
    """One imported fabric with nothing granted, two initiators of different hosts, and targets."""

    stack: Stack
    fabric: str
    zoned: bool
    first: str
    second: str
    targets: tuple[Endpoint, ...]

    @property
    def uri(self) -> str:
        return f"/redfish/v1/Fabrics/{self.fabric}"

    async def grant(self, initiator: str, target: str) -> Response:
        """Try to give a host the target: by a zone, or where there are none by a connection."""
        if self.zoned:
            ends = [{"@odata.id": each} for each in (initiator, target)]
            return await self.stack.ask("POST", f"{self.uri}/Zones", {"Links": {"Endpoints": ends}})
        links = {
            "InitiatorEndpoints": [{"@odata.id": initiator}],
            "TargetEndpoints": [{"@odata.id": target}],
        }
        body = {"Links": links, **self._granted(target)}
        return await self.stack.ask("POST", f"{self.uri}/Connections", body)

    def _granted(self, target: str) -> dict[str, Any]:
        index = self.stack.kernel.published.state.index
        end = index.endpoints.get(target)
        volumes = [
            each.id for each in index.volumes.values() if end and each.subsystem in end.units
        ]
        return {"VolumeInfo": [{"Volume": {"@odata.id": volumes[0]}}]} if volumes else {}


async def a_ground(stack: Stack, fabric: str) -> Ground:
    uri = f"/redfish/v1/Fabrics/{fabric}"
    ways = {}
    for name in ("Connections", "Zones"):
        answer = await stack.ask("GET", f"{uri}/{name}")
        ways[name] = answer.status == 200
        for member in json.loads(answer.body)["Members"] if ways[name] else ():
            gone = await stack.ask("DELETE", member["@odata.id"])
            assert gone.status == 204 or _is_default(stack, member["@odata.id"]), gone.body
    index = stack.kernel.published.state.index
    here = sorted(
        (end for end in index.endpoints.values() if end.fabric == fabric), key=lambda end: end.id
    )
    hosts = {end.host: end.id for end in here if end.role is Role.INITIATOR}
    initiators = sorted(hosts.values())
    while len(initiators) < 2:
        initiators.append(await stack.made(f"{uri}/Endpoints", _an_initiator(len(initiators))))
    targets = tuple(end for end in here if end.role is Role.TARGET and end.units)
    return Ground(stack, fabric, ways["Zones"], initiators[0], initiators[1], targets)


def _is_default(stack: Stack, zone: str) -> bool:
    return stack.kernel.published.state.index.zones[zone].zone_type is ZoneType.DEFAULT


def _an_initiator(number: int) -> dict[str, Any]:
    name = {"DurableNameFormat": "NQN", "DurableName": f"nqn.2026-01.org.example:host{number}"}
    entity = {"EntityType": "RootComplex", "EntityRole": "Initiator", "Identifiers": [name]}
    return {"Name": f"Host {number}", "ConnectedEntities": [entity]}


def _a_target() -> dict[str, Any]:
    name = {"DurableNameFormat": "NQN", "DurableName": "nqn.2026-01.org.example:target"}
    entity = {"EntityType": "StorageSubsystem", "EntityRole": "Target", "Identifiers": [name]}
    return {"Name": "Target", "ConnectedEntities": [entity]}


each_fabric = pytest.mark.parametrize(
    ("mockup", "fabric"), [pytest.param(*each, id=" ".join(each)) for each in FABRICS]
)
each_bound_fabric = pytest.mark.parametrize(
    ("mockup", "fabric"),
    [
        pytest.param(*each, id=" ".join(each))
        for each in FABRICS
        if FABRICS[each] is FabricKind.BIND
    ],
)


@each_fabric
def test_a_legal_grant_is_accepted_and_an_unknown_endpoint_refused(
    worlds: dict[str, World], mockup: str, fabric: str
) -> None:
    async def check() -> None:
        async with a_stack(worlds[mockup]) as stack:
            ground = await a_ground(stack, fabric)
            assert ground.zoned is (f"{mockup} {fabric}" not in ZONELESS)
            nowhere = f"{ground.uri}/Endpoints/nowhere"
            refused = await ground.grant(ground.first, nowhere)
            assert refused.status == 400
            assert nowhere in refused.body.decode()
            if f"{mockup} {fabric}" in WITHOUT_DEVICES:
                return
            target = _bindable(ground)
            if target is None:
                target = await stack.made(f"{ground.uri}/Endpoints", _a_target())
            accepted = await ground.grant(ground.first, target)
            assert accepted.status == 201, accepted.body
            assert (await stack.ask("DELETE", accepted.headers["Location"])).status == 204

    run(check())


def _bindable(ground: Ground) -> str | None:
    """Return a target that a zone or a connection as it is made here gives to a host."""
    units = ground.stack.kernel.published.state.index.units
    for end in ground.targets:
        kinds = {units[unit].binder for unit in end.units if unit in units}
        if Binder.CONNECTION not in kinds:
            return end.id
    return None


@each_bound_fabric
def test_a_second_host_is_refused_an_exclusive_unit(
    worlds: dict[str, World], mockup: str, fabric: str
) -> None:
    async def check() -> None:
        async with a_stack(worlds[mockup]) as stack:
            ground = await a_ground(stack, fabric)
            if f"{mockup} {fabric}" in WITHOUT_DEVICES:
                assert ground.targets == ()
                return
            assert _exclusive(ground)
            for target in _exclusive(ground):
                mine = await ground.grant(ground.first, target)
                assert mine.status == 201, mine.body
                before = stack.commands()
                theirs = await ground.grant(ground.second, target)
                assert theirs.status == 409, theirs.body
                told = theirs.body.decode()
                assert mine.headers["Location"] in told
                assert target in told
                assert stack.commands() == before

    run(check())


def _exclusive(ground: Ground) -> list[str]:
    """Return the targets that are one exclusive device each, which hardware can bind."""
    units = ground.stack.kernel.published.state.index.units
    return [
        end.id
        for end in ground.targets
        if all(units[unit].exclusive and units[unit].target for unit in end.units)
        and all(units[unit].binder is Binder.ZONE for unit in end.units)
    ]


REALLY_BOUND = [
    "mockups-dmtf-2025.4/public-cxl",
    "mockups-dmtf-2025.4/public-cxl-multiswitch",
    "mockups-sunfish/utils_resources",
]
"""Fabrics that bind, with hosts and devices both: by zones, the last one by connections."""


@pytest.mark.parametrize("name", REALLY_BOUND)
def test_the_derived_switch_really_binds_and_lets_go(worlds: dict[str, World], name: str) -> None:
    async def check() -> None:
        async with a_stack(worlds[name]) as stack:
            ground = await a_ground(stack, "CXL")
            for target in _exclusive(ground):
                before = stack.rig.oracle("CXL").bindings("CXL")
                made = await ground.grant(ground.first, target)
                assert made.status == 201, made.body
                uri = made.headers["Location"]
                assert stack.rig.oracle("CXL").bindings("CXL") != before
                assert (await stack.get(uri))["Status"]["State"] == "Enabled"
                assert (await stack.ask("DELETE", uri)).status == 204
                assert stack.rig.oracle("CXL").bindings("CXL") == before

    run(check())

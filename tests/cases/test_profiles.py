"""Case EM-05 of EMULATE: profiles are different products; what one can not do is not there."""

from typing import Any

from redfish_fm import worlds
from redfish_fm.config import Config
from redfish_fm.store.base import StoredState
from tests.cases.stack import ROOT, Stack, a_stack
from tests.redfish.builders import CATALOG
from tests.virtual_time import in_virtual_time

SWITCH_WORDS = ("Model", "PartNumber", "SwitchType")


def profile(name: str) -> worlds.World:
    return worlds.source(Config(topology=name), CATALOG)(StoredState(0, {}))


async def members(stack: Stack, uri: str) -> list[dict[str, Any]]:
    return [await stack.get(each["@odata.id"]) for each in (await stack.get(uri))["Members"]]


async def identities(stack: Stack) -> set[tuple[Any, ...]]:
    """Return what a client tells the switches of a profile apart by, port counts included."""
    found: set[tuple[Any, ...]] = set()
    for fabric in await members(stack, f"{ROOT}/Fabrics"):
        for switch in await members(stack, fabric["Switches"]["@odata.id"]):
            ports = await stack.get(switch["Ports"]["@odata.id"])
            words = (switch.get(word) for word in SWITCH_WORDS)
            found.add((*words, ports["Members@odata.count"]))
    return found


@in_virtual_time
async def test_em_05_profiles_have_identities_and_capabilities_of_their_own() -> None:
    async with a_stack(profile("ex5410p")) as stack:
        box = await identities(stack)
        root = await stack.get(ROOT)
        assert "Storage" not in root
    async with a_stack(profile("two-hosts")) as stack:
        small = await identities(stack)
    assert {row[0] for row in box}.isdisjoint({row[0] for row in small})
    assert {row[1] for row in box}.isdisjoint({row[1] for row in small})
    assert {row[3] for row in box}.isdisjoint({row[3] for row in small})
    assert all(None not in row for row in (*box, *small))


@in_virtual_time
async def test_em_05_what_a_profile_does_not_support_is_absent_not_empty() -> None:
    async with a_stack(profile("nvmeof-jbof")) as stack:
        (fabric,) = await members(stack, f"{ROOT}/Fabrics")
        assert "Switches" not in fabric
        assert (await stack.ask("GET", f"{fabric['@odata.id']}/Switches")).status == 404
        assert await members(stack, f"{ROOT}/Storage")

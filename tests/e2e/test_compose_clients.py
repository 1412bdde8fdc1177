"""The README's first composition, by a client from PyPI: asked for, shown, changed, given back."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.service import PASSWORD, USER, serving

SYSTEMS = "/redfish/v1/Systems"
BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
TIB = 1 << 20
"""In MiB."""


@pytest.fixture
def client() -> Iterator[Any]:
    redfish = pytest.importorskip("redfish")
    with serving("--topology", "ai-pod", "--ephemeral") as (_, url):
        root = url.partition("/redfish/")[0]
        found = redfish.redfish_client(base_url=root, username=USER, password=PASSWORD)
        found.login(auth="session")
        yield found
        found.logout()
        found._session.close()  # noqa: SLF001


def wished(gpus: int, memory_mib: int, **more: Any) -> dict[str, Any]:
    """A system that is asked for by what it needs."""
    return {
        "Processors": {"Members": [{"@Redfish.RequestedCount": gpus, "ProcessorType": "GPU"}]},
        "Memory": {"Members": [{"@Redfish.RequestedCount": 1, "CapacityMiB": memory_mib}]},
        **more,
    }


def blocks_of(client: Any, system: str) -> list[str]:
    links = client.get(system).dict["Links"]["ResourceBlocks"]
    return [each["@odata.id"].rsplit("/", 1)[-1] for each in links]


def gpus_of(client: Any, system: str) -> list[str]:
    return [each for each in blocks_of(client, system) if each.startswith("gpu")]


def state_of(client: Any, block: str) -> str:
    found: str = client.get(f"{BLOCKS}/{block}").dict["CompositionStatus"]["CompositionState"]
    return found


def test_eight_gpus_and_two_tebibytes_are_composed_changed_and_given_back(client: Any) -> None:
    free = client.get("/redfish/v1/CompositionService/FreePool").dict["Members"]
    made = client.post(SYSTEMS, body=wished(8, 2 * TIB, Id="training"))
    assert made.status == 201, made.text
    system = made.getheader("Location")
    gpus = gpus_of(client, system)
    assert len(gpus) == 8
    assert {state_of(client, gpu) for gpu in gpus} == {"Composed"}
    processors = client.get(f"{system}/Processors").dict["Members"]
    assert len([each for each in processors if "/Chassis/gpu" in each["@odata.id"]]) == 8
    remove = f"{system}/Actions/ComputerSystem.RemoveResourceBlock"
    body = {"ResourceBlock": {"@odata.id": f"{BLOCKS}/{gpus[0]}"}}
    assert client.post(remove, body=body).status == 204
    assert gpus_of(client, system) == gpus[1:]
    assert state_of(client, gpus[0]) == "Unused"
    assert client.delete(system).status == 204
    assert client.get("/redfish/v1/CompositionService/FreePool").dict["Members"] == free


def test_one_pool_is_a_training_shape_and_an_inference_shape_in_turn_and_at_once(
    client: Any,
) -> None:
    training, inference = wished(8, TIB, Id="day"), wished(2, 4 * TIB, Id="night")
    for shape in (training, inference):
        made = client.post(SYSTEMS, body=shape)
        assert made.status == 201, made.text
        assert client.delete(made.getheader("Location")).status == 204
    both = [
        client.post(SYSTEMS, body=shape).getheader("Location") for shape in (training, inference)
    ]
    held = [set(blocks_of(client, system)) for system in both]
    alike = {each for each in held[0] & held[1] if not each.startswith("appliance")}
    assert not alike
    assert [len(gpus_of(client, system)) for system in both] == [8, 2]

"""Reservations: made by a preview, taken by who made them, refused to others, over in time."""

import asyncio
import json
from typing import Any

import pytest

from redfish_fm.config import Config
from redfish_fm.store.memory import DurableState
from tests.cases.composing import (
    COMPOSE,
    RESERVATIONS,
    SERVICE,
    SYSTEMS,
    block,
    commits,
    everything,
    gpus,
    made_of,
    manifest,
    memory,
    of_blocks,
    responses,
    stanza,
    state,
    told,
    undo,
)
from tests.cases.stack import Stack, a_stack
from tests.control.builders import PCIE_ZONES, pcie, zone_body
from tests.virtual_time import in_virtual_time

GIB = 1024
ADD = "ComputerSystem.AddResourceBlock"


async def reserved(stack: Stack, *stanzas: dict[str, Any], user: str = "admin") -> str:
    """Reserve what the stanzas need; return the ReservationId."""
    body = manifest("PreviewReserve", *stanzas)
    response = await stack.ask("POST", COMPOSE, body, user=user)
    responses(response)
    return str(json.loads(response.body)["ReservationId"])


def uri(reservation: str) -> str:
    return f"{RESERVATIONS}/{reservation}"


async def apply(
    stack: Stack, reservation: str, *stanzas: dict[str, Any], user: str = "admin"
) -> Any:
    body = {**manifest("Apply", *stanzas), "ReservationId": reservation}
    if not stanzas:
        del body["Manifest"]
    return await stack.ask("POST", COMPOSE, body, user=user)


@in_virtual_time
async def test_a_reservation_says_whose_it_is_what_it_keeps_and_until_when() -> None:
    async with a_stack() as stack:
        asked = stanza(**of_blocks("host1", "gpu1"))
        found = await stack.get(uri(await reserved(stack, asked, user="op")))
        assert found["Client"] == "op"
        kept = [each["@odata.id"] for each in found["ReservedResourceBlocks"]]
        assert kept == [block("host1"), block("gpu1")]
        # By the schemas nobody knows what is in a Request: it is in the JSON of the whole.
        assert found["Manifest"]["Stanzas"] == [
            {name: asked[name] for name in ("StanzaType", "StanzaId")}
        ]
        whole = json.loads(found["Oem"]["RedfishFM"]["ManifestJsonBody"])
        assert whole == {"Stanzas": [asked]}
        begins, ends = found["ReservationTime"], found["Oem"]["RedfishFM"]["ExpirationTime"]
        assert begins < ends
        assert await state(stack, "gpu1") == ("Unused", 0, True)
        assert await state(stack, "gpu2") == ("Unused", 0, False)


@in_virtual_time
async def test_a_reserved_block_is_refused_to_everybody_with_the_reservation() -> None:
    async with a_stack() as stack:
        reservation = await reserved(stack, stanza(**of_blocks("host1", "gpu1")), user="op")
        action = f"{SYSTEMS}/host2/Actions/{ADD}"
        for response in (
            await stack.ask("POST", SYSTEMS, of_blocks("host2", "gpu1")),
            await stack.ask("POST", SYSTEMS, of_blocks("host2", "gpu1"), user="op"),
            await stack.ask("POST", action, {"ResourceBlock": {"@odata.id": block("gpu1")}}),
            await stack.ask(
                "POST", COMPOSE, manifest("Preview", stanza(**of_blocks("host2", "gpu1")))
            ),
            await stack.ask("POST", PCIE_ZONES, zone_body(pcie("host2-1"), pcie("gpu1"))),
            await stack.ask("POST", PCIE_ZONES, zone_body(pcie("host1-1"), pcie("gpu2"))),
            await stack.ask(
                "POST",
                f"{SYSTEMS}/host1/Actions/{ADD}",
                {"ResourceBlock": {"@odata.id": block("gpu2")}},
            ),
        ):
            assert response.status == 409, response.body
            assert uri(reservation) in told(response)[0]["MessageArgs"]


@in_virtual_time
async def test_what_has_to_be_looked_for_is_looked_for_elsewhere() -> None:
    async with a_stack() as stack:
        await reserved(stack, stanza(**of_blocks("host1", "gpu1")))
        system = await stack.made(SYSTEMS, gpus(1))
        assert await made_of(stack, system) == ["host2", "gpu2"]
        response = await stack.ask("POST", SYSTEMS, gpus(1))
        assert response.status == 409


@in_virtual_time
@pytest.mark.parametrize("with_manifest", [True, False])
async def test_apply_makes_what_was_promised_and_ends_the_reservation_at_once(
    with_manifest: bool,
) -> None:
    async with a_stack() as stack:
        first = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        asked = stanza(**gpus(1), **memory(64 * GIB))
        body = manifest("PreviewReserve", asked)
        (seen,) = responses(await stack.ask("POST", COMPOSE, body))
        reservation = (await stack.get(RESERVATIONS))["Members"][0]["@odata.id"]
        # What comes first, and is free again meanwhile, is not taken instead.
        assert (await stack.ask("DELETE", first)).status == 204
        before = commits(stack)
        name = reservation.rsplit("/", 1)[-1]
        response = await apply(stack, name, *([asked] if with_manifest else []))
        (done,) = responses(response)
        assert commits(stack) - before <= 2
        assert done["Links"]["ResourceBlocks"] == seen["Links"]["ResourceBlocks"]
        assert (await stack.ask("GET", reservation)).status == 404
        assert await state(stack, "gpu1") == ("Unused", 0, False)
        assert await state(stack, "gpu2") == ("Composed", 1, False)


@in_virtual_time
async def test_only_its_client_or_an_administrator_takes_a_reservation() -> None:
    async with a_stack() as stack:
        asked = stanza(**of_blocks("host1", "gpu1"))
        reservation = await reserved(stack, asked, user="op")
        before = await everything(stack)
        response = await apply(stack, reservation, asked, user="builder")
        assert response.status == 403
        assert await everything(stack) == before
        assert (await apply(stack, reservation, asked, user="admin")).status == 200


@in_virtual_time
async def test_an_apply_that_is_refused_leaves_the_reservation() -> None:
    async with a_stack() as stack:
        asked = stanza(**of_blocks("host1", "gpu1"))
        reservation = await reserved(stack, asked)
        before = await everything(stack)
        response = await apply(stack, reservation, stanza(**gpus(99)))
        assert response.status == 409
        assert await everything(stack) == before
        assert (await stack.ask("GET", uri(reservation))).status == 200


@in_virtual_time
@pytest.mark.parametrize("name", ["none", "../x"])
async def test_a_reservation_that_is_not_there_can_not_be_applied(name: str) -> None:
    async with a_stack() as stack:
        response = await apply(stack, name, stanza(**of_blocks("host1", "gpu1")))
        assert response.status == 400
        assert told(response)[0]["RelatedProperties"] == ["#/ReservationId"]


@in_virtual_time
async def test_delete_frees_what_was_reserved() -> None:
    async with a_stack() as stack:
        before = await everything(stack)
        reservation = await reserved(stack, stanza(**of_blocks("host1", "gpu1")), user="op")
        assert (await stack.ask("DELETE", uri(reservation), user="ro")).status == 403
        assert (await stack.ask("DELETE", uri(reservation), user="op")).status == 204
        assert await everything(stack) == before


@in_virtual_time
async def test_a_reservation_is_its_clients_own() -> None:
    async with a_stack() as stack:
        reservation = await reserved(stack, stanza(**of_blocks("host1", "gpu1")), user="keeper")
        owner_of = stack.kernel.owner_of
        assert owner_of(uri(reservation)) == "keeper"
        assert (await stack.ask("DELETE", uri(reservation), user="keeper")).status == 204
        assert owner_of(uri(reservation)) is None


@in_virtual_time
@pytest.mark.parametrize(("lasting", "seconds"), [("PT1S", 1), ("PT2M", 120)])
async def test_a_reservation_ends_in_time_and_frees_within_a_second(
    lasting: str, seconds: int
) -> None:
    async with a_stack() as stack:
        body = {"ReservationDuration": lasting}
        assert (await stack.ask("PATCH", SERVICE, body)).status == 200
        before = await everything(stack)
        await reserved(stack, stanza(**of_blocks("host1", "gpu1")))
        await asyncio.sleep(seconds - 0.1)
        assert (await state(stack, "gpu1"))[2]
        await asyncio.sleep(1.1)
        assert await everything(stack) == before
        await stack.made(SYSTEMS, of_blocks("host2", "gpu1"))


@in_virtual_time
async def test_a_shorter_one_ends_first() -> None:
    async with a_stack() as stack:
        await reserved(stack, stanza(**of_blocks("host1", "gpu1")))
        assert (await stack.ask("PATCH", SERVICE, {"ReservationDuration": "PT5S"})).status == 200
        await reserved(stack, stanza(**of_blocks("host2", "gpu2")))
        await asyncio.sleep(6.1)
        assert (await state(stack, "gpu1"))[2]
        assert not (await state(stack, "gpu2"))[2]


@in_virtual_time
@pytest.mark.parametrize("lasting", ["", "P", "PT0S", "10 minutes", "P9999999D", None, 600])
async def test_what_is_no_duration_is_refused(lasting: Any) -> None:
    async with a_stack() as stack:
        response = await stack.ask("PATCH", SERVICE, {"ReservationDuration": lasting})
        assert response.status == 400
        assert told(response)[0]["RelatedProperties"] == ["#/ReservationDuration"]


@in_virtual_time
async def test_a_reservation_outlives_a_restart_but_not_its_time() -> None:
    durable = DurableState()
    async with a_stack(durable=durable, crash=True) as stack:
        reservation = await reserved(stack, stanza(**of_blocks("host1", "gpu1")))
        hardware = stack.rig.hardware
        await asyncio.sleep(300)
    durable.sessions.clear()
    async with a_stack(durable=durable, hardware=hardware, crash=True) as stack:
        assert (await stack.ask("GET", uri(reservation))).status == 200
        assert (await state(stack, "gpu1"))[2]
    durable.sessions.clear()
    await asyncio.sleep(300)
    async with a_stack(durable=durable, hardware=hardware) as stack:
        await asyncio.sleep(1.0)
        assert (await stack.ask("GET", uri(reservation))).status == 404
        assert await state(stack, "gpu1") == ("Unused", 0, False)


@in_virtual_time
@pytest.mark.parametrize(("scale", "seconds"), [(10.0, 60), (0.5, 1200), (0.0, 600)])
async def test_reservations_run_on_the_fabric_clock(scale: float, seconds: int) -> None:
    async with a_stack(config=Config(topology="two-hosts", time_scale=scale)) as stack:
        stack.kernel.writer.tip_view.time_scale = scale
        await reserved(stack, stanza(**of_blocks("host1", "gpu1")))
        await asyncio.sleep(seconds - 1)
        assert (await state(stack, "gpu1"))[2]
        await asyncio.sleep(2)
        assert not (await state(stack, "gpu1"))[2]


@in_virtual_time
async def test_a_reservation_can_not_be_reserved_again() -> None:
    async with a_stack() as stack:
        asked = stanza(**of_blocks("host1", "gpu1"))
        reservation = await reserved(stack, asked)
        body = {**manifest("PreviewReserve", asked), "ReservationId": reservation}
        response = await stack.ask("POST", COMPOSE, body)
        assert response.status == 400
        (message,) = told(response)
        assert message["RelatedProperties"] == ["#/ReservationId"]


@in_virtual_time
async def test_a_reserved_block_is_withdrawn_by_nobody() -> None:
    async with a_stack() as stack:
        reservation = await reserved(stack, stanza(**of_blocks("host1", "gpu1")), user="op")
        for user in ("admin", "op"):
            body = {"Pool": "Unassigned"}
            refused = await stack.ask("PATCH", block("gpu1"), body, user=user)
            assert refused.status == 409
            (message, *_) = told(refused)
            assert message["RelatedProperties"] == ["#/Pool"]
            assert uri(reservation) in message["MessageArgs"]
        note = await stack.ask("PATCH", block("gpu1"), {"Client": "op"}, user="op")
        assert note.status == 200
        responses(await apply(stack, reservation, user="op"))


@in_virtual_time
async def test_what_is_reserved_to_be_made_anew_is_not_given_more_meanwhile() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        again = stanza(name="s2", **of_blocks("host1", "gpu1"))
        reservation = await reserved(stack, undo(system), again)
        before = await everything(stack)
        more = {"ResourceBlock": {"@odata.id": block("gpu2")}}
        refused = await stack.ask("POST", f"{system}/Actions/{ADD}", more)
        assert refused.status == 409
        assert uri(reservation) in refused.body.decode()
        assert await everything(stack) == before
        assert (await stack.ask("DELETE", uri(reservation))).status == 204
        assert (await stack.ask("POST", f"{system}/Actions/{ADD}", more)).status == 204

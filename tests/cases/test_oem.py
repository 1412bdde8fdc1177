"""Our OEM part over the whole stack: a zone says where its device went, and nobody else does."""

import json

from tests.cases.life import GPU1, HOST1
from tests.cases.stack import a_stack
from tests.control.builders import PCIE_FABRIC, PCIE_ZONES, zone_body
from tests.redfish.builders import keys
from tests.virtual_time import in_virtual_time


@in_virtual_time
async def test_a_zone_tells_switch_port_and_slot_whatever_a_client_claims() -> None:
    async with a_stack() as stack:
        body = zone_body(HOST1, GPU1) | {"Oem": {"RedfishFM": {"Bindings": []}, "Acme": {"a": 1}}}
        made = await stack.send("POST", PCIE_ZONES, body)
        shown = json.loads(made.body)["Oem"]
        assert shown["Acme"] == {"a": 1}
        (binding,) = shown["RedfishFM"]["Bindings"]
        assert binding["Port"]["@odata.id"].startswith(f"{PCIE_FABRIC}/Switches/")
        zone = made.headers["Location"]
        refused = await stack.send("PATCH", zone, {"Oem": {"RedfishFM": {"Bindings": []}}})
        assert refused.status == 400 and keys(refused) == ["PropertyNotWritable"]
        assert (await stack.get(zone))["Oem"] == shown


@in_virtual_time
async def test_what_a_client_claims_is_not_shown_of_a_zone_without_bindings() -> None:
    async with a_stack() as stack:
        claim = {"Oem": {"RedfishFM": {"Bindings": [{"SlotIndex": 7}]}}}
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1) | claim)
        assert "Oem" not in await stack.get(zone)


@in_virtual_time
async def test_the_schema_is_served_where_metadata_says() -> None:
    async with a_stack() as stack:
        answer = await stack.send("GET", "/redfish/v1/Schemas/RedfishFMBindings_v1.xml")
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("application/xml")
        metadata = await stack.send("GET", "/redfish/v1/$metadata")
        assert b'Uri="/redfish/v1/Schemas/RedfishFMBindings_v1.xml"' in metadata.body

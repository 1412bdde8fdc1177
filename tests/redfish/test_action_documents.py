"""Actions that a client reads: those that are carried out, where they are, and no others."""

import json
from typing import Any

import pytest

from redfish_fm.redfish.action_documents import (
    Advertised,
    action_info_documents,
    actions_property,
)
from redfish_fm.redfish.bodies import check_action
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.properties import Kind
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.view import Origin, Representation
from redfish_fm.resources import schemas_dir
from tests.redfish.builders import ENDPOINT, ZONE, ZONES, Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def read(bench: Bench, uri: str) -> dict[str, Any]:
    response = await bench.send("GET", uri)
    assert response.status == 200
    found: dict[str, Any] = json.loads(response.body)
    return found


async def test_a_client_made_zone_advertises_its_actions_and_they_are_there(bench: Bench) -> None:
    actions = (await read(bench, ZONE))["Actions"]
    assert set(actions) == {"#Zone.AddEndpoint", "#Zone.RemoveEndpoint"}
    for name, action in actions.items():
        assert action["target"] == f"{ZONE}/Actions/{name.removeprefix('#')}"
        parameters = (await read(bench, action["@Redfish.ActionInfo"]))["Parameters"]
        assert {each["Name"] for each in parameters} == {"Endpoint", "ZoneETag", "EndpointETag"}
        response = await bench.send("POST", action["target"], {})
        assert response.status == 400
        entry = json.loads(response.body)["error"]["@Message.ExtendedInfo"][0]
        assert entry["MessageId"].endswith(".ActionParameterMissing")


@pytest.mark.parametrize("uri", [f"{ZONES}/fixed", ENDPOINT, f"{ENDPOINT[:-2]}made"])
async def test_what_has_no_action_that_works_advertises_none(bench: Bench, uri: str) -> None:
    assert "Actions" not in await read(bench, uri)


async def test_the_tag_in_the_body_stays_that_of_the_header(bench: Bench) -> None:
    response = await bench.send("GET", ZONE)
    assert json.loads(response.body)["@odata.etag"] == response.headers["ETag"]


async def test_a_changed_zone_is_shown_changed(bench: Bench) -> None:
    await read(bench, ZONE)
    bench.view.put(ZONE, "Zone", Origin.WANTED, ZoneType="ZoneOfZones")
    assert (await read(bench, ZONE))["ZoneType"] == "ZoneOfZones"


@pytest.mark.parametrize("imported", [b"", b',"Actions":{"Oem":{}}', b',"Name":"\\"Actions\\""'])
def test_actions_are_the_only_thing_laid_over(imported: bytes) -> None:
    catalog = Catalog.load(schemas_dir())
    body = b'{"@odata.id":"/x"' + imported + b"}"
    found = Representation("/x", "Zone", Origin.WANTED, "w", body, '"w.o"')
    rendered = Advertised(catalog).render(found).body
    assert rendered.count(b'"Actions":') == 1
    shown = json.loads(rendered)
    assert "#Zone.AddEndpoint" in shown.pop("Actions")
    before = json.loads(body)
    before.pop("Actions", None)
    assert shown == before


def test_every_enumeration_of_a_parameter_is_told() -> None:
    service = json.loads((schemas_dir() / "service.json").read_text("utf-8"))
    service["types"]["Port"]["actions"] = ["Port.Reset"]
    folder = schemas_dir() / "types"
    files = {path.stem: path.read_bytes() for path in folder.glob("*.json")}
    found = action_info_documents(Catalog(files, service))
    parameters = found["/redfish/v1/ActionInfos/Port.Reset"]["Parameters"]
    assert [each["Name"] for each in parameters] == ["ResetType"]
    assert "ForceRestart" in parameters[0]["AllowableValues"]


def test_a_refused_value_of_a_parameter_names_where_the_allowed_ones_are() -> None:
    catalog, registries = Catalog.load(schemas_dir()), Registries.load(schemas_dir())
    described = action_info_documents(catalog)
    seen = set()
    for info in catalog.types.values():
        for action in (each for each in info.actions.values() if each.supported):
            rows = described[f"/redfish/v1/ActionInfos/{action.name}"]["Parameters"]
            listing = {row["Name"] for row in rows if "AllowableValues" in row}
            for name, parameter in action.parameters.items():
                if parameter.kind is Kind.ENUM:
                    refused, *_ = check_action(action, {name: "Nonsense"})
                    told = registries.render(refused)["Resolution"]
                    assert "@Redfish.AllowableValues" in told and "@Redfish.ActionInfo" in told
                    assert name in listing
                    seen.add((action.name, name))
    assert ("ComputerSystem.Reset", "ResetType") in seen


def test_an_action_of_our_own_stands_below_oem_and_has_an_action_info() -> None:
    catalog = Catalog.load(schemas_dir())
    info = catalog.types["CompositionService"]
    name = "RedfishFMComposition.BlastRadius"
    action = actions_property(catalog, info, "/service")["Oem"][f"#{name}"]
    assert action["target"] == f"/service/Actions/Oem/{name}"
    document = action_info_documents(catalog)[action["@Redfish.ActionInfo"]]
    assert [(row["Name"], row["Required"]) for row in document["Parameters"]] == [
        ("Resource", True)
    ]


def test_what_says_that_it_has_no_actions_has_none() -> None:
    body = b'{"@odata.id":"/x","Actions":{}}'
    found = Representation("/x", "Zone", Origin.WANTED, "w", body, '"w.o"')
    rendered = Advertised(Catalog.load(schemas_dir())).render(found).body
    assert json.loads(rendered) == {"@odata.id": "/x"}

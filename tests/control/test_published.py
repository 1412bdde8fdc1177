"""The published state: cached, and yet every representation is what a fresh one would be."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from redfish_fm.control.published import Published
from redfish_fm.control.state import WantedState
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.bindings import binding_edit
from redfish_fm.mapping.operations import OperationState, decode_operation, encode_operation
from redfish_fm.mapping.systems_shown import parts_shown
from redfish_fm.redfish import etag
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.view import Origin
from redfish_fm.redfish.writes import OutcomeKind
from tests.control.builders import (
    CXL_FABRIC,
    PCIE_FABRIC,
    PCIE_ZONES,
    SERVICE_DOCUMENTS,
    TASKS,
    a_base,
    document,
    links,
    pcie,
    put,
)
from tests.control.edits import ENDPOINT_URIS, HOSTS, PORTS, SYSTEM_URIS, ZONE_URIS, an_edit
from tests.control.test_state import operation, rebuilt

BASE = a_base()
ZONE = f"{PCIE_ZONES}/a"
SYSTEM = "/redfish/v1/Systems/host1"


def apply(published: Published, *edits: Edit) -> None:
    published.apply(Change(published.seq + 1, 0.0, "tester", edits))


def everything(published: Published) -> dict[str, Any]:
    wanted = published.state.spaces[Space.DOCUMENT]
    tasks = [operation.task for operation in published.state.operations.values()]
    below = [uri for system in (*SYSTEM_URIS, *HOSTS) for uri in parts_shown(system)]
    every = dict.fromkeys((*BASE.documents, *wanted, *tasks, *below))
    return {uri: published.get(uri) for uri in every}


def a_published() -> Published:
    return Published(WantedState(BASE))


def shown(published: Published, uri: str) -> dict[str, Any]:
    found = published.get(uri)
    assert found is not None
    result: dict[str, Any] = json.loads(found.body)
    return result


def zone(*members: str, **more: object) -> bytes:
    return document(ZONE, Links={"Endpoints": links(*members)}, **more)


STATUS = st.fixed_dictionaries(
    {"Status": st.fixed_dictionaries({"State": st.sampled_from(["Enabled", "Absent"])})}
)


@settings(max_examples=40)
@given(st.data())
def test_after_any_edits_every_representation_equals_a_fresh_render(data) -> None:
    published = a_published()
    observed: dict[str, Any] = {}
    for _ in range(data.draw(st.integers(1, 8))):
        edit = data.draw(an_edit(published.state))
        apply(published, edit)
        if not published.exists(edit.key):
            observed.pop(edit.key, None)
        seen = data.draw(
            st.dictionaries(
                st.sampled_from([*PORTS, pcie("gpu1"), ZONE_URIS[0], *HOSTS]),
                st.none() | STATUS,
                max_size=2,
            )
        )
        published.observe(seen)
        observed.update(seen)
        everything(published)
    fresh = Published(rebuilt(published.state))
    fresh.observe(observed)
    assert everything(published) == everything(fresh)


def test_a_connection_that_loses_its_initiators_lets_the_blocks_of_all_its_targets_go() -> None:
    published = a_published()
    uri = "/redfish/v1/Fabrics/PCIe/Connections/c"
    block = "/redfish/v1/CompositionService/ResourceBlocks/gpu1"
    targets = {"TargetEndpoints": links(pcie("gpu1"))}
    held = document(
        uri, "Connection", Links={"InitiatorEndpoints": links(pcie("host1-1")), **targets}
    )
    apply(published, put(uri, held))
    assert shown(published, block)["Pool"] == "Unassigned"
    left = document(uri, "Connection", Links={"InitiatorEndpoints": [], **targets})
    apply(published, put(uri, left, held))
    assert shown(published, block)["Pool"] == "Free"


def test_an_endpoint_group_that_loses_members_lets_the_blocks_of_all_it_connected_go() -> None:
    published = a_published()
    group = "/redfish/v1/Fabrics/PCIe/EndpointGroups/g"
    uri = "/redfish/v1/Fabrics/PCIe/Connections/c"
    block = "/redfish/v1/CompositionService/ResourceBlocks/{}"
    full = document(group, "EndpointGroup", Links={"Endpoints": links(pcie("host1-1"))})
    named = {"InitiatorEndpointGroups": links(group), "TargetEndpoints": links(pcie("gpu1"))}
    apply(published, put(group, full))
    apply(published, put(uri, document(uri, "Connection", Links=named)))
    held = [shown(published, block.format(name))["Pool"] for name in ("host1", "gpu1")]
    assert held == ["Unassigned", "Unassigned"]
    empty = document(group, "EndpointGroup", Links={"Endpoints": []})
    apply(published, put(group, empty, full))
    left = [shown(published, block.format(name))["Pool"] for name in ("host1", "gpu1")]
    assert left == ["Free", "Free"]


def test_what_nothing_touched_is_not_rendered_again() -> None:
    published = a_published()
    everything(published)
    before = published.rendered
    first = zone(pcie("gpu1"))
    apply(published, put(ZONE, first))
    everything(published)
    # The zone, its collection, the endpoint, its block, and the two pools of blocks.
    assert published.rendered - before == 6
    apply(published, put(ZONE, zone(pcie("gpu1"), Name="new"), first))
    everything(published)
    assert published.rendered - before == 7


def test_an_observed_change_alters_o_and_leaves_w() -> None:
    published = a_published()
    port = PORTS[0]
    before = published.get(port)
    assert before is not None
    changed = published.observe({port: {"LinkStatus": "LinkDown"}})
    after = published.get(port)
    assert after is not None and changed == {port}
    assert after.wanted_tag == before.wanted_tag == etag.split(after.etag)[0]
    assert after.etag != before.etag
    published.observe({port: None})
    assert published.get(port) == before


def test_a_wanted_inverse_link_alters_w() -> None:
    published = a_published()
    before = published.get(pcie("gpu1"))
    apply(published, put(ZONE, zone(pcie("gpu1"))))
    after = published.get(pcie("gpu1"))
    assert before is not None and after is not None
    assert after.wanted_tag != before.wanted_tag
    assert shown(published, pcie("gpu1"))["Links"]["Zones"] == links(ZONE)


def test_the_order_in_which_links_came_does_not_show() -> None:
    connection = f"{PCIE_FABRIC}/Connections/c"
    one = put(ZONE, zone(pcie("gpu1")))
    sides = {"TargetEndpoints": links(pcie("gpu1"))}
    other = put(connection, document(connection, "Connection", Links=sides))
    first, second = a_published(), a_published()
    apply(first, one, other)
    apply(second, other, one)
    assert first.get(pcie("gpu1")) == second.get(pcie("gpu1"))


def test_an_equal_observation_changes_nothing_and_renders_nothing() -> None:
    published = a_published()
    published.observe({ZONE: {"Status": {"State": "Enabled"}}})
    assert published.observe({ZONE: {"Status": {"State": "Enabled"}}}) == set()


def test_the_edition_is_another_over_another_state_and_with_other_actions_only() -> None:
    published = a_published()
    editions = [published.edition]
    reset = {"Actions": {"#ComputerSystem.Reset": {}}, "PowerState": "On"}
    for patch in (reset, {**reset, "PowerState": "Off"}, None):
        published.observe({SYSTEM: patch})
        editions.append(published.edition)
    apply(published, put(ZONE, zone()))
    editions.append(published.edition)
    published.replace(WantedState(BASE))
    editions.append(published.edition)
    assert [after - before for before, after in pairwise(editions)] == [1, 0, 1, 0, 1]


def test_what_was_seen_of_a_deleted_resource_is_not_shown_on_its_successor() -> None:
    published = a_published()
    first = zone(pcie("gpu1"))
    apply(published, put(ZONE, first))
    published.observe({ZONE: {"Status": {"State": "Enabled", "Health": "Critical"}}})
    apply(published, put(ZONE, None, first))
    assert published.observed(ZONE) is None and published.get(ZONE) is None
    apply(published, put(ZONE, first))
    assert shown(published, ZONE)["Status"] == {"State": "Enabled", "Health": "OK"}


def test_a_client_made_endpoint_joins_the_discovered_ones_in_links() -> None:
    published = a_published()
    uri = ENDPOINT_URIS[0]
    entities = [{"EntityLink": {"@odata.id": SYSTEM}, "EntityRole": "Initiator"}]
    ports = {"ConnectedPorts": links(PORTS[0])}
    made = document(uri, "Endpoint", ConnectedEntities=entities, Links=ports)
    before = shown(published, SYSTEM)["Links"]["Endpoints"]
    assert {"@odata.id": pcie("host1-1")} in before
    apply(published, put(uri, made))
    after = shown(published, SYSTEM)["Links"]["Endpoints"]
    assert {each["@odata.id"] for each in after} == {each["@odata.id"] for each in before} | {uri}
    assert {"@odata.id": uri} in shown(published, PORTS[0])["Links"]["AssociatedEndpoints"]
    apply(published, put(uri, None, made))
    assert shown(published, SYSTEM)["Links"]["Endpoints"] == before


def test_collections_show_discovered_and_made_members_with_their_count() -> None:
    published = a_published()
    endpoints = f"{CXL_FABRIC}/Endpoints"
    before = shown(published, endpoints)
    uri = f"{endpoints}/a"
    apply(published, put(uri, document(uri, "Endpoint")))
    after = shown(published, endpoints)
    assert after["Members@odata.count"] == before["Members@odata.count"] + 1
    assert after["Members"][0] == {"@odata.id": uri}
    assert len(after["Members"]) == after["Members@odata.count"]


def test_tasks_are_members_and_resources() -> None:
    published = a_published()
    for identity in ("10", "9"):
        apply(published, operation(identity, ZONE))
    assert shown(published, TASKS)["Members"] == links(f"{TASKS}/9", f"{TASKS}/10")
    assert shown(published, f"{TASKS}/9")["TaskState"] == "Running"
    running = published.get(f"{TASKS}/9")
    assert running is not None and running.origin is Origin.SERVICE


def test_origins_say_whose_a_resource_is() -> None:
    published = a_published()
    apply(published, put(ZONE, zone()))
    found = {uri: published.get(uri) for uri in (ZONE, PCIE_ZONES, SYSTEM, *SERVICE_DOCUMENTS)}
    assert {uri: each.origin for uri, each in found.items() if each} == {
        ZONE: Origin.WANTED,
        PCIE_ZONES: Origin.SERVICE,
        SYSTEM: Origin.INVENTORY,
        TASKS: Origin.SERVICE,
    }


def test_the_body_carries_its_own_tag_and_uri() -> None:
    published = a_published()
    found = published.get(SYSTEM)
    assert found is not None
    body = json.loads(found.body)
    assert body["@odata.etag"] == found.etag and body["@odata.id"] == SYSTEM
    assert published.get("/redfish/v1/Systems/nobody") is None
    assert not published.exists("/redfish/v1/Systems/nobody")


def test_another_state_is_shown_whole_from_the_next_read_on() -> None:
    published = a_published()
    apply(published, put(ZONE, zone()))
    published.get(ZONE)
    published.replace(WantedState(BASE))
    assert published.get(ZONE) is None
    assert shown(published, PCIE_ZONES)["Members"] == []


def test_a_collection_is_described_as_it_is_shown_without_being_rendered() -> None:
    published = a_published()
    apply(published, put(ZONE, zone("host1-1", "gpu1")))
    described = published.describe(PCIE_ZONES)
    assert published.rendered == 0
    found = published.get(PCIE_ZONES)
    assert described is not None
    assert found is not None
    for name in ("uri", "type_name", "origin"):
        assert getattr(described, name) == getattr(found, name)


def test_a_new_binding_shows_at_once_on_the_zone_that_holds_it() -> None:
    published = a_published()
    apply(published, put(ZONE, zone(pcie("host1-1"), pcie("gpu1"))))
    assert shown(published, ZONE)["Status"]["State"] == "Enabled"
    vppb, target = VppbId("pcie1", "1", 0), BindTarget("pcie1", "D1")
    held = Binding("PCIe", "gpu1", SYSTEM, vppb, target, frozenset({ZONE}))
    apply(published, binding_edit(None, held))
    assert shown(published, ZONE)["Status"]["State"] == "Starting"
    assert shown(published, ZONE)["Oem"]["RedfishFM"]["Bindings"]
    apply(published, binding_edit(held, None))
    assert "Oem" not in shown(published, ZONE)


def test_a_task_links_what_it_made_only_while_that_is_there() -> None:
    published, made = a_published(), operation("9", ZONE)
    assert made.post is not None
    ended = replace(
        decode_operation(made.post), kind=OutcomeKind.CREATED, state=OperationState.COMPLETED
    )
    task, body = f"{TASKS}/9", zone()
    apply(published, put(ZONE, body), replace(made, post=encode_operation(ended)))
    assert shown(published, task)["Links"] == {"CreatedResources": links(ZONE)}
    before = published.get(task)
    apply(published, put(ZONE, None, body))
    assert "Links" not in shown(published, task)
    after = published.get(task)
    assert before is not None and after is not None and before.etag != after.etag
    assert f"Create {ZONE}" == shown(published, task)["Name"]
    apply(published, put(ZONE, body))
    assert shown(published, task) == json.loads(before.body)

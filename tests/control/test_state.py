"""WantedState: whatever was applied and undone, it equals one built from the same documents."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from redfish_fm.control.state import WantedState, member_order
from redfish_fm.mapping.operations import Operation, encode_operation
from redfish_fm.mapping.uris import ACTIVE_POOL, FREE_POOL, RESOURCE_BLOCK
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import StoredState
from tests.control.builders import PCIE_ZONES, TASKS, a_base, document, links, pcie, put
from tests.control.edits import ENDPOINT_URIS, MEMBERS, PORTS, ZONE_URIS, an_edit

BASE = a_base()
ZONE = f"{PCIE_ZONES}/a"


def rebuilt(state: WantedState, order: random.Random | None = None) -> WantedState:
    """Return a state built from what `state` holds, in another order."""
    edits = [
        Edit(space, key, None, value)
        for space, keys in state.spaces.items()
        for key, value in keys.items()
    ]
    (order or random.Random(0)).shuffle(edits)  # noqa: S311
    fresh = WantedState(BASE)
    fresh.apply_all(edits)
    return fresh


def tags(state: WantedState) -> dict[str, str | None]:
    return {uri: state.wanted_tag(uri) for uri in (*ZONE_URIS, *MEMBERS, *PORTS, PCIE_ZONES)}


def zone(*members: str, **more: object) -> bytes:
    return document(ZONE, Links={"Endpoints": links(*members)}, **more)


def operation(identity: str, *resources: str) -> Edit:
    value = Operation(
        identity,
        f"{TASKS}/{identity}",
        OutcomeKind.CHANGED,
        "PCIe",
        ZONE,
        frozenset(resources),
        "tester",
        "2026-12-01T00:00:00Z",
    )
    return Edit(Space.OPERATION, identity, None, encode_operation(value))


@settings(max_examples=60)
@given(st.data())
def test_applying_equals_rebuilding_and_undoing_gives_back_what_was(data) -> None:
    state = WantedState(BASE)
    done: list[tuple[Edit, object, object]] = []
    for _ in range(data.draw(st.integers(1, 12))):
        edit = data.draw(an_edit(state))
        done.append((edit, state.comparable(), tags(state)))
        state.apply(edit)
        fresh = rebuilt(state, random.Random(len(done)))  # noqa: S311
        assert state.comparable() == fresh.comparable()
        assert tags(state) == tags(fresh)
    for edit, before, tags_before in reversed(done):
        state.apply(edit.inverse())
        assert state.comparable() == before
        assert tags(state) == tags_before


@settings(max_examples=60)
@given(st.data())
def test_only_what_is_touched_changes_its_wanted_tag(data) -> None:
    state = WantedState(BASE)
    for _ in range(data.draw(st.integers(1, 12))):
        before = tags(state)
        touched = state.apply(data.draw(an_edit(state)))
        after = tags(state)
        assert {uri for uri in before if before[uri] != after[uri]} <= touched


def test_load_takes_over_the_sequence_and_holds_tells_whether_it_is_all() -> None:
    stored = StoredState(7, {Space.DOCUMENT: {ZONE: zone(pcie("gpu1"))}})
    state = WantedState(BASE)
    state.load(stored)
    assert state.seq == 7 and state.holds(stored)
    assert not state.holds(StoredState(8, stored.spaces))
    assert not state.holds(StoredState(7, {}))


def blocks(name: str) -> set[str]:
    """The resource block of a device, and the pools that tell whether it is free."""
    return {RESOURCE_BLOCK.format(block=name), FREE_POOL, ACTIVE_POOL}


def test_a_patch_that_moves_no_link_touches_the_document_alone() -> None:
    state = WantedState(BASE)
    before, after = zone(pcie("gpu1"), Name="x"), zone(pcie("gpu1"), Name="y")
    shown = {pcie("gpu1"), *blocks("gpu1")}
    assert state.apply(put(ZONE, before)) == {ZONE, PCIE_ZONES, *shown}
    assert state.apply(put(ZONE, after, before)) == {ZONE}
    moved = zone(pcie("gpu2"), Name="y")
    assert state.apply(put(ZONE, moved, after)) == {ZONE, *shown, pcie("gpu2"), *blocks("gpu2")}


def test_equal_bytes_at_two_uris_are_two_zones() -> None:
    state, raw = WantedState(BASE), zone(ENDPOINT_URIS[0])
    for uri in ZONE_URIS[:2]:
        state.apply(Edit(Space.DOCUMENT, uri, None, raw))
    assert set(state.index.zones) == set(ZONE_URIS[:2])
    assert {each.id for each in state.index.zones.values()} == set(ZONE_URIS[:2])


def test_a_link_that_others_make_too_stays_when_one_of_them_goes() -> None:
    state = WantedState(BASE)
    other = f"{PCIE_ZONES}/b"
    first = zone(pcie("gpu1"))
    state.apply(put(ZONE, first))
    state.apply(put(other, document(other, Links={"Endpoints": links(pcie("gpu1"))})))
    state.apply(put(ZONE, None, first))
    assert state.links == {pcie("gpu1"): {"/Links/Zones": {other}}}


def test_the_wanted_tag_follows_content_inverse_links_and_members() -> None:
    state = WantedState(BASE)
    empty = tags(state)
    first = zone(pcie("gpu1"))
    state.apply(put(ZONE, first))
    changed = {uri for uri, tag in tags(state).items() if tag != empty[uri]}
    assert changed == {ZONE, PCIE_ZONES, pcie("gpu1")}
    state.apply(put(ZONE, None, first))
    assert tags(state) == empty
    assert state.wanted_tag(ZONE) is None


def test_two_open_operations_hold_one_resource_and_the_newest_is_named() -> None:
    state = WantedState(BASE)
    first, second = operation("9", ZONE), operation("a1", ZONE)
    state.apply(first)
    state.apply(second)
    assert state.busy(ZONE) == f"{TASKS}/a1"
    state.apply(second.inverse())
    assert state.busy(ZONE) == f"{TASKS}/9"
    state.apply(first.inverse())
    assert state.busy(ZONE) is None and state.held == {}


def test_a_task_is_a_member_of_its_collection_in_the_order_of_ids() -> None:
    state = WantedState(BASE)
    for identity in ("10", "a", "9"):
        state.apply(operation(identity))
    assert state.members_of(TASKS) == [f"{TASKS}/{name}" for name in ("9", "a", "10")]
    assert state.exists(f"{TASKS}/a") and not state.exists(f"{TASKS}/b")


def test_an_overlay_shows_over_inventory_and_only_there() -> None:
    state = WantedState(BASE)
    state.apply(Edit(Space.OVERLAY, pcie("gpu1"), None, b'{"Name":"mine"}'))
    shown = state.document(pcie("gpu1"))
    assert shown is not None and shown["Name"] == "mine"
    assert BASE.parsed(pcie("gpu1")) != shown
    assert state.document(PCIE_ZONES) is None


def test_members_are_served_in_natural_order() -> None:
    uris = [f"/x/gpu{number}" for number in (10, 2, 1)]
    assert sorted(uris, key=member_order) == ["/x/gpu1", "/x/gpu2", "/x/gpu10"]


def test_ports_and_entities_know_the_discovered_endpoints() -> None:
    entity = "/redfish/v1/Systems/host1"
    assert BASE.links[entity]["/Links/Endpoints"] >= {pcie("host1-1")}
    assert all(uri not in WantedState(BASE).links for uri in (entity, *ENDPOINT_URIS))

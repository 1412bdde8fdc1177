"""Feed records as events: which message of which registry, of what, in which order."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.mapping.event_messages import examples
from redfish_fm.mapping.event_service import SUBMIT_TEST_EVENT
from redfish_fm.mapping.event_states import announced_state
from redfish_fm.mapping.events import FIRST_LOOK, FORGOTTEN, EventSource
from redfish_fm.mapping.uris import EVENT_SERVICE
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.changes import Change, Edit, FeedRecord, Space, feed_record
from redfish_fm.redfish.events import Event, envelope, event_id, fragment, member
from redfish_fm.redfish.writes import Write, WriteKind
from tests.mapping.schemas import SchemaPack
from tests.mapping.subscribing import a_tip
from tests.redfish.builders import CATALOG, REGISTRIES
from tests.redfish.packs import SHARED, pack

ROOT = "/redfish/v1"
FABRIC = f"{ROOT}/Fabrics/F"
ZONE, CONNECTION = f"{FABRIC}/Zones/z", f"{FABRIC}/Connections/c"
ENDPOINT, POOL = f"{FABRIC}/Endpoints/e", f"{FABRIC}/AddressPools/p"
SWITCH = f"{FABRIC}/Switches/s"
PORT, UPSTREAM = f"{SWITCH}/Ports/D1", f"{SWITCH}/Ports/U1"
VPPB = f"{SWITCH}/VCSs/0/VPPBs/1"
DEVICE = f"{ROOT}/Chassis/g/PCIeDevices/g"
DRIVE, SENSOR = f"{ROOT}/Chassis/g/Drives/d", f"{ROOT}/Chassis/g/Sensors/t"
SYSTEM, COMPOSED = f"{ROOT}/Systems/h", f"{ROOT}/Systems/composed"
HOST_PORT = f"{SYSTEM}/Processors/p/Ports/1"
ACCOUNT = f"{ROOT}/AccountService/Accounts/a"
BLOCKS = f"{ROOT}/CompositionService/ResourceBlocks"
RESOURCE_ZONE = f"{ROOT}/CompositionService/ResourceZones/r"
RESERVATION = f"{ROOT}/CompositionService/CompositionReservations/v"
TASK = f"{ROOT}/TaskService/Tasks/7"
INVENTORY = {UPSTREAM: {"PortType": "UpstreamPort"}, PORT: {"PortType": "DownstreamPort"}}
RESOURCE = "ResourceEvent.Resource"


def type_of(uri: str) -> str | None:
    found = CATALOG.type_of(uri)
    return None if found is None else found.name


SOURCE = EventSource(REGISTRIES, type_of, INVENTORY.get)


def document(uri: str, **more: Any) -> bytes:
    kind = type_of(uri)
    return msgspec.json.encode({"@odata.id": uri, "@odata.type": f"#{kind}.v1_0_0.{kind}", **more})


def blocks(*names: str) -> dict[str, Any]:
    return {"Links": {"ResourceBlocks": [{"@odata.id": f"{BLOCKS}/{name}"} for name in names]}}


def record(*edits: Edit, seq: int = 9, actor: str = "admin") -> FeedRecord:
    return feed_record(Change(seq, 1_760_000_000.0, actor, edits))


def put(uri: str, pre: bytes | None, post: bytes | None, space: Space = Space.DOCUMENT) -> Edit:
    return Edit(space, uri, pre, post)


def seen(uri: str, pre: dict[str, Any], post: dict[str, Any]) -> Edit:
    encoded = (msgspec.json.encode(each) if each else None for each in (pre, post))
    return put(uri, *encoded, space=Space.ANNOUNCED)


def events(*edits: Edit, **more: Any) -> tuple[Event, ...]:
    return SOURCE.events_of(record(*edits, **more))


def told(*edits: Edit, **more: Any) -> list[tuple[str, ...]]:
    """Return key and arguments of the messages about the resource of the first edit."""
    found = events(*edits, **more)
    return [(each.message.key, *each.message.args) for each in found if each.origin == edits[0].key]


def test_every_message_has_the_arguments_of_its_registry() -> None:
    REGISTRIES.check(examples())
    assert len({each.key for each in examples()}) == len([*examples()])


@pytest.mark.parametrize("name", ["Zone", "Connection", "Endpoint", "AddressPool"])
def test_what_becomes_of_a_resource_of_a_fabric_is_told_by_both_registries(name: str) -> None:
    uri = {"Zone": ZONE, "Connection": CONNECTION, "Endpoint": ENDPOINT, "AddressPool": POOL}[name]
    made, other = document(uri), document(uri, Name="other")
    who = (uri.rpartition("/")[2], "F")
    assert told(put(uri, None, made)) == [(f"{RESOURCE}Created",), (f"Fabric.{name}Created", *who)]
    assert told(put(uri, made, other)) == [
        (f"{RESOURCE}Changed",),
        (f"Fabric.{name}Modified", *who),
    ]
    assert told(put(uri, other, None)) == [(f"{RESOURCE}Removed",), (f"Fabric.{name}Removed", *who)]


def test_of_two_that_say_the_same_the_general_one_names_the_other() -> None:
    general, exact = events(put(ZONE, None, document(ZONE)))
    assert (general.specific, exact.specific) == (True, False)
    assert general.group == exact.group != 0


@pytest.mark.parametrize("uri", [ACCOUNT, f"{ROOT}/EventService/Subscriptions/1"])
def test_of_an_account_or_a_subscription_only_that_it_changed_is_told(uri: str) -> None:
    made = document(uri, UserName="secret-name", Destination="https://secret-name/")
    (event,) = events(put(uri, None, made))
    assert event.message.key == f"{RESOURCE}Created"
    assert (event.origin, event.group) == (uri, 0)
    assert "secret-name" not in json.dumps(member(event, REGISTRIES))


def test_secrets_and_records_are_not_told() -> None:
    assert (
        events(put(ACCOUNT, None, b"hash", Space.SECRET), put("7", None, b"{}", Space.OPERATION))
        == ()
    )


def test_a_removed_resource_is_named_and_said_to_be_gone() -> None:
    for event in events(put(ZONE, document(ZONE), None)):
        assert (event.origin, event.gone, event.origin_type) == (ZONE, True, "Zone")
    assert not any(each.gone for each in events(put(ZONE, None, document(ZONE))))


def test_what_is_laid_over_inventory_is_a_change_of_it() -> None:
    assert told(put(SWITCH, None, b'{"AssetTag":"x"}', Space.OVERLAY)) == [(f"{RESOURCE}Changed",)]
    block = f"{BLOCKS}/b"
    assert told(put(block, b"{}", None, Space.OVERLAY)) == [
        (f"{RESOURCE}Changed",),
        ("Composition.ResourceBlockChanged", "b"),
    ]


def test_a_composition_is_told_of_its_blocks_too() -> None:
    changed = "Composition.ResourceBlockCompositionStateChanged"
    made = events(put(COMPOSED, None, document(COMPOSED, **blocks("b", "a"))))
    assert [(each.message.key, each.origin, each.origin_type) for each in made] == [
        (f"{RESOURCE}Created", COMPOSED, "ComputerSystem"),
        (changed, f"{BLOCKS}/a", "ResourceBlock"),
        (changed, f"{BLOCKS}/b", "ResourceBlock"),
    ]
    before, after = document(COMPOSED, **blocks("a", "b")), document(COMPOSED, **blocks("b", "c"))
    assert [each.origin for each in events(put(COMPOSED, before, after))[1:]] == [
        f"{BLOCKS}/a",
        f"{BLOCKS}/c",
    ]
    gone = events(put(COMPOSED, before, None))
    assert [each.gone for each in gone] == [True, False, False]


def test_a_reservation_is_told_of_its_blocks_and_a_resource_zone_of_its_members() -> None:
    body = {"ReservedResourceBlocks": [{"@odata.id": f"{BLOCKS}/a"}]}
    made = events(put(RESERVATION, None, document(RESERVATION, **body)))
    assert [each.message.key for each in made] == [
        f"{RESOURCE}Created",
        "Composition.ResourceBlockChanged",
    ]
    before = document(RESOURCE_ZONE, **blocks("a"))
    assert told(put(RESOURCE_ZONE, before, document(RESOURCE_ZONE, **blocks("b")))) == [
        (f"{RESOURCE}Changed",),
        ("Composition.ResourceZoneMembershipChanged", "r"),
    ]


def test_a_document_of_an_odd_shape_is_told_of_all_the_same() -> None:
    odd = b'{"@odata.type":"#ComputerSystem.v1_0_0.ComputerSystem","Links":"none"}'
    assert told(put(COMPOSED, None, odd)) == [(f"{RESOURCE}Created",)]


DOWN = {"LinkStatus": "LinkDown"}
CRITICAL = {"State": "UnavailableOffline", "Health": "Critical", "HealthRollup": "Critical"}
STATUS = f"{RESOURCE}StatusChanged"


@pytest.mark.parametrize(
    ("uri", "pre", "post", "wanted"),
    [
        (PORT, {}, DOWN, [(f"{RESOURCE}Changed",), ("Fabric.DownstreamLinkDropped", "s", "D1")]),
        (
            PORT,
            {"LinkStatus": "Training"},
            {},
            [(f"{RESOURCE}Changed",), ("Fabric.DownstreamLinkEstablished", "s", "D1")],
        ),
        (PORT, DOWN, {"LinkStatus": "Training"}, []),
        (UPSTREAM, {}, {"LinkStatus": "NoLink"}, [
            (f"{RESOURCE}Changed",), ("Fabric.UpstreamLinkDropped", "s", "U1"),
        ]),
        (HOST_PORT, {}, DOWN, [(f"{RESOURCE}Changed",)]),
        (PORT, {}, {"Health": "Critical", "HealthRollup": "Critical"}, [
            (f"{STATUS}Critical", PORT, "Critical"), ("Fabric.PortFailed", "s", "D1"),
        ]),
        (PORT, {"Health": "Warning"}, {}, [
            (f"{STATUS}OK", PORT, "OK"), ("Fabric.PortOK", "s", "D1"),
        ]),
        (SWITCH, {}, {"HealthRollup": "Critical"}, [
            ("RedfishFM.HealthRollupCritical", SWITCH), ("Fabric.SwitchDegraded", "s"),
        ]),
        (SWITCH, {"HealthRollup": "Critical"}, {"Health": "Critical", "HealthRollup": "Critical"}, [
            (f"{STATUS}Critical", SWITCH, "Critical"), ("Fabric.SwitchFailed", "s"),
        ]),
        (SWITCH, {"Health": "Critical", "HealthRollup": "Critical"}, {}, [
            (f"{STATUS}OK", SWITCH, "OK"), ("Fabric.SwitchOK", "s"),
        ]),
        (SWITCH, {"HealthRollup": "Warning"}, {"HealthRollup": "Critical"}, [
            ("RedfishFM.HealthRollupCritical", SWITCH),
        ]),
        (ENDPOINT, {}, CRITICAL, [
            (f"{STATUS}Critical", ENDPOINT, "Critical"),
            (f"{RESOURCE}StateChanged", ENDPOINT, "UnavailableOffline"),
        ]),
        (ENDPOINT, CRITICAL, {}, [
            (f"{STATUS}OK", ENDPOINT, "OK"), (f"{RESOURCE}StateChanged", ENDPOINT, "Enabled"),
        ]),
        (SYSTEM, {}, {"HealthRollup": "Warning"}, [("RedfishFM.HealthRollupWarning", SYSTEM)]),
        (SYSTEM, {"PowerState": "Off"}, {"PowerState": "PoweringOn"}, [
            (f"{RESOURCE}PoweringOn", SYSTEM),
        ]),
        (SYSTEM, {"PowerState": "PoweringOn"}, {}, [(f"{RESOURCE}PoweredOn", SYSTEM)]),
        (VPPB, {}, {"BindingStatus": "BoundLD"}, [(f"{RESOURCE}Changed",)]),
        (DRIVE, {}, {"State": "Absent"}, [
            (f"{RESOURCE}StateChanged", DRIVE, "Absent"), ("StorageDevice.DriveRemoved", "d"),
        ]),
        (DRIVE, {"State": "Absent"}, {}, [
            (f"{RESOURCE}StateChanged", DRIVE, "Enabled"), ("StorageDevice.DriveInserted", "d"),
        ]),
        (DRIVE, {"State": "Starting"}, {}, [(f"{RESOURCE}StateChanged", DRIVE, "Enabled")]),
        (f"{BLOCKS}/b", {}, {"State": "Disabled"}, [
            (f"{RESOURCE}StateChanged", f"{BLOCKS}/b", "Disabled"),
            ("Composition.ResourceBlockStateChanged", "b"),
        ]),
        (SENSOR, {}, CRITICAL, []),
    ],
)  # fmt: skip
def test_a_transition_is_told_once_in_the_words_of_its_type(
    uri: str, pre: dict[str, Any], post: dict[str, Any], wanted: list[tuple[str, ...]]
) -> None:
    assert told(seen(uri, pre, post), actor="observe") == wanted


def test_health_that_changes_is_one_status_change_for_each_direction() -> None:
    for change in (seen(ENDPOINT, {}, CRITICAL), seen(ENDPOINT, CRITICAL, {})):
        kinds = [each.kind.value for each in events(change, actor="observe")]
        assert kinds.count("StatusChange") == 1


WHY = {"down": ["ResourceEvent.ResourceErrorsDetected", DEVICE, "the link is down"]}
VIOLATED = {"v": ["RedfishFM.IsolationViolated", DEVICE, "host"]}
FOREIGN = {"f": ["RedfishFM.ForeignBinding", VPPB]}


@pytest.mark.parametrize(
    ("uri", "why", "begins", "ends"),
    [
        (DEVICE, WHY, f"{RESOURCE}ErrorsDetected", f"{RESOURCE}ErrorsCorrected"),
        (DEVICE, VIOLATED, "RedfishFM.IsolationViolated", "RedfishFM.IsolationRestored"),
        (VPPB, FOREIGN, "RedfishFM.ForeignBinding", "RedfishFM.ForeignBindingGone"),
    ],
)
def test_a_condition_is_told_when_it_begins_and_when_it_ends(
    uri: str, why: dict[str, list[str]], begins: str, ends: str
) -> None:
    args = next(iter(why.values()))[1:]
    assert told(seen(uri, {}, {"Why": why}), actor="observe") == [(begins, *args)]
    assert told(seen(uri, {"Why": why}, {}), actor="observe") == [(ends, *args)]
    assert told(seen(uri, {"Why": why}, {"Why": why, "State": "Starting"})) == [
        (f"{RESOURCE}StateChanged", uri, "Starting")
    ]


def test_a_link_flap_reads_from_the_port_to_the_composition_whatever_the_order_of_edits() -> None:
    change = [
        seen(COMPOSED, {}, {"Health": "Critical", "HealthRollup": "Critical"}),
        seen(SYSTEM, {}, {"HealthRollup": "Critical"}),
        seen(SWITCH, {}, {"HealthRollup": "Critical"}),
        seen(DEVICE, {}, CRITICAL | {"Since": {"down": "T"}, "Why": WHY}),
        seen(PORT, {}, DOWN),
    ]
    found = events(*change, actor="observe")
    assert list(dict.fromkeys(each.origin for each in found)) == [
        PORT, DEVICE, SWITCH, SYSTEM, COMPOSED,
    ]  # fmt: skip
    # One cause, so all belong together.
    assert {each.group for each in found} == {found[0].group} != {0}
    assert SOURCE.events_of(record(*change[::-1], actor="observe")) == found


def test_two_causes_in_one_look_are_two_groups() -> None:
    other = f"{ROOT}/Chassis/k/PCIeDevices/k"
    since = {"Since": {"x": "T"}}
    found = events(
        seen(DEVICE, {}, CRITICAL | since), seen(other, {}, CRITICAL | since), actor="observe"
    )
    groups = {each.origin: each.group for each in found}
    assert groups[DEVICE] != groups[other]
    assert all(groups.values())


def test_what_is_seen_for_the_first_time_is_no_change_but_what_is_wrong_is_told() -> None:
    first = events(
        seen(PORT, {}, {"LinkStatus": "NoLink"}),
        seen(SYSTEM, {}, {"PowerState": "Off", "State": "Disabled"}),
        seen(ENDPOINT, {}, CRITICAL),
        actor=FIRST_LOOK,
    )
    assert [(each.origin, each.message.key) for each in first] == [(ENDPOINT, f"{STATUS}Critical")]


def test_what_is_forgotten_with_its_resource_is_not_told() -> None:
    assert events(seen(ZONE, {"Health": "Critical"}, {}), actor=FORGOTTEN) == ()


@pytest.mark.parametrize(
    ("pre", "post", "keys"),
    [
        ({}, {"TaskState": "Running", "PercentComplete": 0}, ["TaskStarted"]),
        (
            {"TaskState": "Running", "PercentComplete": 0},
            {"TaskState": "Running", "PercentComplete": 50},
            ["TaskProgressChanged"],
        ),
        (
            {"TaskState": "Running", "PercentComplete": 50},
            {"TaskState": "Completed", "TaskStatus": "OK", "PercentComplete": 100},
            ["TaskCompletedOK"],
        ),
        (
            {"TaskState": "Running"},
            {"TaskState": "Completed", "TaskStatus": "Warning"},
            ["TaskCompletedWarning"],
        ),
        (
            {"TaskState": "Stopping"},
            {"TaskState": "Exception", "TaskStatus": "Critical"},
            ["TaskAborted"],
        ),
        (
            {"TaskState": "Cancelling"},
            {"TaskState": "Cancelled", "TaskStatus": "Warning"},
            ["TaskCancelled"],
        ),
        ({}, {"TaskState": "Exception", "TaskStatus": "Critical"}, ["TaskStarted", "TaskAborted"]),
        ({"TaskState": "Completed", "TaskStatus": "OK"}, {}, ["TaskRemoved"]),
    ],
)
def test_a_task_tells_how_far_it_is(
    pre: dict[str, Any], post: dict[str, Any], keys: list[str]
) -> None:
    found = events(seen(TASK, pre, post), actor="tasks")
    assert [each.message.key for each in found] == [f"TaskEvent.{key}" for key in keys]
    assert {each.message.args[0] for each in found} == {"7"}
    assert {(each.origin, each.origin_type) for each in found} == {(TASK, "Task")}
    assert found[-1].gone is (not post)


def test_ids_count_from_one_in_each_record() -> None:
    edits = (put(ZONE, None, document(ZONE)), put(CONNECTION, None, document(CONNECTION)))
    assert [event_id(each) for each in events(*edits, seq=12)] == ["12.1", "12.2", "12.3", "12.4"]


_STATES = st.fixed_dictionaries(
    {},
    optional={
        "State": st.sampled_from(["Absent", "Starting", "UnavailableOffline"]),
        "Health": st.sampled_from(["Warning", "Critical"]),
        "HealthRollup": st.sampled_from(["Warning", "Critical"]),
        "LinkStatus": st.sampled_from(["LinkDown", "NoLink", "Training"]),
        "BindingStatus": st.sampled_from(["BoundLD", "Busy"]),
        "PowerState": st.sampled_from(["Off", "PoweringOff"]),
        "Why": st.sampled_from([WHY, VIOLATED, FOREIGN]),
    },
)
_URIS = st.sampled_from([PORT, UPSTREAM, SWITCH, ENDPOINT, ZONE, DRIVE, SYSTEM, VPPB, HOST_PORT])
_SEEN = st.builds(seen, _URIS, _STATES, _STATES)
_WRITTEN = st.builds(
    lambda uri, pre, post: put(
        uri, document(uri) if pre else None, document(uri, N=1) if post else None
    ),
    st.sampled_from([ZONE, CONNECTION, ACCOUNT, COMPOSED, RESERVATION, POOL]),
    st.booleans(),
    st.booleans(),
).filter(lambda edit: edit.pre is not None or edit.post is not None)  # fmt: skip


@given(st.lists(_SEEN | _WRITTEN, max_size=6))
def test_whatever_a_record_says_its_events_are_in_place_and_true_to_their_registries(
    edits: list[Edit],
) -> None:
    made = record(*edits)
    found = SOURCE.events_of(made)
    assert found == SOURCE.events_of(made)
    assert [each.number for each in found] == [*range(1, len(found) + 1)]
    REGISTRIES.check(each.message for each in found)
    keys = {edit.key for edit in edits}
    for event in found:
        assert event.severity == REGISTRIES.info(event.message.key).severity
        assert event.origin in keys or event.origin_type == "ResourceBlock"
        assert event.origin is not None and not (type_of(event.origin) or "").endswith("Collection")
        assert event.group == 0 or sum(event.group == other.group for other in found) > 1


@given(_URIS, _STATES)
def test_who_was_not_well_is_told_of_once_when_that_is_over(
    uri: str, state: dict[str, Any]
) -> None:
    over = [each.message.key for each in events(seen(uri, state, {}))]
    well = over.count(f"{STATUS}OK") + over.count("RedfishFM.HealthRollupOK")
    assert well == bool(state.keys() & {"Health", "HealthRollup"})


def test_every_event_fits_the_schema_of_the_standard() -> None:
    pack("dmtf-2025.4-json-schema-latest")
    schemas = SchemaPack(SHARED / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")
    edits = [
        put(ZONE, None, document(ZONE)),
        put(ACCOUNT, document(ACCOUNT), None),
        put(COMPOSED, None, document(COMPOSED, **blocks("a"))),
        seen(DEVICE, {}, CRITICAL | {"Why": VIOLATED}),
        seen(PORT, {}, DOWN),
        seen(TASK, {}, {"TaskState": "Running", "PercentComplete": 3}),
    ]
    parts = [fragment(member(each, REGISTRIES)) for each in events(*edits)]
    body = json.loads(envelope("9.1", "c", parts))
    assert len(body["Events"]) > 8
    assert schemas.errors({"@odata.id": "", **body}) == []


def test_what_is_normal_is_not_kept() -> None:
    patch = {
        "Status": {"State": "Enabled", "Health": "OK", "HealthRollup": "OK"},
        "LinkStatus": "LinkUp",
        "PowerState": "On",
        "BindingStatus": "Unbound",
    }
    assert announced_state(PORT, patch) == {}
    assert announced_state(PORT, {"PowerState": "Off"}) == {"PowerState": "Off"}


def test_a_record_of_a_test_is_one_event_of_its_moment_and_nothing_else() -> None:
    asked = {"MessageId": "Other.1.0.Invented", "OriginOfCondition": f"{ROOT}/Chassis/g/"}
    write = Write(WriteKind.ACTION, EVENT_SERVICE, "EventService", "a", asked, SUBMIT_TEST_EVENT)
    (event,) = events(*prepare(write, a_tip()).edits)
    assert event.position == (9, 1)
    assert event.time_s == 1_760_000_000.0
    assert (event.origin, event.origin_type) == (f"{ROOT}/Chassis/g", "Chassis")
    assert event.given == {"MessageId": "Other.1.0.Invented"}

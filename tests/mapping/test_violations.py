"""The table of refusals: complete, well-formed, and true to the registries."""

from pathlib import Path

import pytest

from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.mapping.violations import TABLE, refuse, to_error, to_messages
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.registries import Registries

REFERRING = "Base.PropertyValueResourceConflict"


def test_every_rule_has_a_row() -> None:
    assert set(Rule) - set(TABLE) == set()


def test_every_row_has_a_rule() -> None:
    assert set(TABLE) - set(Rule) == set()


@pytest.mark.parametrize("rule", list(Rule))
def test_a_row_fits_its_registry(rule: Rule, repository: Path) -> None:
    registries = Registries.load(repository / "schemas")
    for message in to_messages([Violation(rule, "/e", "/h", "/Links/Endpoints/1")]):
        registries.check([message])


@pytest.mark.parametrize("rule", list(Rule))
def test_a_row_is_refused_with_400_or_409_and_says_where(rule: Rule) -> None:
    error = to_error([Violation(rule, "/endpoint", "/holder", "/Links/Endpoints/1")])
    assert error.status in (400, 409)
    assert error.messages[0].related == ("#/Links/Endpoints/1",)


ITSELF = {Rule.ZONE_MANY_HOSTS, Rule.ZONE_NESTING}
"""What they collide with may be the new zone, which is nowhere yet: others are named."""


@pytest.mark.parametrize(
    "rule", [rule for rule, row in TABLE.items() if row.status == 409 and row.key == REFERRING]
)
def test_a_conflict_names_who_and_with_whom(rule: Rule) -> None:
    error = to_error([Violation(rule, "/endpoint", "/holder", None, ("/other",))])
    other = "/other" if rule in ITSELF else "/holder"
    assert error.messages[0].args[1:] == ("/endpoint", other)


@pytest.mark.parametrize(
    ("violation", "args"),
    [
        (Violation(Rule.FOREIGN_FABRIC, "/e", "lab", "/Links/Endpoints/0"),
         ("Links/Endpoints/0", "/e", "/redfish/v1/Fabrics/lab")),
        (Violation(Rule.CONNECTION_ACCESS, "/chunk", "Write", "/M/0/AccessCapabilities"),
         ("M/0/AccessCapabilities", "Write", "/chunk")),
        (Violation(Rule.CONNECTION_LUN, "/v2", "/v1", "/VolumeInfo/1/LUN", ("7",)),
         ("VolumeInfo/1/LUN", "7", "/v1")),
        (Violation(Rule.TARGET_UNAVAILABLE, "/e", None, "/Links/Endpoints/0", ("Absent", "OK")),
         ("Links/Endpoints/0", "/e", "/e")),
        (Violation(Rule.ZONE_NESTING, "/zone", "/new", "/Links/ContainsZones/0"),
         ("Links/ContainsZones/0", "/zone", "/zone")),
        (Violation(Rule.ZONE_NESTING, "/zone", "/outer", "/ZoneType"),
         ("ZoneType", "/zone", "/outer")),
        (Violation(Rule.NOT_BINDABLE, "/e", None, "/Links/Endpoints/0"),
         ("Links/Endpoints/0", "/e", "/e")),
        (Violation(Rule.NOT_BINDABLE, "/e", "/device", "/Links/Endpoints/0"),
         ("Links/Endpoints/0", "/e", "/device")),
        (Violation(Rule.NOT_BINDABLE, "/e", None, "/ConnectedEntities"), ("ConnectedEntities",)),
        (Violation(Rule.FOREIGN_FABRIC, "/new", "lab", "/ConnectedEntities", ("/device",)),
         ("ConnectedEntities", "/device", "/redfish/v1/Fabrics/lab")),
        (Violation(Rule.DEFAULT_ROUTING, "/e", "/default", "/DefaultRoutingEnabled"),
         ("DefaultRoutingEnabled", "true", "/e")),
        (Violation(Rule.DEFAULT_ROUTING, "/e", "/default", "/Links/Endpoints/2"),
         ("Links/Endpoints/2", "/e", "/default")),
    ],
)  # fmt: skip
def test_the_arguments_are_property_value_and_a_resource_that_is_there(
    violation: Violation, args: tuple[str, ...]
) -> None:
    assert to_error([violation]).messages[0].args == args


@pytest.mark.parametrize(
    ("rule", "others", "named"),
    [
        (Rule.HOST_SHARING, ("/own", "/b"), ["/b"]),
        (Rule.HOST_SHARING, ("/own", "/b", "NQN:2", "/c"), ["/b", "/c"]),
        (Rule.HOST_SHARING, ("/own", "UUID:1"), ["/endpoint"]),
        (Rule.CONNECTION_NO_COMMON_ZONE, ("/initiator", "/connection"),
         ["/initiator", "/connection"]),
        (Rule.CONNECTION_NO_COMMON_ZONE, (), ["/endpoint"]),
    ],
)  # fmt: skip
def test_without_holder_each_of_the_others_is_named_by_its_uri(
    rule: Rule, others: tuple[str, ...], named: list[str]
) -> None:
    error = to_error([Violation(rule, "/endpoint", None, None, others)])
    assert [each.args[2] for each in error.messages if each.key == REFERRING] == named


def test_400_wins_over_409_and_all_are_told() -> None:
    error = to_error(
        [Violation(Rule.HOST_SHARING, "/e", "/z"), Violation(Rule.UNKNOWN_MEMBER, "/none")]
    )
    assert error.status == 400
    assert [each.key for each in error.messages] == [
        "Base.ResourceMissingAtURI",
        REFERRING,
        "Base.ResourceInUse",
    ]


def test_what_content_can_not_be_is_told_with_all_violations() -> None:
    bad = Message("Base.PropertyMissing", ("Name",))
    conflict = Violation(Rule.HOST_SHARING, "/e", "/z")
    with pytest.raises(RedfishError) as caught:
        refuse([bad, bad], [conflict])
    assert caught.value.status == 400
    assert caught.value.messages == (bad, *to_messages([conflict]))
    with pytest.raises(RedfishError) as caught:
        refuse([], [conflict])
    assert caught.value.status == 409
    refuse([], [])


def test_a_violation_told_twice_is_one_message() -> None:
    same = Violation(Rule.UNKNOWN_MEMBER, "/none")
    assert len(to_messages([same, same])) == 1


def test_an_action_parameter_takes_the_place_of_the_pointer() -> None:
    error = to_error(
        [Violation(Rule.HOST_SHARING, "/e", "/z", "/Links/Endpoints/7")], {"/e": "#/Endpoint"}
    )
    assert error.messages[0].args[0] == "Endpoint"
    assert error.messages[0].related == ("#/Endpoint",)


@pytest.mark.parametrize(
    ("rule", "args"),
    [
        (Rule.PART_SIZE, ("MemoryChunkSizeMiB", "300")),
        (Rule.PART_RANGE, ("300", "MemoryChunkSizeMiB")),
        (Rule.POOL_EXHAUSTED, ("/pool",)),
        (Rule.NOT_CARVABLE, ("/pool",)),
    ],
)
def test_a_part_that_can_not_be_made_is_told_with_its_value_or_its_source(
    rule: Rule, args: tuple[str, ...]
) -> None:
    error = to_error([Violation(rule, "300", "/pool", "/MemoryChunkSizeMiB")])
    assert error.messages[0].args == args


def test_what_is_not_bound_through_a_vppb_is_sent_to_connections() -> None:
    error = to_error([Violation(Rule.VPPB_WRONG_UNIT, "/device", "/vppb", "/Links/Port")])
    assert (error.status, error.messages[0].args) == (400, ("Links/Port", "Connection"))


def test_a_side_of_both_is_told_with_both_properties() -> None:
    violation = Violation(
        Rule.CONNECTION_SIDES, "/c", "Links/TargetEndpointGroups", "/Links/TargetEndpoints"
    )
    error = to_error([violation])
    assert error.messages[0].args == ("Links/TargetEndpoints", "Links/TargetEndpointGroups")

"""The table of refusals: complete, well-formed, and true to the registries."""

from pathlib import Path

import pytest

from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.mapping.violations import TABLE, to_error, to_messages
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


@pytest.mark.parametrize(
    "rule", [rule for rule, row in TABLE.items() if row.status == 409 and row.key == REFERRING]
)
def test_a_conflict_names_who_and_with_whom(rule: Rule) -> None:
    error = to_error([Violation(rule, "/endpoint", "/holder")])
    assert error.messages[0].args[1:] == ("/endpoint", "/holder")


def test_without_holder_the_others_are_named() -> None:
    error = to_error([Violation(Rule.ZONE_MANY_HOSTS, "/endpoint", None, None, ("/a", "/b"))])
    assert error.messages[0].args[2] == "/a /b"


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

"""Resets of ports of a CXL switch on a wire, through plain Redfish, down to the bytes."""

from collections.abc import Iterator

import pytest

from tests.e2e.fmapi_pair import FIXED, SWITCH, Pair, paired
from tests.e2e.fmapi_tap import Spoil

CONTROL = 0x5102
ASSERT, DEASSERT, RESET_PPB = range(3)
PORT, UPSTREAM = f"{SWITCH}/Ports/{FIXED}", f"{SWITCH}/Ports/0"
THERE = "/redfish/v1/Fabrics/CXL/Switches/cxl1/Ports/D1/Metrics"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Return two services that are connected."""
    with paired(tmp_path_factory.mktemp("pair")) as found:
        yield found


def recoveries(pair: Pair) -> int:
    """Return how often the simulated link was trained anew."""
    return int(pair.there.get(THERE)["PCIeErrors"]["L0ToRecoveryCount"])


def requests(pair: Pair, since: int) -> list[bytes]:
    return [told.request for told in pair.tap.changes(since) if told.opcode == CONTROL]


def test_a_port_says_what_it_takes(pair: Pair) -> None:
    actions = pair.manager.get(PORT)["Actions"]
    described = pair.manager.get(actions["#Port.Reset"]["@Redfish.ActionInfo"])
    (parameter,) = described["Parameters"]
    assert (parameter["Name"], parameter["AllowableValues"]) == ("ResetType", ["ForceRestart"])
    described = pair.manager.get(actions["#Port.ResetPPB"]["@Redfish.ActionInfo"])
    assert described["Parameters"] == []
    assert "Actions" not in pair.manager.get(UPSTREAM)


def test_a_bridge_is_reset_by_one_command(pair: Pair) -> None:
    since, before = pair.tap.mark(), recoveries(pair)
    pair.write("POST", f"{PORT}/Actions/Port.ResetPPB", {})
    assert requests(pair, since) == [bytes((FIXED, RESET_PPB))]
    pair.until(lambda: recoveries(pair), before + 1)
    pair.until(lambda: pair.manager.get(PORT)["LinkStatus"], "LinkUp")


def test_a_fundamental_reset_is_two(pair: Pair) -> None:
    since, before = pair.tap.mark(), recoveries(pair)
    pair.write("POST", f"{PORT}/Actions/Port.Reset", {"ResetType": "ForceRestart"})
    assert requests(pair, since) == [bytes((FIXED, ASSERT)), bytes((FIXED, DEASSERT))]
    pair.until(lambda: recoveries(pair), before + 1)
    pair.until(lambda: pair.manager.get(PORT)["LinkStatus"], "LinkUp")


@pytest.mark.parametrize(
    ("uri", "body", "key"),
    [
        (f"{UPSTREAM}/Actions/Port.ResetPPB", {}, "ActionNotSupported"),
        (f"{PORT}/Actions/Port.Reset", {"ResetType": "On"}, "ActionParameterValueNotInList"),
        (f"{PORT}/Actions/Port.Reset", {}, "ActionParameterMissing"),
        (f"{PORT}/Actions/Port.ResetPPB", {"Now": True}, "ActionParameterUnknown"),
    ],
)
def test_what_can_not_be_is_refused_and_nothing_reaches_the_wire(
    pair: Pair, uri: str, body: dict[str, object], key: str
) -> None:
    since = pair.tap.mark()
    answer = pair.manager("POST", uri, body)
    assert answer.status == 400
    assert key in str(answer.body)
    assert requests(pair, since) == []


def test_a_reset_whose_answer_is_lost_is_told_so_and_not_repeated(pair: Pair) -> None:
    since = pair.tap.mark()
    pair.tap.spoil(CONTROL, Spoil.LOSE)
    answer = pair.manager("POST", f"{PORT}/Actions/Port.ResetPPB", {})
    if answer.status == 202:
        answer = pair.end_of(answer.headers["location"])
    assert answer.status == 409
    assert "OperationTimeout" in str(answer.body)
    assert requests(pair, since) == [bytes((FIXED, RESET_PPB))]

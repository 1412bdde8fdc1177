"""docs/isolation-by-kind.md says what the rules say, and kinds of fabric do differ."""

from pathlib import Path

import pytest

from tests.fabric.kinds_table import KINDS, ROWS, outcomes, table


def test_the_guide_is_what_the_rules_say(repository: Path) -> None:
    guide = (repository / "docs" / "isolation-by-kind.md").read_text(encoding="utf-8")
    assert guide == table(), "python -m tests.fabric.kinds_table > docs/isolation-by-kind.md"


def test_isolation_md_leads_to_it(repository: Path) -> None:
    guide = (repository / "docs" / "isolation.md").read_text(encoding="utf-8")
    assert "](isolation-by-kind.md)" in guide


@pytest.mark.parametrize(
    ("given", "request_", "expected"),
    [
        ("nothing", "zone with H1 and D", ["accepted, binds", "accepted", "accepted"]),
        (
            "nothing",
            "zone with H1, H2 and D",
            ["409 HOST_SHARING, ZONE_MANY_HOSTS", "accepted", "accepted"],
        ),
        (
            "nothing",
            "Connection of H1 to D",
            ["409 CONNECTION_NO_COMMON_ZONE", "accepted", "accepted, binds"],
        ),
        (
            "zone with H1, H2, S; Connection of H1 to S",
            "Connection of H2 to S",
            ["accepted", "accepted", "accepted, binds"],
        ),
    ],
)
def test_the_same_request_does_what_design_says(
    given: str, request_: str, expected: list[str]
) -> None:
    """Written by hand from DESIGN sections 5 and 6, so that the table can not be wrong as one."""
    (row,) = [each for each in ROWS if (each.words, each.request) == (given, request_)]
    assert outcomes(row) == expected


def test_every_row_has_one_answer_for_each_kind() -> None:
    assert all(len(outcomes(row)) == len(KINDS) for row in ROWS)

"""How long a client waits before it asks again."""

import datetime

import pytest

from redfish_fm.client.pace import Pace, retry_after_s

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("value", "wanted_s"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("9" * 400, 999999999.0),
        ("Fri, 02 Jan 2026 03:04:15 GMT", 10.0),
        ("Fri, 02 Jan 2026 03:04:15 -0000", 10.0),
        ("Fri, 02 Jan 2026 03:04:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        (None, None),
    ],
)
def test_a_retry_after_has_seconds_or_a_date(value: str | None, wanted_s: float | None) -> None:
    assert retry_after_s(value, NOW) == wanted_s


def test_waits_double_up_to_the_longest() -> None:
    pace = Pace(wait_s_first=0.5, wait_s_max=3)
    assert [pace.wait_s(n, None, NOW) for n in (1, 2, 3, 4, 5)] == [0.5, 1.0, 2.0, 3, 3]


def test_what_the_service_asks_for_counts_up_to_the_longest() -> None:
    pace = Pace(wait_s_max=30)
    assert [pace.wait_s(5, value, NOW) for value in ("0", "2", "86400")] == [0, 2, 30]

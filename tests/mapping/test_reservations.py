"""How long reservations last, and who takes one."""

import pytest

from redfish_fm.mapping.reservations import duration_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT10M", 600.0),
        ("P1D", 86400.0),
        ("P1DT2H3M4S", 93784.0),
        ("PT0.5S", 0.5),
        ("PT3H", 10800.0),
        ("PT0S", 0.0),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "P", "PT", "10M", "PT10", "P1M", "-PT1S", "PT1S ", None, 5])
def test_what_is_none_is_not(text: object) -> None:
    assert duration_s(text) is None

"""Numbers of a mockup's logical devices."""

import pytest

from redfish_fm.mapping.imported_devices import ld_numbers

PLACE = "/redfish/v1/Chassis/mem1/PCIeDevices/mem1/CXLLogicalDevices/"


@pytest.mark.parametrize(
    "names",
    [
        ["0", "1", "01"],
        ["0", "1", "\u0661"],
        ["0", "1", "2", "3", "5", "a"],
        ["a", "b", "0"],
        ["1", "9" * 5000],
    ],
)
def test_no_two_logical_devices_of_a_device_have_one_number(names: list[str]) -> None:
    siblings = [PLACE + name for name in names]
    numbers = list(ld_numbers(siblings).values())
    assert len(set(numbers)) == len(siblings)
    plain = {"0": 0, "1": 1, "2": 2, "3": 3, "5": 5}
    assert all(plain.get(name, n) == n for name, n in zip(names, numbers, strict=True))


def test_names_that_are_no_numbers_are_counted_from_zero() -> None:
    siblings = [PLACE + name for name in ("LD1", "LD2")]
    assert list(ld_numbers(siblings).values()) == [0, 1]

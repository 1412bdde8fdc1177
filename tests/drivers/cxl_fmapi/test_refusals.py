"""Return codes as the three errors of a driver."""

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.numbers import ReturnCode
from redfish_fm.drivers.cxl_fmapi.refusals import Refused, check

NEVER = {ReturnCode.UNSUPPORTED, ReturnCode.UNSUPPORTED_MAILBOX}
YES = {ReturnCode.SUCCESS, ReturnCode.BACKGROUND_STARTED}


@pytest.mark.parametrize("code", [*ReturnCode, 0x1234])
def test_every_code_has_its_meaning(code: int) -> None:
    if code in YES:
        check(0x5201, code)
        return
    with pytest.raises(DriverUnsupported if code in NEVER else DriverRejected) as caught:
        check(0x5201, code)
    assert f"{code:04X}h" in str(caught.value)
    assert str(caught.value).startswith("Bind vPPB (5201h) was answered with ")


def test_a_refusal_keeps_a_code_that_nobody_knows() -> None:
    with pytest.raises(Refused, match="1234h") as caught:
        check(0x7777, 0x1234)
    assert caught.value.code == 0x1234


def test_the_codes_of_the_standard_are_all_there_and_in_order() -> None:
    assert [int(code) for code in ReturnCode] == list(range(0x21))

"""What a switch's return codes mean to a driver: yes, not now, never, or no. Pure."""

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.commands import name_of
from redfish_fm.drivers.cxl_fmapi.numbers import ReturnCode

UNSUPPORTED = frozenset({ReturnCode.UNSUPPORTED, ReturnCode.UNSUPPORTED_MAILBOX})
"""The command does not exist here, and will not later."""

ACCEPTED = frozenset({ReturnCode.SUCCESS, ReturnCode.BACKGROUND_STARTED})


class Refused(DriverRejected):
    """The switch said no; `code` is its return code, which may be none of ReturnCode."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class SwitchBusy(DriverUnavailable):
    """The switch was busy with something else until the deadline; the command did not run."""


class BadAnswer(DriverUnavailable):
    """The switch answered something that can not be read."""


def code_name(code: int) -> str:
    """Return what to call a return code in a message to people."""
    known = ReturnCode(code).name if code in set(ReturnCode) else "unknown"
    return f"{code:04X}h ({known})"


def check(opcode: int, code: int) -> None:
    """Raise what a return code means, nothing where the command was accepted."""
    if code in ACCEPTED:
        return
    text = f"{name_of(opcode)} was answered with {code_name(code)}"
    if code in UNSUPPORTED:
        raise DriverUnsupported(text)
    raise Refused(text, code)

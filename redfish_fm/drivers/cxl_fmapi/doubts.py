"""How often a device must fail to tell something before that is believed. Pure.

Answers that are spoiled or lost must not make memory and bandwidth vanish, and one device must not
keep a manager from its switch and all the others.
"""

from collections.abc import Container, Iterable

from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.discovering import DeviceSurvey, Survey
from redfish_fm.drivers.cxl_fmapi.switch_commands import PortState

BELIEVED_AFTER = 4
"""Surveys in a row that have to miss what a device told before, or all of it."""

_EVERYTHING = "everything"
"""What a device in trouble does not tell."""

_NAME = "name"
"""What a device that is new may refuse to tell; which one it is follows from it."""


class Doubts:
    """What the devices of one switch failed to tell the last times, by port."""

    def __init__(self) -> None:
        self._times: dict[int, dict[str, int]] = {}

    @property
    def ports(self) -> Container[int]:
        """Return the ports whose devices told less than they should the last time."""
        return self._times.keys()

    def believed(
        self, known: Survey | None, port: int, state: PortState, device: DeviceSurvey
    ) -> DeviceSurvey:
        """Return what is to be taken over of what a device told; `known` is of the same switch.

        What is missing for long enough is gone, and of a device that is in trouble for as long
        everything is as it was. Raises DriverUnavailable until then, and for one in trouble of
        which nothing was ever known: taken for another device, its bindings would be nobody's.
        """
        before = None if known is None else known.devices.get(port)
        times = self._count(port, _missing(before, device))
        if any(count < BELIEVED_AFTER for count in times.values()):
            raise DriverUnavailable(
                device.trouble or f"the device at port {port} does not tell all that it told before"
            )
        if not device.trouble:
            return device
        if known is None or before is None or _looks(known.ports[port]) != _looks(state):
            raise DriverUnavailable(device.trouble)
        return before

    def _count(self, port: int, missing: Iterable[str]) -> dict[str, int]:
        """Return how often each of these was missing in a row, this time included."""
        counted = self._times.pop(port, {})
        times = {fact: counted.get(fact, 0) + 1 for fact in missing}
        if times:
            self._times[port] = times
        return times


def _missing(before: DeviceSurvey | None, device: DeviceSurvey) -> frozenset[str]:
    if device.trouble:
        return frozenset({_EVERYTHING})
    if before is None:
        return frozenset({_NAME} if device.nameless else ())
    return before.told - device.told


def _looks(state: PortState) -> tuple[int, int]:
    return state.device_type, state.ld_count

"""Each invariant of chained switches, broken once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.model import Inventory, PortId, PortRole
from tests.drivers.chains import inventory

Change = Callable[[Inventory], Inventory]


def port(switch: str, name: str, **changes: Any) -> Change:
    def change(sound: Inventory) -> Inventory:
        return replace(
            sound,
            switches=tuple(
                replace(
                    each,
                    ports=tuple(
                        replace(p, **changes) if p.id == PortId(switch, name) else p
                        for p in each.ports
                    ),
                )
                for each in sound.switches
            ),
        )

    return change


def vcs(switch: str, **changes: Any) -> Change:
    """Change the virtual switch of host1 on a switch."""

    def change(sound: Inventory) -> Inventory:
        return replace(
            sound,
            switches=tuple(
                replace(
                    each,
                    virtual_switches=tuple(
                        replace(v, **changes) if (v.switch, v.host) == (switch, "host1") else v
                        for v in each.virtual_switches
                    ),
                )
                for each in sound.switches
            ),
        )

    return change


def without(switch: str) -> Change:
    """Leave host1 without a virtual switch on a switch."""

    def change(sound: Inventory) -> Inventory:
        return replace(
            sound,
            switches=tuple(
                replace(
                    each,
                    virtual_switches=tuple(
                        v for v in each.virtual_switches if (v.switch, v.host) != (switch, "host1")
                    ),
                )
                for each in sound.switches
            ),
        )

    return change


def in_a_circle(sound: Inventory) -> Inventory:
    return vcs("top", upstream_port="F1", through="leaf1")(sound)


BROKEN: list[tuple[Change, str]] = [
    (
        port("top", "F1", peer=PortId("leaf1", "F2")),
        "port F1 has peer PortId(switch='leaf1', port=",
    ),
    (port("top", "F1", peer=PortId("top", "F1")), "which is none"),
    (port("top", "F1", peer=PortId("gone", "F1")), "which is none"),
    (port("top", "F1", peer=None), "switch leaf1: port F1 has peer"),
    (port("top", "F1", device="near1"), "port F1 is cabled to a switch and to something else"),
    (port("top", "F1", role=PortRole.DOWNSTREAM), "leads to a switch and is a DownstreamPort"),
    (vcs("leaf1", through=None), "has upstream port F1, which is a InterswitchPort"),
    (vcs("top", through="leaf1"), "has upstream port U1, which is a UpstreamPort"),
    (vcs("leaf1", through="leaf2"), "through leaf2, where its upstream port does not lead"),
    (without("leaf1"), "switch deep: virtual switch 1 comes in where host host1 does not"),
    (without("top"), "switch leaf1: virtual switch 1 comes in where host host1 does not"),
    (in_a_circle, "switch leaf1: virtual switch 1 comes in in a circle"),
]


@pytest.mark.parametrize(("change", "text"), BROKEN)
def test_a_broken_invariant_is_named(change: Change, text: str) -> None:
    assert any(text in line for line in defects(change(inventory())))


def test_a_sound_chain_has_no_defects() -> None:
    assert defects(inventory()) == []

"""Each invariant of model.Inventory, broken once; all defects at once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.model import (
    LD_FM_OWNED,
    Device,
    Inventory,
    LogicalDevice,
    Port,
    VirtualSwitch,
)
from tests.fabric.builders import an_inventory


def switch(**changes: Any) -> Callable[[Inventory], Inventory]:
    def change(sound: Inventory) -> Inventory:
        return replace(sound, switches=(replace(sound.switches[0], **changes),))

    return change


def port(position: int, **changes: Any) -> Callable[[Inventory], Inventory]:
    def change(sound: Inventory) -> Inventory:
        ports: list[Port] = list(sound.switches[0].ports)
        ports[position] = replace(ports[position], **changes)
        return switch(ports=tuple(ports))(sound)

    return change


def vcs(**changes: Any) -> Callable[[Inventory], Inventory]:
    def change(sound: Inventory) -> Inventory:
        first, *rest = sound.switches[0].virtual_switches
        found: tuple[VirtualSwitch, ...] = (replace(first, **changes), *rest)
        return switch(virtual_switches=found)(sound)

    return change


def mld(**changes: Any) -> Callable[[Inventory], Inventory]:
    def change(sound: Inventory) -> Inventory:
        *rest, last = sound.devices
        devices: tuple[Device, ...] = (*rest, replace(last, **changes))
        return replace(sound, devices=devices)

    return change


def twice(field: str) -> Callable[[Inventory], Inventory]:
    def change(sound: Inventory) -> Inventory:
        values: tuple[Any, ...] = getattr(sound, field)
        changes: dict[str, Any] = {field: (*values, values[0])}
        return replace(sound, **changes)

    return change


BROKEN = [
    (twice("switches"), "switch SW is defined 2 times"),
    (twice("hosts"), "host H1 is defined 2 times"),
    (twice("devices"), "device D1 is defined 2 times"),
    (
        lambda sound: switch(ports=(*sound.switches[0].ports, sound.switches[0].ports[0]))(sound),
        "switch SW: port U1 is defined 2 times",
    ),
    (
        lambda sound: switch(virtual_switches=sound.switches[0].virtual_switches * 2)(sound),
        "switch SW: virtual switch V1 is defined 2 times",
    ),
    (port(0, host="H9"), "switch SW: port U1 names host H9, which does not exist"),
    (port(2, device="D9"), "switch SW: port D1 names device D9, which does not exist"),
    (port(0, device="D1"), "switch SW: port U1 is cabled to host H1 and to device D1"),
    (port(2, host_port=1), "switch SW: port D1 has host port 1, which no host can have"),
    (switch(id="SX"), "switch SX: port U1 says it belongs to switch SW"),
    (switch(id="SX"), "switch SX: virtual switch V1 says it belongs to switch SW"),
    (
        vcs(upstream_port="U9"),
        "switch SW: virtual switch V1 names upstream port U9, which does not exist",
    ),
    (
        vcs(upstream_port="D1"),
        "switch SW: virtual switch V1 has upstream port D1, which is a DownstreamPort",
    ),
    (
        vcs(upstream_port="U2"),
        "switch SW: virtual switch V1 belongs to host H1, its upstream port to host H2",
    ),
    (vcs(host="H9"), "switch SW: virtual switch V1 names host H9, which does not exist"),
    (vcs(vppb_count=-1), "switch SW: virtual switch V1 has -1 vPPBs"),
    (mld(lds=()), "device M1 is an MLD without logical devices"),
    (
        lambda sound: replace(
            sound, devices=(replace(sound.devices[0], lds=(LogicalDevice(0, 1),)),)
        ),
        "device D1 is no MLD but has 1 logical devices",
    ),
    (
        mld(lds=(LogicalDevice(1, 1), LogicalDevice(1, 1))),
        "device M1: logical device 1 is defined 2 times",
    ),
    (mld(lds=(LogicalDevice(16, 1),)), "device M1: logical device 16 is not one of 0-15"),
    (
        mld(lds=(LogicalDevice(LD_FM_OWNED, 1),)),
        "device M1: logical device 0xffff is the fabric manager's own",
    ),
]


def test_a_sound_inventory_has_no_defects() -> None:
    assert defects(an_inventory()) == []


@pytest.mark.parametrize(("broken", "line"), BROKEN, ids=[line for _, line in BROKEN])
def test_a_broken_invariant_is_named(broken: Callable[[Inventory], Inventory], line: str) -> None:
    assert line in defects(broken(an_inventory()))


def test_all_defects_are_reported_at_once() -> None:
    broken = mld(lds=())(port(0, host="H9")(an_inventory()))
    assert len(defects(broken)) == 3

"""Pools, functions and heads of an inventory: each invariant broken once."""

from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.inventory import collisions, defects
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    FabricKind,
    Function,
    FunctionType,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    PartKind,
    Pool,
    Port,
    PortId,
    PortRole,
    Switch,
)

LINK = Link(5, 16)
VF = FunctionType.VIRTUAL
LD_POOL = Pool(PartKind.LD, 1024, 256, 2)
REGIONS = Pool(PartKind.REGION, 1024, 256, 8)
NAMESPACES = Pool(PartKind.NAMESPACE, 1024, 256, 8)
POOLED = {
    "attachment": Attachment.MLD,
    "lds": (LogicalDevice(0, 0), LogicalDevice(1, 0)),
    "pool": LD_POOL,
}
DYNAMIC = {"attachment": Attachment.MLD, "lds": (LogicalDevice(0, 0, True),), "pool": REGIONS}
SUBSYSTEM = {"attachment": Attachment.SUBSYSTEM, "pool": NAMESPACES}
FUNCTIONS = {"functions": (Function(0), Function(1, VF, 0)), "binds_functions": True}


def a_device(**changes: Any) -> Device:
    sound = Device("d", "d", DeviceKind.NVME, Attachment.PCIE, "m", "m", "s", LINK, 1024)
    return replace(sound, **changes)


def plugged(*heads: int | None, **changes: Any) -> Inventory:
    """Return a fabric of one switch with that device on as many ports."""
    ports = tuple(
        Port(PortId("s", f"D{i}"), PortRole.DOWNSTREAM, LINK, device="d", head=head)
        for i, head in enumerate(heads, start=1)
    )
    switch = Switch("s", "s", "PCIe", "m", "n", ports, ())
    return Inventory("F", "F", FabricKind.BIND, "PCIe", (switch,), devices=(a_device(**changes),))


@pytest.mark.parametrize(
    "changes", [POOLED, DYNAMIC, SUBSYSTEM, FUNCTIONS], ids=["pooled", "dynamic", "nvm", "sr-iov"]
)
def test_a_sound_device_has_no_defects(changes: dict[str, Any]) -> None:
    assert defects(plugged(None, **changes)) == []


@pytest.mark.parametrize(("heads", "shared"), [((1, 2), True), ((2, 1), False), ((1,), False)])
def test_sound_heads_have_no_defects(heads: tuple[int, ...], shared: bool) -> None:
    assert defects(plugged(*heads, shared_heads=shared)) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"capacity_mib": -1}, "has a capacity of -1 MiB"),
        (POOLED | {"lds": (LogicalDevice(0, 256), LogicalDevice(1, 0))},
         ": logical device 0 has 256 MiB before any allocation"),
        (DYNAMIC | {"lds": (LogicalDevice(0, 0),)},
         ": logical device 0 is not dynamic, the device's pool says otherwise"),
        (POOLED | {"lds": (LogicalDevice(0, 0, True), LogicalDevice(1, 0))},
         ": logical device 0 is dynamic, the device's pool says otherwise"),
        ({"attachment": Attachment.MLD, "lds": (LogicalDevice(0, 1, True),)},
         ": logical device 0 is dynamic, the device's pool says otherwise"),
        (POOLED | {"pool": replace(LD_POOL, part_count_max=3)},
         "has 2 logical devices, its pool 3"),
        (POOLED | {"pool": replace(LD_POOL, capacity_mib=2048)}, "has 1024 MiB, its pool 2048 MiB"),
        (POOLED | {"pool": replace(LD_POOL, granularity_mib=0)}, ": its pool is cut by 0 MiB"),
        (POOLED | {"pool": replace(LD_POOL, part_count_max=0)}, ": its pool holds 0 parts"),
        (POOLED | {"pool": replace(LD_POOL, granularity_mib=2048)},
         ": its pool of 1024 MiB holds no part of 2048 MiB"),
        (POOLED | {"pool": NAMESPACES}, "is MLD but has a pool of Namespace parts"),
        ({"pool": LD_POOL}, "is PCIe but has a pool of LD parts"),
        ({"attachment": Attachment.SUBSYSTEM}, "is a subsystem without a pool of namespaces"),
        ({"functions": (Function(0), Function(0))}, ": function 0 is defined 2 times"),
        ({"functions": (Function(-1),)}, ": function -1 has no such number"),
        ({"functions": (Function(0), Function(1, parent=0))},
         ": physical function 1 has a parent, 0"),
        ({"functions": (Function(0), Function(1, VF))},
         ": virtual function 1 is of no physical function"),
        ({"functions": (Function(0), Function(1, VF, 7))},
         ": virtual function 1 is of no physical function"),
        ({"functions": (Function(0), Function(1, VF, 0), Function(2, VF, 1))},
         ": virtual function 2 is of no physical function"),
        ({"binds_functions": True}, "binds functions but has none"),
        (FUNCTIONS | {"attachment": Attachment.SLD}, "binds functions but is no PCIe device"),
    ],
)  # fmt: skip
def test_a_broken_invariant_is_the_only_defect(changes: dict[str, Any], line: str) -> None:
    space = "" if line.startswith(":") else " "
    assert defects(plugged(None, **changes)) == [f"device d{space}{line}"]


@pytest.mark.parametrize(
    ("heads", "shared", "line"),
    [
        ((1, 1), True, "is on 2 ports with heads 1, 1"),
        ((1, None), False, "is on 2 ports with heads 1, None"),
        ((None, None), False, "is on 2 ports with heads None, None"),
        ((1, 3), True, "is on 2 ports with heads 1, 3"),
        ((2,), False, "is on one port with head 2"),
        ((None,), True, "has shared heads but is on 1 ports"),
        ((), True, "has shared heads but is on 0 ports"),
    ],
)
def test_heads_are_counted_from_one(heads: tuple[int, ...], shared: bool, line: str) -> None:
    assert defects(plugged(*heads, shared_heads=shared)) == [f"device d {line}"]


def test_a_head_of_nothing_is_a_defect() -> None:
    sound = plugged(None)
    (switch,) = sound.switches
    spare = Port(PortId("s", "D9"), PortRole.DOWNSTREAM, LINK, head=1)
    broken = replace(sound, switches=(replace(switch, ports=(*switch.ports, spare)),))
    assert defects(broken) == ["switch s: port D9 has head 1 of no device"]


def test_two_hosts_of_one_nqn_are_a_defect() -> None:
    hosts = tuple(Host(name, name, "", 1, 1, 1, nqn="nqn.x") for name in ("h1", "h2"))
    assert defects(replace(plugged(None), hosts=hosts)) == ["NQN nqn.x is defined 2 times"]


def test_one_switch_id_in_two_fabrics_is_a_collision() -> None:
    first = plugged(None)
    second = replace(first, fabric="G")
    assert collisions([first]) == []
    assert collisions([first, second]) == ["switch s is in fabric F and in G"]

"""What each word of a topology becomes in the model, on the shipped topology `mixed`."""

from dataclasses import replace

import pytest

from redfish_fm.drivers.virtual.topology import TopologyError, load, read
from redfish_fm.fabric.inventory import collisions, defects
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    FabricKind,
    Function,
    FunctionType,
    Inventory,
    LogicalDevice,
    PartKind,
    Pool,
    Port,
    PortRole,
)
from redfish_fm.resources import mockups_dir

PCIE, CXL, NVME_OF = load("mixed", mockups_dir()).inventories()
DEVICES = {device.id: device for each in (PCIE, CXL, NVME_OF) for device in each.devices}


def ports_of(inventory: Inventory, device: str) -> list[Port]:
    return [p for switch in inventory.switches for p in switch.ports if p.device == device]


def names(ports: list[Port]) -> list[str]:
    return [f"{port.id.switch}/{port.id.port}" for port in ports]


def a_device(words: str, protocol: str = "PCIe", kind: str = "NVMe") -> Device:
    """Return the only device of a fabric, described by these words."""
    return read(a_text(words, protocol, kind), "test").inventories()[0].devices[0]


def a_text(words: str = "", protocol: str = "PCIe", kind: str = "NVMe", rest: str = "") -> str:
    return f"""name: test
hosts: [{{id: "h{{n}}", count: 2}}]
fabrics:
  - id: F
    protocol: {protocol}
    switches:
      - {{id: "s{{n}}", count: 2, devices: [
          {{id: "d{{n}}", kind: {kind}, capacity: 8 GiB, {words}}}]}}
{rest}"""


@pytest.mark.parametrize(
    ("protocol", "id_", "name"),
    [
        ("PCIe", "Row7", "PCIe fabric Row7"),
        ("CXL", "CXL", "CXL fabric"),
        ("PCIe", "pcie", "PCIe fabric"),
    ],
)
def test_a_fabric_without_a_name_is_called_by_protocol_and_id_and_none_of_it_twice(
    protocol: str, id_: str, name: str
) -> None:
    kind = "Memory" if protocol == "CXL" else "NVMe"
    text = a_text("", protocol, kind).replace("- id: F", f"- id: {id_}")
    assert [each.name for each in read(text, "test").inventories()] == [name]


def test_a_network_without_a_name_is_called_so_once() -> None:
    text = a_text("", "PCIe", "NVMe", SUBSYSTEM.format("").replace("id: N", "id: NVMeoF"))
    assert read(text, "test").inventories()[1].name == "NVMe-oF fabric"


SPANNING = "    devices: [{{id: x1, kind: NIC, {}}}]"
SUBSYSTEM = """  - id: N
    protocol: NVMeOverFabrics
    subsystems: [{{id: sub1, capacity: 1 TiB{}}}]"""
AT = "fabrics[0].switches[0].devices[0]"


def test_the_shipped_topology_has_every_kind_of_device_and_part() -> None:
    assert {device.kind for device in DEVICES.values()} == set(DeviceKind)
    assert {device.attachment for device in DEVICES.values()} == set(Attachment)
    pools = {device.pool.kind for device in DEVICES.values() if device.pool}
    assert pools == set(PartKind)
    assert {each.kind for each in (PCIE, CXL, NVME_OF)} == {
        FabricKind.BIND,
        FabricKind.CONNECTION_GRANTS,
    }


def test_pooled_lds_have_no_capacity_before_they_are_allocated() -> None:
    pooled = DEVICES["pooled1"]
    assert pooled.attachment is Attachment.MLD
    assert pooled.lds == tuple(LogicalDevice(i, 0) for i in range(16))
    assert pooled.pool == Pool(PartKind.LD, 2**20, 256, 16)


def test_fixed_lds_share_the_capacity_and_need_no_pool() -> None:
    fixed = DEVICES["fixed1"]
    assert fixed.lds == tuple(LogicalDevice(i, 64 * 1024) for i in range(4))
    assert fixed.pool is None


def test_dynamic_lds_hold_regions_of_the_devices_pool() -> None:
    dynamic = DEVICES["dynamic1"]
    assert dynamic.lds == (LogicalDevice(0, 0, True), LogicalDevice(1, 0, True))
    assert dynamic.pool == Pool(PartKind.REGION, 512 * 1024, 512, 4)


def test_virtual_functions_are_numbered_after_all_physical_ones() -> None:
    nic = DEVICES["nic1"]
    assert nic.binds_functions
    assert nic.functions[:2] == (Function(0), Function(1))
    assert [f.id for f in nic.functions] == list(range(10))
    assert [f.parent for f in nic.functions[2:]] == [0] * 4 + [1] * 4
    assert {f.type for f in nic.functions[2:]} == {FunctionType.VIRTUAL}


def test_functions_of_a_device_that_is_bound_whole_go_with_it() -> None:
    assert not DEVICES["fpga1"].binds_functions
    assert len(DEVICES["fpga1"].functions) == 4


def test_one_function_is_not_worth_naming() -> None:
    assert DEVICES["gpu1"].functions == ()


def test_a_spanning_device_has_a_head_on_each_port_it_names() -> None:
    heads = ports_of(PCIE, "mhnic1")
    assert names(heads) == ["pcie1/D7", "pcie1/D8", "pcie2/D7", "pcie2/D8"]
    assert [port.head for port in heads] == [1, 2, 3, 4]
    assert DEVICES["mhnic1"].shared_heads


def test_a_device_on_all_switches_has_one_port_on_each() -> None:
    heads = ports_of(PCIE, "dpnvme1")
    assert names(heads) == ["pcie1/D9", "pcie2/D9"]
    assert [port.head for port in heads] == [1, 2]
    assert not DEVICES["dpnvme1"].shared_heads


def test_heads_of_one_switch_are_neighbouring_ports() -> None:
    heads = ports_of(CXL, "mhmem2")
    assert names(heads) == ["cxl2/D5", "cxl2/D6"]
    assert [port.head for port in heads] == [1, 2]


def test_a_device_on_one_port_has_no_head_number() -> None:
    assert [port.head for port in ports_of(PCIE, "gpu1")] == [None]


def test_a_spanning_device_moves_no_port() -> None:
    alone = read(a_text(), "test").inventories()[0]
    more = read(a_text(rest=SPANNING.format("ports: [s2, s1], shared: true")), "test")
    for before, after in zip(alone.switches, more.inventories()[0].switches, strict=True):
        assert after.ports[:-1] == before.ports
        assert after.ports[-1].device == "x1"
    assert [port.head for port in ports_of(more.inventories()[0], "x1")] == [2, 1]


def test_only_cxl_memory_is_sanitized_unless_the_file_says_more() -> None:
    assert {id_ for id_, device in DEVICES.items() if device.sanitizes} == {
        *("fixed1", "fixed2", "pooled1", "pooled2", "dynamic1", "dynamic2", "mem1", "mem2"),
        *("nvme1", "nvme2", "dpnvme1"),
    }
    assert not a_device("sanitizes: false", "CXL", "Memory").sanitizes
    assert not a_device("", "PCIe", "Memory").sanitizes


def test_a_subsystem_is_the_switch_of_its_own_attachments() -> None:
    assert NVME_OF.kind is FabricKind.CONNECTION_GRANTS
    (jbof, _) = NVME_OF.switches
    assert [(v.id, v.host, v.vppb_count) for v in jbof.virtual_switches] == [
        ("host1", "host1", 16),
        ("host2", "host2", 16),
        ("host3", "host3", 16),
    ]
    assert [(p.id.port, p.role, p.host, p.device) for p in jbof.ports] == [
        ("U1", PortRole.UPSTREAM, None, None),
        ("U2", PortRole.UPSTREAM, None, None),
        ("D1", PortRole.DOWNSTREAM, None, "jbof1-pool"),
    ]
    pool = DEVICES["jbof1-pool"]
    assert pool.pool == Pool(PartKind.NAMESPACE, pool.capacity_mib, 1024, 32)


def test_every_host_and_subsystem_has_an_nqn_of_its_own() -> None:
    nqns = [host.nqn for host in NVME_OF.hosts] + [d.nqn for d in NVME_OF.devices]
    assert len(set(nqns)) == 5
    assert NVME_OF.hosts[0].nqn == f"nqn.2014-08.org.nvmexpress:uuid:{NVME_OF.hosts[0].uuid}"
    assert str(NVME_OF.hosts[2].nqn).endswith("8d6ab6f0-5f0e-4c8e-9f0b-3f1c0a6f7b11")


def test_subsystems_take_hosts_as_switches_do() -> None:
    text = a_text(rest=SUBSYSTEM.format(", hosts: [h2]"))
    fabric = read(text, "test").inventories()[1]
    assert [host.id for host in fabric.hosts] == ["h2"]
    assert [v.host for v in fabric.switches[0].virtual_switches] == ["h2"]


def test_a_whole_topology_has_no_defects() -> None:
    topology = load("mixed", mockups_dir()).inventories()
    assert [defects(each) for each in topology] == [[], [], []]
    assert collisions(topology) == []


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        (a_text("lds: {count: 2, pooled: true, capacity: 1 GiB}", "CXL"), f"{AT}.lds.capacity",
         "before it is allocated"),
        (a_text("lds: {count: 2, pooled: true, granularity: 300 MiB}", "CXL"),
         f"{AT}.lds.granularity", "256 MiB, 512 MiB or 1 GiB"),
        (a_text("lds: {count: 2, granularity: 1 GiB}", "CXL"), f"{AT}.lds.granularity",
         "only LDs that are pooled"),
        (a_text("lds: {count: 2, pooled: true}", "CXL").replace("8 GiB", "1 MiB"), f"{AT}.lds",
         "nothing of 256 MiB fits"),
        (a_text("dynamic: {granularity: 300 MiB}", "CXL"), f"{AT}.dynamic.granularity",
         "no multiple of 256 MiB"),
        (a_text("dynamic: {granularity: 16 GiB}", "CXL"), f"{AT}.dynamic", "fits into"),
        (a_text("dynamic: {}, lds: {count: 2}", "CXL"), f"{AT}.dynamic", "either"),
        (a_text("dynamic: {}"), f"{AT}.dynamic", "only an MLD"),
        (a_text("dynamic: {regions: 9}", "CXL"), f"{AT}.dynamic.regions", "<= 8"),
        (a_text("functions: 2", "CXL"), f"{AT}.functions", "only a PCIe device"),
        (a_text("virtual_functions: 2", "CXL"), f"{AT}.virtual_functions", "only a PCIe device"),
        (a_text("functions: 128, virtual_functions: 2"), f"{AT}.virtual_functions", "384"),
        (a_text("bind: functions"), f"{AT}.bind", "nothing to bind"),
        (a_text("bind: functions, functions: 2, sanitizes: true"), f"{AT}.sanitizes", "others"),
        (a_text("heads: 2"), f"{AT}.shared", "missing"),
        (a_text("shared: true"), f"{AT}.shared", "only a device with several heads"),
        (a_text("heads: 2, shared: true, sanitizes: true"), f"{AT}.sanitizes", "the others"),
        (a_text("heads: 2, shared: true, lds: {count: 2}", "CXL"), f"{AT}.lds", "head by head"),
        (a_text("heads: 2, shared: false, functions: 2, bind: functions"), f"{AT}.bind",
         "head by head"),
        (a_text("sanitizes: true", kind="GPU"), f"{AT}.sanitizes", "keeps nothing"),
        (a_text("qos: true"), f"{AT}.qos", "LDs of an MLD share bandwidth"),
        (a_text(rest=SPANNING.format("ports: [s1, s9], shared: true")),
         "fabrics[0].devices[0].ports[1]", "no switch s9"),
        (a_text(rest=SPANNING.format("ports: [s1], shared: true")),
         "fabrics[0].devices[0].ports", "at least 2"),
        (a_text(rest=SPANNING.format("shared: true")), "fabrics[0].devices[0].ports", "missing"),
        (a_text(rest=SPANNING.format("ports: all")), "fabrics[0].devices[0].shared", "missing"),
        (a_text(rest=SPANNING.format("ports: all, shared: true, heads: 2")),
         "fabrics[0].devices[0].heads", "unknown"),
        (a_text(rest=SPANNING.format("ports: [s1, s1], shared: true, count: 200")),
         "fabrics[0].devices[0]", "400 ports"),
        (a_text(rest=SPANNING.format("ports: [s1, s1], shared: true, count: 127")
                .replace("x1", '"x{n}"')), "fabrics[0].devices[0]", "257 ports"),
        (a_text(rest=SPANNING.format("ports: all, shared: true").replace("x1", '"{switch}-x"')),
         "fabrics[0].devices[0].id", "only {n}"),
        (a_text().replace("count: 2, devices", "devices").replace(
            "8 GiB, }]}", "8 GiB}]}") + SPANNING.format("ports: all, shared: true"),
         "fabrics[0].devices[0].ports", "1 switches"),
        (a_text(rest="    subsystems: []"), "fabrics[0].subsystems", "no subsystems"),
        (a_text(rest="  - {id: C, protocol: CXL}"), "fabrics[1].switches", "missing"),
        (a_text(rest="  - {id: C, protocol: CXL, switches: [{id: s2}]}"),
         "fabrics[1].switches[0].id", "s2 is already the id of fabrics[0].switches[0]"),
        (a_text(rest=SUBSYSTEM.format("").replace("sub1", "s1")), "fabrics[1].subsystems[0].id",
         "already the id of fabrics[0].switches[0]"),
        (a_text(rest=SUBSYSTEM.format(", granularity: 2 TiB")),
         "fabrics[1].subsystems[0].granularity", "no part of"),
        (a_text(rest=SUBSYSTEM.format(", hosts: [h3]")), "fabrics[1].subsystems[0].hosts[0]",
         "no host h3"),
        (a_text(rest=SUBSYSTEM.format(", domain: x")), "fabrics[1].subsystems[0].domain",
         "not among"),
        (a_text().replace("count: 2}]", "count: 2, nqn: nqn.2014-08.org.x:1}]"), "hosts[0].nqn",
         "several hosts"),
        (a_text().replace("count: 2}]", "count: 2, nqn: 17}]"), "hosts[0].nqn", "Expected `str"),
        (a_text().replace("count: 2}]", "nqn: nqn.2014-08.org.x:1}, "
                                        "{id: h2, nqn: nqn.2014-08.org.x:1}]"),
         "hosts[1].nqn", "h1 already has"),
        (a_text().replace("count: 2}]", "count: 100000}]").replace(
            "s{n}", "s{n}x").replace("count: 2, dev", "count: 100000, hosts: {each: 200}, dev"),
         "", "there are 2000000 at most"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_where_it_stands(text: str, path: str, words: str) -> None:
    with pytest.raises(TopologyError) as error:
        read(text.replace("8 GiB, }", "8 GiB}"), "test")
    (problem,) = error.value.problems
    assert problem.path == path
    assert words in problem.text
    assert problem.line is not None or not path


def test_an_nvme_of_fabric_needs_subsystems_and_has_nothing_else() -> None:
    text = a_text(protocol="NVMeOverFabrics", rest=SPANNING.format("ports: all, shared: true"))
    with pytest.raises(TopologyError) as error:
        read(text, "test")
    assert [(problem.path, problem.line) for problem in error.value.problems] == [
        ("fabrics[0].subsystems", 4),
        ("fabrics[0].switches", 6),
        ("fabrics[0].devices", 9),
    ]


def test_a_switch_may_have_as_many_ports_as_the_fm_api_counts() -> None:
    text = a_text().replace("count: 2}]", "count: 254}]")
    switches = read(text, "test").inventories()[0].switches
    assert [len(switch.ports) for switch in switches] == [255, 255]
    with pytest.raises(TopologyError, match="each would have 257 ports"):
        read(text.replace("count: 254", "count: 256"), "test")


def test_switches_of_two_fabrics_that_meet_are_a_collision() -> None:
    other = replace(CXL, switches=(*CXL.switches, PCIE.switches[0]))
    assert collisions([PCIE, other]) == ["switch pcie1 is in fabric PCIe and in CXL"]


def test_a_host_that_is_another_in_another_fabric_is_a_collision() -> None:
    changed = replace(CXL.hosts[0], core_count=1)
    other = replace(CXL, hosts=(changed, *CXL.hosts[1:]))
    assert collisions([PCIE, other]) == ["host host1 of fabric CXL is another elsewhere"]


def test_a_fabric_that_is_there_twice_is_a_collision() -> None:
    assert "fabric PCIe is defined 2 times" in collisions([PCIE, PCIE])

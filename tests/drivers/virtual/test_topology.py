"""Topology files: what they give, and that every mistake is named at once with its place."""

from collections import Counter
from pathlib import Path

import pytest

from redfish_fm.drivers.virtual.topology import Topology, TopologyError, load, names, read
from redfish_fm.fabric.inventory import collisions, defects
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    FabricKind,
    Inventory,
    PartKind,
    Pool,
    PortRole,
)
from tests.drivers.fabrics import MOCKUPS, SHIPPED


def problems(text: str) -> dict[str, tuple[int | None, str]]:
    with pytest.raises(TopologyError) as error:
        read(text, "test")
    for problem in error.value.problems:
        assert str(problem) in str(error.value)
    return {problem.path: (problem.line, problem.text) for problem in error.value.problems}


def a_topology(hosts: str = "", switch: str = "", devices: str = "", extra: str = "") -> str:
    return f"""
name: test
hosts: [{{id: "h{{n}}", count: 2{hosts}}}]
fabrics:
  - id: F
    protocol: CXL
    switches:
      - {{id: s1{switch}, devices: [{{id: m1, kind: Memory, capacity: 4 GiB{devices}}}]}}
{extra}"""


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_topology_is_sound(name: str) -> None:
    topology = load(name, MOCKUPS)
    assert topology.name == name.partition(":")[0]
    inventories = topology.inventories()
    assert [line for inventory in inventories for line in defects(inventory)] == []
    assert collisions(inventories) == []


def things_to_bind(device: Device) -> int:
    """Return how many things on one port of a device can be bound at a time."""
    if device.binds_functions:
        return len(device.functions)
    regions = device.pool is not None and device.pool.kind is PartKind.REGION
    per_ld = device.pool.part_count_max if device.pool and regions else 1
    return max(1, len(device.lds)) * per_ld


@pytest.mark.parametrize("name", [name for name in names(MOCKUPS) if name != "scale"])
def test_in_shipped_topologies_any_host_could_take_everything(name: str) -> None:
    for inventory in load(name, MOCKUPS).inventories():
        devices = {device.id: device for device in inventory.devices}
        for switch in inventory.switches:
            plugged = [devices[port.device] for port in switch.ports if port.device]
            vcss = {vcs.host: vcs for vcs in switch.virtual_switches}
            assert inventory.kind is not FabricKind.BIND or set(vcss) == {
                host.id for host in inventory.hosts
            }
            if inventory.kind is FabricKind.BIND:
                units = sum(things_to_bind(device) for device in plugged)
                assert all(vcs.vppb_count >= units for vcs in vcss.values())


def test_ai_pod_is_what_the_design_says() -> None:
    pcie, cxl = load("ai-pod", MOCKUPS).inventories()
    kinds = Counter(device.kind for device in (*pcie.devices, *cxl.devices))
    assert kinds == {
        DeviceKind.GPU: 32,
        DeviceKind.NVME: 16,
        DeviceKind.MEMORY: 4,
        DeviceKind.NIC: 1,
    }
    assert len(pcie.hosts) == len(cxl.hosts) == 8
    assert (len(pcie.switches), len(cxl.switches)) == (2, 2)
    for appliance in cxl.devices:
        assert appliance.attachment is Attachment.MLD
        assert appliance.capacity_mib == 8 * 2**20
        assert [ld.id for ld in appliance.lds] == list(range(16))


def test_ai_pod_has_fixed_and_pooled_memory_on_each_cxl_switch() -> None:
    _, cxl = load("ai-pod", MOCKUPS).inventories()
    appliances = {device.id: device for device in cxl.devices}
    for switch in cxl.switches:
        fixed, pooled = (appliances[port.device] for port in switch.ports if port.device)
        assert fixed.pool is None
        assert sum(ld.capacity_mib for ld in fixed.lds) == fixed.capacity_mib
        assert pooled.pool == Pool(PartKind.LD, 8 * 2**20, 1024, 16)
        assert {ld.capacity_mib for ld in pooled.lds} == {0}


def test_ai_pod_has_an_adapter_for_four_hosts_behind_everything_else() -> None:
    pcie, _ = load("ai-pod", MOCKUPS).inventories()
    for switch, heads in zip(pcie.switches, ([1, 2], [3, 4]), strict=True):
        assert [(port.device, port.head) for port in switch.ports[-2:]] == [
            ("nic1", head) for head in heads
        ]
    (nic,) = [device for device in pcie.devices if device.kind is DeviceKind.NIC]
    assert nic.shared_heads


def test_two_hosts_has_every_kind_of_binding() -> None:
    pcie, cxl = load("two-hosts", MOCKUPS).inventories()
    assert [d.kind.value for d in pcie.devices] == ["GPU", "GPU", "NVMe", "NVMe"]
    assert [(d.attachment, len(d.lds)) for d in cxl.devices] == [
        (Attachment.MLD, 4),
        (Attachment.SLD, 0),
    ]


def test_equal_files_give_equal_inventories() -> None:
    assert load("ai-pod", MOCKUPS) == load("ai-pod", MOCKUPS)


def test_serial_numbers_and_uuids_are_unique() -> None:
    pcie, cxl = load("ai-pod", MOCKUPS).inventories()
    things = (*pcie.devices, *cxl.devices, *pcie.switches, *cxl.switches)
    assert len({thing.serial_number for thing in things}) == len(things)
    assert len({host.uuid for host in pcie.hosts}) == 8
    assert [h.uuid for h in pcie.hosts] == [h.uuid for h in cxl.hosts]


def test_a_device_group_counts_on_from_switch_to_switch() -> None:
    pcie, _ = load("ai-pod", MOCKUPS).inventories()
    behind = {s.id: [p.device for p in s.ports if p.device] for s in pcie.switches}
    assert behind["pcie1"][0] == "gpu1"
    assert behind["pcie2"][0] == "gpu17"


def test_a_host_numbers_its_own_ports_over_all_fabrics() -> None:
    inventories = load("ai-pod", MOCKUPS).inventories()
    ports = [
        port.host_port
        for inventory in inventories
        for switch in inventory.switches
        for port in switch.ports
        if port.host == "host3"
    ]
    assert ports == [1, 2, 3, 4]


def test_each_deals_hosts_to_switches_in_turn() -> None:
    text = (
        a_topology(hosts="", switch=", count: 1")
        .replace("count: 2", "count: 4")
        .replace("id: s1, count: 1", 'id: "s{n}", count: 3, hosts: {each: 2}')
    )
    (fabric,) = read(text.replace("id: m1", 'id: "m{n}"'), "test").inventories()
    attached = {s.id: [v.host for v in s.virtual_switches] for s in fabric.switches}
    assert attached == {"s1": ["h1", "h2"], "s2": ["h3", "h4"], "s3": ["h1", "h2"]}


def test_ten_lines_give_ten_thousand_devices() -> None:
    text = a_topology(switch=", count: 100", devices=", count: 100")
    text = text.replace("id: s1", 'id: "s{n}"').replace("id: m1", 'id: "{switch}-m{n}"')
    (fabric,) = read(text, "test").inventories()
    assert len(fabric.devices) == 10_000
    assert fabric.devices[-1].id == "s100-m10000"
    assert defects(fabric) == []


def test_every_mistake_is_named_at_once_with_its_path_and_line() -> None:
    found = problems(
        """name: bad name
hosts:
  - id: host
    count: 3
    memory: lots
  - {id: h2, wat: 1}
fabrics:
  - id: A
    protocol: PCIX
    switches:
      - id: s1
        hosts: {each: 0}
        devices:
          - {id: d, kind: GPU, lds: {count: 99}}
          - {id: d, kind: Toaster, link: {lanes: 3}}
      - model: nameless
"""
    )
    assert {path: line for path, (line, _) in found.items()} == {
        "name": 1,
        "hosts[0].memory": 5,
        "hosts[1].wat": 6,
        "fabrics[0].protocol": 9,
        "fabrics[0].switches[0].hosts.each": 12,
        "fabrics[0].switches[0].devices[0].lds.count": 14,
        "fabrics[0].switches[0].devices[1].kind": 15,
        "fabrics[0].switches[0].devices[1].link.lanes": 15,
        "fabrics[0].switches[1].id": 16,
    }
    assert "PCIe, CXL" in found["fabrics[0].protocol"][1]
    assert "NVMe" in found["fabrics[0].switches[0].devices[1].kind"][1]
    assert found["fabrics[0].switches[1].id"][1] == "missing"


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        (a_topology(hosts=", domain: r9"), "hosts[0].domain", "not among"),
        (a_topology(hosts=", uuid: nope"), "hosts[0].uuid", "UUID"),
        (a_topology().replace('"h{n}"', "h"), "hosts[0].id", "needs {n}"),
        (a_topology().replace('"h{n}"', '"h{x}{n}"'), "hosts[0].id", "only {n}"),
        (a_topology(switch=", hosts: [h1, h1]"), "fabrics[0].switches[0].hosts[1]", "twice"),
        (a_topology(switch=", hosts: [h3]"), "fabrics[0].switches[0].hosts[0]", "no host h3"),
        (a_topology(switch=", hosts: {each: 3}"), "fabrics[0].switches[0].hosts.each", "only 2"),
        (a_topology(switch=", spare_ports: 256"), "fabrics[0].switches[0]", "259 ports"),
        (a_topology(devices=", attachment: MLD"), "fabrics[0].switches[0].devices[0].lds", "MLD"),
        (
            a_topology(devices=", lds: {count: 2, capacity: 3 GiB}"),
            "fabrics[0].switches[0].devices[0].lds",
            "more than",
        ),
        (
            a_topology(devices=", attachment: SLD, lds: {count: 2}"),
            "fabrics[0].switches[0].devices[0].lds",
            "only an MLD",
        ),
        (
            a_topology().replace("4 GiB", "1 GiB").replace("GiB}", "GiB, lds: {count: 16}}"),
            "fabrics[0].switches[0].devices[0].lds",
            "at least 256 MiB",
        ),
        (
            a_topology().replace(", capacity: 4 GiB", ""),
            "fabrics[0].switches[0].devices[0].capacity",
            "missing",
        ),
        (
            a_topology().replace("CXL", "PCIe").replace("GiB}", "GiB, attachment: SLD}"),
            "fabrics[0].switches[0].devices[0].attachment",
            "no CXL devices",
        ),
        (
            a_topology().replace("id: m1", "id: h1"),
            "fabrics[0].switches[0].devices[0].id",
            "already the id of hosts[0]",
        ),
        (a_topology(extra="  - {id: F, protocol: CXL, switches: []}"), "fabrics", "2 times"),
        (a_topology(extra="name: again"), "name", "twice"),
        ("a: [", "", "not YAML"),
        ("a: &x [*x]", "", "contains itself"),
        ("", "", "got `null`"),
        ("- 1", "", "got `array`"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(text: str, path: str, words: str) -> None:
    found = problems(text)
    assert list(found) == [path]
    assert words in found[path][1]


def test_a_double_key_hides_no_other_mistake() -> None:
    assert list(problems(a_topology(hosts=", wat: 1", extra="name: again"))) == [
        "hosts[0].wat",
        "name",
    ]


def test_an_alias_bomb_is_refused() -> None:
    layers = "\n".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 20)}]" for i in range(1, 6))
    found = problems(f"l0: &l0 [x, x]\n{layers}\n")
    assert "too many nodes" in found[""][1]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        TopologyError, match="ai-pod, ex5410p, mixed, nvmeof-jbof, scale, two-hosts"
    ):
        load("nope", MOCKUPS)


def test_a_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(a_topology(), encoding="utf-8")
    assert load(str(path), MOCKUPS).name == "test"


def test_a_missing_file_is_a_topology_error(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"gone\.yaml"):
        load(str(tmp_path / "gone.yaml"), MOCKUPS)


@pytest.mark.parametrize(
    ("name", "misnamed"),
    [
        ("nope", True),
        ("HERE/gone.yaml", True),
        ("scale:hosts=0", True),
        ("scale:gpu=1,hosts", True),
        ("HERE/wrong.yaml", False),
        ("HERE/wrong.yaml:n=1", False),
        ("HERE/", False),
    ],
)
def test_what_was_asked_for_is_told_from_what_stands_in_the_file(
    tmp_path: Path, name: str, misnamed: bool
) -> None:
    (tmp_path / "wrong.yaml").write_text("nmae: x\n", encoding="utf-8")
    with pytest.raises(TopologyError) as error:
        load(name.replace("HERE", str(tmp_path)), MOCKUPS)
    assert error.value.misnamed is misnamed


def test_spare_ports_have_nothing_in_them() -> None:
    (fabric,) = read(a_topology(switch=", spare_ports: 2"), "test").inventories()
    (switch,) = fabric.switches
    spare = [port for port in switch.ports if port.host is None and port.device is None]
    assert [(port.id.port, port.role) for port in spare] == [
        ("D2", PortRole.DOWNSTREAM),
        ("D3", PortRole.DOWNSTREAM),
    ]


def test_a_topology_hands_out_what_it_holds() -> None:
    inventory = Inventory("F", "F", load("two-hosts", MOCKUPS).fabrics[0].kind, "PCIe")
    assert Topology("t", "", (inventory,)).inventories() == (inventory,)

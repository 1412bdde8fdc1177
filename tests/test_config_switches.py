"""The [[switches]] of a configuration file: understood, or every mistake told with its line."""

from pathlib import Path

import pytest

from redfish_fm.config import Config, ConfigError, load
from redfish_fm.config_switches import FIELDS, host_and_port, network_and_eid

GOOD = """
[[switches]]
id = "cxl0"
fabric = "CXL"
link = "mctp-tcp"
address = "[::1]:2508"
hosts = { 0 = "node1" }

[[switches]]
id = "cxl1"
fabric = "CXL"
link = "fm-listen"
address = "127.0.0.1:8100"
serial = "0x1F"
"""


def read(tmp_path: Path, text: str, **flags: object) -> Config:
    file = tmp_path / "service.toml"
    file.write_text(text, encoding="utf-8")
    return load({"config": file, "ephemeral": True, **flags}, {})


def problems(tmp_path: Path, text: str, **flags: object) -> list[str]:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text, **flags)
    return [each.replace(str(tmp_path), "") for each in error.value.problems]


def one(**values: str) -> str:
    """Return one switch in which these keys are otherwise; None leaves one out."""
    plain = {
        "id": '"cxl0"',
        "fabric": '"CXL"',
        "link": '"mctp-tcp"',
        "address": '"127.0.0.1:2508"',
    }
    return "[[switches]]\n" + "".join(
        f"{key} = {value}\n" for key, value in {**plain, **values}.items() if value
    )


def test_switches_alone_are_served_without_a_topology(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD)
    assert (config.topology, config.mockup, config.source_name) == (None, None, "switches")
    first, second = config.switches
    assert (first.place, first.frames, first.hosts) == (("::1", 2508), False, {"0": "node1"})
    assert (second.place, second.frames, second.serial) == (("127.0.0.1", 8100), True, "0x1F")


def test_switches_stand_beside_a_topology_that_is_named(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD, topology="two-hosts")
    assert (config.topology, config.source_name, len(config.switches)) == (
        "two-hosts",
        "two-hosts",
        2,
    )


def test_switches_are_not_served_beside_a_mockup(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, GOOD, mockup=tmp_path)
    assert told.startswith("switches: not together with mockup, for a mockup is served by itself")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (one(id='"a b"'), "switches[0] (a b): id: must be a name of letters, digits and . _ -"),
        (one(id=""), "switches[0]: id: is missing"),
        (one(link='"tcp"'), "link: must be af-mctp or fm-listen or mailbox or mctp-tcp"),
        (one(address='"2508"'), "address: must be HOST:PORT where the switch listens"),
        (one(address='"h:0"'), "address: must be HOST:PORT where the switch listens"),
        (one(link='"mailbox"'), "address: must be a device file"),
        (one(link='"af-mctp"'), "address: must be NETWORK:EID"),
        (one(adress='"x"'), "adress: unknown key; known: id, fabric, driver"),
        (one(serial='"xyz"'), "serial: must be a text of 1 to 16 hexadecimal digits"),
        (one(hosts='{ "x" = "n" }'), "hosts: 'x' is no port number"),
        (one(devices='{ "1" = "Disk" }'), "devices: must be a table of port numbers and FPGA"),
        (one(framing='"frames"', dialect='"jrl"'), "dialect: frames have the standard's header"),
        (one() + one(address='"h:1"'), "2 switches have the id cxl0"),
        (one() + one(id='"b"'), "cxl0, b have the address 127.0.0.1:2508"),
        (
            one(link='"fm-listen"') + one(id='"b"', link='"fm-listen"', serial='"1"'),
            "cxl0, b dial in at 127.0.0.1:2508; each needs the serial",
        ),
        (
            one() + one(id='"b"', address='"h:1"', foreign_bindings='"enforce"'),
            "the switches of fabric CXL differ in foreign_bindings",
        ),
        ("switches = 1", "switches: write [[switches]]"),
    ],
)
def test_a_mistake_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    (line,) = problems(tmp_path, text)
    assert told in line


def test_all_mistakes_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    text = "port = 1\n" + one(link='"x"', adress='"y"') + one(address='""')
    assert [line.rpartition("(")[2] for line in problems(tmp_path, text)] == [
        "/service.toml:7)",
        "/service.toml:5)",
        "/service.toml:12)",
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("h:1", ("h", 1)),
        ("[::1]:65535", ("::1", 65535)),
        ("h:65536", None),
        (":1", None),
        ("h", None),
    ],
)
def test_an_address_has_two_parts(text: str, parts: object) -> None:
    assert host_and_port(text) == parts


@pytest.mark.parametrize(
    ("text", "parts"), [("1:8", (1, 8)), ("1:7", None), ("1:255", None), ("0:9", None), ("9", None)]
)
def test_an_endpoint_has_a_network_and_an_id(text: str, parts: object) -> None:
    assert network_and_eid(text) == parts


def test_every_key_is_documented() -> None:
    page = Path(__file__).parents[1].joinpath("docs", "cxl-switches.md").read_text("utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert list(dict.fromkeys(row for row in rows if row in FIELDS)) == list(FIELDS)

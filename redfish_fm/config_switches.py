"""The `[[switches]]` of a configuration file: real switches, where they are and how they speak.

Knows no other room. Every mistake is told, each with its switch, key and line.
docs/cxl-switches.md lists the same keys; a test compares them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

TABLE = "switches"

_Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Kind = Literal["GPU", "NVMe", "Memory", "NIC", "FPGA"]


class SwitchStanza(msgspec.Struct, frozen=True, kw_only=True):
    """One switch as configured."""

    id: _Name
    """Id of the switch, everywhere."""
    fabric: _Name
    """Id of the fabric that it belongs to; several switches may have the same."""
    driver: Literal["cxl_fmapi"] = "cxl_fmapi"
    """Who drives it."""
    link: Literal["mctp-tcp", "fm-listen", "mailbox", "af-mctp"]
    """Who dials whom, or which way of the Linux kernel."""
    address: Annotated[str, Meta(min_length=1)]
    """HOST:PORT; of a mailbox the device file, of af-mctp NETWORK:EID."""
    framing: Literal["packets", "frames"] | None = None
    """How messages go over TCP; None: packets where we dial, frames where the switch does."""
    dialect: Literal["auto", "spec", "jrl"] = "auto"
    """Form of the CCI header."""
    serial: Annotated[str, Meta(pattern=r"^(0x)?[0-9A-Fa-f]{1,16}$")] | None = None
    """Hexadecimal serial number of the only switch that is meant; None: any."""
    hosts: dict[str, _Name] = {}
    """Host at each upstream port, by the port's number."""
    devices: dict[str, Kind] = {}
    """What a device is for, by the port's number; of a PCIe device a switch does not tell it."""
    ld_memory: Literal["auto", "fixed", "pool"] = "auto"
    """Whether the memory of LDs stays as it is, or is given to them on demand."""
    foreign_bindings: Literal["report", "enforce"] | None = None
    """As the key of that name, for this switch's fabric; None: as there."""

    @property
    def place(self) -> tuple[str, int]:
        """Return host and port of the address; of another kind of address nothing of use."""
        return host_and_port(self.address) or ("", 0)

    @property
    def frames(self) -> bool:
        """Return whether messages go in frames."""
        return (self.framing or _FRAMING[self.link]) == "frames"


_FRAMING = {
    "mctp-tcp": "packets",
    "fm-listen": "frames",
    "mailbox": "packets",
    "af-mctp": "packets",
}

FIELDS: Mapping[str, Any] = {each.name: each for each in msgspec.structs.fields(SwitchStanza)}

_MUST = {
    "id": "a name of letters, digits and . _ -",
    "fabric": "a name of letters, digits and . _ -",
    "driver": "cxl_fmapi",
    "link": "af-mctp or fm-listen or mailbox or mctp-tcp",
    "address": "a text that is not empty",
    "framing": "frames or packets",
    "dialect": "auto or jrl or spec",
    "serial": "a text of 1 to 16 hexadecimal digits",
    "hosts": "a table of port numbers and names",
    "devices": "a table of port numbers and FPGA, GPU, Memory, NIC or NVMe",
    "ld_memory": "auto or fixed or pool",
    "foreign_bindings": "enforce or report",
}
"""What each value must be, for people."""

_ADDRESSES = {
    "mctp-tcp": "HOST:PORT where the switch listens",
    "fm-listen": "HOST:PORT to listen on",
    "mailbox": "a device file, such as /dev/cxl/switch0",
    "af-mctp": "NETWORK:EID, such as 1:10",
}
_PORT_MAX = 65535
_NETWORK_MAX = 0xFFFF_FFFF
_EIDS = range(8, 255)
"""Endpoint ids that the standard does not keep for itself."""


@dataclass(slots=True)
class _Seen:
    """One table as it stands in the file."""

    values: Mapping[str, object]
    source: str
    lines: Mapping[str, int] = field(default_factory=dict)
    line: int | None = None

    def place(self, key: str = "") -> str:
        """Return where a key stands."""
        line = self.lines.get(key, self.line)
        return self.source if line is None else f"{self.source}:{line}"


def read_switches(
    value: object, source: Path, text: str, problems: list[str]
) -> tuple[SwitchStanza, ...]:
    """Return the switches of a file; whatever is wrong with them goes to `problems`."""
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        problems.append(
            f"{TABLE}: write [[{TABLE}]] and the keys of one switch below it ({source})"
        )
        return ()
    places = list(_places(text))
    found: list[tuple[SwitchStanza, _Seen]] = []
    for number, values in enumerate(value):
        line, lines = places[number] if number < len(places) else (None, {})
        seen = _Seen(values, str(source), lines, line)
        stanza = _stanza(number, seen, problems)
        if stanza is not None:
            found.append((stanza, seen))
    problems.extend(_conflicts(found))
    return tuple(stanza for stanza, _ in found)


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return the parts of HOST:PORT, None where it is none; an IPv6 address has brackets."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit()) or int(port) > _PORT_MAX:
        return None
    return host, int(port)


def network_and_eid(address: str) -> tuple[int, int] | None:
    """Return the parts of NETWORK:EID, None where it is none."""
    network, _, eid = address.partition(":")
    if not all(part.isascii() and part.isdigit() for part in (network, eid)):
        return None
    usable = 0 < int(network) <= _NETWORK_MAX and int(eid) in _EIDS
    return (int(network), int(eid)) if usable else None


def _places(text: str) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the line of each table and those of its keys, as far as one can tell."""
    keys: dict[str, int] | None = None
    begun = 0
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[", line):
            if re.match(rf"\s*\[\[\s*{TABLE}\s*\]\]", line):
                if keys is not None:
                    yield begun, keys
                keys, begun = {}, number
        elif keys is not None and (key := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*[=.]", line)):
            keys.setdefault(key[1], number)
    if keys is not None:
        yield begun, keys


def _stanza(number: int, seen: _Seen, problems: list[str]) -> SwitchStanza | None:
    named = seen.values.get("id")
    where = f"{TABLE}[{number}]" + (f" ({named})" if isinstance(named, str) else "")
    before, made = len(problems), dict[str, Any]()
    for key in seen.values:
        if key not in FIELDS:
            known = ", ".join(FIELDS)
            problems.append(f"{where}: {key}: unknown key; known: {known} ({seen.place(str(key))})")
    for key, each in FIELDS.items():
        if key in seen.values:
            given = seen.values[key]
            try:
                made[key] = msgspec.convert(given, each.type)
            except msgspec.ValidationError:
                told = f"must be {_MUST[key]}, not {given!r}"
                problems.append(f"{where}: {key}: {told} ({seen.place(key)})")
        elif each.required:
            problems.append(f"{where}: {key}: is missing; {_MUST[key]} ({seen.place()})")
    if len(problems) > before:
        return None
    stanza = SwitchStanza(**made)
    problems.extend(f"{where}: {told}" for told in _misfits(stanza, seen))
    return stanza if len(problems) == before else None


def _misfits(stanza: SwitchStanza, seen: _Seen) -> Iterator[str]:
    """Yield what is wrong with one switch beyond single values."""
    link, address = stanza.link, stanza.address
    wrong = {
        "mctp-tcp": not (host_and_port(address) or ("", 0))[1],
        "fm-listen": host_and_port(address) is None,
        "mailbox": not address.startswith("/"),
        "af-mctp": network_and_eid(address) is None,
    }
    if wrong[link]:
        yield f"address: must be {_ADDRESSES[link]}, not {address!r} ({seen.place('address')})"
    over_tcp = link in ("mctp-tcp", "fm-listen")
    if stanza.framing is not None and not over_tcp:
        yield f"framing: a {link} link has none ({seen.place('framing')})"
    if stanza.dialect != "auto" and not over_tcp:
        yield f"dialect: a {link} link has none ({seen.place('dialect')})"
    if stanza.dialect == "jrl" and stanza.frames:
        yield f"dialect: frames have the standard's header ({seen.place('dialect')})"
    for key in ("hosts", "devices"):
        for port in getattr(stanza, key):
            if not (port.isascii() and port.isdigit() and int(port) < 256):
                yield f"{key}: {port!r} is no port number from 0 to 255 ({seen.place(key)})"


def _conflicts(found: Iterable[tuple[SwitchStanza, _Seen]]) -> Iterator[str]:
    """Yield what switches can not have together."""
    switches = list(found)
    for id_, count in Counter(stanza.id for stanza, _ in switches).items():
        if count > 1:
            yield f"{TABLE}: {count} switches have the id {id_}; each needs its own"
    at = defaultdict[tuple[bool, str], list[tuple[SwitchStanza, _Seen]]](list)
    wishes = defaultdict[str, set[str]](set)
    for stanza, seen in switches:
        at[stanza.link == "fm-listen", stanza.address].append((stanza, seen))
        wishes[stanza.fabric].add(stanza.foreign_bindings or "")
    for (listening, address), there in at.items():
        if len(there) < 2:
            continue
        ids, where = ", ".join(stanza.id for stanza, _ in there), there[1][1].place("address")
        if not listening:
            yield f"{TABLE}: {ids} have the address {address}; each needs its own ({where})"
            continue
        serials = {stanza.serial for stanza, _ in there}
        if None in serials or len(serials) < len(there):
            told = "each needs the serial of its own switch to be told apart"
            yield f"{TABLE}: {ids} dial in at {address}; {told} ({where})"
        if len({(stanza.fabric, stanza.frames, stanza.dialect) for stanza, _ in there}) > 1:
            told = "they need one fabric, framing and dialect"
            yield f"{TABLE}: {ids} dial in at {address}; {told} ({where})"
    for fabric, said in wishes.items():
        if len(said) > 1:
            yield f"{TABLE}: the switches of fabric {fabric} differ in foreign_bindings"

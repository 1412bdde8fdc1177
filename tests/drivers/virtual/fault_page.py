"""docs/faults.md, made of the table of faults that the driver has.

    python -m tests.drivers.virtual.fault_page > docs/faults.md

What is not in the table (what a fault is for, how a file orders them, what ports count) is written
here; test_link_errors plays every row of LINK_FAULTS.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from redfish_fm.drivers.virtual.fault_kinds import FaultKind, Given, Parameter
from redfish_fm.drivers.virtual.fault_table import FAULTS
from redfish_fm.fabric.link_errors import NO_ERRORS, LinkErrors
from redfish_fm.fabric.model import CableState
from redfish_fm.mapping.metrics_ports import switch_metrics

HEAD = """\
# Faults of the virtual hardware

Made by `python -m tests.drivers.virtual.fault_page` from the driver's own table; not edited by
hand.

Real fabrics lose links, devices and answers. So can the virtual one: `redfish-fm serve --faults
FILE` lets faults befall it, each in its time. For a client they are real: it sees them in Status,
Conditions and Tasks, never by name.

```yaml
# What befalls the topology "mixed" in its first minute.
faults:
  - {at_s: 5, fault: link-down, object: cxl1/D1}
  - {at_s: 10, fault: lost, object: nvme1}
  - {at_s: 20, fault: refused, object: CXL, parameters: {step: bind, times: 2}}
  - {at_s: 30, fault: back, object: nvme1, parameters: {serial_number: ANOTHER}}
  - {at_s: 60, fault: link-up, object: cxl1/D1}
```

- `at_s` is in seconds of the fabric clock, counted from the start of the service: with
  `--time-scale 10` second 60 comes after 6 s. With `--time-scale 0`, where that clock jumps,
  faults come one after another as soon as nothing else waits.
- `parameters` are those of the fault; what is not required may be left out.
- A file is checked at the start. All that is wrong with it is told at once, each with its line,
  and nothing is served.
- A service that starts again begins the file again. What virtual hardware keeps (a link that is
  down, a device that is lost) it keeps over a restart, with a state folder.
- A fault befalls its object in every fabric that has it: a failure domain may be in several.
- There is no way to order a fault through Redfish.

## Objects

| object | its id | example |
|---|---|---|
| fabric | the fabric's id | `CXL` |
| switch | the switch's id; for NVMe over Fabrics the subsystem's | `cxl1` |
| port | switch/port | `cxl1/D1` |
| device | the device's id | `nvme1` |
| domain | the name of a failure domain: all its devices | `feed-a` |
| vppb | switch/virtual switch/index from 0 | `cxl1/1/0` |
| part | switch/port/path | `cxl1/D1/ld=3`, `cxl1/D5/ld=0 region=2`, `jbof1/D1/namespace=1` |
| host | the host's id | `host1` |

Ids are those of the topology; a Port of the service has its own at the end of its URI. What
befalls the next command of a fabric, switch or host waits until one is sent.

## All faults

| fault | befalls | what happens | parameters |
|---|---|---|---|
"""


LINKS = """
## What ports count, and what becomes of cables

Each port of a switch counts the errors of its link (`PCIeErrors` of its PortMetrics; those of
SwitchMetrics are the sums). They follow from what befell it and from nothing else: no chance, no
noise. The state folder keeps them over a restart of the service; a switch that restarts begins at
zero. A switch that is described with `detail: core` counts nothing, and shows none of this.

- A link that is lost while it is up was in L0: its port counts a receiver error and a way into
  Recovery. A port towards a device, unlike one towards a host, reports Surprise Down too (fatal),
  and refuses one request (unsupported, non-fatal) for each vPPB bound there whose host runs.
- Each lane and each generation that a link gives up has garbled one TLP and one DLLP, both ways;
  their replays roll over once into Recovery. What comes back costs a way into Recovery.
- A link that is down already, or still in training, is not lost again. A host that goes off takes
  its link along in order, and nothing is counted.

The table is of port `cxl1/D1`, x16 of generation 5, with one vPPB of a running host bound there.
`CableStatus` is that of a cable at that port, where there is one; a Failed cable is Critical, a
Degraded one Warning. One that is pulled is Absent, and shows no CableStatus.

| fault | parameters | counted | CableStatus after |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class LinkFault:
    """A fault, and what a port has counted and its cable is when all of it has happened."""

    name: str
    object: str
    errors: LinkErrors
    cable: CableState = CableState.NORMAL
    given: Given = field(default_factory=dict)


def _lost(times: int) -> LinkErrors:
    return LinkErrors(correctable=times, recoveries=times, fatal=times, non_fatal=times,
                      unsupported_requests=times)  # fmt: skip


def _degraded(steps: int) -> LinkErrors:
    return LinkErrors(correctable=2 * steps + 1, recoveries=1, replays=steps, replay_rollovers=1,
                      naks_sent=steps, naks_received=steps, bad_tlps=steps,
                      bad_dllps=steps)  # fmt: skip


LINK_FAULTS = (
    LinkFault("link-down", "cxl1/D1", _lost(1), CableState.FAILED),
    LinkFault("link-flap", "cxl1/D1", _lost(3), given={"times": 3}),
    LinkFault("link-degrade", "cxl1/D1", _degraded(12), CableState.DEGRADED, {"width": 4}),
    LinkFault("link-degrade", "cxl1/D1", _degraded(1), CableState.DEGRADED, {"gen": 4}),
    LinkFault("link-reset", "cxl1/D1", LinkErrors(recoveries=1)),
    LinkFault("cable-pulled", "cxl1/D1", _lost(1), CableState.UNPLUGGED),
    LinkFault("lost", "pool", _lost(1)),
    LinkFault("power-off", "pool", _lost(1)),
    LinkFault("health", "cxl1/D1", NO_ERRORS, given={"health": "Critical"}),
    LinkFault("restart", "cxl1", NO_ERRORS),
    LinkFault("mains-lost", "host1", NO_ERRORS),
)


def page() -> str:
    """Return the text of docs/faults.md."""
    rows = (_row(name, kind) for name, kind in FAULTS.items())
    links = map(_link_row, LINK_FAULTS)
    return f"{HEAD}{_table(rows)}{LINKS}{_table(links)}"


def _table(rows: Iterable[Iterable[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _link_row(fault: LinkFault) -> Iterator[str]:
    yield f"`{fault.name}`"
    yield ", ".join(f"`{name}: {value}`" for name, value in fault.given.items()) or "none"
    shown = switch_metrics(fault.errors)["PCIeErrors"].items()
    yield ", ".join(f"{name} {count}" for name, count in shown if count) or "nothing"
    yield "none: Absent" if fault.cable is CableState.UNPLUGGED else fault.cable.value


def _row(name: str, kind: FaultKind) -> Iterator[str]:
    yield f"`{name}`"
    yield ", ".join(each.value for each in kind.applies_to)
    yield kind.text
    yield "; ".join(_parameter(name, each) for name, each in kind.parameters.items()) or "none"


def _parameter(name: str, parameter: Parameter) -> str:
    values = f" ({', '.join(parameter.one_of)})" if parameter.one_of else ""
    required = ", required" if parameter.required else ""
    return f"`{name}` {parameter.type.__name__}{required}: {parameter.text}{values}"


if __name__ == "__main__":
    print(page(), end="")

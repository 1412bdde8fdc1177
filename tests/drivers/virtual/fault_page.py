"""docs/faults.md, made of the table of faults that the driver has.

    python -m tests.drivers.virtual.fault_page > docs/faults.md

What is not in the table (what a fault is for, how a file orders them) is written here.
"""

from collections.abc import Iterator

from redfish_fm.drivers.virtual.fault_kinds import FaultKind, Parameter
from redfish_fm.drivers.virtual.fault_table import FAULTS

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


def page() -> str:
    """Return the text of docs/faults.md."""
    rows = (_row(name, kind) for name, kind in FAULTS.items())
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


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

"""docs/performance.md, made of the figures of one run, so that nobody types any.

python -m tests.bench --json docs/performance.json
python -m tests.bench.document docs/performance.json > docs/performance.md
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .peers import OURS
from .report import Figure, read_json

PEERS = (OURS, "Redfish Interface Emulator", "SNIA API emulator", "sushy-tools", "bmcweb")
"""In the table of services also where nobody measured them."""
_NOT_MEASURED = "not measured here"
_CLIENT = "client "

_HEAD = """\
# Performance

Made by `python -m tests.bench.document` of what `make bench` measured; not edited by hand.

| | |
|---|---|
"""

_OURS = """
## What it costs

Ratios compare CPU time of the server process with that of a bare aiohttp `web.Application` whose
handler repeats the same bytes and headers (of a POST: reads the body first). Both run by turns,
round by round; the figure is the median of the rounds' ratios, so that what else the machine does
disturbs both. Requests per second of one run are no figure: they are those of the machine.

A compose is one POST to Systems for a host with 8 GPUs and 2 TiB of memory, answered when all of it
was seen to be bound: what the virtual hardware takes for its commands is in it. Its commits are
those of the client and of the operation, without what is observed meanwhile.

"""

_SAME = """
## What does not depend on the size

These hold by tests that count work (documents parsed and rendered, index entries, candidates
looked at, lines run), not time:

| what | test |
|---|---|
| a change of the index, at 1,000 and 100,000 endpoints | `tests/fabric/test_index.py` |
| a new zone, connection or other wish, at 100,000 endpoints | `tests/fabric/test_costs.py` |
| a write, from request to publication, at 100,000 endpoints | `tests/control/test_work.py` |
| a look at a fabric with one changed port | `tests/mapping/test_observed.py` |
| the longest time a first look keeps others waiting | `tests/mapping/test_observed_parts.py` |

## Other services

As a client sees them, one after the other on this machine, each answering GET of one resource to
8 connections: what a request costs their machine is not known. They differ in what an answer
takes (documents, authentication, TLS).

"""

_REPEAT = """
## To repeat it

    make bench ARGS='--json docs/performance.json'
    python -m tests.bench.document docs/performance.json > docs/performance.md

On a machine that does nothing else, three times; `--row NAME` takes one row, `--rounds N` more
rounds smooth a noisy machine. Another service that runs already is compared with `--peer
'NAME=http://127.0.0.1:5000/redfish/v1/'`, which may be given several times. The `load` above is
the system's load average when the run began.
"""


def document(run: Mapping[str, Any], figures: Iterable[Figure]) -> str:
    """Return the page."""
    figures = list(figures)
    ours = [figure for figure in figures if not figure.row.startswith(_CLIENT)]
    seen = [figure for figure in figures if figure.row.startswith(_CLIENT)]
    facts = "".join(f"| {name} | {_cell(value)} |\n" for name, value in run.items())
    return f"{_HEAD}{facts}{_OURS}{_costs(ours)}{_SAME}{_services(seen)}{_REPEAT}"


def _costs(figures: Iterable[Figure]) -> str:
    lines = ["| row | figure | value | target | held | note |", "|---|---|---|---|---|---|"]
    for each in figures:
        held = {None: "", True: "yes", False: "**no**"}[each.held]
        cells = (each.row, each.what, _value(each), each.target, held, each.note)
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def _services(figures: Iterable[Figure]) -> str:
    rows: dict[str, list[Figure]] = {name: [] for name in PEERS}
    for each in figures:
        rows.setdefault(each.row.removeprefix(_CLIENT), []).append(each)
    lines = [
        "| service | requests per second | latency p50 | latency p99 | resource |",
        "|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        values = [_value(each) for each in row] or [_NOT_MEASURED]
        note = row[0].note if row else ""
        cells = (name, *values, *[""] * (3 - len(values)), note)
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def _value(figure: Figure) -> str:
    return _NOT_MEASURED if figure.value is None else f"{figure.value:g} {figure.unit}".strip()


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")


if __name__ == "__main__":
    print(document(*read_json(Path(sys.argv[1]))), end="")

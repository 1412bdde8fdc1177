"""What helps against the errors of other rooms: which exit code each has, and which hint.

One place for all commands, so that a mistake is told alike wherever it is met. Exit code 2 is for
what was asked for (a name, a flag, a key that can not be), 1 for what was found then (a file that
is wrong, a port that is taken); docs/command-line.md has the table.
"""

import difflib
from pathlib import Path

from redfish_fm.cli.output import Failure, Misuse
from redfish_fm.drivers.virtual.schedule import ScheduleError
from redfish_fm.drivers.virtual.topology import TopologyError, names
from redfish_fm.drivers.virtual.topology_parameters import SUFFIXES, split
from redfish_fm.errors import FmError
from redfish_fm.imports import MockupDefective
from redfish_fm.resources import mockups_dir
from redfish_fm.server.listener import ListenError
from redfish_fm.server.tls import TlsError
from redfish_fm.store.base import StoreError, StoreInUse
from redfish_fm.store.mockup_files import MockupError
from redfish_fm.wires_served import NotOnTheWire, WireMisnamed, WireRefused

_DOCTOR = "redfish-fm doctor with the same flags looks for causes"
_MOCKUP = "a mockup is a folder or zip with an index.json, or redfish/v1/index.json, at its top"
_HINTS: tuple[tuple[type[FmError], str], ...] = (
    (
        ListenError,
        "choose another port with --port, any free one with --port 0, or an address with --host",
    ),
    (StoreInUse, "give this one a state folder of its own with --state, or use --ephemeral"),
    (StoreError, "choose another state folder with --state, or use --ephemeral"),
    (MockupDefective, "leave out --strict to serve it all the same"),
    (TlsError, "--tls-cert and --tls-key want PEM files that belong together"),
    (WireRefused, "port 0 picks a free one; the log says which"),
    (NotOnTheWire, "offer another switch, by its name before the address"),
    (ScheduleError, "docs/faults.md lists every fault with its objects and parameters"),
)
"""What helps with which error: the first line that fits."""


def failure(error: FmError | OSError, source: Path | None = None) -> Failure:
    """Return what a command ends with; `source` is the mockup that was read, where one was."""
    if isinstance(error, TopologyError):
        return _of_topology(error)
    if isinstance(error, WireMisnamed):
        return Misuse(str(error), "docs/fmapi-server.md has the settings, and every fault")
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return Failure(f"{place}{error.strerror or error}", _DOCTOR)
    if isinstance(error, MockupError):
        return Failure(str(error), mockup_hint(source))
    hint = next((hint for kind, hint in _HINTS if isinstance(error, kind)), _DOCTOR)
    return Failure(str(error), hint)


def mockup_hint(source: Path | None) -> str:
    """Return what helps where `source` is no mockup: it may be a topology."""
    if source is not None and source.name.endswith(SUFFIXES):
        return (
            f"a topology is a file like this one: redfish-fm serve --topology {source},"
            f" redfish-fm topology validate {source}"
        )
    return _MOCKUP


def _of_topology(error: TopologyError) -> Failure:
    """Return a Misuse where the name or its parameters are wrong, else what the file is not."""
    told = "\n".join(f"{error.source}: {problem}" for problem in error.problems)
    kind = Misuse if error.misnamed else Failure
    return kind(told, _topology_hint(error))


def _topology_hint(error: TopologyError) -> str:
    bare, _ = split(error.source)
    if Path(bare).is_dir() or bare.endswith(".zip"):
        return f"a mockup is a folder or zip: redfish-fm serve --mockup {bare}"
    if not error.misnamed:
        return "docs/topologies.md has the words; redfish-fm topology schema is for editors"
    shipped = names(mockups_dir())
    near = difflib.get_close_matches(bare, shipped, n=1)
    meant = f"did you mean {near[0]}? " if near and bare not in shipped else ""
    return f"{meant}redfish-fm topology list names what is shipped, with its parameters"

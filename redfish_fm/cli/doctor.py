"""`redfish-fm doctor`: looks at this machine and says, check by check, what it saw."""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from redfish_fm.cli.options import settings_options
from redfish_fm.cli.output import json_option, print_json, print_table
from redfish_fm.config import Config, ConfigError, load
from redfish_fm.drivers.virtual import topology
from redfish_fm.errors import FmError
from redfish_fm.resources import ResourcesMissing, mockups_dir, schemas_dir
from redfish_fm.store.base import StoreError
from redfish_fm.store.lock import LOCK_NAME, DirectoryLock
from redfish_fm.store.mockup import read_mockup

_PYTHON_OLDEST = (3, 11)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `detail` says what was seen, or what is wrong and what helps."""

    name: str
    ok: bool
    detail: str


@click.command()
@settings_options
@json_option
def doctor(as_json: bool, **flags: object) -> None:
    """Check that `serve` would find what it needs.

    Takes the flags of `serve` and looks at the Python version, the data folders, the
    configuration, the topology or mockup, the state folder and the port. Changes nothing.

    Exit codes: 0 all checks passed; 1 one failed, which says what helps; 2 wrong usage.

    \b
    Examples:
      redfish-fm doctor --config /etc/redfish-fm.toml
      redfish-fm doctor --json --port 443 | jq '.[] | select(.ok | not)'
    """
    checks = list(examine(flags, os.environ))
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        print_table(
            ("check", "result", "detail"),
            ((check.name, "ok" if check.ok else "FAILED", check.detail) for check in checks),
        )
    sys.exit(0 if all(check.ok for check in checks) else 1)


def examine(flags: Mapping[str, object], environ: Mapping[str, str]) -> Iterator[Check]:
    """Yield every check; those that need a configuration are left out when it is wrong."""
    yield _python()
    yield from _data_folders()
    try:
        config = load(flags, environ)
    except ConfigError as error:
        for problem in error.problems:
            yield Check("configuration", False, problem)
        return
    yield Check("configuration", True, f"serves {config.source_name}")
    yield from _source(config)
    yield _state(config.state)
    yield _port(config)


def _python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] >= _PYTHON_OLDEST:
        return Check("python", True, f"{version} at {sys.executable}")
    return Check("python", False, f"{version} is too old; 3.11 or newer is needed")


def _data_folders() -> Iterator[Check]:
    for name, find in (("schemas", schemas_dir), ("mockups", mockups_dir)):
        try:
            yield Check(name, True, str(find()))
        except ResourcesMissing as error:
            yield Check(name, False, str(error))


def _source(config: Config) -> Iterator[Check]:
    """Read what is to be served, as the first start does."""
    try:
        if config.mockup is not None:
            tree = read_mockup(config.mockup)
            yield Check("mockup", True, f"{config.mockup}: {len(tree.documents)} documents")
        else:
            name = config.topology or ""
            fabrics = topology.load(name, mockups_dir()).inventories()
            yield Check("topology", True, f"{name}: {len(fabrics)} fabrics")
    except ResourcesMissing:
        return
    except topology.TopologyError as error:
        for problem in error.problems:
            yield Check("topology", False, f"{error.source}: {problem}")
    except FmError as error:
        yield Check("mockup", False, str(error))


def _state(state: Path | None) -> Check:
    """Write and remove a file where the state would go, or in the nearest folder that exists."""
    if state is None:
        return Check("state", True, "ephemeral: nothing is kept")
    nearest = next(folder for folder in (state, *state.parents) if folder.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=nearest, prefix=".doctor-"):
            pass
    except OSError as error:
        return Check("state", False, f"{nearest}: {error.strerror}; choose another with --state")
    if (state / LOCK_NAME).exists():
        try:
            DirectoryLock(state).release()
        except (StoreError, OSError) as error:
            return Check("state", False, f"{error}; give this one another with --state")
    made = "" if nearest == state else " (will be made)"
    return Check("state", True, f"{state} is writable{made}")


def _port(config: Config) -> Check:
    place = f"{config.host}:{config.port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as listener:
            # As servers do: a port in TIME_WAIT counts as free.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except OSError as error:
        return Check("port", False, f"{place}: {error.strerror}; choose another with --port")
    return Check("port", True, f"{place} is free" if config.port else f"{config.host}: any free")

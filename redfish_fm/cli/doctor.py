"""`redfish-fm doctor`: looks at this machine and says, check by check, what it saw."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from redfish_fm.cli.doctor_switches import look_at_switches
from redfish_fm.cli.options import settings_options
from redfish_fm.cli.output import json_option, print_json, print_table, progress_bar
from redfish_fm.clocks import SystemClock
from redfish_fm.config import Config, ConfigError, load
from redfish_fm.drivers.virtual import topology
from redfish_fm.drivers.virtual.driver import create
from redfish_fm.drivers.virtual.power import create as create_power
from redfish_fm.drivers.virtual.schedule import ScheduleError
from redfish_fm.errors import FmError
from redfish_fm.fabric.model import Inventory
from redfish_fm.imports import read_import
from redfish_fm.played import ordered_faults
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.resources import ResourcesMissing, mockups_dir, schemas_dir
from redfish_fm.server.listener import ListenError, bind
from redfish_fm.server.tls import TlsError, operator_certificate, server_context
from redfish_fm.store.base import StoreError
from redfish_fm.store.lock import LOCK_NAME, DirectoryLock
from redfish_fm.store.look import kept_source
from redfish_fm.store.sqlite_schema import DATABASE_NAME
from redfish_fm.wires_served import misnamed

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
    configuration, the topology or mockup, the faults, the switches, the state folder, the
    password, the certificate and the port. Changes nothing.

    Exit codes: 0 all checks passed; 1 one failed, which says what helps (a wrong configuration,
    too); 2 a flag that there is not.

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
    source, inventories = _source(config)
    yield from source
    if inventories is not None and config.faults is not None:
        yield asyncio.run(_faults(config, inventories))
    if inventories is not None and (config.fmapi_listen or config.fmapi_dial):
        yield _wires(config, inventories)
    for found in asyncio.run(look_at_switches(config.switches)) if config.switches else ():
        yield Check(*found)
    yield _state(config)
    yield _password(config)
    yield _certificate(config)
    yield asyncio.run(_port(config))


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


def _source(config: Config) -> tuple[list[Check], Sequence[Inventory] | None]:
    """Read what is to be served, as the first start does; return its fabrics, where it has any."""
    try:
        if config.mockup is not None:
            return _mockup(config.mockup, config.strict)
        if config.topology is None:
            return [], ()
        name = config.topology
        fabrics = topology.load(name, mockups_dir()).inventories()
        return [Check("topology", True, f"{name}: {_fabrics(len(fabrics))}")], fabrics
    except ResourcesMissing:
        return [], None
    except topology.TopologyError as error:
        lines = (f"{error.source}: {problem}" for problem in error.problems)
        return [Check("topology", False, line) for line in lines], None
    except FmError as error:
        return [Check("mockup", False, str(error))], None


def _mockup(path: Path, strict: bool) -> tuple[list[Check], Sequence[Inventory]]:
    with progress_bar("reading") as told:
        found = read_import(path, Catalog.load(schemas_dir()), told)
    refused = strict and bool(found.defects)
    driven = tuple(found.meaning.fabrics)
    what = f"{len(found.documents)} documents, {_fabrics(len(driven))} that can be driven"
    defects = f"{len(found.defects)} defects (redfish-fm mockup check lists them)"
    helps = ", which --strict does not accept" if refused else ""
    return [Check("mockup", not refused, f"{path}: {what}, {defects}{helps}")], driven


def _fabrics(count: int) -> str:
    return f"{count} fabric" if count == 1 else f"{count} fabrics"


async def _faults(config: Config, inventories: Sequence[Inventory]) -> Check:
    """Read the faults as a start does, for hardware that nobody else sees."""
    clock = SystemClock()
    drivers = {each.fabric: create(each, clock, clock) for each in inventories}
    power = create_power((each.hardware for each in drivers.values()), clock, clock)
    try:
        ordered_faults(config.faults, drivers, power, clock)
        return Check("faults", True, f"{config.faults} can befall these fabrics")
    except ScheduleError as error:
        lines = "; ".join(map(str, error.problems))
        return Check("faults", False, f"{config.faults}: {lines}; docs/faults.md lists all faults")
    finally:
        await power.close()
        for driver in drivers.values():
            await driver.close()


def _wires(config: Config, inventories: Sequence[Inventory]) -> Check:
    """Look whether the switches that are to be offered over the FM API are there."""
    wrong = misnamed(config, inventories)
    count = len(config.fmapi_listen) + len(config.fmapi_dial)
    return Check("fm api", not wrong, "; ".join(wrong) or f"{count} of [SWITCH=]HOST:PORT")


def _state(config: Config) -> Check:
    """Write and remove a file where the state would go, or in the nearest folder that exists."""
    state = config.state
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
    try:
        kept = kept_source(state)
    except StoreError as error:
        return Check("state", False, f"{error}; choose another folder with --state")
    if kept not in (None, config.source_name):
        told = f"{state} belongs to {kept}, not to {config.source_name}"
        return Check("state", False, f"{told}; give this one another with --state")
    made = "" if nearest == state else " (will be made)"
    return Check("state", True, f"{state} is writable{made}")


def _password(config: Config) -> Check:
    """Say where the first administrator's password comes from; never what it is."""
    if config.state is not None and (config.state / DATABASE_NAME).exists():
        told = "this state has its accounts; REDFISH_FM_ADMIN_PASSWORD changes none"
    elif config.admin_password is not None:
        told = f"user {config.admin_user} is made with REDFISH_FM_ADMIN_PASSWORD"
    else:
        told = f"user {config.admin_user} is made, and its password shown once, by the first start"
    return Check("password", True, told)


def _certificate(config: Config) -> Check:
    if config.http:
        return Check("certificate", True, "none: plain HTTP")
    if config.tls_cert is None or config.tls_key is None:
        place = "a folder for a time" if config.state is None else config.state / "tls"
        return Check("certificate", True, f"made by the service itself, in {place}")
    try:
        server_context(operator_certificate(config.tls_cert, config.tls_key))
    except TlsError as error:
        return Check("certificate", False, f"{error}; see --tls-cert and --tls-key")
    return Check("certificate", True, f"{config.tls_cert} and its key belong together")


async def _port(config: Config) -> Check:
    """Bind as a start does, and let go of it."""
    try:
        bound = await bind(config.host, config.port, plain=config.http)
    except ListenError as error:
        return Check("port", False, f"{error}; choose another with --port, or --host")
    bound.close()
    place = f"{config.host}:{config.port}"
    return Check("port", True, f"{place} is free" if config.port else f"{config.host}: any free")

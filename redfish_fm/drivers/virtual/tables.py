"""The tables of virtual.db, how values are written in them, and the way from older versions.

    table     one row per              columns
    binding   bound vPPB               fabric, switch, vcs, vppb, port, path, shared
    base      binding before the first action still in the journal (same columns)
    port      port out of the usual    fabric, switch, port, link_up, present, health, width, gen
    link      port that counted any    fabric, switch, port, errors
    switch    switch out of the usual  fabric, switch, health
    late      command still to run     n, fabric, due_s, what, switch, vcs, vppb, port, path,
                                       size_mib, shareable, qos
    vcs       virtual switch           fabric, switch, vcs, host
    plug      port of a device that    fabric, switch, port, device, scope
              has several or keeps data
    device    device with a pool, or   fabric, device, pool_mib, present, powered, serial_number,
              out of the usual         health, residue, qos
    part      part with a state        fabric, device, scope, path, switch, port, size_mib (NULL:
                                       not cut out of a pool), shareable, extents, media, hosts,
                                       residue, done_s, owners
    machine   host, once it was reset  host, power, then_on, until_s, boots, reset_s,
              (of no fabric)           manager_reset_s
    action    thing that happened      n, fabric, at_s, what, cause, switch, vcs, vppb, port, path,
                                       note

`port` with `path` is a target; `path` is BindTarget.path as "ld=3 region=0", "" for the whole
port. `extents` are "start+size" in MiB, `hosts` one a line. `shared` tells whether the target was
for several hosts when it was bound. `scope` is the head ("" where all ports reach the same media).
`qos` are "ld=allocated/limit" in percent, of a late command without the LD. `errors` are
"name=count" of those fields of LinkErrors that are not 0.
`power` is a Redfish PowerState; `then_on` whether it starts again once it is off, `until_s` when
its state changes by itself (NULL: never). Times are seconds since 1970.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from redfish_fm.drivers.virtual.capacity import Extent
from redfish_fm.drivers.virtual.contents import Residue
from redfish_fm.errors import FmError
from redfish_fm.fabric.link_errors import LinkErrors
from redfish_fm.fabric.model import BindTarget, Qos

VERSION = 6

_TABLES = """
CREATE TABLE IF NOT EXISTS binding (
  fabric TEXT, switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, path TEXT, shared INTEGER,
  PRIMARY KEY (fabric, switch, vcs, vppb));
CREATE TABLE IF NOT EXISTS base (
  fabric TEXT, switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, path TEXT, shared INTEGER,
  PRIMARY KEY (fabric, switch, vcs, vppb));
CREATE TABLE IF NOT EXISTS port (
  fabric TEXT, switch TEXT, port TEXT,
  link_up INTEGER, present INTEGER, health TEXT, width INTEGER, gen INTEGER,
  PRIMARY KEY (fabric, switch, port));
CREATE TABLE IF NOT EXISTS link (
  fabric TEXT, switch TEXT, port TEXT, errors TEXT, PRIMARY KEY (fabric, switch, port));
CREATE TABLE IF NOT EXISTS switch (
  fabric TEXT, switch TEXT, health TEXT, PRIMARY KEY (fabric, switch));
CREATE TABLE IF NOT EXISTS late (
  n INTEGER PRIMARY KEY AUTOINCREMENT, fabric TEXT, due_s REAL, what TEXT,
  switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, path TEXT, size_mib INTEGER, shareable INTEGER,
  qos TEXT);
CREATE TABLE IF NOT EXISTS vcs (
  fabric TEXT, switch TEXT, vcs TEXT, host TEXT, PRIMARY KEY (fabric, switch, vcs));
CREATE TABLE IF NOT EXISTS plug (
  fabric TEXT, switch TEXT, port TEXT, device TEXT, scope TEXT,
  PRIMARY KEY (fabric, switch, port));
CREATE TABLE IF NOT EXISTS device (
  fabric TEXT, device TEXT, pool_mib INTEGER DEFAULT 0,
  present INTEGER DEFAULT 1, powered INTEGER DEFAULT 1, serial_number TEXT,
  health TEXT DEFAULT 'OK', residue TEXT DEFAULT '', qos TEXT DEFAULT '',
  PRIMARY KEY (fabric, device));
CREATE TABLE IF NOT EXISTS part (
  fabric TEXT, device TEXT, scope TEXT, path TEXT, switch TEXT, port TEXT, size_mib INTEGER,
  shareable INTEGER, extents TEXT, media TEXT, hosts TEXT, residue TEXT, done_s REAL,
  owners TEXT DEFAULT '',
  PRIMARY KEY (fabric, device, scope, path));
CREATE TABLE IF NOT EXISTS machine (
  host TEXT PRIMARY KEY, power TEXT, then_on INTEGER, until_s REAL, boots INTEGER, reset_s REAL,
  manager_reset_s REAL);
CREATE TABLE IF NOT EXISTS action (
  n INTEGER PRIMARY KEY AUTOINCREMENT, fabric TEXT, at_s REAL, what TEXT, cause TEXT,
  switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, path TEXT, note TEXT);
"""

_FROM_1 = """
ALTER TABLE binding ADD COLUMN path TEXT;
UPDATE binding SET path = coalesce('ld=' || ld, '');
ALTER TABLE binding DROP COLUMN ld;
ALTER TABLE binding ADD COLUMN shared INTEGER DEFAULT 0;
ALTER TABLE base ADD COLUMN path TEXT;
UPDATE base SET path = coalesce('ld=' || ld, '');
ALTER TABLE base DROP COLUMN ld;
ALTER TABLE base ADD COLUMN shared INTEGER DEFAULT 0;
ALTER TABLE port ADD COLUMN gen INTEGER;
ALTER TABLE late ADD COLUMN path TEXT;
UPDATE late SET path = coalesce('ld=' || ld, '');
ALTER TABLE late DROP COLUMN ld;
ALTER TABLE late ADD COLUMN size_mib INTEGER;
ALTER TABLE late ADD COLUMN shareable INTEGER;
ALTER TABLE action ADD COLUMN path TEXT;
UPDATE action SET path = coalesce('ld=' || ld, '') WHERE vcs IS NOT NULL;
ALTER TABLE action DROP COLUMN ld;
"""
"""Version 1 had a column ld instead of path, no parts and no devices."""

_LATE_FROM_2 = "ALTER TABLE late ADD COLUMN qos TEXT;"
_FROM_2 = f"{_LATE_FROM_2} ALTER TABLE device ADD COLUMN qos TEXT DEFAULT '';"
"""Version 2 knew no bandwidth."""

_FROM_3 = """
ALTER TABLE part ADD COLUMN owners TEXT DEFAULT '';
UPDATE part SET owners = hosts WHERE shareable;
"""
"""Version 3 did not know who shares a part, nor the health of switches."""


# Version 4 knew no machines, version 5 no errors of links: their tables are all that is new.


class StateError(FmError):
    """The file can not be used (not ours, of another version, unreadable)."""


def open_state(path: Path | None) -> sqlite3.Connection:
    """Open or make the file at `path` (None: in memory), brought to the present version.

    Raises StateError for a later version, and sqlite3.DatabaseError where it is no database.
    """
    # Statements begin their own transactions; a second fabric of this service may hold the lock
    # for the microseconds of one of its own, hence the timeout.
    db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=5.0)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")
        _migrate(db, path)
    except (sqlite3.DatabaseError, StateError):
        db.close()
        raise
    return db


def _migrate(db: sqlite3.Connection, path: Path | None) -> None:
    """Bring the tables to the present version: all of it or, if that fails, nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version not in range(VERSION + 1):
            raise StateError(f"virtual hardware state {path} has version {version}, not {VERSION}")
        script = (
            _TABLES,
            _FROM_1 + _LATE_FROM_2 + _TABLES,
            _FROM_2 + _FROM_3 + _TABLES,
            _FROM_3 + _TABLES,
            _TABLES,
            _TABLES,
            "",
        )[version]
        for statement in script.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except (sqlite3.DatabaseError, StateError):
        db.execute("ROLLBACK")
        raise


def path_text(path: tuple[tuple[str, int], ...]) -> str:
    """Return BindTarget.path as it is written in a column."""
    return " ".join(f"{name}={number}" for name, number in path)


def read_path(text: str) -> tuple[tuple[str, int], ...]:
    """Return the path that `path_text` wrote."""
    pairs = (word.split("=") for word in text.split())
    return tuple((name, int(number)) for name, number in pairs)


def read_target(switch: str, port: str, path: str) -> BindTarget:
    """Return a target from its columns."""
    return BindTarget(switch, port, **dict(read_path(path)))


def extents_text(extents: tuple[Extent, ...]) -> str:
    """Return extents as they are written in a column."""
    return " ".join(f"{extent.start_mib}+{extent.size_mib}" for extent in extents)


def read_extents(text: str) -> tuple[Extent, ...]:
    """Return the extents that `extents_text` wrote."""
    pairs = (word.split("+") for word in text.split())
    return tuple(Extent(int(start), int(size)) for start, size in pairs)


def hosts_text(hosts: frozenset[str]) -> str:
    """Return host ids as they are written in a column."""
    return "\n".join(sorted(hosts))


def read_hosts(text: str) -> frozenset[str]:
    """Return the host ids that `hosts_text` wrote."""
    return frozenset(text.split("\n")) - {""}


def residue_text(residue: tuple[Residue, ...]) -> str:
    """Return residue as it is written in a column: a line each, extent and hosts by tabs."""
    lines = ((extents_text((left.extent,)), *sorted(left.hosts)) for left in residue)
    return "\n".join("\t".join(line) for line in lines)


def read_residue(text: str) -> tuple[Residue, ...]:
    """Return the residue that `residue_text` wrote."""
    rows = (row.split("\t") for row in text.split("\n") if row)
    return tuple(Residue(read_extents(first)[0], frozenset(hosts)) for first, *hosts in rows)


def errors_text(errors: LinkErrors) -> str:
    """Return what a port counted as it is written in a column."""
    return " ".join(f"{name}={count}" for name, count in asdict(errors).items() if count)


def read_errors(text: str) -> LinkErrors:
    """Return the counts that `errors_text` wrote."""
    return LinkErrors(**dict(read_path(text)))


def qos_text(qos: Mapping[int, Qos]) -> str:
    """Return the bandwidth of LDs as it is written in a column."""
    return " ".join(f"{ld}={one_qos_text(each)}" for ld, each in sorted(qos.items()))


def one_qos_text(qos: Qos) -> str:
    """Return one bandwidth as it is written in a column."""
    return f"{qos.allocated}/{qos.limit}"


def read_qos(text: str) -> dict[int, Qos]:
    """Return the bandwidths that `qos_text` wrote."""
    pairs = (word.split("=") for word in text.split())
    return {int(ld): read_one_qos(each) for ld, each in pairs}


def read_one_qos(text: str) -> Qos:
    """Return the bandwidth that `one_qos_text` wrote."""
    allocated, limit = text.split("/")
    return Qos(int(allocated), int(limit))

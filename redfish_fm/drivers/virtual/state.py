"""What powered hardware keeps: bindings, port conditions, commands still to run, a journal.

One SQLite file (`STATE/virtual.db`) for all fabrics of a service, in WAL mode and never synced:
it survives kill -9 of the service, not a power cut, and any other process may open it read-only
at any time (see `oracle`). Knows SQL and fabric values; decides nothing.

    table     one row per            columns
    binding   bound vPPB             fabric, switch, vcs, vppb, port, ld (NULL: whole port)
    port      port out of the usual  fabric, switch, port, link_up, present, health, width
    late      command still to run   n, fabric, due_s, what, switch, vcs, vppb, port, ld
    vcs       virtual switch         fabric, switch, vcs, host
    base      binding before the first action still in the journal (same columns as binding)
    action    thing that happened    n, fabric, at_s, what, cause, switch, vcs, vppb, port, ld, note

`action.what` is "bind" or "unbind" (a binding changed), "refused" (`note` has the reason),
"restart" or "port". `action.cause` is "command" (answered or not), "late" (a command that the
switch ran after its link was reset), "restart" or "outside" (someone else's doing). `n` grows
without gaps and is never reused; `at_s` and `due_s` are seconds since 1970 by the service clock.
base plus all actions gives binding. The journal keeps at least its newest `journal_max` actions.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redfish_fm.errors import FmError
from redfish_fm.fabric.model import Bind, BindTarget, PortId, Step, Unbind, VirtualSwitch, VppbId

FILE_NAME = "virtual.db"

_VERSION = 1
_FOLD = 1_000
"""Old actions leave the journal this many at a time, so most actions cost one INSERT."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS binding (
  fabric TEXT, switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, ld INTEGER,
  PRIMARY KEY (fabric, switch, vcs, vppb));
CREATE TABLE IF NOT EXISTS base (
  fabric TEXT, switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, ld INTEGER,
  PRIMARY KEY (fabric, switch, vcs, vppb));
CREATE TABLE IF NOT EXISTS port (
  fabric TEXT, switch TEXT, port TEXT,
  link_up INTEGER, present INTEGER, health TEXT, width INTEGER,
  PRIMARY KEY (fabric, switch, port));
CREATE TABLE IF NOT EXISTS late (
  n INTEGER PRIMARY KEY AUTOINCREMENT, fabric TEXT, due_s REAL, what TEXT,
  switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, ld INTEGER);
CREATE TABLE IF NOT EXISTS vcs (
  fabric TEXT, switch TEXT, vcs TEXT, host TEXT, PRIMARY KEY (fabric, switch, vcs));
CREATE TABLE IF NOT EXISTS action (
  n INTEGER PRIMARY KEY AUTOINCREMENT, fabric TEXT, at_s REAL, what TEXT, cause TEXT,
  switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, ld INTEGER, note TEXT);
"""


class StateError(FmError):
    """The file can not be used (not ours, of another version, unreadable)."""


@dataclass(frozen=True, slots=True)
class PortCondition:
    """What is out of the usual at one port; the default is a healthy trained link.

    `width` is the lane count of a degraded link, None where all lanes trained.
    """

    link_up: bool = True
    present: bool = True
    health: str = "OK"
    width: int | None = None


@dataclass(frozen=True, slots=True)
class LateCommand:
    """A command that its switch will still run, at `due_s` (seconds since 1970)."""

    n: int
    due_s: float
    step: Step


@dataclass(frozen=True, slots=True)
class Action:
    """One row to journal; see the module's table for the words."""

    at_s: float
    what: str
    cause: str
    switch: str
    vppb: VppbId | None = None
    target: BindTarget | None = None
    port: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """All that was kept of one fabric, as found when it was powered up."""

    bindings: Mapping[VppbId, BindTarget] = field(default_factory=dict)
    ports: Mapping[PortId, PortCondition] = field(default_factory=dict)
    late: tuple[LateCommand, ...] = ()


def virtual_db(state_dir: Path) -> Path:
    """Return where a service with that state directory keeps its virtual hardware."""
    return state_dir / FILE_NAME


class VirtualState:
    """The kept state of one fabric. Each method is one transaction, done when it returns."""

    def __init__(self, path: Path | None, fabric: str, journal_max: int = 100_000) -> None:
        """Open or make the file at `path` (None: in memory). Raises StateError."""
        self._fabric = fabric
        self._journal_max = journal_max
        self.path = path
        try:
            self.connection = _open(path)
        except sqlite3.DatabaseError as error:
            raise StateError(f"virtual hardware state {path}: {error}") from error

    def load(self) -> Kept:
        """Return what was kept."""
        return Kept(
            bindings={
                VppbId(switch, vcs, vppb): BindTarget(switch, port, ld)
                for switch, vcs, vppb, port, ld in self._rows(
                    "SELECT switch, vcs, vppb, port, ld FROM binding WHERE fabric = ?"
                )
            },
            ports={
                PortId(switch, port): PortCondition(bool(up), bool(present), health, width)
                for switch, port, up, present, health, width in self._rows(
                    "SELECT switch, port, link_up, present, health, width FROM port"
                    " WHERE fabric = ?"
                )
            },
            late=tuple(
                LateCommand(n, due_s, _step(what, VppbId(switch, vcs, vppb), port, ld))
                for n, due_s, what, switch, vcs, vppb, port, ld in self._rows(
                    "SELECT n, due_s, what, switch, vcs, vppb, port, ld FROM late"
                    " WHERE fabric = ? ORDER BY due_s, n"
                )
            ),
        )

    def described(self) -> bool:
        """Whether the fabric was powered up before with this file."""
        return any(True for _ in self._rows("SELECT 1 FROM vcs WHERE fabric = ? LIMIT 1"))

    def describe(self, virtual_switches: Iterable[VirtualSwitch]) -> None:
        """Note which host owns which virtual switch, for readers in other processes."""
        with self.connection as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM vcs WHERE fabric = ?", (self._fabric,))
            db.executemany(
                "INSERT INTO vcs VALUES (?, ?, ?, ?)",
                ((self._fabric, v.switch, v.id, v.host) for v in virtual_switches),
            )

    def record(self, actions: Iterable[Action], finished: LateCommand | None = None) -> None:
        """Journal what happened and keep its result; `finished` has now run."""
        with self.connection as db:
            db.execute("BEGIN IMMEDIATE")
            for action in actions:
                self._keep(db, action)
            if finished is not None:
                db.execute("DELETE FROM late WHERE n = ?", (finished.n,))

    def record_port(self, port: PortId, condition: PortCondition, action: Action) -> None:
        """Keep the condition of one port and journal the change."""
        with self.connection as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "INSERT OR REPLACE INTO port VALUES (?, ?, ?, ?, ?, ?, ?)",
                (self._fabric, port.switch, port.port, condition.link_up, condition.present,
                 condition.health, condition.width),
            )  # fmt: skip
            self._keep(db, action)

    def postpone(self, step: Step, due_s: float) -> LateCommand:
        """Keep a command that runs at `due_s`."""
        vppb, target = step.vppb, step.target
        what = "bind" if isinstance(step, Bind) else "unbind"
        with self.connection as db:
            made = db.execute(
                "INSERT INTO late (fabric, due_s, what, switch, vcs, vppb, port, ld)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._fabric, due_s, what, vppb.switch, vppb.vcs, vppb.vppb, target.port,
                 target.ld),
            )  # fmt: skip
        assert made.lastrowid is not None  # noqa: S101 - an INSERT always has one
        return LateCommand(made.lastrowid, due_s, step)

    def forget_late(self, switch: str) -> None:
        """Drop the commands that `switch` had still to run."""
        with self.connection as db:
            db.execute("DELETE FROM late WHERE fabric = ? AND switch = ?", (self._fabric, switch))

    def close(self) -> None:
        """Close the file. Safe to repeat."""
        self.connection.close()

    def _keep(self, db: sqlite3.Connection, action: Action) -> None:
        vppb, target = action.vppb, action.target
        port = target.port if target else action.port
        ld = target.ld if target else None
        made = db.execute(
            "INSERT INTO action (fabric, at_s, what, cause, switch, vcs, vppb, port, ld, note)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._fabric, action.at_s, action.what, action.cause, action.switch,
             vppb.vcs if vppb else None, vppb.vppb if vppb else None, port, ld, action.note),
        )  # fmt: skip
        if vppb is not None and action.what in ("bind", "unbind"):
            _apply(db, "binding", action.what, (self._fabric, *_key(vppb)), port, ld)
        if (made.lastrowid or 0) % _FOLD == 0:
            _fold(db, (made.lastrowid or 0) - self._journal_max)

    def _rows(self, query: str) -> Iterable[tuple[Any, ...]]:
        rows: Iterable[tuple[Any, ...]] = self.connection.execute(query, (self._fabric,))
        return rows


_SET = {
    "binding": "INSERT OR REPLACE INTO binding VALUES (?, ?, ?, ?, ?, ?)",
    "base": "INSERT OR REPLACE INTO base VALUES (?, ?, ?, ?, ?, ?)",
}
_UNSET = {
    "binding": "DELETE FROM binding WHERE fabric = ? AND switch = ? AND vcs = ? AND vppb = ?",
    "base": "DELETE FROM base WHERE fabric = ? AND switch = ? AND vcs = ? AND vppb = ?",
}


def _apply(
    db: sqlite3.Connection,
    table: str,
    what: str,
    key: tuple[str, str, str, int],
    port: str | None,
    ld: int | None,
) -> None:
    if what == "bind":
        db.execute(_SET[table], (*key, port, ld))
    else:
        db.execute(_UNSET[table], key)


def _fold(db: sqlite3.Connection, newest: int) -> None:
    """Move the actions up to `newest` out of the journal and into the base they lead to."""
    rows = db.execute(
        "SELECT what, fabric, switch, vcs, vppb, port, ld FROM action"
        " WHERE n <= ? AND what IN ('bind', 'unbind') ORDER BY n",
        (newest,),
    ).fetchall()
    for what, fabric, switch, vcs, vppb, port, ld in rows:
        _apply(db, "base", what, (fabric, switch, vcs, vppb), port, ld)
    db.execute("DELETE FROM action WHERE n <= ?", (newest,))


def _open(path: Path | None) -> sqlite3.Connection:
    # Statements begin their own transactions; a second fabric of this service may hold the lock
    # for the microseconds of one of its own, hence the timeout.
    db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=5.0)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version not in (0, _VERSION):
            raise StateError(f"virtual hardware state {path} has version {version}, not {_VERSION}")
        db.executescript(_SCHEMA)
        db.execute(f"PRAGMA user_version = {_VERSION}")
    except (sqlite3.DatabaseError, StateError):
        db.close()
        raise
    return db


def _key(vppb: VppbId) -> tuple[str, str, int]:
    return vppb.switch, vppb.vcs, vppb.vppb


def _step(what: str, vppb: VppbId, port: str, ld: int | None) -> Step:
    target = BindTarget(vppb.switch, port, ld)
    return Bind(vppb, target) if what == "bind" else Unbind(vppb, target)

"""What powered hardware keeps: bindings, parts, contents, conditions, commands to run, a journal.

One SQLite file (`STATE/virtual.db`) for all fabrics of a service, in WAL mode and never synced:
it survives kill -9 of the service, not a power cut, and any other process may open it read-only
at any time (see `oracle`). Its tables are described in `tables`. Knows SQL and fabric values;
decides nothing.

`action.what` is "bind" or "unbind" (a binding changed), "allocate", "deallocate", "sanitize" (it
began) or "sanitized" (it ended), "setqos" (an LD has other bandwidth), "exposed" (bound although
data of the hosts in `note`, who do not share it, are in it), "refused" (`note` has the reason),
"restart", "switch", "port" or "device". `action.cause` is "command" (answered or not), "late" (a
command that the switch ran after its link was reset), "wire" (by the FM API), "restart", "time" or
"outside" (someone else's doing). `n` grows without gaps and is never reused. base plus all actions
gives binding. The journal keeps at least its newest `journal_max` actions.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redfish_fm.drivers.virtual.contents import Content, Key, Life, Part
from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.refusals import switch_of
from redfish_fm.drivers.virtual.tables import (
    StateError,
    errors_text,
    extents_text,
    hosts_text,
    one_qos_text,
    open_state,
    path_text,
    qos_text,
    read_errors,
    read_extents,
    read_hosts,
    read_one_qos,
    read_path,
    read_qos,
    read_residue,
    read_target,
    residue_text,
)
from redfish_fm.fabric.link_errors import NO_ERRORS, LinkErrors
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Media,
    PortId,
    Sanitize,
    SetQos,
    Step,
    Unbind,
    VirtualSwitch,
    VppbId,
)

FILE_NAME = "virtual.db"

_FOLD = 1_000
"""Old actions leave the journal this many at a time, so most actions cost one INSERT."""

_WORDS: dict[type[Step], str] = {
    Bind: "bind",
    Unbind: "unbind",
    Allocate: "allocate",
    Deallocate: "deallocate",
    Sanitize: "sanitize",
    SetQos: "setqos",
}


@dataclass(frozen=True, slots=True)
class PortCondition:
    """What is out of the usual at one port; the default is a healthy trained link.

    `width` is the lane count and `gen` the generation of a degraded link, None where it trained
    to its best.
    """

    link_up: bool = True
    present: bool = True
    health: str = "OK"
    width: int | None = None
    gen: int | None = None


@dataclass(frozen=True, slots=True)
class LateCommand:
    """A command that its switch will still run, at `due_s` (seconds since 1970)."""

    n: int
    due_s: float
    step: Step


@dataclass(frozen=True, slots=True)
class Action:
    """One row to journal; see the module's words. `shared`: the target is for several hosts."""

    at_s: float
    what: str
    cause: str
    switch: str
    vppb: VppbId | None = None
    target: BindTarget | None = None
    port: str | None = None
    note: str | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """All that was kept of one fabric, as found when it was powered up.

    Devices are not in it: `VirtualState.restore` puts what was kept of them into them.
    """

    bindings: Mapping[VppbId, BindTarget] = field(default_factory=dict)
    ports: Mapping[PortId, PortCondition] = field(default_factory=dict)
    errors: Mapping[PortId, LinkErrors] = field(default_factory=dict)
    switch_health: Mapping[str, str] = field(default_factory=dict)
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
            self.connection = open_state(path)
        except sqlite3.DatabaseError as error:
            raise StateError(f"virtual hardware state {path}: {error}") from error

    def load(self) -> Kept:
        """Return what was kept."""
        return Kept(
            bindings={
                VppbId(switch, vcs, vppb): read_target(switch, port, path)
                for switch, vcs, vppb, port, path in self._rows(
                    "SELECT switch, vcs, vppb, port, path FROM binding WHERE fabric = ?"
                )
            },
            ports={
                PortId(switch, port): PortCondition(bool(up), bool(present), health, width, gen)
                for switch, port, up, present, health, width, gen in self._rows(
                    "SELECT switch, port, link_up, present, health, width, gen FROM port"
                    " WHERE fabric = ?"
                )
            },
            errors={
                PortId(switch, port): read_errors(errors)
                for switch, port, errors in self._rows(
                    "SELECT switch, port, errors FROM link WHERE fabric = ?"
                )
            },
            switch_health=dict(self._rows("SELECT switch, health FROM switch WHERE fabric = ?")),
            late=tuple(
                LateCommand(n, due_s, _step(what, switch, vcs, vppb, port, path, *rest))
                for n, due_s, what, switch, vcs, vppb, port, path, *rest in self._rows(
                    "SELECT n, due_s, what, switch, vcs, vppb, port, path, size_mib, shareable,"
                    " qos FROM late WHERE fabric = ? ORDER BY due_s, n"
                )
            ),
        )

    def restore(self, devices: Mapping[str, SimulatedDevice], shift_s: float) -> None:
        """Put what was kept of each device into it; `shift_s` leads from 1970 to its clock."""
        for id_, present, powered, serial, health, residue, qos in self._rows(
            "SELECT device, present, powered, serial_number, health, residue, qos FROM device"
            " WHERE fabric = ?"
        ):
            if id_ in devices:
                devices[id_].life = Life(bool(present), bool(powered), serial, health)
                devices[id_].residue = read_residue(residue)
                devices[id_].qos = read_qos(qos)
        for id_, scope, path, switch, port, size, shareable, extents, *content in self._rows(
            "SELECT device, scope, path, switch, port, size_mib, shareable, extents,"
            " media, hosts, residue, done_s, owners FROM part WHERE fabric = ?"
        ):
            if id_ in devices:
                key = (scope, read_path(path))
                devices[id_].contents[key] = _content(shift_s, *content)
                if size is not None:
                    target = read_target(switch, port, path)
                    part = Part(target, size, bool(shareable), read_extents(extents))
                    devices[id_].parts[key] = part

    def described(self) -> bool:
        """Whether the fabric was powered up before with this file."""
        return any(True for _ in self._rows("SELECT 1 FROM vcs WHERE fabric = ? LIMIT 1"))

    def describe(
        self, virtual_switches: Iterable[VirtualSwitch], devices: Iterable[SimulatedDevice]
    ) -> None:
        """Note which host owns which virtual switch and what is plugged where, for readers in
        other processes."""
        with self.connection as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM vcs WHERE fabric = ?", (self._fabric,))
            db.execute("DELETE FROM plug WHERE fabric = ?", (self._fabric,))
            db.executemany(
                "INSERT INTO vcs VALUES (?, ?, ?, ?)",
                ((self._fabric, v.switch, v.id, v.host) for v in virtual_switches),
            )
            for device in devices:
                self._describe_device(db, device)

    def record(
        self,
        actions: Iterable[Action],
        finished: LateCommand | None = None,
        devices: Iterable[tuple[SimulatedDevice, float]] = (),
        links: Mapping[PortId, LinkErrors] | None = None,
    ) -> None:
        """Journal what happened and keep its result; `finished` has now run.

        `devices` are those that changed, each with what leads from its clock to 1970; `links` the
        ports that may have counted errors.
        """
        with self.connection as db:
            db.execute("BEGIN IMMEDIATE")
            for action in actions:
                self._keep(db, action)
            for device, shift_s in devices:
                self._keep_device(db, device, shift_s)
            self._keep_links(db, links or {})
            if finished is not None:
                db.execute("DELETE FROM late WHERE n = ?", (finished.n,))

    def record_port(
        self,
        port: PortId,
        condition: PortCondition,
        action: Action,
        links: Mapping[PortId, LinkErrors],
    ) -> None:
        """Keep the condition of one port; journal the change. `links`: what it has counted, and
        what the other end of its link has."""
        with self.connection as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "INSERT OR REPLACE INTO port"
                " (fabric, switch, port, link_up, present, health, width, gen)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._fabric, port.switch, port.port, condition.link_up, condition.present,
                 condition.health, condition.width, condition.gen),
            )  # fmt: skip
            self._keep_links(db, links)
            self._keep(db, action)

    def record_switch(self, switch: str, health: str, action: Action) -> None:
        """Keep the health of one switch and journal the change."""
        with self.connection as db:
            db.execute("BEGIN IMMEDIATE")
            row = (self._fabric, switch, health)
            db.execute("INSERT OR REPLACE INTO switch VALUES (?, ?, ?)", row)
            self._keep(db, action)

    def postpone(self, step: Step, due_s: float) -> LateCommand:
        """Keep a command that runs at `due_s`."""
        vppb = step.vppb if isinstance(step, Bind | Unbind) else None
        size_mib, shareable = (
            (step.size_mib, step.shareable) if isinstance(step, Allocate) else (None, None)
        )
        qos = one_qos_text(step.qos) if isinstance(step, SetQos) else None
        with self.connection as db:
            made = db.execute(
                "INSERT INTO late (fabric, due_s, what, switch, vcs, vppb, port, path, size_mib,"
                " shareable, qos) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self._fabric, due_s, _WORDS[type(step)], switch_of(step),
                 vppb.vcs if vppb else None, vppb.vppb if vppb else None, step.target.port,
                 path_text(step.target.path), size_mib, shareable, qos),
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

    def _describe_device(self, db: sqlite3.Connection, device: SimulatedDevice) -> None:
        pool = device.facts.pool
        if pool is not None:
            db.execute(
                "INSERT INTO device (fabric, device, pool_mib) VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET pool_mib = excluded.pool_mib",
                (self._fabric, device.facts.id, pool.capacity_mib),
            )
        # Of a device on one port that keeps nothing, the port says all that a reader needs.
        if pool is None and not device.facts.sanitizes and len(device.ports) < 2:
            return
        for port in device.ports:
            scope, _ = device.key(BindTarget(port.switch, port.port))
            row = (self._fabric, port.switch, port.port, device.facts.id, scope)
            db.execute("INSERT OR REPLACE INTO plug VALUES (?, ?, ?, ?, ?)", row)

    def _keep(self, db: sqlite3.Connection, action: Action) -> None:
        vppb, target = action.vppb, action.target
        port = target.port if target else action.port
        path = path_text(target.path) if target else None
        made = db.execute(
            "INSERT INTO action (fabric, at_s, what, cause, switch, vcs, vppb, port, path, note)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._fabric, action.at_s, action.what, action.cause, action.switch,
             vppb.vcs if vppb else None, vppb.vppb if vppb else None, port, path,
             "shared" if action.shared else action.note),
        )  # fmt: skip
        if vppb is not None and action.what in ("bind", "unbind"):
            key = (self._fabric, vppb.switch, vppb.vcs, vppb.vppb)
            _apply(db, "binding", action.what, key, port, path, action.shared)
        if (made.lastrowid or 0) % _FOLD == 0:
            _fold(db, (made.lastrowid or 0) - self._journal_max)

    def _keep_links(self, db: sqlite3.Connection, links: Mapping[PortId, LinkErrors]) -> None:
        for port, errors in links.items():
            row = (self._fabric, port.switch, port.port)
            if errors == NO_ERRORS:
                db.execute("DELETE FROM link WHERE fabric = ? AND switch = ? AND port = ?", row)
            else:
                kept = (*row, errors_text(errors))
                db.execute("INSERT OR REPLACE INTO link VALUES (?, ?, ?, ?)", kept)

    def _keep_device(self, db: sqlite3.Connection, device: SimulatedDevice, shift_s: float) -> None:
        life = device.life
        db.execute(
            "INSERT INTO device (fabric, device, present, powered, serial_number, health, residue,"
            " qos) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " (present, powered, serial_number, health, residue, qos) = (excluded.present,"
            " excluded.powered, excluded.serial_number, excluded.health, excluded.residue,"
            " excluded.qos)",
            (self._fabric, device.facts.id, life.present, life.powered, life.serial_number,
             life.health, residue_text(device.residue), qos_text(device.qos)),
        )  # fmt: skip
        for key in device.changed:
            self._keep_part(db, device, key, shift_s)
        device.changed.clear()

    def _keep_part(
        self, db: sqlite3.Connection, device: SimulatedDevice, key: Key, shift_s: float
    ) -> None:
        row = (self._fabric, device.facts.id, key[0], path_text(key[1]))
        part, content = device.parts.get(key), device.contents.get(key)
        if part is None and content is None:
            db.execute(
                "DELETE FROM part WHERE fabric = ? AND device = ? AND scope = ? AND path = ?", row
            )
            return
        content = content or Content()
        db.execute(
            "INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, part and part.target.switch, part and part.target.port,
             part and part.size_mib, part and part.shareable, part and extents_text(part.extents),
             content.media.value, hosts_text(content.hosts), hosts_text(content.residue),
             None if content.done_s is None else content.done_s + shift_s,
             hosts_text(content.owners)),
        )  # fmt: skip

    def _rows(self, query: str) -> Iterable[tuple[Any, ...]]:
        rows: Iterable[tuple[Any, ...]] = self.connection.execute(query, (self._fabric,))
        return rows


_SET = {
    "binding": "INSERT OR REPLACE INTO binding (fabric, switch, vcs, vppb, port, path, shared)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)",
    "base": "INSERT OR REPLACE INTO base (fabric, switch, vcs, vppb, port, path, shared)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)",
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
    path: str | None,
    shared: bool,
) -> None:
    if what == "bind":
        db.execute(_SET[table], (*key, port, path, shared))
    else:
        db.execute(_UNSET[table], key)


def _fold(db: sqlite3.Connection, newest: int) -> None:
    """Move the actions up to `newest` out of the journal and into the base they lead to."""
    rows = db.execute(
        "SELECT what, fabric, switch, vcs, vppb, port, path, note FROM action"
        " WHERE n <= ? AND what IN ('bind', 'unbind') ORDER BY n",
        (newest,),
    ).fetchall()
    for what, fabric, switch, vcs, vppb, port, path, note in rows:
        _apply(db, "base", what, (fabric, switch, vcs, vppb), port, path, note == "shared")
    db.execute("DELETE FROM action WHERE n <= ?", (newest,))


def _content(
    shift_s: float, media: str, hosts: str, residue: str, done_s: float | None, owners: str
) -> Content:
    """Return a content from its columns; a sanitizing went on while nobody looked."""
    left_s = None if done_s is None else done_s + shift_s
    return Content(Media(media), read_hosts(hosts), read_hosts(residue), left_s, read_hosts(owners))


def _step(
    what: str,
    switch: str,
    vcs: str | None,
    vppb: int | None,
    port: str,
    path: str,
    size_mib: int | None,
    shareable: int | None,
    qos: str | None,
) -> Step:
    target = read_target(switch, port, path)
    if vcs is not None and vppb is not None:
        return (Bind if what == "bind" else Unbind)(VppbId(switch, vcs, vppb), target)
    if qos is not None:
        return SetQos(target, read_one_qos(qos))
    if what == "allocate":
        return Allocate(target, size_mib or 0, bool(shareable))
    return Sanitize(target) if what == "sanitize" else Deallocate(target)

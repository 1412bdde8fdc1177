"""Reads the virtual hardware's own memory: the truth that tests hold the service to.

Knows only the tables of `state`; shares no code with the service's rules, so that both can not
be wrong in the same way. Opens the file read-only, from any process, also while the service
writes or after it was killed.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from redfish_fm.fabric.model import BindTarget, VppbId


@dataclass(frozen=True, slots=True)
class Reach:
    """A binding that existed at some instant. `host` is the owner of the virtual switch."""

    vppb: VppbId
    target: BindTarget
    host: str


@dataclass(frozen=True, slots=True)
class DoubleReach:
    """Action `n` gave `second` while `first`, of another host, still reached the same thing.

    `n` 0 means: already so before the first action still in the journal.
    """

    fabric: str
    n: int
    at_s: float
    cause: str
    first: Reach
    second: Reach


@dataclass(frozen=True, slots=True)
class Done:
    """One journaled action; the words are explained in `state`."""

    n: int
    fabric: str
    at_s: float
    what: str
    cause: str
    switch: str
    vppb: VppbId | None
    port: str | None
    ld: int | None
    note: str | None


class Oracle:
    """A reader of one virtual.db, or of the connection of a hardware kept in memory."""

    def __init__(self, source: Path | sqlite3.Connection) -> None:
        """Open `source` read-only; a connection is used as it is and not closed."""
        self._owned = isinstance(source, Path)
        if isinstance(source, Path):
            uri = f"{source.resolve().as_uri()}?mode=ro"
            self._db = sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None)
        else:
            self._db = source

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what the constructor opened."""
        if self._owned:
            self._db.close()

    def bindings(self, fabric: str) -> dict[VppbId, BindTarget]:
        """Return what is bound now."""
        rows = self._db.execute(
            "SELECT switch, vcs, vppb, port, ld FROM binding WHERE fabric = ?", (fabric,)
        )
        return {
            VppbId(switch, vcs, vppb): BindTarget(switch, port, ld)
            for switch, vcs, vppb, port, ld in rows
        }

    def actions(self, fabric: str | None = None, after: int = 0) -> list[Done]:
        """Return the journaled actions later than number `after`, oldest first."""
        rows = self._db.execute(
            "SELECT n, fabric, at_s, what, cause, switch, vcs, vppb, port, ld, note FROM action"
            " WHERE n > ? AND (? IS NULL OR fabric = ?) ORDER BY n",
            (after, fabric, fabric),
        )
        return [
            Done(n, fab, at_s, what, cause, switch,
                 None if vcs is None else VppbId(switch, vcs, vppb), port, ld, note)
            for n, fab, at_s, what, cause, switch, vcs, vppb, port, ld, note in rows
        ]  # fmt: skip

    def double_reach(self) -> list[DoubleReach]:
        """Return every instant at which two hosts reached one target, or a port and its LD.

        Replays base and journal, so it also sees what has been undone since.
        """
        self._db.execute("BEGIN")
        try:
            return list(self._double_reach())
        finally:
            self._db.execute("COMMIT")

    def _double_reach(self) -> Iterator[DoubleReach]:
        hosts = {
            (fabric, switch, vcs): host or f"nobody behind {switch}/{vcs}"
            for fabric, switch, vcs, host in self._db.execute("SELECT * FROM vcs")
        }
        held: dict[tuple[str, str, str], dict[VppbId, Reach]] = defaultdict(dict)
        where: dict[tuple[str, VppbId], tuple[str, str, str]] = {}
        for n, fabric, at_s, what, cause, switch, vcs, vppb_index, port, ld in self._db.execute(
            "SELECT 0, fabric, 0.0, 'bind', 'base', switch, vcs, vppb, port, ld FROM base"
            " UNION ALL"
            " SELECT n, fabric, at_s, what, cause, switch, vcs, vppb, port, ld FROM action"
            " WHERE what IN ('bind', 'unbind') ORDER BY 1"
        ):
            vppb = VppbId(switch, vcs, vppb_index)
            old = where.pop((fabric, vppb), None)
            if old is not None:
                held[old].pop(vppb, None)
            if what == "unbind":
                continue
            host = hosts.get((fabric, switch, vcs), f"nobody behind {switch}/{vcs}")
            new = Reach(vppb, BindTarget(switch, port, ld), host)
            key = (fabric, switch, port)
            for other in held[key].values():
                if other.host != host and _overlap(other.target, new.target):
                    yield DoubleReach(fabric, n, at_s, cause, other, new)
            held[key][vppb] = new
            where[fabric, vppb] = key


def _overlap(one: BindTarget, other: BindTarget) -> bool:
    """Whether two targets of one port share anything: a whole port holds all its LDs."""
    return one.ld is None or other.ld is None or one.ld == other.ld

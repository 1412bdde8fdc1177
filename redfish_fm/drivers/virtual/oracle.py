"""Reads the virtual hardware's own memory: the truth that tests hold the service to.

Knows only the tables of `tables`; shares no code with the service's rules, so that both can not
be wrong in the same way. Opens the file read-only, from any process, also while the service
writes or after it was killed.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from redfish_fm.drivers.virtual.capacity import Extent, gaps
from redfish_fm.drivers.virtual.tables import read_extents, read_hosts, read_path, read_target
from redfish_fm.fabric.model import BindTarget, Media, VppbId


@dataclass(frozen=True, slots=True)
class Reach:
    """A binding that existed at some instant. `host` is the owner of the virtual switch."""

    vppb: VppbId
    target: BindTarget
    host: str
    shared: bool = False
    """Whether the target was allocated for several hosts."""


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
    target: BindTarget | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Medium:
    """What is in one part, device or fixed LD: `media` as reported, `hosts` whose data truly are.

    `size_mib` and `shareable` are those of its allocation; None where it is not cut out of a pool.
    """

    device: str
    scope: str
    path: tuple[tuple[str, int], ...]
    media: Media
    hosts: frozenset[str]
    size_mib: int | None
    shareable: bool | None


@dataclass(frozen=True, slots=True)
class PoolAccount:
    """The capacity of one device's pool in MiB. Sound: total = allocated + free, `twice` 0.

    `free_mib` is counted by address, `allocated_mib` by part; `twice_mib` is in several parts.
    """

    device: str
    total_mib: int
    allocated_mib: int
    free_mib: int
    twice_mib: int


Unit = tuple[str, str]
"""What media are reached through: device and scope; or switch and port where nothing is known."""


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
            "SELECT switch, vcs, vppb, port, path FROM binding WHERE fabric = ?", (fabric,)
        )
        return {
            VppbId(switch, vcs, vppb): read_target(switch, port, path)
            for switch, vcs, vppb, port, path in rows
        }

    def reach(self, fabric: str) -> dict[str, set[tuple[Unit, tuple[tuple[str, int], ...]]]]:
        """Return which media each host reaches now, through any port: units and paths in them."""
        rows = self._db.execute(
            "SELECT b.switch, b.port, b.path, v.host, p.device, p.scope, b.vcs FROM binding b"
            " LEFT JOIN vcs v USING (fabric, switch, vcs)"
            " LEFT JOIN plug p ON (p.fabric, p.switch, p.port) = (b.fabric, b.switch, b.port)"
            " WHERE b.fabric = ?",
            (fabric,),
        )
        found = defaultdict(set)
        for switch, port, path, host, device, scope, vcs in rows:
            unit = (switch, port) if device is None else (device, scope)
            found[host or _nobody(switch, vcs)].add((unit, read_path(path)))
        return dict(found)

    def media(self, fabric: str) -> list[Medium]:
        """Return what is in every part and device whose contents are known."""
        rows = self._db.execute(
            "SELECT device, scope, path, media, hosts, size_mib, shareable FROM part"
            " WHERE fabric = ? ORDER BY device, scope, path",
            (fabric,),
        )
        return [
            Medium(device, scope, read_path(path), Media(media), read_hosts(hosts), size,
                   None if shareable is None else bool(shareable))
            for device, scope, path, media, hosts, size, shareable in rows
        ]  # fmt: skip

    def accounts(self, fabric: str) -> list[PoolAccount]:
        """Return how the capacity of every pool is used."""
        pools = self._db.execute(
            "SELECT device, pool_mib FROM device WHERE fabric = ? AND pool_mib > 0 ORDER BY device",
            (fabric,),
        ).fetchall()
        return [self._account(fabric, device, total) for device, total in pools]

    def exposures(self, fabric: str | None = None) -> list[Done]:
        """Return every bind that showed a host the data of others (`note` names them).

        Those of hosts with which it shares a part are no others, while one of them still owns it.
        """
        return [done for done in self.actions(fabric) if done.what == "exposed"]

    def actions(self, fabric: str | None = None, after: int = 0) -> list[Done]:
        """Return the journaled actions later than number `after`, oldest first."""
        rows = self._db.execute(
            "SELECT n, fabric, at_s, what, cause, switch, vcs, vppb, port, path, note FROM action"
            " WHERE n > ? AND (? IS NULL OR fabric = ?) ORDER BY n",
            (after, fabric, fabric),
        )
        return [
            Done(n, fab, at_s, what, cause, switch,
                 None if vcs is None else VppbId(switch, vcs, vppb), port,
                 None if path is None else read_target(switch, port, path), note)
            for n, fab, at_s, what, cause, switch, vcs, vppb, port, path, note in rows
        ]  # fmt: skip

    def double_reach(self) -> list[DoubleReach]:
        """Return every instant at which two hosts reached one thing, or a thing and its part.

        A device on several ports is one thing unless each head serves its own host. Replays base
        and journal, so it also sees what has been undone since.
        """
        self._db.execute("BEGIN")
        try:
            return list(self._double_reach())
        finally:
            self._db.execute("COMMIT")

    def _double_reach(self) -> Iterator[DoubleReach]:
        hosts = {
            (fabric, switch, vcs): host
            for fabric, switch, vcs, host in self._db.execute("SELECT * FROM vcs")
        }
        units: dict[tuple[str, str, str], Unit] = {
            (fabric, switch, port): (device, scope)
            for fabric, switch, port, device, scope in self._db.execute("SELECT * FROM plug")
        }
        held: dict[tuple[str, Unit], dict[VppbId, Reach]] = defaultdict(dict)
        where: dict[tuple[str, VppbId], tuple[str, Unit]] = {}
        for (
            n,
            fabric,
            at_s,
            what,
            cause,
            switch,
            vcs,
            vppb_index,
            port,
            path,
            shared,
        ) in self._replay():
            vppb = VppbId(switch, vcs, vppb_index)
            old = where.pop((fabric, vppb), None)
            if old is not None:
                held[old].pop(vppb, None)
            if what == "unbind":
                continue
            host = hosts.get((fabric, switch, vcs)) or _nobody(switch, vcs)
            new = Reach(vppb, read_target(switch, port, path), host, shared)
            key = (fabric, units.get((fabric, switch, port), (switch, port)))
            for other in held[key].values():
                if other.host != host and _collide(other, new):
                    yield DoubleReach(fabric, n, at_s, cause, other, new)
            held[key][vppb] = new
            where[fabric, vppb] = key

    def _replay(self) -> Iterator[tuple[int, str, float, str, str, str, str, int, str, str, bool]]:
        """Yield every binding and unbinding, those of the base first."""
        for *row, path, shared in self._db.execute(
            "SELECT 0, fabric, 0.0, 'bind', 'base', switch, vcs, vppb, port, path, shared FROM base"
            " UNION ALL"
            " SELECT n, fabric, at_s, what, cause, switch, vcs, vppb, port, path, note = 'shared'"
            " FROM action WHERE what IN ('bind', 'unbind') ORDER BY 1"
        ):
            yield (*row, path, bool(shared))

    def _account(self, fabric: str, device: str, total_mib: int) -> PoolAccount:
        rows = self._db.execute(
            "SELECT size_mib, extents FROM part"
            " WHERE fabric = ? AND device = ? AND size_mib IS NOT NULL",
            (fabric, device),
        ).fetchall()
        extents = sorted(extent for _, text in rows for extent in read_extents(text))
        free_mib = sum(gap.size_mib for gap in gaps(total_mib, extents))
        return PoolAccount(
            device, total_mib, sum(size for size, _ in rows), free_mib, _twice(extents)
        )


def _nobody(switch: str, vcs: str) -> str:
    return f"nobody behind {switch}/{vcs}"


def _collide(one: Reach, other: Reach) -> bool:
    """Whether two targets of one unit share anything that is not for several hosts."""
    if one.shared and other.shared and one.target.path == other.target.path:
        return False
    shorter, longer = sorted((one.target.path, other.target.path), key=len)
    return longer[: len(shorter)] == shorter


def _twice(extents: list[Extent]) -> int:
    """Return how much is in several of them; they are sorted."""
    twice_mib, end_mib = 0, 0
    for extent in extents:
        twice_mib += max(0, min(end_mib, extent.end_mib) - extent.start_mib)
        end_mib = max(end_mib, extent.end_mib)
    return twice_mib

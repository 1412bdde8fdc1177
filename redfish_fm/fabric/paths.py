"""How far a host is from its switches: the topology as a tree of hops per host.

Pure. A host comes in at one switch or several by links of its own; from there switches may be
chained. Each hop adds latency, and its link carries so much. Latencies in ns, bandwidths in MB/s
per direction.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from redfish_fm.fabric.binding_index import VcsFact

SwitchKey = tuple[str, str]
"""(fabric, switch): switches of different fabrics never share a port."""

BESIDE = ""
"""The fabric of what stands for a switch where nobody knows of any: a zone of blocks."""

LANE_MB_S = {1: 250, 2: 500, 3: 985, 4: 1969, 5: 3938, 6: 7563}
"""PCIe generation -> what a lane carries per direction: 8b/10b, 128b/130b, 242/256 flits."""

HOP_NS = 115
"""What a switch adds where its driver does not tell: a PCIe Gen5 switch, cut-through."""


def link_mb_s(gen: int, lanes: int) -> int | None:
    """Return what a link carries per direction; None for a generation that is not known."""
    lane = LANE_MB_S.get(gen)
    return None if lane is None else lane * lanes


@dataclass(frozen=True, slots=True)
class Way:
    """How a host gets to one switch. `root` is the switch at which it comes in from the host.

    `uplinks` are the links on the way, each named by the switch that it leads to, nearest first.
    """

    switch: SwitchKey
    root: SwitchKey
    hops: int
    latency_ns: int
    uplinks: tuple[SwitchKey, ...]
    bandwidth_mb_s: int | None
    """Of the last uplink alone."""
    link: str | None = None
    """Which link the last uplink is, where others use it too; None: it is the host's own."""


Ways = Mapping[SwitchKey, Way]
"""Every switch that a host has a virtual switch on, in the order of ids."""


def by_id(text: str) -> tuple[int, str]:
    """Return a sort key of ids: what ends in numbers comes in their order."""
    return len(text), text


def switch_order(switch: SwitchKey) -> tuple[tuple[int, str], tuple[int, str]]:
    """Return a sort key of switches."""
    return by_id(switch[0]), by_id(switch[1])


def ways_of(vcss: Iterable[VcsFact]) -> dict[SwitchKey, Way]:
    """Return the best way to each switch that one host has virtual switches on.

    Of several to the same switch: fewest hops, then least latency, then lowest id.
    """
    best: dict[SwitchKey, VcsFact] = {}
    for vcs in sorted(vcss, key=_preference):
        best.setdefault((vcs.fabric, vcs.switch), vcs)
    return {switch: _way(best, switch) for switch in sorted(best, key=switch_order)}


def _preference(vcs: VcsFact) -> tuple[int, int, str]:
    return vcs.hops, _latency(vcs), vcs.vcs


def _way(known: Mapping[SwitchKey, VcsFact], switch: SwitchKey) -> Way:
    chain = [*_chain(known, switch)]
    latency = sum(_latency(known[each]) for each in chain)
    # A chain that ends at a switch which the host has nothing on is as long as it says.
    hops = max(known[switch].hops, len(chain))
    latency += HOP_NS * (hops - len(chain))
    last, link = known[switch].bandwidth_mb_s, None
    if len(chain) > 1:
        link = known[switch].link or _unnamed(switch, chain[1])
    return Way(switch, chain[-1], hops, latency, tuple(reversed(chain)), last, link)


def _unnamed(one: SwitchKey, other: SwitchKey) -> str:
    """Return a name for the only link between two switches, whichever way it is gone."""
    return " - ".join(sorted(("/".join(one), "/".join(other))))


def _chain(known: Mapping[SwitchKey, VcsFact], switch: SwitchKey) -> Iterator[SwitchKey]:
    """Yield the switch and those before it, up to where the host comes in."""
    seen: set[SwitchKey] = set()
    at: SwitchKey | None = switch
    while at is not None and at in known and at not in seen:
        seen.add(at)
        yield at
        through = known[at].through
        at = None if through is None else (at[0], through)


def _latency(vcs: VcsFact) -> int:
    return HOP_NS if vcs.latency_ns is None else vcs.latency_ns

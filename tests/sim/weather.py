"""What one seed decides: the fabric, what goes wrong and how often. Pure; knows no kernel.

Faults vary per seed between never and nearly always: fixed mild rates miss what only a rare mixture
shows (STYLE section 11).
"""

import random
from dataclasses import dataclass, field, replace

from redfish_fm.drivers.virtual.faults import Rates
from redfish_fm.drivers.virtual.refusals import PERMISSIVE, Forgets
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.fabric.model import Inventory
from tests.sim.worlds import topology

CARELESS = PERMISSIVE | {Forgets.DEALLOCATE_DIRTY}
"""All checks that hardware may leave out without lying: only the service keeps hosts apart then."""

_KINDS = ("refuse", "slow", "lost", "dropped", "late", "restart")


@dataclass(frozen=True)
class Weather:
    """The constants of one run. Rates are probabilities, intervals mean seconds (0: never)."""

    seed: int
    hosts: int = 2
    gpus: int = 2
    lds: int = 2
    slds: int = 1
    pooled: int = 0
    """How many LDs clients may cut out of the pooled device; 0: there is none."""
    regions: int = 0
    """How many regions an LD of the dynamic-capacity device may hold; 0: there is none."""
    dynamic_lds: int = 1
    functions: int = 0
    """Virtual functions of each of the two physical ones that are bound alone; 0: no such NIC."""
    heads: int = 0
    """Heads of the multi-host NIC; 0: there is none."""
    dual: int = 0
    """1: there is a dual-ported drive."""
    namespaces: int = 0
    pcie_switches: int = 1
    chained: int = 0
    """Links by which one more PCIe switch is below the last one; 0: there is none."""
    max_zones: int = 0
    vppbs: int = 3
    forgets: frozenset[Forgets] = CARELESS
    keeps_bindings: bool = True
    rates: Rates = field(default_factory=Rates)
    lies: bool = False
    look_s: float = 0.0
    command_s: float = 0.002
    late_max_s: float = 2.0
    store_latency_s: float = 0.0
    store_faults: dict[str, float] = field(default_factory=dict)
    crash_every_s: float = 0.0
    link_every_s: float = 0.0
    cut_every_s: float = 0.0
    foreign_every_s: float = 0.0
    device_every_s: float = 0.0
    """How often a device is pulled out, loses its power, or is struck together with its domain."""
    swaps: bool = False
    """Whether another, blank device may come back in the place of one that was pulled out."""
    host_every_s: float = 0.0
    """How often a host is turned off, is off for a while, or starts anew."""
    part_every_s: float = 0.0
    """How often the next command about contents or capacity goes wrong."""
    composing: bool = False
    """Whether clients make systems of resource blocks besides all else."""
    focus: str = ""
    """What clients mostly do: "" anything, else one of clients.FOCI."""
    clients: int = 3
    steps: int = 100
    pause_s: float = 0.3
    patience: float = 0.05
    """How often a client hangs up before it is answered."""
    sync_budget_s: float = 2.0
    operation_s: float = 20.0
    finished_kept: int = 200

    @property
    def truthful(self) -> bool:
        """Whether all that is bound in hardware is our doing, and reported as it is."""
        return not self.lies and not self.foreign_every_s

    @property
    def steady(self) -> bool:
        """Whether what was once bound stays bound unless we unbind it."""
        return self.truthful and self.keeps_bindings and not self.swaps

    def inventories(self) -> tuple[Inventory, ...]:
        """Return the fabrics of this run."""
        return read(topology(self), f"seed {self.seed}").inventories()


def stream(name: str) -> random.Random:
    """Return a stream of chance of its own."""
    return random.Random(name)  # noqa: S311 - repeatable, not secret


def draw(seed: int, steps: int = 100) -> Weather:
    """Return what a seed decides."""
    rng = stream(f"weather {seed}")
    lies = rng.random() < 0.15
    foreign = rng.random() < 0.15
    drawn = Weather(
        seed=seed,
        hosts=rng.choice((2, 2, 3)),
        gpus=rng.choice((0, 1, 2)),
        lds=rng.choice((0, 2, 3)),
        slds=rng.choice((1, 1, 2)),
        pooled=rng.choice((0, 2, 4)),
        regions=rng.choice((0, 2, 4)),
        dynamic_lds=rng.choice((1, 2)),
        functions=rng.choice((0, 0, 1, 2)),
        heads=rng.choice((0, 2, 3)),
        dual=rng.choice((0, 1)),
        namespaces=rng.choice((0, 3, 5)),
        pcie_switches=rng.choice((1, 2)),
        max_zones=rng.choice((0, 0, 0, 0, 5)),
        vppbs=rng.choice((2, 3, 5, 8)),
        forgets=_forgets(rng),
        keeps_bindings=rng.random() < 0.8,
        rates=_rates(rng, lies),
        lies=lies,
        look_s=rng.choice((0.0, 0.0, 0.05, 0.3)),
        command_s=rng.choice((0.0, 0.002, 0.05, 0.3)),
        late_max_s=rng.choice((0.3, 2.0)),
        store_latency_s=rng.choice((0.0, 0.0, 0.01, 0.2)),
        store_faults=_store_faults(rng),
        crash_every_s=rng.choice((0.0, 2.0, 6.0, 20.0)),
        link_every_s=rng.choice((0.0, 0.0, 3.0)),
        cut_every_s=rng.choice((0.0, 0.0, 2.0, 8.0)),
        foreign_every_s=rng.choice((1.0, 5.0)) if foreign else 0.0,
        device_every_s=rng.choice((0.0, 0.0, 2.0, 8.0)),
        swaps=rng.random() < 0.3,
        part_every_s=rng.choice((0.0, 0.5, 3.0)),
        focus=rng.choice(("", "", "zones", "memory", "memory", "storage", "groups", "hands")),
        clients=rng.choice((1, 3, 6)),
        steps=steps,
        pause_s=rng.choice((0.05, 0.5, 2.0)),
        patience=rng.choice((0.0, 0.05, 0.3)),
        sync_budget_s=rng.choice((0.05, 1.0, 5.0)),
        operation_s=rng.choice((1.0, 5.0, 60.0)),
        finished_kept=rng.choice((3, 200)),
        # Of its own stream: what older seeds decided stays as it was.
        host_every_s=stream(f"hosts {seed}").choice((0.0, 2.0, 8.0)),
        chained=stream(f"chained {seed}").choice((0, 0, 1, 2)),
    )
    return _composing(drawn, stream(f"composing {seed}"))


def _composing(drawn: Weather, rng: random.Random) -> Weather:
    """Let clients compose in some seeds, mostly little else, with more to compose of."""
    if rng.random() >= 0.4:
        return drawn
    if rng.random() < 0.3:
        return replace(drawn, composing=True)
    return replace(
        drawn, composing=True, focus="compose", hosts=rng.choice((2, 3, 4)),
        gpus=rng.choice((2, 3, 4)), vppbs=rng.choice((4, 8)),
    )  # fmt: skip


def _forgets(rng: random.Random) -> frozenset[Forgets]:
    """Mostly hardware that says yes to all; sometimes to some of it, sometimes a careful one."""
    roll = rng.random()
    if roll < 0.6:
        return CARELESS
    kinds = sorted(CARELESS, key=lambda each: each.name)
    return frozenset(rng.sample(kinds, rng.randrange(1, len(kinds)))) if roll < 0.8 else frozenset()


def _rates(rng: random.Random, lies: bool) -> Rates:
    """Draw up to three kinds of fault, each between never and nine times out of ten."""
    kinds = rng.sample(_KINDS, rng.choice((0, 1, 1, 2, 3)))
    if lies:
        kinds.append("pretend")
    drawn = {kind: rng.choice((0.05, 0.2, rng.uniform(0.0, 0.9))) for kind in kinds}
    total = max(1.0, sum(drawn.values()) / 0.95)
    drawn = {kind: rate / total for kind, rate in drawn.items()}
    return Rates(**drawn, slow_s=rng.choice((0.05, 1.0, 8.0)), down_s=rng.choice((0.0, 0.2, 3.0)))


def _store_faults(rng: random.Random) -> dict[str, float]:
    if rng.random() < 0.6:
        return {}
    kinds = rng.sample(("failed", "full", "unknown before", "unknown after"), rng.choice((1, 2)))
    return {kind: rng.choice((0.05, 0.3, rng.uniform(0.0, 0.45))) for kind in kinds}

"""Seeds of the simulation: other ones in each run, all of them in one count of what happened.

Violations that strangers cause are CRITICAL in the log, hence expects_errors; every other ERROR
fails its seed (simulation.Log).
"""

from collections import Counter

import pytest

from tests.sim.simulation import Report, simulate

SEEDS, STEPS, PARTS = 120, 120, 6
SOAK_SEEDS, SOAK_STEPS = 900, 200

pytestmark = pytest.mark.expects_errors


@pytest.mark.parametrize("seed", [397498614])
def test_seeds_that_once_failed_hold_now(seed: int) -> None:
    # 397498614: a crash while the store was being loaded again after a failed commit.
    report = simulate(seed, STEPS)
    assert report.failure is None, report.failure


def test_a_seed_gives_the_same_run_again(seed_base: int) -> None:
    assert simulate(seed_base, 60).trace == simulate(seed_base, 60).trace


@pytest.fixture(scope="module")
def total() -> Counter[str]:
    """Return what has happened in this module so far."""
    return Counter()


@pytest.mark.parametrize("part", range(PARTS))
def test_everything_holds_at_every_step(seed_base: int, part: int, total: Counter[str]) -> None:
    count = SEEDS // PARTS
    _run(seed_base + part * count, count, STEPS, total)


def test_the_runs_were_not_idle(total: Counter[str]) -> None:
    if total["seeds"] < SEEDS:
        pytest.skip("only the whole module together has happened enough")
    _assert_busy(total)


@pytest.mark.soak
def test_soak(seed_base: int) -> None:
    total: Counter[str] = Counter()
    _run(seed_base, SOAK_SEEDS, SOAK_STEPS, total)
    print()
    print("\n".join(f"{count:8} {name}" for name, count in sorted(total.items())))
    print(f"{share(total):8.1%} of the requests accepted")
    for kind in KINDS:
        asked, accepted = total[f"asked {kind}"], total[f"accepted {kind}"]
        print(f"{accepted:8} of {asked:6} accepted ({accepted / max(1, asked):4.0%}): {kind}")
    assert total["seeds"] >= 200
    assert total["steps"] >= 20_000
    assert total["crashes"] >= 300
    assert total["rebuilt"] > 0 and total["truths compared"] > 0
    for kind in KINDS:
        assert total[f"accepted {kind}"] >= 200, kind
    _assert_busy(total)


KINDS = (
    "Zones POST", "Zones PATCH", "Zones ACTION", "Zones DELETE", "Default zone PATCH",
    "Default zone routing PATCH", "Connections POST", "Connections ACTION", "Connections DELETE",
    "EndpointGroups POST", "EndpointGroups PATCH", "EndpointGroups DELETE", "MemoryChunks POST",
    "MemoryChunks DELETE", "MemoryRegions POST", "MemoryRegions DELETE", "Volumes POST",
    "Volumes DELETE", "VPPBs PATCH", "Tasks DELETE",
    "Systems POST", "Systems POST by needs", "Systems PATCH", "Systems DELETE",
    "Systems ACTION AddResourceBlock", "Systems ACTION RemoveResourceBlock",
    "CompositionService PATCH", "CompositionService ACTION Compose Preview",
    "CompositionService ACTION Compose PreviewReserve", "CompositionService ACTION Compose Apply",
    "CompositionService ACTION Compose Apply reserved", "CompositionReservations DELETE",
)  # fmt: skip
"""Everything that clients write; the soak run has to accept each often enough to mean it."""


def share(total: Counter[str]) -> float:
    """Return which part of the requests was accepted."""
    accepted = sum(total[f"{verb} {status}"] for verb in ("POST", "PATCH", "ACTION", "DELETE")
                   for status in (200, 201, 202, 204))  # fmt: skip
    return accepted / total["requests"]


def _run(first: int, count: int, steps: int, total: Counter[str]) -> None:
    failed: list[Report] = []
    for seed in range(first, first + count):
        report = simulate(seed, steps)
        total.update(report.counts)
        total.update(seeds=1, steps=report.steps)
        if report.failure is not None:
            failed.append(report)
    assert not failed, "\n".join(report.complaint() for report in failed)


def _assert_busy(total: Counter[str]) -> None:
    """A simulation in which everything is refused would prove nothing."""
    assert share(total) >= 0.3
    seeds = total["seeds"]
    assert total["hardware command"] > 3 * seeds
    assert total["operations completed"] > 3 * seeds
    for kind in ("refuse", "slow", "lost", "dropped", "late", "restart", "pretend"):
        assert total[f"fault {kind}"] > 0, kind
    for step in ("Allocate", "Bind", "Deallocate", "Sanitize", "Unbind"):
        assert total[f"hardware command {step}"] > seeds / 10, step
        for kind in ("refuse", "slow", "lost", "late"):
            assert total[f"fault {kind} of {step.lower()}"] > 0, (kind, step)
    for event in ("devices pulled", "devices without power", "devices replaced", "devices back",
                  "crashes", "hung up", "taken back", "races", "rebuilt", "violations shown",
                  "store failed", "store full", "store unknown before", "store unknown after",
                  "hardware late", "hardware outside", "compositions taken back",
                  "compositions held apart", "blocks and pools compared",
                  "bound over a chain"):  # fmt: skip
        assert total[event] > 0, event

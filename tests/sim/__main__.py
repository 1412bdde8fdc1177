"""Repeats seeds of the simulation: python -m tests.sim SEED [SEED ...] [--steps N] [--trace]."""

import argparse
import time
from collections import Counter

from tests.sim.simulation import simulate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim")
    parser.add_argument("seeds", nargs="+", type=int)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--count", type=int, default=1, help="run this many from each seed on")
    parser.add_argument("--trace", action="store_true", help="print everything that happened")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    failed = 0
    for seed in (first + n for first in given.seeds for n in range(given.count)):
        began_s = time.process_time()
        report = simulate(seed, given.steps)
        total.update(report.counts)
        if given.trace:
            print("\n".join(report.trace))
        if report.failure is not None:
            failed += 1
            print(report.complaint())
        used_s = time.process_time() - began_s
        print(f"seed {seed}: {report.steps} steps, {report.ended_s:.1f} s simulated, "
              f"{used_s:.2f} s of CPU{' FAILED' if report.failure else ''}")  # fmt: skip
    for name, count in sorted(total.items()):
        print(f"{count:8} {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""`python -m tests.fuzz SEED`: one run again, with everything that was asked and answered."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from redfish_fm import worlds
from tests.cases.stack import imported
from tests.fuzz.run import fuzz, topology_world
from tests.virtual_time import run


def main() -> int:
    """Run; return 1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("seed", type=int)
    parser.add_argument("--requests", type=int, default=3_000)
    parser.add_argument("--topology", default="mixed")
    parser.add_argument("--mockup", type=Path, help="a folder to import instead of a topology")
    parser.add_argument("--trace", action="store_true", help="one JSON line per request")
    arguments = parser.parse_args()
    world: worlds.World = (
        imported(arguments.mockup) if arguments.mockup else topology_world(arguments.topology)
    )
    begun_s = time.process_time()
    trace = _print if arguments.trace else None
    name = arguments.topology
    report = run(fuzz(arguments.seed, arguments.requests, world, name, trace))
    print("\n".join(report.lines()))
    for problem in report.problems:
        print(problem, file=sys.stderr)
    print(f"{len(report.problems)} problems, {time.process_time() - begun_s:.1f} s of CPU")
    return 1 if report.problems else 0


def _print(row: dict[str, Any]) -> None:
    print(json.dumps(row))


if __name__ == "__main__":
    sys.exit(main())

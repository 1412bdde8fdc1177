"""The command behind `make bench`."""

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from .children import Launcher
from .peers import Peer, compared
from .report import Figure, about, table, write_json
from .rows import CROWD, ROWS, Bench, run


def main(arguments: list[str]) -> int:
    """Run the rows that were asked for and print their table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--row", action="append", choices=list(ROWS), help="only these rows")
    parser.add_argument("--rounds", type=int, default=21, help="more smooth a noisy machine")
    parser.add_argument("--requests", type=int, default=5000, help="per round")
    parser.add_argument("--scale", default="scale", help="topology of the big rows")
    parser.add_argument("--crowd", default=CROWD, help="that of the row collection")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        type=Peer.parse,
        metavar="NAME=URL",
        help="a resource of another service that runs, to be compared as a client sees it; a user "
        "and a password in the URL are sent as HTTP Basic",
    )
    parser.add_argument("--stub", action="store_true", help="measure the stand-in service")
    chosen = parser.parse_args(arguments)
    launcher = Launcher(f"{__package__}.stub" if chosen.stub else "redfish_fm")
    figures: list[Figure] = []
    how = {name: getattr(chosen, name) for name in ("rounds", "requests", "scale")}
    begun = about(datetime.now(UTC), **how)
    for name in chosen.row or ROWS:
        print(f"bench: {name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(
                launcher,
                chosen.rounds,
                chosen.requests,
                chosen.scale,
                Path(folder),
                chosen.crowd,
            )
            figures += run(bench, name)
    if chosen.peer:
        figures += compared(launcher, chosen.peer, chosen.rounds, chosen.requests)
    print(table(figures))
    if chosen.json:
        write_json(chosen.json, figures, begun)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

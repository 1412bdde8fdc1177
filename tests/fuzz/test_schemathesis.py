"""schemathesis, a foreign reader of the OpenAPI document: what it asks for is served as told there.

Runs in an environment of its own, made by the test: its pytest plug-in and its pins are no business
of the other tests. By hand: `make soak ARGS='tests/fuzz/test_schemathesis.py'`.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.e2e.service import PASSWORD, USER, serving
from tests.fuzz.events import NETWORK
from tests.fuzz.surface import ROOT

HERE = Path(__file__).parent
NEEDED = "schemathesis>=4.32,<5"
EXAMPLES = 12
LASTS_S = 900
"""For all of it, each operation its share: some bodies have thousands of cases that cover them."""
SERVED_MIN = 0.9
"""Share of the operations that must have been answered 2xx at least once."""
SUPPRESSED = "filter_too_much"
"""How much of what it draws it throws away itself (an Id may be neither "." nor ".."), which says
nothing of what is asked."""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of schemathesis in a new environment, or a skip."""
    place = tmp_path_factory.mktemp("schemathesis") / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    install = [place / "bin" / "python", "-m", "pip", "install", "--quiet", NEEDED]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{NEEDED} can not be installed: {done.stderr.strip().splitlines()[-1:]}")
    return place / "bin" / "st"


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_schemathesis_finds_no_fault_and_reaches_what_is_there(
    command: Path, seed_base: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.ndjson"
    allowed = ("--event-destinations", NETWORK)
    with serving("--topology", "mixed", "--ephemeral", *allowed) as (_service, url):
        flags = [
            f"--auth={USER}:{PASSWORD}", f"--max-examples={EXAMPLES}", f"--max-time={LASTS_S}",
            f"--seed={seed_base}",
            "--phases=examples,coverage,fuzzing", "--continue-on-failure", "--no-shrink",
            f"--suppress-health-check={SUPPRESSED}",
            "--request-timeout=60", "--report=ndjson", f"--report-ndjson-path={report}",
        ]  # fmt: skip
        done = subprocess.run(
            [command, f"--config-file={HERE / 'schemathesis.toml'}", "run",
             f"{url}{ROOT}/openapi.yaml", *flags],
            cwd=tmp_path, env=_environment(url, seed_base), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    served = answered(report)
    never = sorted(label for label, statuses in served.items() if not _any_2xx(statuses))
    share = 1 - len(never) / len(served)
    with capsys.disabled():
        print(
            f"\nschemathesis: {len(served)} operations, {100 * share:.1f} % with a 2xx; not {never}"
        )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert share >= SERVED_MIN


def answered(report: Path) -> dict[str, set[int]]:
    """Return the statuses that each operation was answered with."""
    found: dict[str, set[int]] = defaultdict(set)
    with report.open() as lines:
        for line in lines:
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            for each in recorder.get("interactions", {}).values():
                if each.get("response"):
                    found[recorder["label"]].add(each["response"]["status_code"])
    return dict(found)


def _any_2xx(statuses: set[int]) -> bool:
    return any(200 <= status < 300 for status in statuses)


def _environment(url: str, seed: int) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    return {
        **kept,
        "PYTHONPATH": str(HERE.parents[1]),
        "SCHEMATHESIS_HOOKS": "tests.fuzz.schemathesis_hooks",
        "FUZZ_URL": url,
        "FUZZ_USER": USER,
        "FUZZ_PASSWORD": PASSWORD,
        "FUZZ_SEED": str(seed),
    }

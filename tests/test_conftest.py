"""The suite's own guards: dirty logs fail, the seed can be set, absent packs skip."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Without pytest's own log capture, which also notices bad formats, ours has to do it alone.
PLUGINS_OFF = ("-p", "no:cacheprovider", "-p", "no:logging")
PRELUDE = 'import logging\nimport pytest\nlog = logging.getLogger("redfish_fm.probe")\n'


def run_probe(tmp_path: Path, body: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run one test file under a copy of our conftest, in a process of its own."""
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_probe.py").write_text(PRELUDE + body, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = expects_errors: x\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *PLUGINS_OFF, str(tmp_path)],
        cwd=tmp_path,
        env={**_outside(), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _outside() -> dict[str, str]:
    """The environment as it is outside of a test run, which tells its seed base to its workers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('def test_x():\n    log.error("broken %s", "disk")\n', "ERROR of redfish_fm.probe"),
        ('def test_x():\n    log.debug("%d", "three")\n', "bad log format"),
        (
            '@pytest.fixture\ndef late():\n    yield\n    log.error("late")\n'
            "def test_x(late):\n    pass\n",
            "ERROR of redfish_fm.probe: late",
        ),
        (
            '@pytest.mark.expects_errors\ndef test_x():\n    log.error("%d", "three")\n',
            "bad log format",
        ),
    ],
    ids=["error", "bad-format", "error-in-teardown", "bad-format-of-an-expected-error"],
)
def test_a_dirty_log_fails_the_test(tmp_path: Path, body: str, reason: str) -> None:
    result = run_probe(tmp_path, body)
    assert result.returncode == 1, result.stdout
    assert reason in result.stdout


@pytest.mark.parametrize(
    "body",
    [
        'def test_x():\n    log.warning("careful %s", "now")\n',
        '@pytest.mark.expects_errors\ndef test_x():\n    log.error("broken")\n',
    ],
    ids=["warning", "expected-error"],
)
def test_warnings_and_expected_errors_pass(tmp_path: Path, body: str) -> None:
    result = run_probe(tmp_path, body)
    assert result.returncode == 0, result.stdout


def test_the_seed_base_is_printed_and_can_be_set(tmp_path: Path) -> None:
    body = "def test_x(seed_base):\n    assert seed_base == 4711\n"
    result = run_probe(tmp_path, body, REDFISH_FM_SEED="4711")
    assert result.returncode == 0, result.stdout
    assert "REDFISH_FM_SEED=4711" in result.stdout


def test_the_closing_line_is_the_last_one(tmp_path: Path) -> None:
    result = run_probe(tmp_path, "def test_x():\n    pass\n")
    assert result.stdout.rstrip().splitlines()[-1].startswith("1 passed in")


def test_absent_packs_skip_and_say_so(tmp_path: Path) -> None:
    body = "def test_x(shared):\n    assert False\n"
    result = run_probe(tmp_path, body, REDFISH_FM_SHARED=str(tmp_path / "nowhere"))
    assert result.returncode == 0, result.stdout
    assert "1 skipped" in result.stdout

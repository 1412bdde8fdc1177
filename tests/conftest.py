"""What holds for every test: logs are clean, the seed base is printed, nothing hangs."""

import logging
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent

# Two cores shared with other work: a slow example is not a wrong one.
settings.register_profile("redfish_fm", deadline=None)
settings.load_profile("redfish_fm")


_TOLD = "PYTEST_SEED_BASE"
"""How the process that runs the tests tells its workers (pytest-xdist) which base it drew."""


def _seed_base() -> int:
    text = os.environ.get("REDFISH_FM_SEED") or os.environ.get(_TOLD)
    return int(text) if text else random.SystemRandom().randrange(1, 1_000_000_000)


SEED_BASE = _seed_base()
_SEED_LINE = f"seed base: {SEED_BASE} (repeat with REDFISH_FM_SEED={SEED_BASE})"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let hypothesis and all workers draw from the same base, unless a flag says otherwise."""
    os.environ[_TOLD] = str(SEED_BASE)
    if getattr(config.option, "hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(SEED_BASE)


def pytest_report_header() -> str:
    return _SEED_LINE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed base once more: -q leaves the header out."""
    terminalreporter.write_line(_SEED_LINE)


@pytest.fixture(scope="session")
def seed_base() -> int:
    """Return what every random choice of this run derives from; printed with the result."""
    return SEED_BASE


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference packs ($REDFISH_FM_SHARED or ../shared), or skip."""
    place = Path(os.environ.get("REDFISH_FM_SHARED") or REPOSITORY.parent / "shared")
    if not place.is_dir():
        pytest.skip(f"no reference packs: {place} is absent; set REDFISH_FM_SHARED")
    return place


class _Watch(logging.Handler):
    """Formats every record of ours, and remembers errors and formats that do not fit."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.problems: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except (TypeError, ValueError, KeyError) as error:
            self.problems.append(f"bad log format {record.msg!r} % {record.args!r}: {error}")
            return
        if record.levelno >= logging.ERROR:
            self.problems.append(f"{record.levelname} of {record.name}: {text}")


@contextmanager
def _watched(item: pytest.Item) -> Iterator[None]:
    """Fail the phase when an ERROR was logged in it, or any record had a bad format."""
    root, ours = logging.getLogger(), logging.getLogger("redfish_fm")
    watch, level = _Watch(), ours.level
    root.addHandler(watch)
    ours.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        ours.setLevel(level)
        root.removeHandler(watch)
    problems = watch.problems
    if item.get_closest_marker("expects_errors"):
        problems = [problem for problem in problems if problem.startswith("bad log format")]
    if problems:
        pytest.fail("the log is not clean:\n" + "\n".join(problems), pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with _watched(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _watched(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    with _watched(item):
        return (yield)

"""Running the command-line clients that come from PyPI, as the tests of clients do."""

import subprocess
import sys
from pathlib import Path

import pytest

from .packs import tool
from .processes import tool_environment

TOOL_TIMEOUT_S = 60.0


def run_tool(place: Path, name: str, *arguments: str) -> tuple[int, str]:
    """Run a tool of this environment; return its exit code and what it printed.

    Skips the test where it is not installed.
    """
    command = tool(name)
    if not Path(command).exists():
        pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [sys.executable, command, *arguments],
        cwd=place,
        env=tool_environment(),
        capture_output=True,
        text=True,
        timeout=TOOL_TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr

"""A command runner that keeps stdout and stderr apart."""

import pytest
from click.testing import CliRunner, Result

from redfish_fm.cli import main


class Command:
    """Runs `redfish-fm` in this process with a clean environment."""

    def __init__(self, home: str) -> None:
        self.environ: dict[str, str | None] = {"HOME": home, "COLUMNS": "80"}

    def __call__(self, *words: str) -> Result:
        return CliRunner().invoke(main, words, env=self.environ, prog_name="redfish-fm")


@pytest.fixture
def command(tmp_path, monkeypatch) -> Command:
    for name in ("SEED", "SHARED", "PORT", "STATE", "ADMIN_USER", "ADMIN_PASSWORD"):
        monkeypatch.delenv(f"REDFISH_FM_{name}", raising=False)
    return Command(str(tmp_path))

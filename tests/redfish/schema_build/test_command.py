"""`redfish-fm schemas build` from the outside. Run without the group it hangs on in the CLI."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from redfish_fm.cli.schemas import schemas


def run(*words: object) -> Result:
    return CliRunner().invoke(schemas, [str(word) for word in words], prog_name="schemas")


@pytest.fixture(scope="module")
def arguments(sources: list[Path]) -> list[object]:
    return ["build", *(word for source in sources for word in ("--from", source))]


def test_the_folder_is_built_and_then_found_as_built(
    arguments, built, tmp_path: Path, monkeypatch
) -> None:
    written = run(*arguments, "--to", tmp_path)
    assert (written.exit_code, written.stdout.split()[0]) == (0, str(len(built)))
    monkeypatch.setattr("redfish_fm.cli.schemas.build", lambda sources: built)
    assert run(*arguments, "--to", tmp_path, "--check").exit_code == 0
    (tmp_path / "types" / "Zone.json").write_text("{}")
    checked = run(*arguments, "--to", tmp_path, "--check")
    assert checked.exit_code == 1
    assert "types/Zone.json is not as built" in checked.stderr
    assert (tmp_path / "types" / "Zone.json").read_text() == "{}"


def test_in_json_what_differs_is_data(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("redfish_fm.cli.schemas.build", lambda sources: {"types/A.json": "{}"})
    words = ("build", "--json", "--from", tmp_path, "--to", tmp_path / "out")
    written = run(*words)
    assert json.loads(written.stdout) == {
        "folder": str(tmp_path / "out"),
        "files": 1,
        "bytes": 2,
    }
    (tmp_path / "out" / "types" / "A.json").write_text("[]")
    checked = run(*words, "--check")
    assert (checked.exit_code, checked.stderr) == (1, "")
    assert json.loads(checked.stdout)["differing"] == ["types/A.json"]


def test_a_bundle_that_is_none_is_refused_in_a_line(tmp_path: Path) -> None:
    result = run("build", "--from", tmp_path, "--to", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith("redfish-fm: no Redfish_x.y.z_PrivilegeRegistry.json")
    assert not (tmp_path / "out").exists()


def test_a_source_must_be_named() -> None:
    assert run("build").exit_code == 2

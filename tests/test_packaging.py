"""The data folders are found in a checkout, an editable install and a wheel; each for real."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from redfish_fm import __version__, resources

PROBE = """\
import json
import redfish_fm
from redfish_fm import resources
print(json.dumps({
    "package": redfish_fm.__file__,
    "schemas": str(resources.schemas_dir()),
    "mockups": str(resources.mockups_dir()),
}))
"""


class Installation:
    """A virtual environment of its own that borrows this one's dependencies."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        self.command = folder / "bin" / "redfish-fm"
        (self.site,) = folder.glob("lib/python3*/site-packages")
        # Only the path itself is borrowed: .pth files in it (an editable install) are not read.
        (self.site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self._folder = folder

    def install(self, *what: str) -> None:
        run(
            *(sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"),
            *("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"),
            *what,
            cwd=self._folder,
        )

    def probe(self) -> dict[str, Path]:
        answer = run(str(self.python), "-c", PROBE, cwd=self._folder)
        return {name: Path(path) for name, path in json.loads(answer).items()}


def run(*words: str, cwd: Path) -> str:
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    result = subprocess.run(
        words, cwd=cwd, env=environ, capture_output=True, text=True, check=False, timeout=110
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder))
    run(sys.executable, *build, str(repository), cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def from_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    installation = Installation(tmp_path_factory.mktemp("wheel") / "venv")
    installation.install(str(wheel))
    return installation


def test_a_checkout_finds_its_own_folders(repository: Path) -> None:
    assert resources.schemas_dir() == repository / "schemas"
    assert resources.mockups_dir() == repository / "mockups"


def test_an_editable_install_finds_the_folders_of_the_checkout(
    repository: Path, tmp_path: Path
) -> None:
    installation = Installation(tmp_path / "venv")
    installation.install("--editable", str(repository))
    assert installation.probe() == {
        "package": repository / "redfish_fm" / "__init__.py",
        "schemas": repository / "schemas",
        "mockups": repository / "mockups",
    }


def test_a_wheel_finds_the_folders_it_carries(from_wheel: Installation) -> None:
    package = from_wheel.site / "redfish_fm"
    assert from_wheel.probe() == {
        "package": package / "__init__.py",
        "schemas": package / "_data" / "schemas",
        "mockups": package / "_data" / "mockups",
    }


def test_a_wheel_carries_every_data_file(repository: Path, from_wheel: Installation) -> None:
    found = from_wheel.probe()
    for name in ("schemas", "mockups"):
        assert files(repository / name) <= files(found[name])
        assert files(found[name])


def test_a_wheel_runs_the_command(from_wheel: Installation, tmp_path: Path) -> None:
    version = run(str(from_wheel.command), "--version", cwd=tmp_path)
    assert version == f"redfish-fm {__version__}\n"
    assert "two-hosts" in run(str(from_wheel.command), "topology", "list", cwd=tmp_path)


def test_a_wheel_names_its_drivers_licence_and_types(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
        text = archive.read(entry_points).decode()
    assert "virtual = redfish_fm.drivers.virtual.driver:create" in text
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "redfish_fm/py.typed" in names
    assert [name for name in names if name.startswith("tests/")] == []


def test_missing_folders_are_one_clear_error(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "redfish_fm")
    with pytest.raises(resources.ResourcesMissing, match="schemas folder is neither"):
        resources.schemas_dir()


def test_the_runtime_dependencies_are_the_agreed_ones(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {dependency.split(">=")[0] for dependency in project["dependencies"]} == {
        "aiohttp",
        "click",
        "cryptography",
        "jsonschema",
        "msgspec",
        "prometheus_client",
        "PyYAML",
        "referencing",
        "rich",
        "zeroconf",
    }

"""The data folders are found in a checkout, an editable install and a wheel; each for real."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from redfish_fm import __version__, resources
from redfish_fm.config import load
from tests.e2e.service import serving

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
        "ifaddr",
        "jsonschema",
        "msgspec",
        "prometheus_client",
        "PyYAML",
        "referencing",
        "rich",
        "yarl",
        "zeroconf",
    }


def dockerfile(repository: Path) -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions in order: (word, rest), continued lines joined."""
    text = (repository / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (word, rest.strip()) for word, _, rest in (x.partition(" ") for x in joined.split("\n"))
    ]


def test_the_image_has_a_python_that_the_project_names(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bases = [rest.split()[0] for word, rest in dockerfile(repository) if word == "FROM"]
    versions = {base.removeprefix("python:").removesuffix("-slim") for base in bases}
    (version,) = versions
    assert len(bases) == 2
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    oldest = project["requires-python"].removeprefix(">=").split(".")
    assert [int(part) for part in version.split(".")] >= [int(part) for part in oldest]


def test_the_image_gets_every_file_that_the_wheel_is_built_from(repository: Path) -> None:
    pyproject = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    build = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", pyproject["project"]["readme"], *build["packages"]}
    needed |= {*pyproject["project"]["license-files"], *build["force-include"]}
    copied = {
        name
        for word, rest in dockerfile(repository)
        if word == "COPY" and not rest.startswith("--from")
        for name in rest.split()[:-1]
    }
    assert copied == needed
    assert all((repository / name).exists() for name in copied)
    let_in = (repository / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in let_in if line.startswith("!")} == copied


def test_the_image_starts_a_command_that_there_is_with_settings_that_there_are(
    repository: Path,
) -> None:
    found = dict(dockerfile(repository))
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert json.loads(found["ENTRYPOINT"])[0] in project["scripts"]
    assert json.loads(found["CMD"]) == ["serve"]
    given = dict(pair.split("=", 1) for pair in found["ENV"].split())
    config = load({}, {name: text for name, text in given.items() if name.startswith("REDFISH")})
    assert (config.host, config.port, config.http) == ("0.0.0.0", 8443, False)  # noqa: S104
    assert found["EXPOSE"] == str(config.port)
    assert config.state is not None and config.state.is_relative_to(found["VOLUME"])
    assert given["HOME"] == found["VOLUME"]
    assert found["USER"] == "10001:10001" and found["STOPSIGNAL"] == "SIGTERM"


def test_the_health_check_of_the_image_passes_and_fails_as_it_should(
    repository: Path, tmp_path: Path
) -> None:
    _, _, words = dict(dockerfile(repository))["HEALTHCHECK"].partition("CMD ")
    _, *arguments = json.loads(words)
    with serving("--topology", "two-hosts", "--ephemeral", tls=True) as (_, url):
        environ = os.environ | {"REDFISH_FM_PORT": url.rpartition(":")[2]}
        command = [sys.executable, *arguments]
        assert subprocess.run(command, env=environ, timeout=60, check=False).returncode == 0
    failed = subprocess.run(command, env=environ, timeout=60, check=False, capture_output=True)
    assert failed.returncode != 0


def test_em_06_the_installed_command_serves_and_ends_on_sigterm(
    from_wheel: Installation, tmp_path: Path
) -> None:
    assert "serve" in run(str(from_wheel.command), "--help", cwd=tmp_path)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [str(from_wheel.command), "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("redfish-fm first start: user admin password ")
        ready = process.stdout.readline()
        assert ready.startswith("redfish-fm ready URL=https://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(3) == 0
    assert (tmp_path / ".local/state/redfish-fm/ai-pod/state.db").is_file()


def test_em_06_a_clean_environment_needs_nothing_but_a_wheelhouse(
    wheel: Path, tmp_path: Path
) -> None:
    house = os.environ.get("REDFISH_FM_TEST_WHEELHOUSE")
    if not house:
        pytest.skip("no wheelhouse: pip download redfish-fm's dependencies to a folder, name it")
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = (*(sys.executable, "-m", "pip", "--python", str(python), "install"), "--quiet")
    run(*install, "--no-index", "--find-links", house, str(wheel), cwd=tmp_path)
    command = tmp_path / "venv" / "bin" / "redfish-fm"
    checks = json.loads(run(str(command), "doctor", "--json", "--port", "0", cwd=tmp_path))
    assert all(check["ok"] for check in checks)


def test_em_06_what_is_imported_is_declared(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [each for group in project["optional-dependencies"].values() for each in group]
    wanted = [*project["dependencies"], *extras]
    declared = {re.split(r"[^\w-]", each)[0].lower().replace("_", "-") for each in wanted}
    owners = packages_distributions()
    imported = {
        name.split(".")[0]
        for path in (repository / "redfish_fm").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    foreign = imported - set(sys.stdlib_module_names) - {"redfish_fm", ""}
    assert foreign
    undeclared = {
        name
        for name in foreign
        if not {owner.lower().replace("_", "-") for owner in owners.get(name, [name])} & declared
    }
    assert undeclared == set()

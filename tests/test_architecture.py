"""The directions of import (DESIGN section 2), and the bans that no import graph can see."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import redfish_fm

PACKAGE = Path(redfish_fm.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
FABRIC_BANS = {"asyncio", "json", "aiohttp", "logging", "time", "random"}
CRYPTOGRAPHY_USERS = {
    "redfish/accounts.py",
    "redfish/sessions.py",
    "server/certificate_facts.py",
    "server/certificate_parts.py",
    "server/certificate_rules.py",
    "server/csr.py",
    "server/peers.py",
    "server/tls.py",
}
CXL_WORDS = re.compile(r"(?<![A-Za-z])(CXL|vPPBs?|VPPBs?|LDs?|MLDs?)(?![A-Za-z])", re.IGNORECASE)


def place(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def parse(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names a module imports, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def roots(tree: ast.Module) -> set[str]:
    return {name.split(".")[0] for name in imported(tree)}


def serves_http(tree: ast.Module) -> bool:
    return any(re.match(r"aiohttp\.web(_|\b)", n) for n in imported(tree))


def concatenates_uris(tree: ast.Module) -> list[int]:
    """Return the lines where text that begins a service URI is added to something."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and isinstance(node.left, ast.Constant)
        and isinstance(node.left.value, str)
        and node.left.value.startswith("/redfish/v1/")
    ]


def test_import_contracts_hold(repository: Path) -> None:
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert command, "import-linter is part of the dev extra"
    result = subprocess.run(
        [command, "--no-cache"], cwd=repository, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_room_has_its_contract(repository: Path) -> None:
    layers = (repository / "pyproject.toml").read_text(encoding="utf-8")
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    rooms |= {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    assert [room for room in sorted(rooms) if f"redfish_fm.{room}" not in layers] == []


def test_fabric_is_pure() -> None:
    found = {
        place(module): roots(parse(module)) & FABRIC_BANS
        for module in MODULES
        if place(module).startswith("fabric/")
    }
    assert found and not any(found.values()), found


def test_only_server_speaks_http_and_announces_itself() -> None:
    found = [
        place(module)
        for module in MODULES
        if not place(module).startswith("server/")
        and (serves_http(parse(module)) or "zeroconf" in roots(parse(module)))
    ]
    assert found == []


def test_keys_and_hashes_are_made_in_few_places() -> None:
    found = {place(module) for module in MODULES if "cryptography" in roots(parse(module))}
    assert found <= CRYPTOGRAPHY_USERS


def test_no_uri_is_glued_from_parts() -> None:
    found = {place(module): concatenates_uris(parse(module)) for module in MODULES}
    assert {where: lines for where, lines in found.items() if lines} == {}


def test_the_protocol_knows_no_cxl() -> None:
    found = [
        f"{place(module)}:{number}: {line.strip()}"
        for module in MODULES
        if place(module).startswith("redfish/")
        for number, line in enumerate(module.read_text(encoding="utf-8").splitlines(), 1)
        if CXL_WORDS.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "from aiohttp import web",
        "import aiohttp.web",
        "from aiohttp.web import Response",
        "def f():\n    from aiohttp.web_log import AccessLogger",
    ],
)
def test_the_server_part_of_aiohttp_would_be_noticed(source: str) -> None:
    assert serves_http(ast.parse(source))


def test_the_client_part_of_aiohttp_is_allowed() -> None:
    assert not serves_http(ast.parse("from aiohttp import ClientSession, ClientTimeout"))


def test_a_glued_uri_would_be_noticed() -> None:
    assert concatenates_uris(ast.parse('x = "/redfish/v1/" + name + "/y"')) == [1]


@pytest.mark.parametrize("line", ["a CXL switch", "the vPPB", "vppb_id", "two LDs", "an LD."])
def test_a_word_of_cxl_would_be_noticed(line: str) -> None:
    assert CXL_WORDS.search(line)


@pytest.mark.parametrize("line", ["build", "OLD", "MLDX", "ldap"])
def test_other_words_are_not_taken_for_cxl(line: str) -> None:
    assert not CXL_WORDS.search(line)

"""Every module says what it may know, and nothing grows beyond what fits in a head."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import redfish_fm

PACKAGE = Path(redfish_fm.__file__).parent
MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
MODULES = sorted(PACKAGE.rglob("*.py"))
IDS = [str(module.relative_to(PACKAGE.parent)) for module in MODULES]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def too_long(tree: ast.Module) -> list[str]:
    return [
        f"{node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in functions(tree)
        if node.end_lineno is not None and node.end_lineno - node.lineno >= FUNCTION_LINES_MAX
    ]


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_every_module_begins_with_a_docstring(module: Path) -> None:
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    assert docstring, f"{module} says nothing of itself"
    first = docstring.splitlines()[0]
    assert len(first) <= 97, f"first line of {module} does not fit"


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_modules_and_functions_stay_small(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MODULE_LINES_MAX
    assert too_long(ast.parse(text)) == []


def test_a_long_function_would_be_noticed() -> None:
    long = "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX
    assert too_long(ast.parse(long)) == ["f has 71 lines"]

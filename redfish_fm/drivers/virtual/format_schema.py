"""The JSON Schema of the topology format, for editors; made of the types in `spec`.

Pure apart from reading the text of `spec`: a field's description is the docstring below it, so
that editors show what the code says. A schema can not tell what only adds up over several words;
`topology.read` can.
"""

import ast
import inspect
from typing import Any

import msgspec

from redfish_fm.drivers.virtual import spec
from redfish_fm.drivers.virtual.topology_parameters import REFERENCE

FILE_NAME = "topology.schema.json"
"""Its name in the schemas folder."""

_DECLARES = "ParameterSpec"
"""The struct whose numbers are no parameters themselves."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def topology_schema() -> dict[str, Any]:
    """Return the JSON Schema of a topology file."""
    # Once there and back: defaults come as tuples, which JSON and its validators do not know.
    made = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(spec.TopologySpec)))
    texts = _texts()
    for name, struct in made["$defs"].items():
        for word, rule in struct.get("properties", {}).items():
            if name != _DECLARES:
                struct["properties"][word] = rule = _or_parameter(rule)
            text = texts.get((name, word))
            if text is not None:
                rule["description"] = text
    return {"$schema": _DIALECT, "title": "Topology of redfish_fm", **made}


def _or_parameter(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a rule that lets the name of a parameter stand where it wants a number."""
    choices = rule.get("anyOf", [rule])
    if not any(choice.get("type") == "integer" for choice in choices):
        return rule
    outer: dict[str, Any] = {
        word: rule[word] for word in ("description", "default") if word in rule
    }
    bare = [{k: v for k, v in choice.items() if k not in outer} for choice in choices]
    return {"anyOf": [*bare, {"type": "string", "pattern": f"^{REFERENCE}$"}], **outer}


def _texts() -> dict[tuple[str, str], str]:
    """Return the docstring of every field of every struct, inherited ones with their heirs."""
    tree = ast.parse(inspect.getsource(spec))
    own = {node.name: _docstrings(node) for node in tree.body if isinstance(node, ast.ClassDef)}
    return {
        (name, word): text
        for name in own
        for base in reversed(getattr(spec, name).__mro__)
        for word, text in own.get(base.__name__, {}).items()
    }


def _docstrings(struct: ast.ClassDef) -> dict[str, str]:
    """Return the texts that stand below the fields of one class."""
    found: dict[str, str] = {}
    for field, below in zip(struct.body, struct.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            found[field.target.id] = " ".join(below.value.value.split())
    return found

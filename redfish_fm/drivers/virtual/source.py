"""YAML text to typed values, with every error at once and the line it stands on.

Knows YAML and msgspec types; nothing of fabrics. msgspec alone stops at the first error, so
structs are walked here and only their leaves are converted by it.
"""

import dataclasses
import re
import types
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import yaml

_NODE_MAX = 200_000
"""More nodes than this after following aliases is an alias bomb, not a topology."""

_MSGSPEC_PATH = re.compile(r"^(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where (`hosts[0].count`), on which line (from 1), and what.

    `path` is empty where it is the text as a whole. `given`: it is wrong with what was given beside
    the text (its name, its parameters), not with the text.
    """

    path: str
    line: int | None
    text: str
    given: bool = False

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}"
        where = f"{self.path} ({line})" if self.path and line else self.path or line
        return f"{where}: {self.text}" if where else self.text


class Lines:
    """Which line each path stands on; an unknown path has the line of what encloses it."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}

    def put(self, path: str, line: int) -> None:
        """Note that `path` begins on `line`, counted from 1."""
        self._lines[path] = line

    def find(self, path: str) -> int | None:
        """Return the line of `path` or of its nearest known ancestor."""
        while path and path not in self._lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self._lines.get(path)


class Problems:
    """Collects problems; `lines` gives each its line."""

    def __init__(self) -> None:
        self.lines = Lines()
        self._found: list[Problem] = []
        self._once: set[tuple[str, str]] = set()

    def add(self, path: str, text: str) -> None:
        """Add one problem at `path`."""
        self._found.append(Problem(path, self.lines.find(path), text))

    def add_given(self, word: str, text: str) -> None:
        """Add a problem of what was given beside the text: it stands on no line."""
        self._found.append(Problem(word, None, text, given=True))

    def add_once(self, path: str, text: str) -> None:
        """Add a problem that several members of a group may have in common."""
        if (path, text) not in self._once:
            self._once.add((path, text))
            self.add(path, text)

    @property
    def count(self) -> int:
        """How many were added so far."""
        return len(self._found)

    @property
    def found(self) -> tuple[Problem, ...]:
        """All problems, in the order of their lines."""
        return tuple(sorted(self._found, key=lambda problem: problem.line or 0))


def parse(text: str, problems: Problems) -> object:
    """Return the plain value of a YAML text; syntax errors and double keys go to `problems`."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        return None if node is None else _Reader(loader, problems).read(node, "", ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark is not None:
            problems.lines.put("", mark.line + 1)
        problems.add("", f"not YAML: {error.problem or error.context}")
    except (yaml.YAMLError, ValueError) as error:
        problems.add("", f"not YAML: {error}")
    except RecursionError:
        # Composing and reading nest as deeply as the text does; no file of ours needs ten levels.
        problems.add("", "nested too deeply")
    return None


class _Reader:
    """Turns composed nodes into values and notes the line of every path."""

    def __init__(self, loader: yaml.SafeLoader, problems: Problems) -> None:
        self._loader = loader
        self._problems = problems
        self._count = 0

    def read(self, node: yaml.Node, path: str, above: tuple[yaml.Node, ...]) -> object:
        """Return the value of `node`; `above` are the nodes that contain it."""
        self._count += 1
        self._problems.lines.put(path, node.start_mark.line + 1)
        if self._count > _NODE_MAX:
            raise ValueError("too many nodes")
        if any(node is other for other in above):
            raise ValueError("an alias contains itself")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, (*above, node))
        if isinstance(node, yaml.SequenceNode):
            inside = (*above, node)
            return [self.read(item, f"{path}[{i}]", inside) for i, item in enumerate(node.value)]
        self._check_tag(node)
        value: object = self._loader.construct_object(node)
        return value

    def _check_tag(self, node: yaml.Node) -> None:
        """Let no tag ask for a value that the text is none of: constructors trust it."""
        plain = self._loader.resolve(  # type: ignore[no-untyped-call]
            yaml.ScalarNode, node.value, (True, False)
        )
        if node.tag not in (plain, "tag:yaml.org,2002:str"):
            raise ValueError(f"line {node.start_mark.line + 1}: {node.value!r} is no {node.tag}")

    def _mapping(
        self, node: yaml.MappingNode, path: str, above: tuple[yaml.Node, ...]
    ) -> dict[str, object]:
        values: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            where = f"{path}.{key}" if path else key
            twice = key in values
            values[key] = self.read(value_node, where, above)
            self._problems.lines.put(where, key_node.start_mark.line + 1)
            if twice:
                self._problems.add(where, "given twice")
        return values


def convert(value: object, kind: Any, path: str, problems: Problems) -> Any:
    """Return `value` as type `kind`; each thing that does not fit goes to `problems`.

    The result is None where something was wrong: look at `problems` before using it.
    """
    struct = _struct_in(kind)
    if struct is not None and isinstance(value, Mapping):
        return _convert_struct(value, struct, path, problems)
    member = _member_in(kind)
    if member is not None and isinstance(value, list):
        made = tuple(convert(v, member, f"{path}[{i}]", problems) for i, v in enumerate(value))
        least = _least_in(kind)
        if len(made) < least:
            problems.add(path, f"{len(made)} given; at least {least} are needed")
        return made
    inner = _value_in(kind)
    if inner is not None and isinstance(value, Mapping):
        return {k: convert(v, inner, _below(path, k), problems) for k, v in value.items()}
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        parts = _MSGSPEC_PATH.match(str(error))
        text, inner = (parts["text"], parts["path"] or "") if parts else (str(error), "")
        problems.add(f"{path}{inner}".lstrip("."), text + _choices(kind, text))
        return None


def _choices(kind: Any, text: str) -> str:
    """Return what may stand there, where msgspec only says that something else does."""
    if not text.startswith("Invalid enum value"):
        return ""
    members = [kind, *get_args(kind)]
    values = [m.value for c in members if isinstance(c, type) and issubclass(c, Enum) for m in c]
    if get_origin(kind) is Literal:
        values = list(get_args(kind))
    return f"; one of {', '.join(map(str, values))}" if values else ""


def _convert_struct(
    value: Mapping[str, object], struct: type[msgspec.Struct], path: str, problems: Problems
) -> msgspec.Struct | None:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    before = problems.count
    for key in value:
        if key not in fields:
            problems.add(_below(path, key), f"unknown; known here: {', '.join(sorted(fields))}")
    made: dict[str, object] = {}
    for key, field in fields.items():
        if key in value:
            made[field.name] = convert(value[key], field.type, _below(path, key), problems)
        elif field.required:
            problems.add(_below(path, key), "missing")
    return struct(**made) if problems.count == before else None


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _choices_of(kind: Any) -> tuple[Any, ...]:
    """Return the alternatives of a union, or the kind itself."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """Return the struct type that `kind` is or, as a union, allows for a mapping."""
    for choice in _choices_of(kind):
        if isinstance(choice, type) and issubclass(choice, msgspec.Struct):
            return choice
    return None


def _member_in(kind: Any) -> Any:
    """Return the type of the members of the list that `kind` is or allows; None if none."""
    for choice in _choices_of(kind):
        bare = get_args(choice)[0] if get_origin(choice) is Annotated else choice
        if get_origin(bare) is tuple:
            return get_args(bare)[0]
    return None


def _value_in(kind: Any) -> Any:
    """Return the type of the values of the mapping that `kind` is; None if it is none."""
    return get_args(kind)[1] if get_origin(kind) is dict else None


def _least_in(kind: Any) -> int:
    """Return how many members the list that `kind` allows has at least."""
    metas = [m for choice in _choices_of(kind) for m in getattr(choice, "__metadata__", ())]
    return max((meta.min_length or 0 for meta in metas), default=0)

"""Parameters of a topology: numbers that a file declares and whoever serves it may choose.

Pure. `parameters:` of a file gives each its default and bounds; `$name` stands for it wherever a
number may stand; `NAME:hosts=4,gpus=16` chooses. All mistakes are told at once, each with what is
known here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from redfish_fm.drivers.virtual.source import Problems, convert
from redfish_fm.drivers.virtual.spec import ParameterSpec

SUFFIXES = (".yaml", ".yml")
"""How the names of topology files end."""

SECTION = "parameters"
"""The word of a file that declares them."""

REFERENCE = r"\$([A-Za-z][A-Za-z0-9_]*)"
"""How the use of a parameter is written."""

_REFERENCE = re.compile(REFERENCE)
_NUMBER = re.compile(r"[0-9]{1,12}")

Known = Mapping[str, ParameterSpec]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a loaded topology, with the value it was loaded with."""

    name: str
    value: int
    default: int
    min: int
    max: int
    description: str


def split(text: str) -> tuple[str, str | None]:
    """Return (name or file, what stands behind its colon): `scale:hosts=4` is ("scale", "hosts=4").

    A colon inside of a file's path is not meant.
    """
    bare, colon, given = text.rpartition(":")
    if not colon or "/" in given or given.endswith(SUFFIXES):
        return text, None
    return bare, given


def declared(value: object, problems: Problems) -> dict[str, ParameterSpec]:
    """Return the parameters that the plain value of a file declares; mistakes go to `problems`.

    One that is declared wrongly is there all the same, so that who uses it is not blamed.
    """
    section = value.get(SECTION, {}) if isinstance(value, Mapping) else {}
    if not isinstance(section, Mapping):
        problems.add(SECTION, "names, each with its default")
        return {}
    return {name: _declared(name, each, problems) for name, each in section.items()}


def _declared(name: str, value: object, problems: Problems) -> ParameterSpec:
    where = f"{SECTION}.{name}"
    spec: ParameterSpec | None = convert(value, ParameterSpec, where, problems)
    if not _REFERENCE.fullmatch(f"${name}"):
        problems.add(where, "a name has letters, digits and underscores, a letter first")
    if spec is not None and not spec.min <= spec.default <= spec.max:
        problems.add(f"{where}.default", f"{spec.default} is not {spec.min} to {spec.max}")
    return spec or ParameterSpec(default=1, min=0)


def choose(known: Known, given: str | None, problems: Problems) -> dict[str, Parameter]:
    """Return every parameter with its value; what is wrong in `given` goes to `problems`."""
    values = {} if given is None else _given(known, given, problems)
    return {
        name: Parameter(
            name, values.get(name, spec.default), spec.default, spec.min, spec.max, spec.description
        )
        for name, spec in known.items()
    }


def _given(known: Known, given: str, problems: Problems) -> dict[str, int]:
    values: dict[str, int] = {}
    for word in given.split(","):
        name, equals, text = (part.strip() for part in word.partition("="))
        spec = known.get(name)
        if not name or not equals:
            told = f"{word.strip()!r} is not name=number; known here: {_names(known)}"
            problems.add_given("", told)
        elif spec is None:
            problems.add_given(name, f"unknown parameter; known here: {_names(known)}")
        elif name in values:
            problems.add_given(name, "given twice")
        elif not _NUMBER.fullmatch(text) or not spec.min <= int(text) <= spec.max:
            text = f"{text!r} is no whole number from {spec.min} to {spec.max}"
            problems.add_given(name, text)
            values[name] = spec.default
        else:
            values[name] = int(text)
    return values


def filled_in(value: object, chosen: Mapping[str, Parameter], problems: Problems) -> object:
    """Return the plain value of a file with every `$name` replaced, without their declaration."""
    if not isinstance(value, Mapping):
        return value
    filling = _Filling(chosen, problems)
    made = {key: filling.fill(inner, key) for key, inner in value.items() if key != SECTION}
    for name in chosen:
        if name not in filling.used:
            problems.add(f"{SECTION}.{name}", f"nothing uses ${name}")
    return made


class _Filling:
    """Replaces references and notes which were there; an unknown one becomes 1."""

    def __init__(self, chosen: Mapping[str, Parameter], problems: Problems) -> None:
        self._chosen = chosen
        self._problems = problems
        self.used: set[str] = set()

    def fill(self, value: object, path: str) -> object:
        if isinstance(value, Mapping):
            return {key: self.fill(inner, f"{path}.{key}") for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner, f"{path}[{i}]") for i, inner in enumerate(value)]
        found = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            return value
        name = found[1]
        if name not in self._chosen:
            self._problems.add(path, f"${name} is no parameter; known here: {_names(self._chosen)}")
            return 1
        self.used.add(name)
        return self._chosen[name].value


def _names(known: Mapping[str, ParameterSpec] | Mapping[str, Parameter]) -> str:
    told = (f"{name} ({spec.min} to {spec.max})" for name, spec in known.items())
    return ", ".join(told) or "none"

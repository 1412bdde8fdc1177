"""Topology files: finds, reads and checks them, and gives an inventory per fabric.

Knows files and the words of `spec`; what a topology means is in `layout`. Every error of a file
is reported at once, each with its path and line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redfish_fm.drivers.virtual.layout import lay_out
from redfish_fm.drivers.virtual.source import Problem, Problems, convert, parse
from redfish_fm.drivers.virtual.spec import TopologySpec
from redfish_fm.drivers.virtual.topology_parameters import (
    SUFFIXES,
    Parameter,
    choose,
    declared,
    filled_in,
    split,
)
from redfish_fm.errors import FmError
from redfish_fm.fabric.model import Inventory


class TopologyError(FmError):
    """A topology can not be used; `problems` are all its reasons, `source` its file or name."""

    def __init__(self, source: str, problems: tuple[Problem, ...]) -> None:
        self.source = source
        self.problems = problems
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"topology {source}:{lines}")

    @property
    def misnamed(self) -> bool:
        """Whether nothing is wrong but the name or the parameters that were asked for."""
        return all(problem.given for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Topology:
    """A checked topology. Made by `load` and `read`. `parameters` have the values it has."""

    name: str
    description: str
    fabrics: tuple[Inventory, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    def inventories(self) -> tuple[Inventory, ...]:
        """Return one inventory per fabric, in the order of the file."""
        return self.fabrics


def names(mockups_dir: Path) -> tuple[str, ...]:
    """Return the names of the topologies in `mockups_dir`, sorted."""
    return tuple(sorted(path.stem for path in mockups_dir.glob("*.yaml")))


def load(name_or_path: str, mockups_dir: Path) -> Topology:
    """Return the topology of that name in `mockups_dir`, or of that YAML file.

    What ends in .yaml or .yml or has a slash is a file, all else a name; behind a colon stand
    parameters (`scale:hosts=4,gpus=16`). Raises TopologyError.
    """
    bare, given = split(name_or_path)
    if bare.endswith(SUFFIXES) or "/" in bare:
        path = Path(bare)
    else:
        path = mockups_dir / f"{bare}.yaml"
        if not path.is_file():
            known = ", ".join(names(mockups_dir))
            told = f"no such topology; there are: {known or 'none'}"
            raise _refused(name_or_path, told, given=True)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise _refused(name_or_path, "there is no such file", given=True) from error
    except OSError as error:
        raise _refused(name_or_path, f"can not be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _refused(name_or_path, f"is not UTF-8: {error}") from error
    return read(text, name_or_path, given)


def read(text: str, source: str, given: str | None = None) -> Topology:
    """Return the topology that a YAML text describes, with the parameters that are `given`.

    Raises TopologyError with every reason.
    """
    problems = Problems()
    value = parse(text, problems)
    spec: TopologySpec | None = None
    known = declared(value, problems)
    chosen = choose(known, given, problems)
    if not problems.count or value is not None:
        spec = convert(filled_in(value, chosen, problems), TopologySpec, "", problems)
    fabrics = lay_out(spec, problems) if spec is not None else ()
    if problems.count or spec is None:
        raise TopologyError(source, problems.found)
    return Topology(spec.name, spec.description, fabrics, chosen)


def _refused(source: str, text: str, *, given: bool = False) -> TopologyError:
    return TopologyError(source, (Problem("", None, text, given),))

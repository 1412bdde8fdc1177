"""`redfish-fm mockup`: what is in a recorded tree of a Redfish service, and what is wrong in it."""

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from redfish_fm.cli.hints import failure
from redfish_fm.cli.output import json_option, print_json, print_table, progress_bar
from redfish_fm.cli.record import record
from redfish_fm.errors import FmError
from redfish_fm.imports import Import, Problem, read_import
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.resources import schemas_dir
from redfish_fm.store.mockup_parse import Severity


@click.group()
def mockup() -> None:
    """Look after mockups: recorded trees of Redfish services (DSP2043)."""


mockup.add_command(record)


@mockup.command()
@click.argument("source", metavar="DIR|ZIP", type=click.Path(exists=True, path_type=Path))
@click.option("--strict", is_flag=True, help="Fail (exit code 1) if there is any defect.")
@json_option
def check(source: Path, strict: bool, as_json: bool) -> None:
    """List what is wrong with a mockup, with file and place.

    A defect is an error, for which something is not served, or a warning: wrong, and served all
    the same. Notes say what was assumed where the mockup is silent; they are no defects. Nothing
    is changed and nothing is served: `redfish-fm serve --mockup` does that.

    Exit codes: 0 the mockup can be served; 1 it can not, or has defects and --strict is given;
    2 wrong usage.

    \b
    Examples:
      redfish-fm mockup check ./rack-7
      redfish-fm mockup check --strict rack-7.zip
      redfish-fm mockup check --json rack-7.zip | jq '.problems[] | select(.kind == "dangling")'
    """
    try:
        with progress_bar("reading") as told:
            found = read_import(source, Catalog.load(schemas_dir()), told)
    except FmError as error:
        raise failure(error, source) from error
    if as_json:
        print_json(_answer(source, found))
    else:
        if found.problems:
            headers = ("severity", "kind", "place", "what")
            print_table(headers, (_row(each) for each in found.problems))
        click.echo(f"{source}: {_summary(found)}", err=True)
    sys.exit(1 if strict and found.defects else 0)


def _row(problem: Problem) -> tuple[str, str, str, str]:
    return problem.severity.value, problem.kind, problem.place, problem.text


def _summary(found: Import) -> str:
    counts = Counter(each.severity for each in found.problems)
    told = ", ".join(f"{counts[each]} {each.value}s" for each in Severity)
    fabrics = len(found.meaning.facts.fabrics)
    return f"{len(found.documents)} documents, {fabrics} fabrics; {told}"


def _answer(source: Path, found: Import) -> dict[str, Any]:
    counts = Counter(each.severity for each in found.problems)
    driven = {inventory.fabric for inventory in found.meaning.fabrics}
    return {
        "mockup": str(source),
        "documents": len(found.documents),
        "fabrics": [
            {"id": each.id, "kind": each.kind.value, "driven": each.id in driven}
            for each in found.meaning.facts.fabrics
        ],
        "counts": {each.value: counts[each] for each in Severity},
        "problems": [asdict(each) | {"severity": each.severity.value} for each in found.problems],
    }

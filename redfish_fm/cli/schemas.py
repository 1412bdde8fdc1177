"""`redfish-fm schemas`: make the schemas folder from the standards' bundles, or compare it."""

import sys
from pathlib import Path

import click

from redfish_fm.cli.output import Failure, json_option, print_json
from redfish_fm.redfish.schema_build import SchemaBuildError, build, differences, write
from redfish_fm.resources import schemas_dir

_HINT = "give DSP8010 and the Swordfish bundle, each with its own --from"


@click.group()
def schemas() -> None:
    """Look after the folder of types, messages and privileges."""


@schemas.command("build")
@click.option(
    "--from",
    "sources",
    metavar="DIR|ZIP",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    required=True,
    help="Folder, zip or tar with CSDL, JSON schemas or registries; may be repeated.",
)
@click.option(
    "--to",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write; default: the schemas folder of this installation.",
)
@click.option("--check", is_flag=True, help="Write nothing; fail if the folder differs.")
@json_option
def build_command(
    sources: tuple[Path, ...], folder: Path | None, check: bool, as_json: bool
) -> None:
    """Make the folder from the standards' bundles.

    Writes types/, registries/ and privilege_map.json.

    Exit codes: 0 written, or with --check as built; 1 a bundle or the folder can not be used, or
    the folder differs; 2 wrong usage.

    \b
    Examples:
      redfish-fm schemas build --from DSP8010_2025.2.zip --from Swordfish_v1.2.8.zip
      redfish-fm schemas build --check --from ./bundles
      redfish-fm schemas build --check --json --from ./bundles | jq '.differing[]'
    """
    target = folder or schemas_dir()
    try:
        files = build(sources)
    except SchemaBuildError as error:
        raise Failure(str(error), _HINT) from error
    if check:
        _compare(files, target, as_json)
        return
    try:
        write(files, target)
    except OSError as error:
        raise Failure(f"{target} can not be written: {error}") from error
    size = sum(len(text.encode()) for text in files.values())
    if as_json:
        print_json({"folder": str(target), "files": len(files), "bytes": size})
    else:
        click.echo(f"{len(files)} files, {size} bytes, in {target}")


def _compare(files: dict[str, str], target: Path, as_json: bool) -> None:
    differing = differences(files, target)
    if as_json:
        print_json({"folder": str(target), "files": len(files), "differing": list(differing)})
        sys.exit(1 if differing else 0)
    if differing:
        lines = "\n".join(f"{target / name} is not as built" for name in differing)
        raise Failure(lines, "run the same command without --check")
    click.echo(f"{target} is as built: {len(files)} files")

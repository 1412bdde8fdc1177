"""`redfish-fm topology`: which virtual fabrics there are, what is in one, what is wrong in one."""

import sys
from collections.abc import Iterable, Sized
from dataclasses import asdict
from typing import Any, NoReturn

import click

from redfish_fm.cli.hints import failure
from redfish_fm.cli.output import json_option, print_json, print_table
from redfish_fm.cli.topology_shape import (
    device_lines,
    host_line,
    host_shapes,
    switch_line,
    switch_shapes,
)
from redfish_fm.drivers.virtual.format_schema import topology_schema
from redfish_fm.drivers.virtual.topology import Topology, TopologyError, load, names
from redfish_fm.fabric.model import Attachment, FabricKind, Inventory
from redfish_fm.resources import mockups_dir

_SHOWN = ("fabric", "type", "hosts", "switches", "devices", "LDs", "ports", "vPPBs")


@click.group()
def topology() -> None:
    """Look at the topologies that `serve --topology` accepts."""


@topology.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the shipped topologies, with their size as they come.

    \b
    Examples:
      redfish-fm topology list
      redfish-fm topology list --json | jq '.[].parameters'
    """
    rows = [_summary(_load(name)) | {"name": name} for name in names(mockups_dir())]
    if as_json:
        print_json(rows)
        return
    headers = ("name", "hosts", "switches", "devices", "description")
    print_table(headers, ([str(row[header]) for header in headers] for row in rows))


@topology.command()
@click.argument("name_or_file", metavar="NAME|FILE[:PARAMETERS]")
@json_option
def show(name_or_file: str, as_json: bool) -> None:
    """Show what a topology holds, fabric by fabric.

    Parameters stand behind a colon: scale:hosts=4,gpus=16. What is alike is told once.

    Exit codes: 0 shown; 1 the file is not valid; 2 wrong usage, such as a topology or a parameter
    that there is not.

    \b
    Examples:
      redfish-fm topology show ai-pod
      redfish-fm topology show scale:hosts=4,gpus=16
      redfish-fm topology show --json ./rack-7.yaml
    """
    loaded = _load(name_or_file)
    fabrics = loaded.inventories()
    if as_json:
        shown = [_fabric(each) | {"groups": switch_shapes(each)} for each in fabrics]
        print_json(_summary(loaded) | {"host_groups": host_shapes(fabrics), "fabrics": shown})
        return
    _print_tree(loaded)
    rows = map(_fabric, fabrics)
    print_table(_SHOWN, ([str(row[header]) for header in _SHOWN] for row in rows))


def _print_tree(loaded: Topology) -> None:
    click.echo(f"{loaded.name}: {loaded.description}")
    for each in loaded.parameters.values():
        bounds = f"{each.min} to {each.max}, {each.default} where nothing is said"
        click.echo(f"  parameter {each.name} = {each.value} ({bounds}): {each.description}")
    for shape in host_shapes(loaded.inventories()):
        click.echo(f"  {host_line(shape)}")
    for fabric in loaded.inventories():
        network = fabric.kind is FabricKind.CONNECTION_GRANTS
        words = ("subsystem", "attachment") if network else ("switch", "vPPB")
        click.echo(f"  fabric {fabric.fabric} ({fabric.protocol}): {fabric.name}")
        for shape in switch_shapes(fabric):
            click.echo(f"    {switch_line(shape, *words)}")
            for line in device_lines(shape):
                click.echo(f"      {line}")
    click.echo()


@topology.command()
@click.argument("name_or_file", metavar="NAME|FILE[:PARAMETERS]")
@json_option
def validate(name_or_file: str, as_json: bool) -> None:
    """Check a topology and name every mistake.

    Each stands on a line of its own, with its path and its line in the file. Parameters stand
    behind a colon (scale:hosts=4,gpus=16) and are checked as well.

    Exit codes: 0 valid; 1 the file is not valid; 2 wrong usage, such as a topology or a parameter
    that there is not.

    \b
    Examples:
      redfish-fm topology validate ./rack-7.yaml
      redfish-fm topology validate --json ./rack-7.yaml | jq '.problems[].line'
    """
    if as_json:
        _validate_in_json(name_or_file)
    row = _summary(_load(name_or_file))
    click.echo(
        f"{name_or_file} is valid: {row['hosts']} hosts, {row['switches']} switches,"
        f" {row['devices']} devices"
    )


def _validate_in_json(name_or_file: str) -> NoReturn:
    """Answer with the problems as data; the exit codes are those of words."""
    answer: dict[str, Any] = {"topology": name_or_file, "valid": True, "problems": []}
    try:
        answer |= {"counts": _counts(load(name_or_file, mockups_dir()))}
        code = 0
    except TopologyError as error:
        problems = [
            {"path": each.path, "line": each.line, "text": each.text} for each in error.problems
        ]
        answer |= {"valid": False, "problems": problems}
        code = failure(error).exit_code
    print_json(answer)
    sys.exit(code)


@topology.command()
def schema() -> None:
    """Write the JSON Schema of topology files, with which editors complete and check them.

    The same text is shipped as schemas/topology.schema.json.

    \b
    Examples:
      redfish-fm topology schema > topology.schema.json
    """
    print_json(topology_schema())


def _load(name_or_file: str) -> Topology:
    try:
        return load(name_or_file, mockups_dir())
    except TopologyError as error:
        raise failure(error) from error


def _summary(loaded: Topology) -> dict[str, Any]:
    """Return parameters and counts over all fabrics; a host in two fabrics counts once."""
    return {
        "name": loaded.name,
        "description": loaded.description,
        **_counts(loaded),
        "parameters": [asdict(each) for each in loaded.parameters.values()],
    }


def _counts(loaded: Topology) -> dict[str, int]:
    fabrics = loaded.inventories()
    return {
        "hosts": len({host.id for fabric in fabrics for host in fabric.hosts}),
        "switches": sum(len(fabric.switches) for fabric in fabrics),
        "devices": sum(len(fabric.devices) for fabric in fabrics),
    }


def _fabric(fabric: Inventory) -> dict[str, Any]:
    virtual_switches = [vcs for switch in fabric.switches for vcs in switch.virtual_switches]
    mlds = [device for device in fabric.devices if device.attachment is Attachment.MLD]
    return {
        "fabric": fabric.fabric,
        "type": fabric.protocol,
        "hosts": len(fabric.hosts),
        "switches": len(fabric.switches),
        "devices": len(fabric.devices),
        "LDs": _count(device.lds for device in mlds),
        "ports": _count(switch.ports for switch in fabric.switches),
        "vPPBs": sum(vcs.vppb_count for vcs in virtual_switches),
    }


def _count(groups: Iterable[Sized]) -> int:
    return sum(len(group) for group in groups)

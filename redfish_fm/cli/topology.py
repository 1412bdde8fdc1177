"""`redfish-fm topology`: which virtual fabrics there are, what is in one, what is wrong in one."""

from collections.abc import Iterable, Sized
from typing import Any

import click

from redfish_fm.cli.output import Failure, json_option, print_json, print_table
from redfish_fm.drivers.virtual.format_schema import topology_schema
from redfish_fm.drivers.virtual.topology import Topology, TopologyError, load, names
from redfish_fm.fabric.model import Attachment, Inventory
from redfish_fm.resources import mockups_dir

_SHOWN = ("fabric", "type", "hosts", "switches", "devices", "LDs", "ports", "vPPBs")


@click.group()
def topology() -> None:
    """Look at the topologies that `serve --topology` accepts."""


@topology.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the shipped topologies."""
    rows = [_summary(_load(name)) | {"name": name} for name in names(mockups_dir())]
    if as_json:
        print_json(rows)
        return
    headers = ("name", "hosts", "switches", "devices", "description")
    print_table(headers, ([str(row[header]) for header in headers] for row in rows))


@topology.command()
@click.argument("name_or_file", metavar="NAME|FILE")
@json_option
def show(name_or_file: str, as_json: bool) -> None:
    """Show what a topology holds, fabric by fabric."""
    loaded = _load(name_or_file)
    fabrics = [_fabric(fabric) for fabric in loaded.inventories()]
    if as_json:
        print_json(_summary(loaded) | {"fabrics": fabrics})
        return
    click.echo(f"{loaded.name}: {loaded.description}")
    print_table(_SHOWN, ([str(fabric[header]) for header in _SHOWN] for fabric in fabrics))


@topology.command()
@click.argument("name_or_file", metavar="NAME|FILE")
def validate(name_or_file: str) -> None:
    """Check a topology and name every mistake.

    Each stands on a line of its own, with its path and its line in the file.
    """
    loaded = _load(name_or_file)
    row = _summary(loaded)
    click.echo(
        f"{name_or_file} is valid: {row['hosts']} hosts, {row['switches']} switches,"
        f" {row['devices']} devices"
    )


@topology.command()
def schema() -> None:
    """Write the JSON Schema of topology files, with which editors complete and check them.

    The same text is shipped as schemas/topology.schema.json.
    """
    print_json(topology_schema())


def _load(name_or_file: str) -> Topology:
    try:
        return load(name_or_file, mockups_dir())
    except TopologyError as error:
        problems = "\n".join(f"{error.source}: {problem}" for problem in error.problems)
        hint = "redfish-fm topology list names what is shipped; docs/topologies.md has the words"
        raise Failure(problems, hint) from error


def _summary(loaded: Topology) -> dict[str, Any]:
    """Return the counts over all fabrics; a host in two fabrics counts once."""
    fabrics = loaded.inventories()
    return {
        "name": loaded.name,
        "description": loaded.description,
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

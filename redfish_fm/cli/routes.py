"""`redfish-fm routes`: every URI template the service knows, its verbs and its type."""

from collections.abc import Iterator

import click

from redfish_fm.cli.output import json_option, print_json, print_table
from redfish_fm.redfish.catalog import Catalog, TypeInfo
from redfish_fm.resources import schemas_dir

_HEADERS = ("uri", "verbs", "type")


@click.command()
@json_option
def routes(as_json: bool) -> None:
    """List the URI templates with their verbs and types.

    All templates of the standard's types, whether anything served stands there or not, and the
    actions that are carried out. The verbs are what this service offers for the type; a single
    resource may allow less, which its Allow header says.
    """
    rows = sorted(_rows(Catalog.load(schemas_dir())))
    if as_json:
        print_json([dict(zip(_HEADERS, row, strict=True)) for row in rows])
    else:
        print_table(_HEADERS, rows)


def _rows(catalog: Catalog) -> Iterator[tuple[str, str, str]]:
    creating = {
        uri for info in catalog.types.values() if info.create for uri in info.create.collections
    }
    for info in catalog.types.values():
        for uri in info.uris:
            yield uri, _verbs(info, uri in creating), info.odata_type
            for action in info.actions.values():
                if action.supported:
                    yield f"{uri}/Actions/{action.name}", "POST", action.name


def _verbs(info: TypeInfo, creates: bool) -> str:
    offered = {
        "POST": creates,
        "PATCH": info.updatable and bool(info.writable_here or info.overlay_here),
        "DELETE": info.deletable_here,
    }
    return " ".join(["GET", "HEAD", *(verb for verb, given in offered.items() if given)])

"""`redfish-fm routes`: every URI template the service knows, its verbs and its type."""

from collections.abc import Iterator

import click

from redfish_fm.cli.output import json_option, print_json, print_table
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.routes import Routes
from redfish_fm.resources import schemas_dir

_HEADERS = ("uri", "verbs", "type")


@click.command()
@json_option
def routes(as_json: bool) -> None:
    """List the URI templates with their verbs and types.

    All templates of the standard's types, whether anything served stands there or not, and the
    actions that are carried out. The verbs are what this service offers for the type; a single
    resource may allow less, which its Allow header says.

    \b
    Examples:
      redfish-fm routes | grep Zone
      redfish-fm routes --json | jq -r '.[] | select(.verbs | contains("POST")) | .uri'
    """
    rows = sorted(_rows(Catalog.load(schemas_dir())))
    if as_json:
        print_json([dict(zip(_HEADERS, row, strict=True)) for row in rows])
    else:
        print_table(_HEADERS, rows)


def _rows(catalog: Catalog) -> Iterator[tuple[str, str, str]]:
    for route in Routes(catalog).all():
        name = route.info.odata_type if route.action is None else route.action.name
        yield route.uri, " ".join(route.methods), name

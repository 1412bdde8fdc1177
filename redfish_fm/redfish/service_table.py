"""Our own table of types: what may be created, changed and deleted here, and who owns what.

The rows of schemas/service.json as values; that file explains its words. Knows no schema.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OTHERWISE = "*"
"""In CreateTable.refused: the reason for every property that the table does not name."""


@dataclass(frozen=True, slots=True)
class CreateTable:
    """What a POST may name. Paths are dotted ("Links.Endpoints"); `refused` gives the reason.

    A required array must also not be empty.
    """

    required: frozenset[str]
    optional: frozenset[str]
    refused: Mapping[str, str]
    collections: frozenset[str]
    """URI templates of the collections where the type can be created; none: not yet anywhere."""
    allowed: frozenset[str]
    """Required and optional together."""
    only_where: str | None = None
    """Boolean of the resource that has the collection: where it is false, nothing is created."""
    described: frozenset[str] = frozenset()
    """Links to collections in whose place a client may describe the members it wishes for."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of the body that mean something here -> the JSON type of their value."""
    elsewhere: frozenset[str] = frozenset()
    """Those of `collections` whose new member comes to be in another of them."""


@dataclass(frozen=True, slots=True)
class ServiceRow:
    """What service.json says of one type; the default is that of a type without a row."""

    why: str = ""
    later: str | None = None
    """Which issue makes it creatable; until then no collection takes a POST."""
    create: CreateTable | None = None
    writable: frozenset[str] = frozenset()
    overlay: frozenset[str] = frozenset()
    deletable: bool = False
    actions: frozenset[str] = frozenset()
    values: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    """Action -> parameter -> the values it may have here; it has to be given."""
    oem_actions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Those of `actions` that are our own -> their parameters, links that have to be given."""
    derived: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    observed: frozenset[str] = frozenset()
    """Dotted paths that observation owns where a driver is at work."""


def service_row(row: Mapping[str, Any]) -> ServiceRow:
    """Return one row as read from the file. Raises KeyError where a part is missing."""
    if not row:
        return _NO_ROW
    return ServiceRow(
        why=row["why"],
        later=row.get("later"),
        create=_create_table(row),
        writable=frozenset((*row.get("writable", ()), *row.get("writable_here", {}))),
        overlay=frozenset(row.get("overlay", ())),
        deletable=bool(row.get("deletable")),
        actions=frozenset((*row.get("actions", ()), *row.get("oem_actions", {}))),
        oem_actions={
            action: frozenset(parameters)
            for action, parameters in row.get("oem_actions", {}).items()
        },
        values={
            action: {name: frozenset(values) for name, values in parameters.items()}
            for action, parameters in row.get("values", {}).items()
        },
        derived={
            path: tuple((source, link) for source, link in sources)
            for path, sources in row.get("derived", {}).items()
        },
        observed=frozenset(row.get("observed", ())),
    )


_NO_ROW = ServiceRow()


def _create_table(row: Mapping[str, Any]) -> CreateTable | None:
    if "create" not in row:
        return None
    create = row["create"]
    required, optional = frozenset(create["required"]), frozenset(create["optional"])
    return CreateTable(
        required,
        optional,
        dict(create["refused"]),
        frozenset() if "later" in row else frozenset(row["collections"]),
        required | optional,
        row.get("only_where"),
        frozenset(create.get("described", ())),
        dict(create.get("annotations", {})),
        frozenset(row.get("elsewhere", ())),
    )

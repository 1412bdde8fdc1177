"""What is served before any client wrote: the world of a topology, of a mockup, of a kept state.

Reads topologies and mockups through their rooms; starts nothing, serves nothing.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from redfish_fm import resources
from redfish_fm.config import Config
from redfish_fm.drivers.virtual import topology
from redfish_fm.errors import FmError
from redfish_fm.fabric.inventory import collisions
from redfish_fm.fabric.model import Host, Inventory
from redfish_fm.imports import Import, MockupDefective, read_import
from redfish_fm.mapping.bindings import binding_edit
from redfish_fm.mapping.documents import Documents
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported import analyse
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.mapping.systems_shown import types_shown
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.store.base import StoredState
from redfish_fm.store.mockup import Progress
from redfish_fm.store.mockup_parse import Severity

log = logging.getLogger(__name__)

HEADERS_KEY, XML_KEY = "import headers", "import xml"
"""Keys in the META space: what an import has besides its documents, by URI, as JSON."""
PROBLEMS_LOGGED_MAX = 200
"""An import's problems in the log; `redfish-fm mockup check` lists all."""


@dataclass(frozen=True, slots=True)
class World:
    """What is served before any client wrote: inventory documents, facts, and driven fabrics.

    `first` are the edits of the very first start (an import's documents); empty afterwards.
    `default_zones` are the fabrics whose Default zone the service keeps; imports keep their own.
    Of an import, `hosts` are driven though they are in no driven fabric, `headers` are sent with a
    GET and `xml` is served beside the resources, by URI.
    """

    documents: Documents
    facts: Facts
    inventories: tuple[Inventory, ...]
    first: tuple[Edit, ...] = ()
    default_zones: tuple[str, ...] = ()
    hosts: tuple[Host, ...] = ()
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    xml: Mapping[str, bytes] = field(default_factory=dict)


def source(
    config: Config, catalog: Catalog, progress: Progress | None = None
) -> Callable[[StoredState], World]:
    """Read and check what is to be served, before any state is marked as belonging to it.

    `progress` is told how far the reading of a mockup is; a topology is read at once. Raises
    FmError with one line where it can not be read.
    """
    if config.mockup is not None:
        path, strict = config.mockup, config.strict
        known = config.state is not None and (config.state / "state.db").exists()
        found = None if known else read_mockup(path, catalog, strict, progress)
        return lambda stored: (
            kept_world(stored)
            or imported_world(found or read_mockup(path, catalog, strict, progress))
        )
    inventories: Sequence[Inventory] = ()
    if config.topology is not None:
        inventories = topology.load(config.topology, resources.mockups_dir()).inventories()
    _refuse_collisions(inventories)
    world = discovered_world(tuple(inventories))
    return lambda _: world


def discovered_world(
    inventories: tuple[Inventory, ...], further: tuple[Inventory, ...] = ()
) -> World:
    """Return the world of a topology's fabrics, and of `further` ones that are driven elsewhere."""
    every = (*inventories, *further)
    rendered = render_inventories(every, linked_back=False)
    fabrics = tuple(inventory.fabric for inventory in every)
    return World(rendered.documents, rendered.facts, inventories, default_zones=fabrics)


def _refuse_collisions(inventories: Sequence[Inventory]) -> None:
    """Raise FmError, with one line, for fabrics that one service can not serve together."""
    told = collisions(inventories)
    if told:
        raise FmError(f"these fabrics can not be served together: {'; '.join(told)}")


def read_mockup(
    path: Path, catalog: Catalog, strict: bool, progress: Progress | None = None
) -> Import:
    """Return the mockup at `path`, and log its problems; raise FmError where `strict` minds any."""
    found = read_import(path, catalog, progress)
    if strict and found.defects:
        raise MockupDefective(path, found.defects)
    _refuse_collisions(found.meaning.fabrics)
    for problem in found.problems[:PROBLEMS_LOGGED_MAX]:
        level = logging.INFO if problem.severity is Severity.NOTE else logging.WARNING
        log.log(level, "import: %s", problem)
    if len(found.problems) > PROBLEMS_LOGGED_MAX:
        log.warning("import: %d problems in all: redfish-fm mockup check", len(found.problems))
    return found


def kept_world(stored: StoredState) -> World | None:
    """Return the world of an import that was made at an earlier start, or None."""
    kept = stored.spaces.get(Space.INVENTORY)
    if not kept:
        return None
    meaning = analyse({uri: msgspec.json.decode(raw) for uri, raw in kept.items()})
    meta = stored.spaces.get(Space.META, {})
    xml = msgspec.json.decode(meta.get(XML_KEY, b"{}"), type=dict[str, bytes])
    return World(
        Documents(meaning.inventory),
        meaning.facts,
        tuple(meaning.fabrics),
        hosts=tuple(meaning.hosts),
        headers=msgspec.json.decode(meta.get(HEADERS_KEY, b"{}")),
        xml=xml,
    )


def imported_world(found: Import) -> World:
    """Return the world of a mockup as its files have it, with the edits of the first start."""
    meaning, headers, xml = found.meaning, found.tree.headers, found.xml
    first = (
        *(
            document_edit(Space.INVENTORY, uri, document)
            for uri, document in found.documents.items()
        ),
        *(document_edit(Space.DOCUMENT, uri, document) for uri, document in meaning.wanted.items()),
        *(document_edit(Space.OVERLAY, uri, overlay) for uri, overlay in meaning.overlays.items()),
        *(binding_edit(None, binding) for binding in meaning.bindings),
        document_edit(Space.META, HEADERS_KEY, headers),
        document_edit(Space.META, XML_KEY, xml),
    )
    return World(
        Documents(meaning.inventory),
        meaning.facts,
        tuple(meaning.fabrics),
        first,
        hosts=tuple(meaning.hosts),
        headers=headers,
        xml=xml,
    )


def document_edit(space: Space, key: str, document: Mapping[str, Any]) -> Edit:
    """Return the edit that makes what was not there."""
    return Edit(space, key, None, msgspec.json.encode(document))


def wanted_types(world: World, stored: StoredState) -> set[str]:
    """Return the @odata.type of every wanted document, of which imports bring older versions.

    And of what can be shown below systems of resource blocks.
    """
    documents = [*stored.spaces.get(Space.DOCUMENT, {}).values()]
    documents += [edit.post for edit in world.first if edit.space is Space.DOCUMENT and edit.post]
    decoder = msgspec.json.Decoder(_Typed)
    shown = types_shown(world.documents.odata_types()) if world.facts.blocks else set()
    return {decoder.decode(raw).odata_type for raw in documents} | shown


class _Typed(msgspec.Struct):
    """The one property that is looked at."""

    odata_type: str = msgspec.field(name="@odata.type", default="")

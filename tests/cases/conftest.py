"""Worlds that are read once: the packs' mockups, the packs' schemas, and whole crawled trees."""

from pathlib import Path
from typing import Any

import pytest

from redfish_fm.worlds import World
from tests.cases.life import lived
from tests.cases.stack import a_stack, imported, unpacked
from tests.mapping.schemas import SchemaPack
from tests.virtual_time import run

Tree = dict[str, dict[str, Any]]
MOCKUPS = ("public-cxl", "public-nvmeof-jbof", "public-sasfabric", "public-composability")


@pytest.fixture(scope="session")
def schemas(shared: Path) -> SchemaPack:
    """The official JSON schemas of DSP8010 2025.4, newest versions."""
    return SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")


@pytest.fixture(scope="session")
def worlds(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    """The four repaired public mockups, imported."""
    place = tmp_path_factory.mktemp("mockups")
    return {name: imported(unpacked(shared, place, name)) for name in MOCKUPS}


@pytest.fixture(scope="session")
def public_cxl(worlds: dict[str, World]) -> World:
    """DMTF's CXL fabric, imported."""
    return worlds["public-cxl"]


@pytest.fixture(scope="session")
def own_tree() -> Tree:
    """Everything that is served on two-hosts after zones, connections, tasks and accounts."""

    async def crawl() -> Tree:
        async with a_stack() as stack:
            await lived(stack)
            return await stack.crawl()

    return run(crawl())


@pytest.fixture(scope="session")
def imported_trees(worlds: dict[str, World]) -> dict[str, Tree]:
    """Everything that is served on each imported mockup."""

    async def crawl(world: World) -> Tree:
        async with a_stack(world) as stack:
            return await stack.crawl()

    return {name: run(crawl(world)) for name, world in worlds.items()}

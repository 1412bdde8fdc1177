"""The packs and what the builder makes of them, once per run."""

import json
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.redfish.schema_build import build
from tests.redfish.schema_build import packs


@pytest.fixture(scope="session")
def sources(shared: Path) -> list[Path]:
    """Return the packs that the committed folder is built from, or skip."""
    places = [shared / "data" / f"{name}.tar.gz" for name in packs.PACKS]
    missing = [place.name for place in places if not place.exists()]
    if missing:
        pytest.skip(f"packs absent: {', '.join(missing)}")
    return places


@pytest.fixture(scope="session")
def built(sources: list[Path]) -> dict[str, str]:
    return build(sources)


@pytest.fixture(scope="session")
def types(built: dict[str, str]) -> dict[str, Any]:
    """Return type name -> parsed file."""
    return {
        name.removeprefix("types/").removesuffix(".json"): json.loads(text)
        for name, text in built.items()
        if name.startswith("types/")
    }


@pytest.fixture(scope="session")
def published(shared: Path, sources: list[Path]) -> dict[str, Any]:
    return packs.schemas(shared)


@pytest.fixture(scope="session")
def standard_registries(shared: Path, sources: list[Path]) -> dict[str, Any]:
    return packs.registries(shared)

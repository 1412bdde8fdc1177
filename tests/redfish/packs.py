"""Where the official bundles lie, for tests that compare our facts with theirs."""

import functools
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

_SHARED = os.environ.get("REDFISH_FM_SHARED")
SHARED = Path(_SHARED) if _SHARED else Path(__file__).resolve().parents[3] / "shared"


@functools.cache
def pack(name: str) -> dict[str, Any]:
    """Return every JSON file of a pack by its name without ".json"; skip where it is absent."""
    path = SHARED / "data" / f"{name}.tar.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not here; set REDFISH_FM_SHARED")
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".json") else None
            if file is not None:
                found[Path(member.name).name.removesuffix(".json")] = json.load(file)
    return found

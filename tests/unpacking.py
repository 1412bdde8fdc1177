"""Taking reference packs apart: by tarfile's data filter where this Python has it (3.11.4)."""

import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def unpack(
    pack: tarfile.TarFile, place: Path, members: Iterable[tarfile.TarInfo] | None = None
) -> None:
    """Extract what is named, or all, under `place`. For the project's own reference packs only."""
    pack.extractall(place, members, **_SAFELY)  # noqa: S202 - packs that we have checksums of

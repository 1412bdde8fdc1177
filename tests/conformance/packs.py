"""What conformance needs and may lack: the reference packs and the DMTF tools.

Absent is a reason to skip, said in one line; a pack that is there but can not be read is not.
"""

import importlib.metadata
import os
import shutil
import sys
import tarfile
from pathlib import Path

from tests.unpacking import unpack

REPOSITORY = Path(__file__).resolve().parents[2]
CSDL_PACKS = ("dmtf-2025.4-csdl", "snia-swordfish-1.2.7-schemas")
MOCKUP_PACK = "mockups-dmtf-2025.4-repaired"
TOOLS = (
    "redfish_service_validator",
    "redfish_protocol_validator",
    "redfish_use_case_checkers",
)


def shared() -> Path:
    """Return where the reference packs are, or would be."""
    return Path(os.environ.get("REDFISH_FM_SHARED") or REPOSITORY.parent / "shared")


def absent() -> str | None:
    """Return why nothing can be checked here, or None."""
    for pack in (*CSDL_PACKS, MOCKUP_PACK):
        if not _archive(pack).is_file():
            return f"{_archive(pack)} is absent; set REDFISH_FM_SHARED"
    for tool in TOOLS:
        try:
            importlib.metadata.version(tool)
        except importlib.metadata.PackageNotFoundError:
            return f"{tool} is not installed; pip install -e '.[conformance]'"
    return None


def tool(name: str) -> str:
    """Return the command `name` of the environment that this Python runs in."""
    return str(Path(sys.executable).with_name(name))


def unpack_csdl(place: Path) -> Path:
    """Unpack all CSDL into one flat folder, as the service validator wants it; return it."""
    place.mkdir()
    for pack in CSDL_PACKS:
        with tarfile.open(_archive(pack)) as archive:
            for entry in archive:
                if entry.isreg() and entry.name.endswith(".xml"):
                    entry.name = entry.name.rpartition("/")[2]
                    # DMTF's file wins where both have one: SNIA's copy is older.
                    if not (place / entry.name).exists():
                        unpack(archive, place, [entry])
    for path in (REPOSITORY / "schemas" / "oem").glob("*.xml"):
        shutil.copy(path, place)
    return place


def unpack_mockups(place: Path) -> dict[str, Path]:
    """Unpack the repaired mockups; return each one's folder by name."""
    with tarfile.open(_archive(MOCKUP_PACK)) as archive:
        unpack(archive, place)
    roots = [path.parent for path in place.rglob("index.json")]
    return {root.name: root for root in roots if root.name.startswith("public-")}


def _archive(pack: str) -> Path:
    return shared() / "data" / f"{pack}.tar.gz"

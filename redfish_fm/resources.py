"""Where the data folders lie: schemas (what the standards say) and mockups (our fabrics).

Knows only the file system. A wheel carries them as `redfish_fm/_data/…`; a checkout and an
editable install have them beside the package, because hatchling's force-include is absent there.
"""

from pathlib import Path

from redfish_fm.errors import FmError

_PACKAGE = Path(__file__).resolve().parent


class ResourcesMissing(FmError):
    """This installation lacks a data folder; the text says where it was looked for."""


def schemas_dir() -> Path:
    """Return the folder of types, messages and privileges. Raises ResourcesMissing."""
    return _find("schemas")


def mockups_dir() -> Path:
    """Return the folder of shipped topologies and mockups. Raises ResourcesMissing."""
    return _find("mockups")


def _find(name: str) -> Path:
    places = (_PACKAGE / "_data" / name, _PACKAGE.parent / name)
    for place in places:
        if place.is_dir():
            return place
    looked = " nor ".join(str(place) for place in places)
    raise ResourcesMissing(f"the {name} folder is neither {looked}; install redfish-fm again")

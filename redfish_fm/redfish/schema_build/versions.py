"""Version numbers of schemas, "v1_6_3" in schemas and "1.22.1" in registries, and their order."""

import re

Version = tuple[int, int, int]

_VERSION = re.compile(r"v?(\d+)[._](\d+)[._](\d+)")


def parse_version(text: str) -> Version:
    """Return "v1_6_3" or "1.6.3" as numbers, so that v1_10_0 is newer than v1_9_0.

    Raises ValueError for any other text.
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a version")
    major, minor, errata = map(int, found.groups())
    return major, minor, errata


def schema_version(version: Version) -> str:
    """Return the form that @odata.type uses, "v1_6_3"."""
    return "v{}_{}_{}".format(*version)


def minor_version(version: Version) -> str:
    """Return what errata share, "v1_6"."""
    return f"v{version[0]}_{version[1]}"

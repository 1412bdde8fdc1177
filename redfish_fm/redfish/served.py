"""Which published schemas the documents of this service follow, imported older versions included.

Pure. What was never published (types of makers, versions that are not) is left out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from redfish_fm.redfish.catalog import Catalog, TypeInfo

_ODATA_TYPE = re.compile(r"#(?P<file>\w+)(\.(?P<version>v\d+_\d+_\d+))?\.(?P<name>\w+)", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class ServedType:
    """One version of one type. `namespace` is "Zone.v1_4_0"."""

    odata_type: str
    namespace: str
    publication_uri: str
    csdl_uri: str


def served_types(catalog: Catalog, odata_types: Iterable[str]) -> list[ServedType]:
    """Return the types of all these documents, and of what their collections can hold, sorted."""
    given = set(odata_types)
    found = {_served(catalog, odata_type) for odata_type in given}
    for odata_type in given:
        member = _member(catalog, odata_type)
        found.add(None if member is None else _newest(member))
    return sorted(each for each in found if each is not None)


def _served(catalog: Catalog, odata_type: str) -> ServedType | None:
    match = _ODATA_TYPE.fullmatch(odata_type)
    info = None if match is None else catalog.types.get(match["name"])
    if match is None or info is None or not info.odata_type.startswith(f"#{match['file']}."):
        return None
    if match["version"] in (None, info.version):
        return _newest(info)
    if match["version"] not in info.versions:
        return None
    namespace = f"{match['file']}.{match['version']}"
    publication_uri = f"{info.publication_uri.rpartition('/')[0]}/{namespace}.json"
    return ServedType(odata_type, namespace, publication_uri, info.csdl_uri)


def _newest(info: TypeInfo) -> ServedType:
    return ServedType(info.odata_type, info.namespace, info.publication_uri, info.csdl_uri)


def _member(catalog: Catalog, odata_type: str) -> TypeInfo | None:
    info = catalog.types.get(odata_type.rpartition(".")[2])
    return None if info is None else catalog.types.get(info.member or "")

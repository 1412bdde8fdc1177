"""The OData documents: $metadata, the service document and the version document. Pure.

$metadata defines nothing: it refers to the published CSDL of the types served.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from redfish_fm.redfish.catalog import Catalog, TypeInfo
from redfish_fm.redfish.representations import encode

_EDMX = "http://docs.oasis-open.org/odata/ns/edmx"
_EDM = "http://docs.oasis-open.org/odata/ns/edm"
_ALWAYS = (
    ("http://redfish.dmtf.org/schemas/v1/RedfishExtensions_v1.xml", ("RedfishExtensions.v1_0_0",)),
    ("http://redfish.dmtf.org/schemas/v1/Resource_v1.xml", ("Resource", "Resource.v1_0_0")),
    ("http://redfish.dmtf.org/schemas/v1/Message_v1.xml", ("Message", "Message.v1_3_0")),
)

VERSIONS = encode({"v1": "/redfish/v1/"})
"""The body of GET /redfish."""


def metadata(catalog: Catalog, odata_types: Iterable[str] = ()) -> bytes:
    """Return the $metadata document for the catalog's types.

    `odata_types` ("#Zone.v1_4_0.Zone") adds the versions that imported documents have.
    """
    root = catalog.types["ServiceRoot"]
    further = _namespaces(odata_types)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<edmx:Edmx xmlns:edmx="{_EDMX}" Version="4.0">',
    ]
    for uri, namespaces in _ALWAYS:
        lines += _reference(uri, namespaces, "Redfish" if "Extensions" in uri else None)
    for info in catalog.types.values():
        own = {info.name} | further.get(info.name, set())
        if info.version:
            own.add(f"{info.name}.{info.version}")
        lines += _reference(csdl_uri(info), sorted(own))
    lines += [
        "<edmx:DataServices>",
        f'<Schema xmlns="{_EDM}" Namespace="Service">',
        f'<EntityContainer Name="Service" Extends="ServiceRoot.{root.version}.ServiceContainer"/>',
        "</Schema>",
        "</edmx:DataServices>",
        "</edmx:Edmx>",
        "",
    ]
    return "\n".join(lines).encode()


def csdl_uri(info: TypeInfo) -> str:
    """Return the public URL of the CSDL file that defines a type."""
    return f"{info.schema_uri.removesuffix('.json')}_v1.xml"


def service_document(root: Mapping[str, Any]) -> bytes:
    """Return the OData service document: the root and every resource it links to at its top."""
    entries = [{"name": "Service", "kind": "Singleton", "url": "/redfish/v1/"}]
    for name, value in root.items():
        if isinstance(value, dict) and set(value) == {"@odata.id"}:
            entries.append({"name": name, "kind": "Singleton", "url": value["@odata.id"]})
    return json.dumps({"@odata.context": "/redfish/v1/$metadata", "value": entries}).encode()


def _namespaces(odata_types: Iterable[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for odata_type in odata_types:
        namespace = odata_type.lstrip("#").rpartition(".")[0]
        found.setdefault(namespace.partition(".")[0], set()).add(namespace)
    return found


def _reference(uri: str, namespaces: Iterable[str], alias: str | None = None) -> list[str]:
    tail = "" if alias is None else f" Alias={quoteattr(alias)}"
    return [
        f"<edmx:Reference Uri={quoteattr(uri)}>",
        *(f"<edmx:Include Namespace={quoteattr(each)}{tail}/>" for each in namespaces),
        "</edmx:Reference>",
    ]

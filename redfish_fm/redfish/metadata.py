"""The OData documents: $metadata, the service document and the version document. Pure.

$metadata defines nothing: it refers to the published CSDL of the types served or imported, and to
our own, which is served.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from redfish_fm.redfish import oem
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.served import served_types

_EDMX = "http://docs.oasis-open.org/odata/ns/edmx"
_EDM = "http://docs.oasis-open.org/odata/ns/edm"
_ALWAYS = (
    ("http://redfish.dmtf.org/schemas/v1/RedfishExtensions_v1.xml", ("RedfishExtensions.v1_0_0",)),
    ("http://redfish.dmtf.org/schemas/v1/Resource_v1.xml", ("Resource", "Resource.v1_0_0")),
    ("http://redfish.dmtf.org/schemas/v1/Message_v1.xml", ("Message", "Message.v1_3_0")),
)

VERSIONS = encode({"v1": "/redfish/v1/"})
"""The body of GET /redfish."""


def metadata(catalog: Catalog, odata_types: Iterable[str]) -> bytes:
    """Return the $metadata document of a service whose documents have these `odata_types`.

    Versions that only imported documents have are among them; types of makers are left out.
    """
    root = catalog.types["ServiceRoot"]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<edmx:Edmx xmlns:edmx="{_EDMX}" Version="4.0">',
    ]
    for uri, namespaces in _ALWAYS:
        lines += _reference(uri, namespaces, "Redfish" if "Extensions" in uri else None)
    for uri, found in sorted(_namespaces(catalog, (root.odata_type, *odata_types)).items()):
        lines += _reference(uri, sorted(found))
    for uri, csdl in catalog.oem_csdl.items():
        lines += _reference(uri, oem.namespaces(csdl))
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


def service_document(root: Mapping[str, Any]) -> bytes:
    """Return the OData service document: the root and every resource it links to at its top."""
    entries = [{"name": "Service", "kind": "Singleton", "url": "/redfish/v1/"}]
    for name, value in root.items():
        if isinstance(value, dict) and set(value) == {"@odata.id"}:
            entries.append({"name": name, "kind": "Singleton", "url": value["@odata.id"]})
    return json.dumps({"@odata.context": "/redfish/v1/$metadata", "value": entries}).encode()


def _namespaces(catalog: Catalog, odata_types: Iterable[str]) -> dict[str, set[str]]:
    """Return the namespaces in use by the URL of the CSDL file that defines them."""
    found: dict[str, set[str]] = {}
    for each in served_types(catalog, odata_types):
        unversioned = each.namespace.partition(".")[0]
        found.setdefault(each.csdl_uri, set()).update((unversioned, each.namespace))
    return found


def _reference(uri: str, namespaces: Iterable[str], alias: str | None = None) -> list[str]:
    tail = "" if alias is None else f" Alias={quoteattr(alias)}"
    return [
        f"<edmx:Reference Uri={quoteattr(uri)}>",
        *(f"<edmx:Include Namespace={quoteattr(each)}{tail}/>" for each in namespaces),
        "</edmx:Reference>",
    ]

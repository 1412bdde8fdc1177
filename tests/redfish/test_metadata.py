"""$metadata: well-formed, complete for what is served, and it refers to public files only."""

import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from redfish_fm.redfish.metadata import metadata, service_document
from tests.redfish.builders import CATALOG, a_view
from tests.redfish.packs import SHARED

EDMX = "{http://docs.oasis-open.org/odata/ns/edmx}"
EDM = "{http://docs.oasis-open.org/odata/ns/edm}"
TYPES = (
    "#Zone.v1_4_0.Zone",
    "#Zone.v1_6_3.Zone",
    "#EndpointCollection.EndpointCollection",
    "#Volume.v1_10_1.Volume",
    "#Contoso.v1_0_0.Thing",
)


def references(document: bytes) -> dict[str, set[str]]:
    root = ElementTree.fromstring(document)  # noqa: S314 - our own document
    return {
        str(each.get("Uri")): {
            str(include.get("Namespace")) for include in each.iter(f"{EDMX}Include")
        }
        for each in root.iter(f"{EDMX}Reference")
    }


def test_every_type_in_use_is_referred_to_in_every_version_in_use() -> None:
    found = references(metadata(CATALOG, TYPES))
    zone = found["http://redfish.dmtf.org/schemas/v1/Zone_v1.xml"]
    assert zone == {"Zone", "Zone.v1_4_0", "Zone.v1_6_3"}
    assert "http://redfish.dmtf.org/schemas/v1/EndpointCollection_v1.xml" in found
    endpoint = found["http://redfish.dmtf.org/schemas/v1/Endpoint_v1.xml"]
    assert CATALOG.types["Endpoint"].namespace in endpoint
    assert not any("Chassis" in uri or "Contoso" in uri for uri in found)


def test_swordfish_types_are_referred_to_where_they_are_published() -> None:
    found = references(metadata(CATALOG, TYPES))
    assert any("swordfish" in uri and "Volume" in each for uri, each in found.items())


def test_the_container_is_that_of_the_service_root() -> None:
    root = ElementTree.fromstring(metadata(CATALOG, ()))  # noqa: S314 - our own document
    schema = next(root.iter(f"{EDM}Schema"))
    container = schema.find(f"{EDM}EntityContainer")
    assert container is not None
    version = CATALOG.types["ServiceRoot"].version
    assert container.get("Extends") == f"ServiceRoot.{version}.ServiceContainer"
    assert (
        f"ServiceRoot.{version}"
        in references(metadata(CATALOG, ()))[
            "http://redfish.dmtf.org/schemas/v1/ServiceRoot_v1.xml"
        ]
    )


def test_every_file_that_can_be_referred_to_is_in_the_bundles() -> None:
    names = set()
    for name in ("dmtf-2025.4-csdl.tar.gz", "snia-swordfish-1.2.7-schemas.tar.gz"):
        path = SHARED / "data" / name
        if not path.is_file():
            pytest.skip(f"{path} is not here; set REDFISH_FM_SHARED")
        names |= csdl_names(path)
    for info in CATALOG.types.values():
        assert info.csdl_uri.rpartition("/")[2] in names


def csdl_names(path: Path) -> set[str]:
    with tarfile.open(path) as archive:
        return {each.rpartition("/")[2] for each in archive.getnames() if each.endswith(".xml")}


def test_the_service_document_lists_what_the_root_links_to() -> None:
    text = service_document(a_view().documents["/redfish/v1"]).decode()
    assert '"@odata.context": "/redfish/v1/$metadata"' in text
    assert '"url": "/redfish/v1/Fabrics"' in text

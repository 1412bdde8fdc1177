"""Our OEM part: its schema is served and referred to, and only the service fills it."""

from xml.etree import ElementTree

from redfish_fm import resources
from redfish_fm.mapping.oem import ODATA_TYPE
from redfish_fm.redfish import oem
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.metadata import metadata

CSDL = oem.load(resources.schemas_dir())


def test_every_type_we_write_is_defined_in_a_served_file() -> None:
    namespace, _, name = ODATA_TYPE.lstrip("#").rpartition(".")
    defining = [text for text in CSDL.values() if namespace in oem.namespaces(text)]
    assert len(defining) == 1
    root = ElementTree.fromstring(defining[0])  # noqa: S314 - our own document
    names = [each.get("Name") for each in root.iter() if each.tag.endswith("}ComplexType")]
    assert name in names


def test_metadata_refers_to_each_file_and_its_namespaces() -> None:
    text = metadata(Catalog.load(resources.schemas_dir()), ()).decode()
    assert CSDL
    for uri, csdl in CSDL.items():
        assert f'Uri="{uri}"' in text
        for namespace in oem.namespaces(csdl):
            assert f'Namespace="{namespace}"' in text


def test_a_post_ignores_our_part_and_keeps_those_of_others() -> None:
    body = {"Name": "a", "Oem": {"RedfishFM": {"x": 1}, "Acme": {"y": 2}}}
    assert oem.without_own(body) == {"Name": "a", "Oem": {"Acme": {"y": 2}}}
    assert oem.without_own({"Oem": {"RedfishFM": {}}}) == {}
    assert oem.without_own({"Oem": {"Acme": {}}}) == {"Oem": {"Acme": {}}}


def test_a_patch_of_our_part_is_named_as_not_writable() -> None:
    (message,) = oem.not_writable({"Oem": {"RedfishFM": None}})
    assert message.key == "Base.PropertyNotWritable"
    assert message.related == ("#/Oem/RedfishFM",)
    assert oem.not_writable({"Oem": {"Acme": {}}}) == []
    assert oem.not_writable({"Oem": None}) == []

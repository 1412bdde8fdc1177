"""The documents that describe the service: true, complete, valid by their own schemas."""

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from redfish_fm.redfish.documents import service_documents
from redfish_fm.redfish.served import served_types
from tests.redfish.builders import CATALOG, PRIVILEGES, REGISTRIES, a_view
from tests.redfish.packs import pack

ANYWHERE = ("ActionInfo", "ContosoThing", "MessageRegistry", "PrivilegeRegistry")
"""Types whose schemas name no URIs."""

PRIVILEGE_MAP = "/redfish/v1/AccountService/PrivilegeMap"
SCHEMAS = "/redfish/v1/JsonSchemas"


def documents() -> dict[str, dict[str, object]]:
    view = a_view()
    return {uri: each for uri, each in view.documents.items() if "Fabrics" not in uri}


def test_every_document_is_where_its_schema_places_it() -> None:
    for uri, document in documents().items():
        name = str(document["@odata.type"]).rsplit(".", 1)[-1]
        assert str(document["@odata.id"]).rstrip("/") == uri
        if name in ANYWHERE:
            continue
        found = CATALOG.type_of(uri)
        assert found is not None
        assert found.name == name
        assert document["@odata.type"] == found.odata_type


def test_the_id_is_the_last_segment() -> None:
    for uri, document in documents().items():
        if "Id" in document and uri not in ("/redfish/v1", PRIVILEGE_MAP):
            assert document["Id"] == uri.rsplit("/", 1)[-1]


def test_every_link_leads_somewhere() -> None:
    found = documents()
    served = set(a_view().documents)

    def walk(value: object) -> None:
        if isinstance(value, dict):
            for name, below in value.items():
                if name in ("@odata.id", "Uri") and isinstance(below, str):
                    assert below.rstrip("/") in served, below
                walk(below)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(found)


def test_every_document_fits_the_official_schema_strictly() -> None:
    bundle = pack("dmtf-2025.4-json-schema-latest")

    def retrieve(uri: str) -> Resource[object]:
        file = uri.rsplit("/", 1)[-1].removesuffix(".json")
        schema = bundle.get(file, {"not": {}})
        return Resource.from_contents(
            {key: value for key, value in schema.items() if key != "$schema"},
            default_specification=DRAFT7,
        )

    registry: Registry[object] = Registry(retrieve=retrieve)  # type: ignore[call-arg]
    for uri, document in documents().items():
        info = CATALOG.types[str(document["@odata.type"]).rsplit(".", 1)[-1]]
        if uri.startswith(("/redfish/v1/Systems", "/redfish/v1/TaskService/Tasks")):
            continue
        schema = {"$ref": info.publication_uri}
        validator = jsonschema.Draft7Validator(schema, registry=registry)
        errors = [each.message for each in validator.iter_errors(document)]
        if info.name == "MessageRegistry":
            # Out of use since MessageRegistry.v1_4_0 and still listed as required: the service
            # validator warns where it is given, and does not miss it where it is not.
            errors = [each for each in errors if each != "'Severity' is a required property"]
        assert errors == [], uri


def test_every_registry_a_message_can_name_is_listed() -> None:
    found = documents()
    listed = {str(document["Registry"]) for document in found.values() if "Registry" in document}
    assert listed == {f"{each.prefix}.{each.version}" for each in REGISTRIES.registries.values()}
    own = found["/redfish/v1/Registries/RedfishFM/RedfishFM.1.0.0"]
    assert "HardwareRefused" in own["Messages"]  # type: ignore[operator]


def test_only_what_can_be_asked_for_is_promised() -> None:
    features = documents()["/redfish/v1"]["ProtocolFeaturesSupported"]
    assert isinstance(features, dict)
    assert features["MultipleHTTPRequests"] is True
    assert features["DeepOperations"] == {"DeepPATCH": False, "DeepPOST": False}


def test_the_privilege_map_is_linked_and_served() -> None:
    found = documents()
    service = found["/redfish/v1/AccountService"]
    assert service["PrivilegeMap"] == {"@odata.id": PRIVILEGE_MAP}
    entities = {each["Entity"] for each in found[PRIVILEGE_MAP]["Mappings"]}  # type: ignore[attr-defined]
    assert set(CATALOG.types) <= entities


def test_every_supported_action_describes_its_parameters() -> None:
    found = documents()["/redfish/v1/ActionInfos/Zone.AddEndpoint"]
    rows = {each["Name"]: each for each in found["Parameters"]}  # type: ignore[attr-defined]
    assert rows["Endpoint"]["Required"] is True
    assert rows["Endpoint"]["DataType"] == "Object"
    assert rows["Endpoint"]["ObjectDataType"] == CATALOG.types["Endpoint"].odata_type
    assert rows["ZoneETag"] == {"Name": "ZoneETag", "Required": False, "DataType": "String"}


def made(*odata_types: str) -> dict[str, dict[str, object]]:
    return service_documents(
        CATALOG, REGISTRIES, PRIVILEGES, uuid="1", product_version="0", odata_types=odata_types
    )


def test_schemas_are_listed_for_what_is_served_and_for_nothing_else() -> None:
    plain = made()
    types = {document["@odata.type"] for document in plain.values()}
    assert f"{SCHEMAS}/Zone.v1_6_3" not in plain
    for odata_type in types:
        namespace = str(odata_type).lstrip("#").rpartition(".")[0]
        assert plain[f"{SCHEMAS}/{namespace}"]["Schema"] == odata_type
    for member in ("Session", "ManagerAccount", "Role", "Task"):
        assert f"{SCHEMAS}/{CATALOG.types[member].namespace}" in plain


def test_an_imported_older_version_has_its_own_schema() -> None:
    found = made("#Zone.v1_4_0.Zone", "#ZoneCollection.ZoneCollection", "#Volume.v1_5_0.Volume")
    old = found[f"{SCHEMAS}/Zone.v1_4_0"]
    assert old["Location"] == [
        {
            "Language": "en",
            "PublicationUri": "http://redfish.dmtf.org/schemas/v1/Zone.v1_4_0.json",
        }
    ]
    assert f"{SCHEMAS}/{CATALOG.types['Zone'].namespace}" in found
    assert f"{SCHEMAS}/Volume.v1_5_0" in found


@pytest.mark.parametrize(
    "odata_type",
    [
        "",
        "#Contoso.v1_0_0.Thing",
        "#Zone.v9_9_9.Zone",
        "#Endpoint.v1_0_0.Zone",
        "Zone",
        "#Zone.Oem",
    ],
)
def test_what_was_never_published_has_no_schema(odata_type: str) -> None:
    assert served_types(CATALOG, [odata_type]) == []

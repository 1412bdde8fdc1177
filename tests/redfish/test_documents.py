"""The documents that describe the service: true, complete, valid by their own schemas."""

import jsonschema
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from tests.redfish.builders import CATALOG, REGISTRIES, a_view
from tests.redfish.packs import pack


def documents() -> dict[str, dict[str, object]]:
    view = a_view()
    return {uri: each for uri, each in view.documents.items() if "Fabrics" not in uri}


def test_every_document_is_where_its_schema_places_it() -> None:
    for uri, document in documents().items():
        name = str(document["@odata.type"]).rsplit(".", 1)[-1]
        if name in ("MessageRegistry", "ContosoThing"):
            continue
        found = CATALOG.type_of(uri)
        assert found is not None
        assert found.name == name
        assert document["@odata.type"] == found.odata_type
        assert str(document["@odata.id"]).rstrip("/") == uri


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
        schema = {"$ref": info.schema_uri}
        if info.version:
            schema = {"$ref": info.schema_uri.replace(".json", f".{info.version}.json")}
        errors = list(jsonschema.Draft7Validator(schema, registry=registry).iter_errors(document))
        assert errors == [], (uri, errors[0].message)


def test_every_registry_a_message_can_name_is_listed() -> None:
    found = documents()
    listed = {str(document["Registry"]) for document in found.values() if "Registry" in document}
    assert listed == {f"{each.prefix}.{each.version}" for each in REGISTRIES.registries.values()}
    own = found["/redfish/v1/Registries/RedfishFM/RedfishFM.1.0.0"]
    assert "HardwareRefused" in own["Messages"]  # type: ignore[operator]


def test_no_feature_is_promised_that_is_not_there() -> None:
    root = documents()["/redfish/v1"]
    features = root["ProtocolFeaturesSupported"]
    assert isinstance(features, dict)
    assert features.pop("MultipleHTTPRequests") is True
    flags = [each for value in features.values()
             for each in (value.values() if isinstance(value, dict) else [value])]  # fmt: skip
    assert flags
    assert not any(flags)

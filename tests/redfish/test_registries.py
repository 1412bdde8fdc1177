"""Messages: keys, counts and severities as the registries say, texts of our own."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.registries import Registries
from redfish_fm.resources import schemas_dir
from tests.redfish.builders import REGISTRIES
from tests.redfish.packs import pack

STANDARD = {
    "Base", "Composition", "Fabric", "HeartbeatEvent", "LogService", "Platform", "ResourceEvent",
    "StorageDevice", "TaskEvent", "Telemetry",
}  # fmt: skip


def raw(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((schemas_dir() / f"{name}.json").read_text("utf-8"))
    return read


def test_all_standard_registries_and_our_own_are_there() -> None:
    assert set(REGISTRIES.registries) == STANDARD | {"RedfishFM"}
    assert [each.prefix for each in REGISTRIES.registries.values() if each.own] == ["RedfishFM"]


def test_counts_types_and_severities_equal_the_bundle_and_texts_do_not() -> None:
    bundle = pack("dmtf-2025.4-registries-latest")
    for prefix, registry in REGISTRIES.registries.items():
        if registry.own:
            continue
        official = bundle[f"{prefix}.{registry.version}"]["Messages"]
        assert set(registry.messages) == set(official)
        for key, row in registry.messages.items():
            fact = official[key]
            assert len(row.parameter_types) == fact["NumberOfArgs"], key
            assert list(row.parameter_types) == fact.get("ParamTypes", []), key
            assert row.severity == fact["MessageSeverity"], key
            assert row.text != fact["Message"], key
            assert row.resolution != fact["Resolution"] or row.resolution == "None.", key


def test_texts_use_every_argument_and_no_other() -> None:
    for registry in REGISTRIES.registries.values():
        for key, row in registry.messages.items():
            used = {int(number) for number in re.findall(r"%(\d)", row.text)}
            assert used <= set(range(1, len(row.parameter_types) + 1)), key


def test_there_is_no_text_without_its_message() -> None:
    known = {
        f"{registry.prefix}.{key}"
        for registry in REGISTRIES.registries.values()
        for key in registry.messages
    }
    assert set(raw("texts")) == known


@pytest.mark.parametrize("constructor", messages.CONSTRUCTORS)
def test_the_list_of_constructors_is_complete(constructor: Callable[..., Message]) -> None:
    public = {
        name
        for name, value in vars(messages).items()
        if callable(value) and not name.startswith("_") and name not in ("Message", "Callable")
    }
    assert {each.__name__ for each in messages.CONSTRUCTORS} == public
    assert constructor.__name__ in public


def test_a_message_is_filled_in_one_pass() -> None:
    rendered = REGISTRIES.render(messages.property_value_type_error("%2", "Name", "#/Name"))
    assert rendered["Message"].startswith("Value '%2' has")
    assert rendered["MessageId"] == "Base.1.22.PropertyValueTypeError"
    assert rendered["RelatedProperties"] == ["#/Name"]


def test_a_single_message_gives_its_own_code_and_several_the_general_one() -> None:
    one = json.loads(REGISTRIES.error_body((messages.no_operation(),)))["error"]
    two = json.loads(REGISTRIES.error_body((messages.no_operation(), messages.created())))["error"]
    assert one["code"] == "Base.1.22.NoOperation"
    assert one["message"] == one["@Message.ExtendedInfo"][0]["Message"]
    assert two["code"] == "Base.1.22.GeneralError"


def test_severity_is_told_under_both_names_in_errors_and_under_the_new_one_in_resources() -> None:
    error = json.loads(REGISTRIES.error_body((messages.no_operation(),)))["error"]
    entry = error["@Message.ExtendedInfo"][0]
    assert entry["Severity"] == entry["MessageSeverity"] == "Warning"
    assert "Severity" not in REGISTRIES.render(messages.no_operation())


def test_a_constructor_that_disagrees_with_its_registry_stops_the_start() -> None:
    base, own, texts = raw("registries/Base"), raw("own_registry"), raw("texts")
    others = (each for each in (schemas_dir() / "registries").glob("*.json") if each.stem != "Base")
    all_of_them = [base, *(raw(f"registries/{each.stem}") for each in others)]
    Registries(all_of_them, own, texts)
    base["messages"]["PropertyUnknown"]["ParamTypes"] = []
    with pytest.raises(ValueError, match="PropertyUnknown"):
        Registries(all_of_them, own, texts)
    del base["messages"]["PropertyUnknown"]
    with pytest.raises(ValueError, match="no registry"):
        Registries(all_of_them, own, texts)


def test_a_message_without_words_stops_the_start() -> None:
    texts = raw("texts")
    del texts["Base.NoOperation"]
    with pytest.raises(ValueError, match=r"Base\.NoOperation"):
        Registries([raw("registries/Base")], raw("own_registry"), texts)


def test_a_lone_surrogate_in_a_path_can_be_told() -> None:
    json.loads(REGISTRIES.error_body((messages.resource_missing_at_uri("/\udcff"),)))

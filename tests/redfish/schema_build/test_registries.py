"""Registries and privileges as facts, and our own texts for them."""

import json
import re
from typing import Any

import pytest

from redfish_fm.redfish.schema_build import SchemaBuildError
from redfish_fm.redfish.schema_build.layout import dumps
from redfish_fm.redfish.schema_build.registries import privilege_file, registry_file
from redfish_fm.resources import schemas_dir

COMMON_WORDS_MAX = 7
ALL_TEXTS: dict[str, Any] = json.loads((schemas_dir() / "texts.json").read_text("utf-8"))
TEXTS = {key: text for key, text in ALL_TEXTS.items() if not key.startswith("RedfishFM.")}
"""Those of the standard registries; tests of our own registry stand in tests/redfish."""


@pytest.fixture(scope="module")
def registries(built) -> dict[str, Any]:
    files = [json.loads(text) for name, text in built.items() if name.startswith("registries/")]
    return {file["prefix"]: file for file in files}


@pytest.fixture(scope="module")
def privileges(built) -> dict[str, Any]:
    return json.loads(built["privilege_map.json"])


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9%]+", text.lower())


def longest_common_run(one: str, other: str) -> int:
    """Return the length, in words, of the longest passage that both texts share."""
    ours, theirs = words(one), words(other)
    best, above = 0, [0] * (len(theirs) + 1)
    for word in ours:
        row = [0] * (len(theirs) + 1)
        for index, each in enumerate(theirs):
            if each == word:
                row[index + 1] = above[index] + 1
        best, above = max(best, *row), row
    return best


def test_every_message_keeps_its_facts(registries, standard_registries) -> None:
    for prefix, file in registries.items():
        theirs = standard_registries[prefix]
        assert file["version"] == theirs["RegistryVersion"]
        assert file["messages"].keys() == theirs["Messages"].keys()
        for key, row in file["messages"].items():
            assert row.items() <= theirs["Messages"][key].items()
            assert {"NumberOfArgs", "Severity", "MessageSeverity"} <= row.keys()


def test_messages_that_clear_others_say_so(registries) -> None:
    assert registries["Fabric"]["messages"]["ZoneCreated"]["ClearingLogic"] == {
        "ClearsIf": "SameOriginOfCondition",
        "ClearsMessage": ["ZoneRemoved"],
    }


def test_every_message_has_a_text_of_ours(registries) -> None:
    keys = {f"{prefix}.{key}" for prefix in registries for key in registries[prefix]["messages"]}
    assert TEXTS.keys() == keys


def test_texts_use_exactly_the_arguments_there_are(registries) -> None:
    for key, text in TEXTS.items():
        prefix, _, name = key.partition(".")
        count = registries[prefix]["messages"][name]["NumberOfArgs"]
        used = {int(number) for number in re.findall(r"%(\d+)", text["message"])}
        assert used == set(range(1, count + 1)), key
        assert "%" not in text["resolution"], key


def test_no_text_resembles_the_standard_s(standard_registries) -> None:
    for key, text in TEXTS.items():
        prefix, _, name = key.partition(".")
        theirs = standard_registries[prefix]["Messages"][name]
        for ours, standard in ((text["message"], theirs["Message"]), (text["resolution"], "")):
            assert ours != standard, key
            assert longest_common_run(ours, standard) <= COMMON_WORDS_MAX, key
        resolution = theirs["Resolution"]
        assert text["resolution"] == "None." or text["resolution"] != resolution, key
        assert longest_common_run(text["resolution"], resolution) <= COMMON_WORDS_MAX, key


def test_a_shared_passage_would_be_noticed() -> None:
    assert longest_common_run("the cat sat on the mat", "A cat sat on the roof.") == 4


def test_the_texts_file_is_laid_out_and_sorted() -> None:
    assert list(TEXTS) == sorted(TEXTS)
    assert (schemas_dir() / "texts.json").read_text("utf-8") == dumps(ALL_TEXTS)


def test_privileges_are_alternatives_of_lists(privileges) -> None:
    entities = privileges["entities"]
    assert privileges["id"] == "Redfish_1.8.0_PrivilegeRegistry"
    assert entities["Zone"]["OperationMap"]["PATCH"] == [["ConfigureComponents"]]
    assert entities["ManagerAccount"]["OperationMap"]["GET"] == [
        ["ConfigureManager"],
        ["ConfigureUsers"],
        ["ConfigureSelf"],
    ]


def test_privilege_overrides_are_kept(privileges) -> None:
    entities = privileges["entities"]
    assert entities["ManagerAccount"]["PropertyOverrides"] == [
        {
            "Targets": ["Password"],
            "OperationMap": {"PATCH": [["ConfigureUsers"], ["ConfigureSelf"]]},
        }
    ]
    interface = entities["EthernetInterface"]["SubordinateOverrides"][0]
    assert interface["Targets"] == ["Manager", "EthernetInterfaceCollection"]
    assert sum("SubordinateOverrides" in each for each in entities.values()) == 9


def a_registry(**message: Any) -> dict[str, Any]:
    return {
        "RegistryPrefix": "Base",
        "RegistryVersion": "1.0.0",
        "OwningEntity": "DMTF",
        "Messages": {"Done": {"NumberOfArgs": 0, "Severity": "OK", **message}},
    }


def test_an_unknown_keyword_of_a_message_is_refused() -> None:
    with pytest.raises(SchemaBuildError, match=r"Base\.Done: Colour is not known"):
        registry_file(a_registry(Colour="red"))


def test_argument_counts_that_disagree_are_refused() -> None:
    with pytest.raises(SchemaBuildError, match="disagree"):
        registry_file(a_registry(ParamTypes=["string"]))


def test_an_unknown_override_of_privileges_is_refused() -> None:
    mapping = {"Entity": "Zone", "OperationMap": {}, "MoonOverrides": []}
    with pytest.raises(SchemaBuildError, match="MoonOverrides"):
        privilege_file({"Id": "x", "PrivilegesUsed": [], "Mappings": [mapping]})

"""Our schemas judge as the published ones do: every mockup document, and documents made wrong."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry

from tests.redfish.schema_build import packs
from tests.redfish.schema_build.packs import Judge, findings

MOCKUPS = ("public-cxl", "public-nvmeof-jbof", "public-composability", "public-rackmount1")
WRONG = (None, True, -1, 3.5, "x", "", [], {}, [None], {"Unknown": 1}, [{"@odata.id": "/x"}])


class Both:
    """The published schemas and ours, side by side."""

    def __init__(self, published: dict[str, Any], types: dict[str, Any]) -> None:
        self._judge = Judge(published)
        self._registry: Registry = packs.our_registry(types)
        self.resources = {
            row["odata_type"]: (file, name)
            for file, content in types.items()
            for name, row in content.get("x-resources", {}).items()
        }
        self._made: dict[tuple[str, str], tuple[Any, Any]] = {}

    def verdicts(self, document: Any, odata_type: str) -> tuple[set, set]:
        """Return what is wrong with `document`: by the published schemas, and by ours."""
        return self.definition_verdicts(*self.resources[odata_type], document)

    def definition_verdicts(self, file: str, name: str, value: Any) -> tuple[set, set]:
        """Return the same for one definition of one schema."""
        if (file, name) not in self._made:
            # A published collection schema also accepts a bare link in place of the collection.
            suffix = "" if file in self._judge.newest else "-link"
            ours = Draft202012Validator(
                {"$ref": f"{file}.json#/$defs/{name}{suffix}"},
                registry=self._registry,
                format_checker=FormatChecker(),
            )
            self._made[file, name] = (self._judge.validator(file, name), ours)
        theirs, ours = self._made[file, name]
        return findings(theirs.iter_errors(value)), findings(ours.iter_errors(value))

    def definitions(self, published: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
        """Yield (file, name, definition) of the newest version of every versioned schema."""
        for file, place in sorted(self._judge.newest.items()):
            if "redfish-schema" not in place and file not in ("odata",):
                for name, definition in published[place].get("definitions", {}).items():
                    yield file, name, definition


@pytest.fixture(scope="module")
def both(published: dict[str, Any], types: dict[str, Any]) -> Both:
    return Both(published, types)


@pytest.fixture(scope="module")
def documents(shared, both: Both) -> list[Any]:
    """Return the mockups' documents whose type is one of ours, newest version or collection."""
    found = [each for name in MOCKUPS for each in packs.mockup(shared, name).values()]
    newest = [each for each in found if each["@odata.type"] in both.resources]
    assert len(newest) > 100
    return newest


def test_every_mockup_document_is_judged_as_by_the_published_schemas(
    both: Both, documents: list[Any]
) -> None:
    for document in documents:
        theirs, ours = both.verdicts(document, document["@odata.type"])
        assert ours == theirs, document["@odata.id"]


def test_older_documents_get_the_published_newest_schema_s_verdict(both: Both, shared) -> None:
    by_name = {name.partition(".")[0]: name for name in both.resources}
    for document in packs.mockup(shared, "public-cxl").values():
        newest = by_name[document["@odata.type"].partition(".")[0]]
        theirs, ours = both.verdicts(document, newest)
        assert ours == theirs, document["@odata.id"]


@settings(max_examples=300)
@given(data=st.data())
def test_wrong_documents_are_found_wrong_for_the_same_reasons(
    both: Both, documents: list[Any], data: st.DataObject
) -> None:
    original = data.draw(st.sampled_from(documents))
    document = copy.deepcopy(original)
    for _ in range(data.draw(st.integers(1, 3))):
        spoil(document, a_chance(data.draw(st.integers(0, 2**32))))
    theirs, ours = both.verdicts(document, original["@odata.type"])
    assert ours == theirs


def test_spoiled_documents_are_mostly_wrong(both: Both, documents: list[Any], seed_base) -> None:
    chance = a_chance(seed_base)
    wrong = 0
    for original in documents[:100]:
        document = copy.deepcopy(original)
        spoil(document, chance)
        wrong += bool(both.verdicts(document, original["@odata.type"])[1])
    assert wrong > 30


def test_every_definition_refuses_what_the_published_one_refuses(
    both: Both, published: dict[str, Any], seed_base: int
) -> None:
    chance = a_chance(seed_base)
    for file, name, definition in both.definitions(published):
        members = definition.get("properties", {})
        value = {each: copy.deepcopy(chance.choice(WRONG)) for each in members}
        theirs, ours = both.definition_verdicts(file, name, value or chance.choice(WRONG))
        assert ours == theirs, f"{file} {name}"


def a_chance(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - repeatable, not secret


def spoil(document: dict[str, Any], chance: random.Random) -> None:
    """Remove, replace or add one property somewhere in `document`."""
    places = list(objects(document))
    place = chance.choice(places)
    name = chance.choice([*place, "Unknown", "Unknown@odata.count", "Name@Redfish.Odd"])
    if chance.random() < 0.3:
        place.pop(name, None)
    else:
        place[name] = copy.deepcopy(chance.choice(WRONG))


def objects(value: Any) -> Any:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from objects(each)


def test_an_empty_document_lacks_the_same_properties(both: Both) -> None:
    theirs, ours = both.verdicts({}, "#Zone.v1_6_3.Zone")
    assert ours == theirs
    assert {keyword for _, keyword, _ in ours} == {"required"}

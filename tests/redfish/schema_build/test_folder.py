"""The folder as a whole: deterministic, complete, equal to what is committed, free of prose."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from redfish_fm.redfish.schema_build import SchemaBuildError, build, differences, write
from redfish_fm.redfish.schema_build.registries import PREFIXES
from redfish_fm.resources import schemas_dir
from tests.redfish.schema_build import packs

FOLDER_BYTES_MAX = 6_000_000
PROSE_LENGTH_MIN = 21


def strings(value: Any) -> Any:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def borrowed(texts: set[str], prose: set[str]) -> list[str]:
    """Return the texts that are, hold or are part of a sentence of the standards."""
    long = {each for each in prose if len(each) >= PROSE_LENGTH_MIN}
    spaced = [each for each in texts if " " in each and len(each) >= PROSE_LENGTH_MIN]
    found = [text for text in texts if text in long]
    found += [text for text in spaced if any(each in text or text in each for each in long)]
    return sorted(set(found))


def test_the_same_bundles_build_the_same_bytes(built, sources: list[Path]) -> None:
    assert build(reversed(sources)) == built


def test_the_committed_folder_is_as_built(built) -> None:
    assert differences(built, schemas_dir()) == []


def test_the_folder_holds_every_type_and_stays_small(built, types, published) -> None:
    names = {name.partition(".")[0] for name in published if not name.startswith(("odata.", "re"))}
    assert names <= types.keys()
    assert len(types) > 300
    assert sum(len(text.encode()) for text in built.values()) < FOLDER_BYTES_MAX
    assert {f"registries/{prefix}.json" for prefix in PREFIXES} < built.keys()


def test_no_sentence_of_the_standards_is_in_the_folder(built, shared: Path) -> None:
    prose = packs.prose(shared)
    assert len(prose) > 15_000
    texts = {each for text in built.values() for each in strings(json.loads(text))}
    texts |= set(strings(json.loads((schemas_dir() / "texts.json").read_text("utf-8"))))
    assert borrowed(texts, prose) == []
    assert not [each for each in texts if "copyright" in each.lower()]


def test_a_borrowed_sentence_would_be_noticed() -> None:
    sentence = "The value shall conform with the clause."
    assert borrowed({sentence}, {sentence})
    assert borrowed({f"Note: {sentence}"}, {sentence})
    assert not borrowed({"The type of zone."}, {sentence, "The type of zone."})


def test_files_are_valid_json_schema(types, seed_base: int) -> None:
    # Some other forty each run: the meta-schema takes 70 ms a file.
    chance = random.Random(seed_base)  # noqa: S311 - repeatable, not secret
    for name in {*chance.sample(sorted(types), 40), "Resource", "FileSystem"}:
        Draft202012Validator.check_schema(types[name])


def test_every_file_reads_in_lines_of_bearable_length(built) -> None:
    for name, text in built.items():
        longest = max(text.splitlines(), key=len)
        assert len(longest) <= 260, f"{name}: {longest}"


def test_writing_removes_what_is_no_longer_built_and_nothing_else(tmp_path: Path) -> None:
    for name in ("types/Old.json", "registries/Old.json", "service.json", "types/readme.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    write({"types/New.json": "{}\n"}, tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"types/New.json", "service.json", "types/readme.txt"}


def test_differences_name_what_is_missing_changed_or_left_over(tmp_path: Path) -> None:
    write({"types/A.json": "1", "types/B.json": "2", "privilege_map.json": "3"}, tmp_path)
    wanted = {"types/A.json": "1", "types/B.json": "changed", "types/C.json": "new"}
    assert differences(wanted, tmp_path) == ["privilege_map.json", "types/B.json", "types/C.json"]


@pytest.mark.parametrize("absent", range(4))
def test_an_incomplete_bundle_is_refused(sources: list[Path], absent: int) -> None:
    with pytest.raises(SchemaBuildError):
        build(source for index, source in enumerate(sources) if index != absent)

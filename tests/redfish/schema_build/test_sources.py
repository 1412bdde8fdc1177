"""Reading bundles: folders, archives, archives in folders; the newest of each name."""

import io
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from redfish_fm.redfish.schema_build import sources as module
from redfish_fm.redfish.schema_build.bundle import read_bundle
from redfish_fm.redfish.schema_build.csdl import read_csdl
from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.sources import read_files
from redfish_fm.redfish.schema_build.versions import parse_version

TEXT = re.compile(r".*\.txt")
META = "http://redfish.dmtf.org/schemas/v1/redfish-schema-v1.json"


def a_zip(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def a_tar(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def a_folder(path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def a_schema(newest: str | None = None) -> str:
    listed = f'{{"$ref": "http://x/Zone.{newest}.json#/definitions/Zone"}}' if newest else ""
    return (
        f'{{"$id": "http://x/Zone.json", "$schema": "{META}",'
        f' "definitions": {{"Zone": {{"anyOf": [{listed}]}}}}}}'
    )


BUNDLE = {
    "csdl/Zone_v1.xml": "<x/>",
    "json-schema/Zone.json": a_schema("v1_10_0"),
    "json-schema/Zone.v1_9_0.json": a_schema(),
    "json-schema/Zone.v1_10_0.json": a_schema(),
    "registries/Base.1.9.0.json": '{"Messages": {}, "v": "old"}',
    "registries/Base.1.10.0.json": '{"Messages": {}, "v": "new"}',
    "registries/Redfish_1.8.0_PrivilegeRegistry.json": "{}",
}


@pytest.mark.parametrize("make", [a_zip, a_tar])
def test_an_archive_gives_what_the_folder_gives(tmp_path: Path, make) -> None:
    files = {"b/two.txt": "2", "one.txt": "1", "c/other.bin": "x"}
    folder = a_folder(tmp_path / "folder", files)
    archive = make(tmp_path / f"pack{'.zip' if make is a_zip else '.tar.gz'}", files)
    assert sorted(read_files([folder], TEXT)) == [("one.txt", b"1"), ("two.txt", b"2")]
    assert list(read_files([archive], TEXT)) == sorted(read_files([folder], TEXT))


def test_archives_in_a_folder_are_read_too(tmp_path: Path) -> None:
    a_zip(tmp_path / "pack.zip", {"deep/one.txt": "1"})
    assert list(read_files([tmp_path], TEXT)) == [("one.txt", b"1")]


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(SchemaBuildError, match="absent"):
        list(read_files([tmp_path / "absent"], TEXT))


@pytest.mark.parametrize("name", ["pack.zip", "pack.tar.gz", "pack.rar"])
def test_a_file_that_is_no_archive_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("nonsense")
    with pytest.raises(SchemaBuildError, match=name):
        list(read_files([tmp_path / name], TEXT))


@pytest.mark.parametrize("make", [a_zip, a_tar, a_folder])
def test_a_file_too_large_for_a_schema_is_refused(tmp_path, monkeypatch, make) -> None:
    monkeypatch.setattr(module, "FILE_BYTES_MAX", 3)
    name = {a_zip: "pack.zip", a_tar: "pack.tar.gz"}.get(make, "pack")
    source = make(tmp_path / name, {"large.txt": "1234"})
    with pytest.raises(SchemaBuildError, match=r"large\.txt has 4 bytes"):
        list(read_files([source], TEXT))


def test_the_newest_version_counts_and_ten_is_more_than_nine(tmp_path: Path) -> None:
    bundle = read_bundle([a_folder(tmp_path, BUNDLE)])
    assert bundle.versioned["Zone"][0] == (1, 10, 0)
    assert bundle.registries["Base"]["v"] == "new"


def test_json_that_is_no_schema_is_passed_over(tmp_path: Path) -> None:
    profile = {"profiles/Rack.v1_0_0.json": '{"SchemaDefinition": "x"}', "a/index.json": "{"}
    bundle = read_bundle([a_folder(tmp_path, BUNDLE | profile)])
    assert bundle.versioned.keys() == {"Zone"}


def test_the_unversioned_schema_that_knows_more_wins(tmp_path: Path) -> None:
    older = a_folder(tmp_path / "older", {"Zone.json": a_schema("v1_2_0")})
    bundle = read_bundle([older, a_folder(tmp_path / "new", BUNDLE)])
    assert "v1_10_0" in str(bundle.unversioned["Zone"])


def test_the_collection_schema_with_more_uris_wins_in_any_order(tmp_path: Path) -> None:
    uris = ('"/redfish/v1/A"', '"/redfish/v1/A", "/redfish/v1/B"')
    texts = [f'{{"$schema": "{META}", "uris": [{each}]}}' for each in uris]
    few, many = (
        a_folder(tmp_path / name, {"ZoneCollection.json": text})
        for name, text in zip(("few", "many"), texts, strict=True)
    )
    rest = a_folder(tmp_path / "rest", BUNDLE)
    for order in ([few, many, rest], [many, few, rest]):
        assert len(read_bundle(order).unversioned["ZoneCollection"]["uris"]) == 2


def test_a_version_that_is_announced_and_absent_is_named(tmp_path: Path) -> None:
    files = BUNDLE | {"json-schema/Zone.json": a_schema("v1_11_0")}
    with pytest.raises(SchemaBuildError, match="Zone v1_11_0"):
        read_bundle([a_folder(tmp_path, files)])


@pytest.mark.parametrize("left_out", ["csdl", "json-schema", "registries/Base", "registries/Red"])
def test_a_bundle_that_lacks_a_part_is_refused(tmp_path: Path, left_out: str) -> None:
    files = {name: text for name, text in BUNDLE.items() if not name.startswith(left_out)}
    with pytest.raises(SchemaBuildError):
        read_bundle([a_folder(tmp_path, files)])


def test_broken_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(SchemaBuildError, match=r"Zone\.json is not JSON"):
        read_bundle([a_folder(tmp_path, BUNDLE | {"json-schema/Zone.v1_10_0.json": "{"})])


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>',
        '<?xml version="1.0" encoding="UTF-16"?><!doctype x><x/>',
        "<x>",
    ],
)
def test_csdl_with_entities_or_broken_xml_is_refused(text: str) -> None:
    with pytest.raises(SchemaBuildError, match="Zone_v1"):
        read_csdl("Zone", text)


@pytest.mark.parametrize("text", ["1_6", "v1", "", "v1_2_x"])
def test_other_texts_are_no_versions(text: str) -> None:
    with pytest.raises(ValueError, match="not a version"):
        parse_version(text)

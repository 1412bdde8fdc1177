"""A mockup folder is there whole or not at all, and nothing is written outside of it."""

import json
import os
from pathlib import Path

import pytest

from redfish_fm.client.mockup_folder import FolderError, MockupFolder, NoFileName, parts_of

URI = "/redfish/v1/Chassis/1"


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_files_appear_at_the_end_only(tmp_path: Path) -> None:
    with MockupFolder(tmp_path / "made" / "rack") as folder:
        folder.write_json(URI, {"b": "ü", "a": 1})
        folder.write_xml("/redfish/v1/$metadata", b"<x/>")
        folder.write_headers(URI, {"Link": "<x>"})
        folder.write_plain("/redfish/v1/Registries/Base.json", b"{}")
        assert not (tmp_path / "made" / "rack").exists()
        folder.finish()
    rack = tmp_path / "made" / "rack"
    assert names(rack) == {
        "redfish/v1/Chassis/1/index.json",
        "redfish/v1/Chassis/1/headers.json",
        "redfish/v1/$metadata/index.xml",
        "redfish/v1/Registries/Base.json",
    }
    text = (rack / "redfish/v1/Chassis/1/index.json").read_text(encoding="utf-8")
    assert text == '{\n  "a": 1,\n  "b": "ü"\n}\n'
    assert json.loads((rack / "redfish/v1/Chassis/1/headers.json").read_text()) == {
        "GET": {"Link": "<x>"}
    }
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["rack"]


def test_the_folder_is_as_open_as_others_that_this_user_makes(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with MockupFolder(tmp_path / "rack") as folder:
        folder.finish()
    assert (tmp_path / "rack").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_what_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    with MockupFolder(tmp_path / "rack") as folder:
        folder.write_json(URI, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "uri",
    [
        "/redfish/v1/../../../etc/cron.d",
        "/redfish/v1/./x",
        "/redfish/v1//x",
        "/redfish/v1/a\\..\\b",
        "/redfish/v1/a\0b",
        "/redfish/v1/a\nb",
        "/redfish/v1/\ud800",
        "/redfish/v1/index.json",
        "/redfish/v1/Headers.JSON/x",
        "/redfish/v1/x?$skip=2",
        "/redfish/v1/" + "x" * 256,
        "/redfish/v1/" + "ü" * 128,
        "/redfish/v1" + "/x" * 1100,
    ],
)
def test_a_uri_that_no_file_can_stand_for_is_refused(tmp_path: Path, uri: str) -> None:
    with MockupFolder(tmp_path / "rack") as folder:
        with pytest.raises(NoFileName):
            folder.write_json(uri, {})
        with pytest.raises(NoFileName):
            folder.write_plain(uri, b"")
        folder.finish()
    assert names(tmp_path) == set()


@pytest.mark.parametrize("part", ["A%20B", "%2e%2e", "a b", "ü", "...", "a:b", "x" * 255])
def test_other_names_are_kept_as_they_are(part: str) -> None:
    assert parts_of(f"/redfish/v1/{part}") == ("redfish", "v1", part)


def test_two_resources_never_share_a_file(tmp_path: Path) -> None:
    with MockupFolder(tmp_path / "rack") as folder:
        folder.write_json(URI, {"n": 1})
        folder.write_plain("/redfish/v1/Chassis/2", b"")
        for uri in (URI, f"{URI}/", "/redfish/v1/Chassis/2"):
            with pytest.raises(NoFileName):
                folder.write_json(uri, {"n": 2})
        folder.finish()
    assert json.loads((tmp_path / "rack/redfish/v1/Chassis/1/index.json").read_text()) == {"n": 1}


def test_text_that_is_no_unicode_can_be_read_again(tmp_path: Path) -> None:
    with MockupFolder(tmp_path / "rack") as folder:
        folder.write_json(URI, {"a": "\ud800"})
        folder.finish()
    text = (tmp_path / "rack/redfish/v1/Chassis/1/index.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"a": "\ud800"}


def test_an_empty_folder_is_used_and_another_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with MockupFolder(tmp_path / "empty") as folder:
        folder.write_json(URI, {})
        folder.finish()
    with pytest.raises(FolderError, match="is not empty"):
        MockupFolder(tmp_path / "empty")
    (tmp_path / "file").touch()
    with pytest.raises(FolderError, match="is a file"):
        MockupFolder(tmp_path / "file", replace=True)


def test_a_mockup_is_replaced_on_demand_and_nothing_else_is(tmp_path: Path) -> None:
    for uri in ("/redfish/v1", "/redfish/v1/Systems"):
        with MockupFolder(tmp_path / "rack", replace=True) as folder:
            folder.write_json("/redfish/v1", {})
            folder.write_json(f"{uri}/x", {})
            folder.finish()
    assert names(tmp_path / "rack") == {
        "redfish/v1/index.json",
        "redfish/v1/Systems/x/index.json",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["rack"]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious").touch()
    with pytest.raises(FolderError, match="no mockup"):
        MockupFolder(tmp_path / "home", replace=True)
    assert (tmp_path / "home" / "precious").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FolderError, match="rack can not be written"):
        MockupFolder(tmp_path / "rack")
    tmp_path.chmod(0o700)

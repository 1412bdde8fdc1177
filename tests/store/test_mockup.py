"""Mockups made on the spot: forms, defects, and trees that mean harm."""

import contextlib
import json
import os
import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redfish_fm.store import mockup
from redfish_fm.store.mockup import read_mockup
from redfish_fm.store.mockup_files import FileRefused, Limits, MockupError, open_source
from redfish_fm.store.mockup_parse import DefectKind

ROOT_DOCUMENT = {"@odata.id": "/redfish/v1/", "Systems": {"@odata.id": "/redfish/v1/Systems"}}
SYSTEMS = {
    "@odata.id": "/redfish/v1/Systems",
    "Members": [{"@odata.id": "/redfish/v1/Systems/1"}],
    "Members@odata.count": 1,
}
SYSTEM = {"@odata.id": "/redfish/v1/Systems/1", "Id": "1", "Oem": {"Contoso": {"Kept": [None]}}}
GOOD = {"index.json": ROOT_DOCUMENT, "Systems/index.json": SYSTEMS, "Systems/1/index.json": SYSTEM}
URIS = ["/redfish/v1", "/redfish/v1/Systems", "/redfish/v1/Systems/1"]


def write(folder: Path, files: dict[str, object]) -> Path:
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


def pack(place: Path, files: dict[str, object], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(place, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(
                name, content if isinstance(content, bytes) else json.dumps(content).encode()
            )
    return place


def defects_of(folder: Path, files: dict[str, object]) -> list[tuple[DefectKind, str, str]]:
    tree = read_mockup(write(folder, {**GOOD, **files}))
    return [(defect.kind, defect.file, defect.pointer) for defect in tree.defects]


# --- forms


@pytest.mark.parametrize("prefix", ["", "redfish/v1/"])
def test_both_forms_of_a_folder_give_the_same_documents(tmp_path, prefix):
    write(tmp_path, {prefix + name: content for name, content in GOOD.items()})
    tree = read_mockup(tmp_path)
    assert (sorted(tree.documents), tree.defects) == (URIS, ())
    assert tree.documents["/redfish/v1/Systems/1"] == SYSTEM
    assert tree.files["/redfish/v1/Systems/1"] == "Systems/1/index.json"


@pytest.mark.parametrize("prefix", ["", "redfish/v1/", "rack-main/", "rack-main/redfish/v1/"])
def test_an_archive_is_read_in_every_form_and_below_one_folder(tmp_path, prefix):
    files = {prefix + name: content for name, content in GOOD.items()}
    tree = read_mockup(pack(tmp_path / "mockup.zip", files))
    assert (sorted(tree.documents), tree.defects) == (URIS, ())


def test_files_that_are_no_resources_are_kept_as_they_are(tmp_path):
    others = {
        "$metadata/index.xml": b"<edmx/>",
        "odata/index.json": b'{"value": []}',
        "Registries/Base.json": b"{}",
        "explorer_config.json": b"not json",
    }
    tree = read_mockup(write(tmp_path, {**GOOD, **others, "README.md": b"no", "a.png": b"no"}))
    assert (tree.others, sorted(tree.documents), tree.defects) == (others, URIS, ())


@pytest.mark.parametrize(
    "files", [{}, {"README.md": b""}, {"a/index.json": {}, "b/index.json": {}}]
)
def test_what_is_no_mockup_is_refused_in_one_line(tmp_path, files):
    with pytest.raises(MockupError, match=r"^[^\n]*no mockup[^\n]*$"):
        read_mockup(write(tmp_path, files))


def test_a_missing_path_and_a_broken_archive_are_refused(tmp_path):
    with pytest.raises(MockupError, match="no such"):
        read_mockup(tmp_path / "nothing")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 nothing more")
    with pytest.raises(MockupError, match="neither a folder nor a readable zip"):
        read_mockup(tmp_path / "broken.zip")


# --- defects


def test_a_document_that_is_no_json_is_reported_with_line_and_column(tmp_path):
    write(tmp_path, {**GOOD, "Systems/1/index.json": b'{\n  "Id": "1",\n}\n'})
    tree = read_mockup(tmp_path)
    (syntax,) = [defect for defect in tree.defects if defect.kind is DefectKind.SYNTAX]
    assert (syntax.file, syntax.line, syntax.column) == ("Systems/1/index.json", 3, 1)
    assert str(syntax).startswith("Systems/1/index.json:3:1: ")
    assert sorted(tree.documents) == URIS[:2]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'"text"',
        b'{"a": "\\ud800"}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b"\xff\xfe{",
        b'{"a":' * 90_000,
        b'{"a":' * 200 + b"1" + b"}" * 200,
        b"\x00" * 50,
    ],
    ids=range(9),
)
def test_no_text_makes_the_reader_fail(tmp_path, content):
    tree = read_mockup(write(tmp_path, {**GOOD, "Systems/1/index.json": content}))
    found = [defect.file for defect in tree.defects if defect.kind is DefectKind.SYNTAX]
    assert found == ["Systems/1/index.json"]
    assert sorted(tree.documents) == URIS[:2]


@pytest.mark.parametrize(
    "number", ["NaN", "-Infinity", "1e999", "-1E+1000", str(2**64), str(-(2**63) - 1)]
)
def test_a_number_that_no_client_can_read_becomes_null(tmp_path, number):
    content = b'{"Reading": [1, %s], "Text": "NaN"}' % number.encode()
    tree = read_mockup(write(tmp_path, {**GOOD, "Systems/1/index.json": content}))
    served = {"Reading": [1, None], "Text": "NaN"}
    assert tree.documents["/redfish/v1/Systems/1"] == served
    (found,) = [defect for defect in tree.defects if defect.kind is DefectKind.NUMBER]
    assert (found.file, found.pointer) == ("Systems/1/index.json", "/Reading/1")


@pytest.mark.parametrize("number", ["1e300", "0.1", str(2**64 - 1), str(-(2**63))])
def test_other_numbers_stay(tmp_path, number):
    content = b'{"@odata.id": "/redfish/v1/Systems/1", "Reading": %s}' % number.encode()
    tree = read_mockup(write(tmp_path, {**GOOD, "Systems/1/index.json": content}))
    assert tree.documents["/redfish/v1/Systems/1"]["Reading"] == json.loads(number)
    assert tree.defects == ()


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b'{\n  "a": "[[{", "b": ' + b"[" * 150 + b"]" * 150 + b"}", 2, 119),
        (b'{\n"a": "' + b"1" * 5000 + b'", "b": ' + b"9" * 5000 + b"}", 2, 5015),
        (b'{\n\n"a": "\\udc00"}', 3, 7),
        (b'{"a": 1,\n"b": }', 2, 6),
    ],
)
def test_what_is_unusable_is_found_at_its_line_and_column(tmp_path, content, line, column):
    tree = read_mockup(write(tmp_path, {**GOOD, "Systems/1/index.json": content}))
    (found,) = [defect for defect in tree.defects if defect.kind is DefectKind.SYNTAX]
    assert (found.line, found.column) == (line, column)


def test_a_property_that_comes_twice_is_found_where_it_is(tmp_path):
    content = b'{"@odata.id": "/redfish/v1/Systems/1", "a": [{}, {"b/": 1, "b/": 2}]}'
    assert defects_of(tmp_path, {"Systems/1/index.json": content}) == [
        (DefectKind.DUPLICATE_NAME, "Systems/1/index.json", "/a/1/b~1")
    ]


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b'\xef\xbb\xbf{"Name": "\xc3\xa4"}', 1, 1),
        ('\ufeff{"Name": "ä"}'.encode("utf-16-le"), 1, 1),
        (b'{\n"Name": "\xe4"}', 2, 10),
    ],
)
def test_other_encodings_are_read_and_reported(tmp_path, content, line, column):
    tree = read_mockup(write(tmp_path, {**GOOD, "Systems/1/index.json": content}))
    assert tree.documents["/redfish/v1/Systems/1"] == {"Name": "ä"}
    (found,) = [defect for defect in tree.defects if defect.kind is DefectKind.ENCODING]
    assert (found.line, found.column) == (line, column)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"Members@odata.count": 2}, (DefectKind.COUNT, "/Members@odata.count")),
        ({"Members@odata.count": "1"}, (DefectKind.COUNT, "/Members@odata.count")),
        ({"Members@odata.count": True}, (DefectKind.COUNT, "/Members@odata.count")),
        ({"Members@odata.count": 1.0}, (DefectKind.COUNT, "/Members@odata.count")),
        ({"a/b": {"~@odata.count": 1, "~": []}}, (DefectKind.COUNT, "/a~1b/~0@odata.count")),
        ({"@odata.id": None}, (DefectKind.MISSING_ID, "")),
        ({"@odata.id": 7}, (DefectKind.WRONG_ID, "/@odata.id")),
        ({"@odata.id": "/redfish/v1/systems"}, (DefectKind.WRONG_ID, "/@odata.id")),
        ({"@odata.id": "/rest/v1/Systems"}, (DefectKind.FOREIGN_PREFIX, "/@odata.id")),
        ({"@odata.id": "/redfish/v1x"}, (DefectKind.FOREIGN_PREFIX, "/@odata.id")),
        ({"a": {"@odata.id": "http://h/redfish/v1"}}, (DefectKind.FOREIGN_PREFIX, "/a/@odata.id")),
        ({"a": [{"@odata.id": "/redfish/v1/no"}]}, (DefectKind.DANGLING, "/a/0/@odata.id")),
        ({"a": {"@odata.id": "/redfish/v1/Systems#/b"}}, (DefectKind.DANGLING, "/a/@odata.id")),
        ({"a": {"@odata.id": ["x"]}}, (DefectKind.WRONG_ID, "/a/@odata.id")),
        ({"Members": [7], "Members@odata.count": 1}, (DefectKind.MISSING_ID, "/Members/0")),
    ],
)
def test_every_defect_is_reported_with_its_pointer(tmp_path, changed, expected):
    found = defects_of(tmp_path, {"Systems/index.json": {**SYSTEMS, **changed}})
    assert found == [(expected[0], "Systems/index.json", expected[1])]


@pytest.mark.parametrize(
    "harmless",
    [
        {"@odata.id": "/redfish/v1/Systems/"},
        {"Members@odata.count": 9, "Members@odata.nextLink": "/redfish/v1/Systems?$skip=1"},
        {"a": {"@odata.id": "/redfish/v1/"}},
        {"a": {"@odata.id": "/redfish/v1/Systems/1/"}},
        {"a": {"@odata.id": "/redfish/v1/Systems#/Members/0/@odata.id"}},
        {"a": {"@odata.id": "/redfish/v1/$metadata"}},
        {"Fans@odata.count": 3},
    ],
)
def test_what_is_legal_is_not_reported(tmp_path, harmless):
    files = {"Systems/index.json": {**SYSTEMS, **harmless}, "$metadata/index.xml": b"<edmx/>"}
    assert defects_of(tmp_path, files) == []


def test_a_collection_without_a_count_is_reported(tmp_path):
    without = {name: value for name, value in SYSTEMS.items() if name != "Members@odata.count"}
    assert defects_of(tmp_path, {"Systems/index.json": without}) == [
        (DefectKind.COUNT, "Systems/index.json", "/Members")
    ]


def test_ids_and_members_that_come_twice_are_reported(tmp_path):
    members = [{"@odata.id": "/redfish/v1/Systems/1"}, {"@odata.id": "/redfish/v1/Systems/1/"}]
    files = {
        "Systems/index.json": {**SYSTEMS, "Members": members, "Members@odata.count": 2},
        "Systems/2/index.json": SYSTEM,
        "Systems/3/index.json": b'{"@odata.id": "/redfish/v1/Systems/3", "Id": "2", "Id": "3"}',
    }
    assert defects_of(tmp_path, files) == [
        (DefectKind.DUPLICATE_NAME, "Systems/3/index.json", "/Id"),
        (DefectKind.WRONG_ID, "Systems/2/index.json", "/@odata.id"),
        (DefectKind.DUPLICATE_ID, "Systems/2/index.json", "/@odata.id"),
        (DefectKind.OTHER_ID, "Systems/2/index.json", "/Id"),
        (DefectKind.DUPLICATE_ID, "Systems/index.json", "/Members/1"),
    ]


def test_a_long_form_without_a_service_root_is_read_and_reported(tmp_path):
    tree = read_mockup(write(tmp_path, {"redfish/v1/Systems/1/index.json": SYSTEM}))
    assert list(tree.documents) == ["/redfish/v1/Systems/1"]
    assert [str(defect) for defect in tree.defects] == [
        "index.json#: the service root has no document"
    ]


# --- harm


def _refused(path: Path, limits: Limits | None = None) -> list[str]:
    tree = read_mockup(path, limits) if limits else read_mockup(path)
    assert sorted(tree.documents) == URIS
    return [defect.file for defect in tree.defects if defect.kind is DefectKind.REFUSED]


def test_links_out_of_a_folder_are_refused_and_links_inside_it_are_read(tmp_path):
    outside = write(tmp_path / "outside", {"secret.json": {"password": "x"}, "d/index.json": {}})
    folder = write(tmp_path / "mockup", {name: GOOD[name] for name in list(GOOD)[:2]})
    write(folder, {"shared.json": SYSTEM})
    (folder / "Systems/1").mkdir()
    (folder / "Systems/1/index.json").symlink_to("../../shared.json")
    for name in ("A", "B", "C"):
        (folder / name).mkdir()
    (folder / "A/index.json").symlink_to(outside / "secret.json")
    (folder / "B/index.json").symlink_to("../../outside/secret.json")
    (folder / "C/index.json").symlink_to("index.json")
    (folder / "D").symlink_to(outside / "d")
    assert sorted(_refused(folder)) == ["A/index.json", "B/index.json", "C/index.json", "D"]


def test_a_named_pipe_does_not_hold_the_reader_up(tmp_path):
    write(tmp_path, GOOD)
    (tmp_path / "A").mkdir()
    os.mkfifo(tmp_path / "A/index.json")
    assert _refused(tmp_path) == ["A/index.json"]


@pytest.mark.parametrize(
    "name",
    ["../index.json", "Systems/../../x/index.json", "/etc/index.json", "C:/x/index.json",
     "a\\..\\index.json", "./index.json", "Systems//index.json"],
)  # fmt: skip
def test_a_member_whose_name_leads_out_of_the_archive_is_refused(tmp_path, name):
    path = pack(tmp_path / "mockup.zip", {**GOOD, name: {"Id": "evil"}})
    assert _refused(path) == [name]


def test_a_file_that_has_become_a_link_since_the_tree_was_listed_is_not_followed(tmp_path):
    folder = write(tmp_path / "rack", GOOD)
    (tmp_path / "secret.json").write_text("{}")
    source = open_source(folder)
    assert "index.json" in source.names()
    (folder / "index.json").unlink()
    (folder / "index.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(FileRefused, match="not readable"):
        source.read("index.json")


def test_a_link_in_an_archive_is_refused(tmp_path):
    path = pack(tmp_path / "mockup.zip", GOOD)
    link = zipfile.ZipInfo("A/index.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert _refused(path) == ["A/index.json"]


def test_a_second_member_of_one_name_is_refused(tmp_path):
    path = pack(tmp_path / "mockup.zip", GOOD)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("Systems/1/index.json", '{"Id": "evil"}')
    assert _refused(path) == ["Systems/1/index.json"]
    assert read_mockup(path).documents["/redfish/v1/Systems/1"] == SYSTEM


def test_a_bomb_is_not_unpacked(tmp_path):
    bomb = b" " * (8 * 1024 * 1024)
    path = pack(tmp_path / "mockup.zip", {**GOOD, "A/index.json": bomb})
    assert path.stat().st_size < 100_000
    assert _refused(path) == ["A/index.json"]


def test_a_damaged_member_is_refused_and_the_rest_read(tmp_path):
    marked = b'{"Id": "a mark to find in the archive"}'
    path = pack(tmp_path / "mockup.zip", {**GOOD, "A/index.json": marked}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"a mark", b"a bark"))
    assert _refused(path) == ["A/index.json"]


@pytest.mark.parametrize("make", [write, pack])
def test_a_file_over_its_limit_is_refused_and_the_rest_read(tmp_path, make):
    path = make(tmp_path / "mockup", {**GOOD, "A/index.json": b" " * 2000})
    assert _refused(path, Limits(file_bytes=1999)) == ["A/index.json"]


@pytest.mark.parametrize("make", [write, pack])
@pytest.mark.parametrize("limits", [Limits(file_count=2), Limits(total_bytes=200)])
def test_a_tree_over_its_limits_is_refused_whole(tmp_path, make, limits):
    path = make(tmp_path / "mockup", GOOD)
    with pytest.raises(MockupError, match="more than"):
        read_mockup(path, limits)


@pytest.mark.parametrize(
    "kind", [stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFDIR]
)
def test_a_device_in_an_archive_is_refused(tmp_path, kind):
    path = pack(tmp_path / "mockup.zip", GOOD)
    device = zipfile.ZipInfo("A/index.json")
    device.external_attr = (kind | 0o666) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(device, "{}")
    assert _refused(path) == ["A/index.json"]


def test_what_is_called_like_a_device_is_a_resource_like_any_other(tmp_path):
    document = {"@odata.id": "/redfish/v1/NUL", "Id": "NUL"}
    for make in (write, pack):
        tree = read_mockup(make(tmp_path / make.__name__, {**GOOD, "NUL/index.json": document}))
        assert (tree.documents["/redfish/v1/NUL"], tree.defects) == (document, ())


def test_an_encrypted_member_is_refused(tmp_path):
    path = pack(tmp_path / "mockup.zip", {**GOOD, "A/index.json": b"{}"})
    raw = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        raw[raw.rfind(mark) + offset] |= 1
    path.write_bytes(raw)
    assert _refused(path) == ["A/index.json"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_is_packed_by_another_method_than_deflate_is_refused(tmp_path, method):
    path = pack(tmp_path / "mockup.zip", GOOD)
    with zipfile.ZipFile(path, "a", method) as archive:
        archive.writestr("A/index.json", "{}")
    assert _refused(path) == ["A/index.json"]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_archive_makes_the_reader_fail(tmp_path, data):
    raw = bytearray(pack(tmp_path / "good.zip", GOOD).read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=8)):
        raw[place] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    path = tmp_path / "damaged.zip"
    path.write_bytes(raw)
    with contextlib.suppress(MockupError):
        read_mockup(path)


def test_an_archive_in_an_archive_is_not_opened(tmp_path):
    inner = pack(tmp_path / "inner.zip", {"A/index.json": {"Id": "evil"}}).read_bytes()
    path = pack(tmp_path / "mockup.zip", {**GOOD, "inner.zip": inner, "inner.json": inner})
    assert _refused(path) == []


@pytest.mark.parametrize("name", ["A\n/index.json", "A\x1b[2J/index.json", "A\x7f/index.json"])
@pytest.mark.parametrize("make", [write, pack])
def test_a_name_that_can_not_be_shown_is_refused_and_shown_escaped(tmp_path, name, make):
    path = make(tmp_path / "mockup", {**GOOD, name: {}})
    (shown,) = _refused(path)
    assert shown.isprintable()
    assert shown == ascii(name)


def test_a_file_name_that_is_no_unicode_is_refused(tmp_path):
    folder = os.fsencode(write(tmp_path, GOOD))
    os.mkdir(folder + b"/\xff")
    with open(folder + b"/\xff/index.json", "wb") as file:
        file.write(b"{}")
    assert _refused(tmp_path) == [ascii("\udcff/index.json")]


@pytest.mark.parametrize(("make", "depth"), [(write, 300), (pack, 20_000)])
def test_folders_in_folders_without_end_are_no_mockup(tmp_path, make, depth):
    deep = "/".join(["a"] * depth)
    with pytest.raises(MockupError, match="no mockup"):
        read_mockup(make(tmp_path / "mockup", {f"{deep}/index.json": {}}))


def test_a_table_of_contents_that_is_too_long_is_not_read(tmp_path, monkeypatch):
    path = pack(tmp_path / "mockup.zip", {f"{n}.json": b"" for n in range(50)})
    opened = []
    monkeypatch.setattr(zipfile, "ZipFile", opened.append)
    with pytest.raises(MockupError, match="more than 5 files"):
        read_mockup(path, Limits(file_count=5))
    assert opened == []


def test_a_folder_with_too_much_beside_the_mockup_is_refused(tmp_path):
    write(tmp_path, {**GOOD, **{f"{n}.png": b"" for n in range(20)}})
    with pytest.raises(MockupError, match="too many"):
        read_mockup(tmp_path, Limits(file_count=4))


def test_what_is_refused_counts_as_read(tmp_path):
    files = {f"{n}.json": b" " * 300 for n in range(10)}
    for make in (write, pack):
        path = make(tmp_path / make.__name__, {**GOOD, **files})
        with pytest.raises(MockupError, match="more than 2000 bytes"):
            read_mockup(path, Limits(file_bytes=299, total_bytes=2000))


def test_a_document_of_too_many_values_is_left_out(tmp_path):
    write(tmp_path, {**GOOD, "A/index.json": b'{"a":[' + b"[]," * 300_000 + b"1]}"})
    tree = read_mockup(tmp_path)
    (found,) = [defect for defect in tree.defects if defect.kind is DefectKind.SYNTAX]
    assert (found.file, found.text) == ("A/index.json", "more than 500000 values")


def test_defects_without_end_are_counted_not_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(mockup, "DEFECTS_MAX", 5)
    links = [{"@odata.id": f"/redfish/v1/{n}"} for n in range(9)]
    tree = read_mockup(write(tmp_path, {**GOOD, "Systems/1/index.json": {**SYSTEM, "a": links}}))
    assert [defect.kind for defect in tree.defects[4:]] == [
        DefectKind.DANGLING,
        DefectKind.UNLISTED,
    ]
    assert tree.defects[5].text == "4 further defects are not listed"


def test_progress_is_told_file_by_file(tmp_path):
    told = []
    read_mockup(write(tmp_path, GOOD), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


# --- headers.json


def _headers(tmp_path: Path, content: object) -> tuple[dict[str, str], list[str]]:
    tree = read_mockup(write(tmp_path, {**GOOD, "Systems/1/headers.json": content}))
    assert "Systems/1/headers.json" not in tree.others
    places = [each.pointer for each in tree.defects if each.kind is DefectKind.HEADER]
    return tree.headers.get("/redfish/v1/Systems/1", {}), places


def test_headers_of_a_get_are_kept_but_for_those_of_one_message(tmp_path):
    recorded = {"Server": "x", "Link": "<a>; rel=b", "ETag": '"1"', "connection": "close"}
    assert _headers(tmp_path, {"GET": recorded, "POST": {"X": "y"}}) == (
        {"Server": "x", "Link": "<a>; rel=b"},
        [],
    )


@pytest.mark.parametrize(
    ("recorded", "place"),
    [
        ({"X": "a\r\nSet-Cookie: b"}, "/GET/X"),
        ({"X\r\nY": "a"}, "/GET/X\r\nY"),
        ({"": "a"}, "/GET/"),
        ({"X": 5}, "/GET/X"),
        ({"X": "\u00e4"}, "/GET/X"),
        ({"X": "a" * 5000}, "/GET/X"),
        ([], "/GET"),
        ({f"X{n}": "a" for n in range(65)}, "/GET"),
    ],
)
def test_a_header_that_can_not_be_sent_is_reported(tmp_path, recorded, place):
    assert _headers(tmp_path, {"GET": recorded}) == ({}, [place])


def test_headers_that_are_no_json_are_reported(tmp_path):
    tree = read_mockup(write(tmp_path, {**GOOD, "headers.json": b"{"}))
    assert [(each.kind, each.file) for each in tree.defects] == [
        (DefectKind.SYNTAX, "headers.json")
    ]

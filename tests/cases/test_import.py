"""Cases of imported mockups: broken files, both forms, headers, and writes that persist.

Each case of the class IMPORT is one or more tests named after its id.
"""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redfish_fm import worlds
from redfish_fm.config import Config
from redfish_fm.imports import Import, MockupDefective, read_import, understood
from redfish_fm.redfish.changes import Space
from redfish_fm.store.base import StoredState
from redfish_fm.store.memory import DurableState
from redfish_fm.store.mockup import MockupTree
from redfish_fm.store.mockup_parse import Severity
from tests.cases.stack import CATALOG, ROOT, a_stack, imported
from tests.store.packs import RAW, unpack_all
from tests.store.test_mockup import pack, write
from tests.virtual_time import run

CXL = "mockups-dmtf-2025.4/public-cxl"
FABRIC = f"{ROOT}/Fabrics/CXL"
BROKEN = "sunfish/am_agent_AggregationService.BADJSON.json"


@pytest.fixture(scope="module")
def mockups(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return unpack_all(shared, tmp_path_factory)


def a_tree() -> dict[str, Any]:
    """Return a small mockup: a chassis, and what every test adds to."""
    return {
        "index.json": {
            "@odata.id": ROOT,
            "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot",
            "Chassis": {"@odata.id": f"{ROOT}/Chassis"},
        },
        "Chassis/index.json": {
            "@odata.id": f"{ROOT}/Chassis",
            "@odata.type": "#ChassisCollection.ChassisCollection",
            "Name": "Chassis",
            "Members": [{"@odata.id": f"{ROOT}/Chassis/1"}],
            "Members@odata.count": 1,
        },
        "Chassis/1/index.json": {
            "@odata.id": f"{ROOT}/Chassis/1",
            "@odata.type": "#Chassis.v1_25_0.Chassis",
            "Id": "1",
            "Name": "Box",
            "ChassisType": "Sled",
        },
    }


# --- IM-01: files that are no JSON


@pytest.fixture
def broken(shared: Path, tmp_path: Path) -> Path:
    """A mockup of which one real file is no JSON."""
    wild = shared / "fixtures" / "wild" / BROKEN
    if not wild.exists():
        pytest.skip(f"{BROKEN} is not at hand")
    return write(tmp_path, {**a_tree(), "AggregationService/index.json": wild.read_bytes()})


def test_im_01_a_broken_file_is_left_out_and_its_parent_works(broken: Path) -> None:
    async def check() -> None:
        async with a_stack(imported(broken)) as stack:
            assert (await stack.ask("GET", f"{ROOT}/AggregationService")).status == 404
            assert (await stack.ask("GET", ROOT)).status == 200
            assert (await stack.get(f"{ROOT}/Chassis/1"))["Name"] == "Box"

    run(check())


def test_im_01_a_lenient_start_warns_with_file_line_and_column(
    broken: Path, caplog: pytest.LogCaptureFixture
) -> None:
    worlds.source(Config(mockup=broken, ephemeral=True), CATALOG)
    warned = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert any("AggregationService/index.json:13:1: " in line for line in warned), warned


def test_im_01_a_strict_start_is_refused_with_the_list(broken: Path) -> None:
    config = Config(mockup=broken, ephemeral=True, strict=True)
    with pytest.raises(MockupDefective, match=r"\nAggregationService/index\.json:13:1: "):
        worlds.source(config, CATALOG)


def test_im_01_a_mockup_without_defects_starts_strictly(tmp_path: Path) -> None:
    write(tmp_path, a_tree())
    assert worlds.source(Config(mockup=tmp_path, ephemeral=True, strict=True), CATALOG)


# --- IM-03: forms, headers, other files

HEADERS = {
    "GET": {
        "ETag": 'W/"1"',
        "Connection": "keep-alive",
        "Keep-Alive": "timeout=5",
        "Transfer-Encoding": "chunked",
        "Content-Length": "7",
        "Content-Type": "text/plain",
        "Server": "Contoso",
        "X-Rack": "7",
        "Set-Cookie": "session=secret",
        "X-Auth-Token": "secret",
    }
}


@pytest.mark.parametrize("make", [write, pack], ids=["folder", "zip"])
@pytest.mark.parametrize("form", ["", "redfish/v1/", "rack/", "rack/redfish/v1/"])
def test_im_03_both_forms_are_served_below_redfish_v1(tmp_path: Path, form: str, make: Any) -> None:
    if make is write and form.startswith("rack/"):
        (tmp_path / "outer").mkdir()
    files = {
        **a_tree(),
        "Chassis/1/headers.json": HEADERS,
        "$metadata/index.xml": b"<edmx:Edmx/>",
        "Chassis/1/Plan/index.xml": b"<plan/>",
        "Chassis/1/time.json": {"GET_Time": "0.1"},
        "Chassis/1/picture.png": b"\x89PNG",
    }
    if form.endswith("redfish/v1/"):
        files["../index.json"] = {"v1": "/redfish/v1"}
    place = make(
        tmp_path / "mockup", {_joined(form, name): content for name, content in files.items()}
    )

    async def check() -> None:
        async with a_stack(imported(place)) as stack:
            chassis = await stack.ask("GET", f"{ROOT}/Chassis/1")
            assert json.loads(chassis.body)["Name"] == "Box"
            headers = chassis.headers
            assert (headers["Server"], headers["X-Rack"]) == ("Contoso", "7")
            assert headers["Content-Type"] == "application/json"
            assert headers["ETag"] != 'W/"1"'
            kept = {name.lower() for name in headers}
            assert kept.isdisjoint(
                {"connection", "keep-alive", "transfer-encoding", "content-length", "set-cookie"}
            )
            assert "x-auth-token" not in kept
            assert "X-Rack" not in (await stack.ask("GET", f"{ROOT}/Chassis")).headers
            head = await stack.ask("HEAD", f"{ROOT}/Chassis/1")
            assert head.headers["X-Rack"] == "7"
            for uri, part in ((f"{ROOT}/$metadata", b"Edmx"), (f"{ROOT}/Chassis/1/Plan", b"plan")):
                answer = await stack.ask("GET", uri, accept="*/*")
                assert answer.headers["Content-Type"].startswith("application/xml")
                assert part in answer.body
            version = await stack.ask("GET", "/redfish")
            assert json.loads(version.body) == {"v1": "/redfish/v1/"}

    run(check())


def _joined(form: str, name: str) -> str:
    """Return the name of a file in the tree; "../" leads from redfish/v1 to redfish."""
    if name.startswith("../"):
        return f"{form.rstrip('/').rpartition('/')[0]}/{name.removeprefix('../')}"
    return form + name


def test_im_03_headers_and_other_files_survive_a_restart(tmp_path: Path) -> None:
    write(
        tmp_path,
        {**a_tree(), "Chassis/1/headers.json": HEADERS, "Chassis/1/Plan/index.xml": b"<plan/>"},
    )
    first = imported(tmp_path)

    async def check() -> None:
        durable = DurableState()
        async with a_stack(first, durable=durable):
            pass
        async with a_stack(restarted(durable), durable=durable) as stack:
            answer = await stack.ask("GET", f"{ROOT}/Chassis/1")
            assert answer.headers["X-Rack"] == "7"
            plan = await stack.ask("GET", f"{ROOT}/Chassis/1/Plan", accept="*/*")
            assert plan.body == b"<plan/>"
            nobody = await stack.ask("GET", f"{ROOT}/Chassis/1/Plan", user=None)
            assert nobody.status == 401

    run(check())


# --- IM-05: writes


def restarted(durable: DurableState) -> worlds.World:
    """Return the world that a second start makes of what the first one stored."""
    world = worlds.kept_world(StoredState(durable.seq, durable.spaces))
    assert world is not None
    return world


def test_im_05_imported_resources_obey_the_rules_of_created_ones(
    mockups: dict[str, Path],
) -> None:
    async def check() -> None:
        async with a_stack(imported(mockups[CXL])) as stack:
            ends = [{"@odata.id": f"{FABRIC}/Endpoints/{name}"} for name in ("I1", "T1")]
            for uri in (f"{FABRIC}/Zones/1", None):
                if uri is None:
                    body = {"Name": "mine", "Links": {"Endpoints": ends}}
                    uri = await stack.made(f"{FABRIC}/Zones", body)
                allow = (await stack.ask("GET", uri)).headers["Allow"]
                assert allow == "GET, HEAD, OPTIONS, PATCH, DELETE"
                stale = await stack.ask("PATCH", uri, {"Name": "new"}, if_match='"0.0"')
                assert stale.status == 412
                for body in ({"Nonsense": 1}, {"Id": "2"}, {"Name": 5}):
                    assert (await stack.ask("PATCH", uri, body)).status == 400
                assert (await stack.ask("PATCH", uri, {"Name": "new"})).status == 200
                assert (await stack.get(uri))["Name"] == "new"
                assert (await stack.ask("DELETE", uri)).status == 204
                assert (await stack.ask("GET", uri)).status == 404
                assert uri not in (await stack.ask("GET", f"{FABRIC}/Zones")).body.decode()

    run(check())


async def _bodies(stack: Any) -> dict[str, bytes]:
    state = stack.kernel.published.state
    uris = sorted({*state.base.documents, *state.spaces[Space.DOCUMENT]})
    return {uri: (await stack.ask("GET", uri)).body for uri in uris if "SessionService" not in uri}


def test_im_05_changes_survive_a_restart_byte_equal_and_the_files_stay(
    mockups: dict[str, Path],
) -> None:
    folder = mockups[CXL]
    before = _digest(folder)

    async def check() -> None:
        durable = DurableState()
        async with a_stack(imported(folder), durable=durable) as stack:
            pristine = await _bodies(stack)
            gone = f"{FABRIC}/Zones/1"
            assert (await stack.ask("PATCH", f"{FABRIC}/Zones/2", {"Name": "new"})).status == 200
            assert (await stack.ask("DELETE", gone)).status == 204
            made = await stack.made(f"{FABRIC}/Zones", {"Name": "n"})
            changed = await _bodies(stack)
        hardware = dict(stack.rig.hardware)
        async with a_stack(restarted(durable), durable=durable, hardware=hardware) as stack:
            again = await _bodies(stack)
        assert again == changed
        assert made in again
        assert gone not in again
        assert json.loads(again[f"{FABRIC}/Zones/2"])["Name"] == "new"
        async with a_stack(imported(folder)) as stack:
            assert await _bodies(stack) == pristine

    run(check())
    assert _digest(folder) == before


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(f"{path.relative_to(folder)} {path.stat().st_mtime_ns}".encode())
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


# --- what `mockup check` finds, against a count of our own


def _links(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "@odata.id" and isinstance(inner, str):
                yield inner
            yield from _links(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _links(inner)


def _wrong_counts(value: object) -> int:
    if isinstance(value, list):
        return sum(_wrong_counts(each) for each in value)
    if not isinstance(value, dict):
        return 0
    wrong = sum(
        type(count) is not int
        or (isinstance(value.get(name[:-12]), list) and len(value[name[:-12]]) != count)
        for name, count in value.items()
        if name.endswith("@odata.count")
    )
    return wrong + sum(_wrong_counts(each) for each in value.values())


def counted(folder: Path) -> Counter[str]:
    """Count by loading every file and looking every link up among the files, and no more."""
    texts = {path: path.read_text("utf-8-sig") for path in folder.rglob("index.json")}
    readable: dict[str, Any] = {}
    found: Counter[str] = Counter()
    for path, text in texts.items():
        place = path.parent.relative_to(folder).as_posix()
        if place in ("odata", "$metadata"):
            continue
        try:
            readable[f"{ROOT}/{place}".removesuffix("/.")] = json.loads(text)
        except ValueError:
            found["syntax"] += 1
    others = {
        f"{ROOT}/{path.parent.relative_to(folder).as_posix()}"
        for path in (*folder.rglob("index.xml"), *folder.glob("odata/index.json"))
    }
    for document in readable.values():
        links = list(_links(document))
        own = document.get("@odata.id")
        if own in links:
            links.remove(own)
        found["count"] += _wrong_counts(document)
        for link in links:
            place, _, fragment = link.partition("#")
            if place.rstrip("/") in others or not link.startswith(ROOT):
                continue  # a link to another service is a defect of another kind
            target: Any = readable.get(place.rstrip("/"))
            for token in fragment.split("/")[1:] if target is not None else ():
                key = int(token) if isinstance(target, list) else token
                try:
                    target = target[key]
                except (KeyError, IndexError):
                    target = None
                    break
            found["dangling"] += target is None
    return +found


@pytest.mark.parametrize("name", RAW)
def test_the_check_finds_what_an_independent_count_finds(
    mockups: dict[str, Path], name: str
) -> None:
    found = Counter(problem.kind for problem in read_import(mockups[name], CATALOG).problems)
    told = {kind: found[kind] for kind in ("syntax", "count", "dangling") if found[kind]}
    assert told == dict(counted(mockups[name]))


def test_the_published_mockups_have_each_of_these_defects(mockups: dict[str, Path]) -> None:
    total: Counter[str] = Counter()
    for name in RAW:
        total += counted(mockups[name])
    assert all(total[kind] > 3 for kind in ("syntax", "count", "dangling")), total


# --- the wild files


def test_every_wild_file_loads_wherever_it_stands(shared: Path, tmp_path: Path) -> None:
    wild = shared / "fixtures" / "wild"
    files = sorted(path for path in wild.rglob("*.json*") if path.is_file())
    if not files:
        pytest.skip("no wild files are at hand")
    tree = a_tree()
    for number, path in enumerate(files):
        tree[f"Chassis/1/Oem/{number}/index.json"] = path.read_bytes()
    for name, place in {
        "dmtf/cxl-multiswitch_Endpoints.BADCOUNT.json": "Fabrics/CXL/Endpoints",
        "dmtf/smartnic_Zones.BADCOUNT.json": "Fabrics/CXL/Zones",
        "sunfish/nvmeof_Zone1.json": "Fabrics/CXL/Zones/1",
        "sunfish/nvmeof_Connection1.json": "Fabrics/CXL/Connections/1",
        "dmtf/nvmeof-jbof_NetworkAdapters.STRINGCOUNT.json": "Chassis/1/NetworkAdapters",
        "sunfish/MemoryChunks.BADCOUNT.json": "Chassis/1/MemoryDomains/1/MemoryChunks",
        "sunfish/ResourceBlocks.BADCOUNT.json": "CompositionService/ResourceBlocks",
    }.items():
        tree[f"{place}/index.json"] = (wild / name).read_bytes()
    found = read_import(write(tmp_path, tree), CATALOG)
    bad = [problem for problem in found.problems if problem.kind == "syntax"]
    assert sum("BADJSON" in path.name for path in files) == 2
    assert len(bad) >= 2
    serve_all(found)


# --- anything else


def serve_all(found: Import) -> None:
    """Serve an import: read everything, write a little; nothing may fail."""

    async def check() -> None:
        async with a_stack(worlds.imported_world(found)) as stack:
            state = stack.kernel.published.state
            made = [*state.spaces[Space.DOCUMENT]]
            for uri in (*state.base.documents, *made):
                assert (await stack.ask("GET", uri)).status == 200, uri
            await stack.ask("GET", f"{ROOT}?$expand=.($levels=6)")
            for uri in [each for each in made if "/Fabrics/" in each][:6]:
                for method, body in (("PATCH", {"Name": "n"}), ("DELETE", None)):
                    assert (await stack.ask(method, uri, body)).status < 500
            for uri in [*state.base.documents]:
                if uri.endswith(("/Zones", "/Connections", "/Endpoints")):
                    assert (await stack.ask("POST", uri, {"Name": "n"})).status < 500

    run(check())


JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**64 - 1, "", "x", ROOT, f"{FABRIC}/Zones/1", [], [None], [[]], [{}],
    {}, {"@odata.id": 5}, {"@odata.id": f"{FABRIC}/Endpoints/T1"}, {"a": [{"b": 1}]},
    [{"@odata.id": f"{FABRIC}/Endpoints/I1"}] * 2, "#Zone.v1_6_0.Zone", "#Fabric.v1_3_0.Fabric",
)  # fmt: skip


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _places(inner, (*place, key))


def mutated(documents: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return documents of which some are gone and some have anything anywhere."""
    changed = dict(documents)
    near = [uri for uri in documents if "/Fabrics" in uri or "/PCIeDevices" in uri] or [*documents]
    for _ in range(rng.choice((1, 3, 10, 40))):
        uri = rng.choice(near if rng.random() < 0.8 else [*documents])
        if uri not in changed:
            continue
        if rng.random() < 0.05:
            del changed[uri]
            continue
        changed[uri] = deepcopy(changed[uri])
        places = [place for place in _places(changed[uri]) if place]
        if not places:
            continue
        *above, last = rng.choice(places)
        holder = changed[uri]
        for key in above:
            holder = holder[key]
        if rng.random() < 0.3:
            del holder[last]
        else:
            holder[last] = deepcopy(rng.choice(JUNK))
    return changed


FUZZED = (
    CXL,
    "mockups-dmtf-2025.4/public-cxl-multiswitch",
    "mockups-dmtf-2025.4/public-nvmeof-jbof",
    "mockups-dmtf-2025.4/public-sasfabric",
    "mockups-dmtf-2025.4/public-smartnic",
    "mockups-snia-ebof/ebof",
    "mockups-sunfish/am_agent_Resources",
    "mockups-sunfish/utils_resources",
)


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(name=st.sampled_from(FUZZED), seed=st.integers(0, 2**32))
def test_whatever_is_dropped_or_altered_it_loads_and_is_served(
    mockups: dict[str, Path], name: str, seed: int
) -> None:
    tree = read_import(mockups[name], CATALOG).tree
    documents = mutated(tree.documents, random.Random(seed))  # noqa: S311 - a test
    files = {uri: tree.files[uri] for uri in documents}
    serve_all(understood(MockupTree(documents, files, {}, ()), CATALOG))


def test_problems_name_a_file_and_come_worst_first(mockups: dict[str, Path]) -> None:
    found = read_import(mockups["mockups-sunfish/am_agent_Resources"], CATALOG)
    order = [each.severity for each in found.problems]
    assert order == sorted(order, key=list(Severity).index)
    assert {each.file for each in found.problems} <= set(found.tree.files.values()) | {
        "AggregationService/index.json",
        "AggregationService/ConnectionMethods/index.json",
    }

"""Items of shared/PROTOCOL.md that no other test is about; docs/protocol.md lists them all."""

import json
import math
import re
from itertools import groupby
from urllib.parse import urlsplit

import pytest

from tests.cases.conftest import Tree
from tests.cases.life import lived
from tests.cases.registries import check_error_body, listed
from tests.cases.stack import ROOT, a_stack
from tests.control.builders import PCIE_FABRIC, PCIE_ZONES
from tests.redfish.house import SESSIONS
from tests.virtual_time import in_virtual_time

# RFC 1738: unsafe everywhere; "%" would be an encoding.
UNSAFE = set('<>"#%{}|\\^~[]` ')


def uris_in(value: object) -> list[str]:
    """Return every reference in a document, fragments of embedded objects left out."""
    if isinstance(value, dict):
        found = [
            inner.partition("#")[0]
            for name, inner in value.items()
            if isinstance(inner, str) and (name == "@odata.id" or name.endswith("target"))
        ]
        return found + [each for inner in value.values() for each in uris_in(inner)]
    if isinstance(value, list):
        return [each for inner in value for each in uris_in(inner)]
    return []


def test_item_7_no_uri_needs_encoding(own_tree: Tree) -> None:
    handed_out = {uri for document in own_tree.values() for uri in uris_in(document)}
    assert len(handed_out) > 200
    assert [uri for uri in handed_out if UNSAFE & set(uri) or not uri.isascii()] == []
    assert [uri for uri in handed_out if not uri.startswith("/") or uri.startswith("//")] == []


def test_item_9_ids_member_ids_and_places_in_a_document(own_tree: Tree) -> None:
    for uri, document in own_tree.items():
        for member in document.get("Members", ()):
            there = own_tree[member["@odata.id"].rstrip("/")]
            assert there["Id"] == member["@odata.id"].rsplit("/", 1)[-1]
        for name, value in document.items():
            for position, each in enumerate(value if isinstance(value, list) else ()):
                if isinstance(each, dict) and "MemberId" in each:
                    assert each["MemberId"] == str(position)
                    assert each["@odata.id"] == f"{uri}#/{name}/{position}"


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
@in_virtual_time
async def test_item_11_the_root_takes_no_write_whatever_its_body(method: str) -> None:
    async with a_stack() as stack:
        for body in (None, {}, b"{", b"<a/>"):
            response = await stack.ask(method, f"{ROOT}/", body)
            assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
            check_error_body(response, await listed(stack))


@in_virtual_time
async def test_item_12_a_method_nobody_knows_is_501() -> None:
    async with a_stack() as stack:
        assert (await stack.ask("FAKEMETHODFORTEST", f"{ROOT}/")).status == 501


@in_virtual_time
async def test_item_13_every_answer_that_shows_a_resource_and_every_405_has_allow() -> None:
    async with a_stack() as stack:
        await lived(stack)
        for uri in await stack.crawl():
            for method in ("GET", "HEAD", "PUT"):
                response = await stack.ask(method, uri)
                assert response.status == (405 if method == "PUT" else 200)
                assert {"GET", "HEAD"} <= set(response.headers["Allow"].split(", "))


@in_virtual_time
async def test_item_16_a_get_ignores_its_body_whatever_it_is() -> None:
    async with a_stack() as stack:
        plain = await stack.ask("GET", PCIE_FABRIC)
        for body, kind in ((b"{", "application/json"), (b"<a/>", "text/xml"), (b"\xff", "")):
            response = await stack.ask("GET", PCIE_FABRIC, body, content_type=kind)
            assert (response.status, response.body) == (200, plain.body)


@in_virtual_time
async def test_items_27_and_28_every_answer_has_its_odata_version_and_cache_control() -> None:
    async with a_stack() as stack:
        tag = (await stack.ask("GET", PCIE_FABRIC)).headers["ETag"]
        made = await stack.made(PCIE_ZONES, {"Name": "gone soon"})
        answers = [
            await stack.ask("GET", ROOT, user=None),
            await stack.ask("GET", PCIE_FABRIC, user=None),
            await stack.ask("GET", PCIE_FABRIC, if_none_match=tag),
            await stack.ask("GET", f"{ROOT}/none"),
            await stack.ask("OPTIONS", PCIE_FABRIC),
            await stack.ask("POST", PCIE_ZONES, {"Name": "x"}),
            await stack.ask("POST", PCIE_ZONES, {"Bogus": "x"}),
            await stack.ask("DELETE", made),
            stack.service.transport_error(413),
        ]
        statuses = [each.status for each in answers]
        assert statuses == [200, 401, 304, 404, 204, 201, 400, 204, 413]
        for response in answers:
            assert response.headers["OData-Version"] == "4.0"
            assert response.headers["Cache-Control"] == "no-cache"


@in_virtual_time
async def test_item_30_link_names_the_schema_of_every_resource() -> None:
    async with a_stack() as stack:
        for uri, document in (await stack.crawl()).items():
            for method in ("GET", "HEAD"):
                link = (await stack.ask(method, uri)).headers["Link"]
                match = re.fullmatch(r"<(\S+)>; rel=describedby", link)
                assert match is not None, link
                file = urlsplit(match[1]).path.rpartition("/")[2].removesuffix(".json")
                namespace = document["@odata.type"].lstrip("#").rpartition(".")[0]
                # A versioned name would have to be the version of the resource.
                assert file in (namespace, namespace.partition(".")[0])


@in_virtual_time
async def test_item_34_a_json_body_is_an_object_and_says_that_it_is_json() -> None:
    async with a_stack() as stack:
        for uri in ("/redfish", f"{ROOT}/odata", PCIE_FABRIC, f"{PCIE_FABRIC}/none"):
            response = await stack.ask("GET", uri)
            assert response.headers["Content-Type"] == "application/json"
            assert isinstance(json.loads(response.body), dict)


@in_virtual_time
async def test_item_60_the_root_and_the_session_service_agree_where_sessions_are() -> None:
    async with a_stack() as stack:
        root = await stack.get(ROOT)
        service = await stack.get(root["SessionService"]["@odata.id"])
        assert root["Links"]["Sessions"] == service["Sessions"] == {"@odata.id": SESSIONS}


@in_virtual_time
async def test_items_64_and_65_a_token_is_random_and_no_cookie() -> None:
    async with a_stack() as stack:
        tokens = []
        for _ in range(40):
            response = await stack.login("admin", "admin-password")
            assert response.status == 201
            assert "Set-Cookie" not in response.headers
            tokens.append(response.headers["X-Auth-Token"])
            location = response.headers["Location"]
            assert (await stack.ask("DELETE", location)).status == 204
    assert len(set(tokens)) == 40
    assert all(re.fullmatch("[0-9a-f]{64}", token) for token in tokens)
    bits = "".join(f"{int(token, 16):0256b}" for token in tokens)
    assert monobit(bits) > 1e-6
    assert runs(bits) > 1e-6


def monobit(bits: str) -> float:
    """Return the p-value of NIST SP 800-22 "Frequency (Monobit) Test"."""
    return math.erfc(abs(2 * bits.count("1") - len(bits)) / math.sqrt(2 * len(bits)))


def runs(bits: str) -> float:
    """Return the p-value of NIST SP 800-22 "Runs Test"."""
    share, count = bits.count("1") / len(bits), sum(1 for _ in groupby(bits))
    spread = 2 * len(bits) * share * (1 - share)
    return math.erfc(abs(count - spread) / (2 * math.sqrt(2 * len(bits)) * share * (1 - share)))


def test_item_48_what_can_only_be_written_reads_as_null(own_tree: Tree) -> None:
    shown = [each["Password"] for each in own_tree.values() if "Password" in each]
    assert len(shown) > 3
    assert set(shown) == {None}


def test_item_90_nothing_served_carries_a_copyright(own_tree: Tree) -> None:
    assert "@Redfish.Copyright" not in json.dumps(own_tree)

"""The OpenAPI document of a real process, whose every part is there: what OPTIONS says and no more.

Here are the certificates, network interfaces and logs that no service in a test's process has.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from redfish_fm.mapping.uris import HTTPS_CERTIFICATES
from tests.cases.test_openapi import COMING, OPENAPI, operations, template, unlinked
from tests.e2e.service import Client, serving
from tests.fuzz.surface import targets_of

TABLES = COMING | {"/redfish/v1/Managers/{ManagerId}/EthernetInterfaces"}


def taken(client: Client, told: Any) -> set[tuple[str, str]]:
    """Return (method, template) of all that OPTIONS allows of everything that can be reached."""
    # Over plain HTTP no link leads to the collection: it has no member.
    places = {*unlinked(told), HTTPS_CERTIFICATES.format(manager="FabricManager")}
    for uri, shown in client.crawl().items():
        places |= {uri, *targets_of(shown)}
    found = set()
    for uri in places:
        allow = client("OPTIONS", uri).headers["allow"].lower().split(", ")
        found |= {(method, template(uri)) for method in allow if method != "options"}
    return found


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_every_operation_is_allowed_where_it_stands_or_comes_by_a_post(
    tls: bool, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with serving("--topology", "two-hosts", "--state", str(state), tls=tls) as (_, url):
        client = Client(url, cafile=state / "tls" / "ca.pem" if tls else None)
        told = yaml.load(client("GET", OPENAPI).body, Loader=yaml.CSafeLoader)
        there = taken(client, told)
        client.close()
    assert there - operations(told) == set()
    holding = {uri for method, uri in there if method == "post"} | TABLES
    for method, uri in operations(told) - there:
        member = uri.partition("/Actions/")[0]
        assert member.rpartition("/")[0] in holding, (method, uri)

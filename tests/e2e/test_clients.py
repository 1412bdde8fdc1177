"""The clients that people use: redfish and sushy (PyPI) over TLS with our own authority."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redfish
import sushy
from sushy import auth

from tests.e2e.service import PASSWORD, USER, Client, links, serving, unpacked_mockup

FABRIC = "/redfish/v1/Fabrics/CXL"


@pytest.fixture(scope="module")
def served(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Serve public-cxl over TLS; give the URL and the file of the authority."""
    place = tmp_path_factory.mktemp("clients")
    mockup = unpacked_mockup(shared, place, "public-cxl")
    state = place / "state"
    with serving("--mockup", str(mockup), "--state", str(state), tls=True) as (_, url):
        yield url, state / "tls" / "ca.pem"


def test_the_authority_vouches_for_the_service_and_nobody_else_does(served) -> None:
    url, cafile = served
    assert url.startswith("https://")
    client = Client(url, cafile=cafile)
    assert client.get("/redfish/v1/Systems")["Members"]
    client.close()
    stranger = Client(url, cafile=cafile)
    stranger._context = ssl.create_default_context()  # noqa: SLF001
    stranger.close()
    stranger._connection = stranger._connect()  # noqa: SLF001
    with pytest.raises(ssl.SSLCertVerificationError):
        stranger("GET", "/redfish/v1")
    stranger.close()


@pytest.fixture
def session(served) -> Iterator[Any]:
    url, cafile = served
    client = redfish.redfish_client(
        base_url=url, username=USER, password=PASSWORD, cafile=str(cafile)
    )
    client.login(auth="session")
    yield client
    client.logout()
    client._session.close()  # noqa: SLF001


def test_redfish_reads_the_fabric_and_makes_and_deletes_a_zone(session) -> None:
    fabrics = session.get("/redfish/v1/Fabrics").dict
    assert [each["@odata.id"] for each in fabrics["Members"]] == [FABRIC]
    endpoints = session.get(f"{FABRIC}/Endpoints").dict["Members"]
    assert {f"{FABRIC}/Endpoints/I1", f"{FABRIC}/Endpoints/T5"} <= {
        each["@odata.id"] for each in endpoints
    }
    body = {"Links": {"Endpoints": links(f"{FABRIC}/Endpoints/I1", f"{FABRIC}/Endpoints/T5")}}
    made = session.post(f"{FABRIC}/Zones", body=body)
    assert made.status == 201, made.text
    zone = made.getheader("Location")
    assert session.get(zone).dict["ZoneType"] == "ZoneOfEndpoints"
    taken = {"Links": {"Endpoints": links(f"{FABRIC}/Endpoints/I4", f"{FABRIC}/Endpoints/T2")}}
    refused = session.post(f"{FABRIC}/Zones", body=taken)
    assert refused.status == 409 and f"{FABRIC}/Endpoints/T2" in refused.text
    deleted = session.delete(zone)
    assert deleted.status in (200, 204), deleted.text
    assert session.get(zone).status == 404


def test_sushy_reads_the_fabric(served) -> None:
    url, cafile = served
    root = sushy.Sushy(url, auth=auth.SessionOrBasicAuth(USER, PASSWORD), verify=str(cafile))
    (fabric,) = root.get_fabric_collection().get_members()
    assert fabric.identity == "CXL" and fabric.name
    names = {endpoint.identity for endpoint in fabric.endpoints.get_members()}
    assert {"I1", "T5"} <= names
    system = root.get_system_collection().get_members()[0]
    assert system.identity
    root._auth.close()  # noqa: SLF001
    root._conn._session.close()  # noqa: SLF001

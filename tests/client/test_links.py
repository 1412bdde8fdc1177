"""Where links lead, and that a walk stays in the service."""

import pytest

from redfish_fm.client.links import links, resource_uri, type_name

ORIGIN = "https://bmc.example:8443"


@pytest.mark.parametrize(
    ("link", "uri"),
    [
        ("/redfish/v1/", "/redfish/v1"),
        ("/redfish/v1/Chassis/1/", "/redfish/v1/Chassis/1"),
        ("/redfish/v1/Chassis/1/Thermal#/Fans/0", "/redfish/v1/Chassis/1/Thermal"),
        ("/redfish/v1/Chassis?$skip=2", "/redfish/v1/Chassis?$skip=2"),
        (f"{ORIGIN}/redfish/v1/Systems", "/redfish/v1/Systems"),
        ("/redfish/v1/A%20B/%2e%2e", "/redfish/v1/A%20B/%2e%2e"),
        ("https://elsewhere.example/redfish/v1/Systems", None),
        ("//elsewhere.example/redfish/v1/Systems", None),
        (f"{ORIGIN}.elsewhere.example/redfish/v1/Systems", None),
        ("/redfish/v1evil", None),
        ("/etc/passwd", None),
        ("Systems/1", None),
        ("http://[", None),
        ("", None),
    ],
)
def test_a_link_leads_to_a_resource_of_the_service_or_nowhere(link: str, uri: str | None) -> None:
    assert resource_uri(link, ORIGIN) == uri


def test_links_are_found_at_every_depth_in_their_order() -> None:
    document = {
        "@odata.id": "/a",
        "x": [{"@odata.id": "/b", "y": {"@odata.id": "/c"}}, 7, None],
        "z": {"@odata.id": 5, "w": {"@odata.id": "/d"}},
    }
    assert list(links(document)) == ["/a", "/b", "/c", "/d"]


def test_a_very_deep_document_is_walked() -> None:
    deep: object = {"@odata.id": "/end"}
    for _ in range(100_000):
        deep = [deep]
    assert list(links(deep)) == ["/end"]


@pytest.mark.parametrize(
    ("odata_type", "name"),
    [
        ("#Chassis.v1_25_0.Chassis", "Chassis"),
        ("#SessionCollection.SessionCollection", "SessionCollection"),
        ("Chassis", ""),
        (7, ""),
    ],
)
def test_the_type_is_known_without_its_version(odata_type: object, name: str) -> None:
    assert type_name({"@odata.type": odata_type}) == name

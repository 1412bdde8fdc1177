"""Routes of paths: templates, so that figures by route stay few whatever clients ask for."""

import pytest

from redfish_fm.redfish.route_names import FIXED_ROUTES, RouteNames
from tests.redfish.builders import CATALOG

ROUTES = RouteNames(CATALOG, FIXED_ROUTES)
ZONE_7 = "/redfish/v1/Fabrics/F/Zones/7"
ZONE = "/redfish/v1/Fabrics/{FabricId}/Zones/{ZoneId}"


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/redfish/v1", "/redfish/v1"),
        ("/redfish/v1/", "/redfish/v1"),
        (ZONE_7, ZONE),
        (f"{ZONE_7}/Actions/Zone.AddEndpoint", f"{ZONE}/Actions/Zone.AddEndpoint"),
        (f"{ZONE_7}/Actions/Zone.Invented", None),
        ("/redfish/v1/Nowhere/7/Actions/Zone.AddEndpoint", None),
        ("/redfish/v1/Systems/Members", "/redfish/v1/Systems/{ComputerSystemId}"),
        ("/redfish/v1/TaskService/TaskMonitors/7", "/redfish/v1/TaskService/TaskMonitors/{TaskId}"),
        ("/redfish/v1/ActionInfos/Zone.AddEndpoint", "/redfish/v1/ActionInfos/{Action}"),
        ("/redfish/v1/$metadata", "/redfish/v1/$metadata"),
        ("/metrics", "/metrics"),
        ("/redfish/v1/Nowhere", None),
        ("/etc/passwd", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_path_has_the_route_of_its_template(path: str, route: str | None) -> None:
    assert ROUTES.route_of(path) == route

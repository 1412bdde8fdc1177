"""Requests counted by route, method and class of status: few figures, whatever is asked for."""

from redfish_fm.server import request_counts
from redfish_fm.server.request_counts import KNOWN_MAX, OTHER, RequestCounts


def counts() -> RequestCounts:
    return RequestCounts(lambda path: "/zones/{id}" if path.startswith("/zones/") else None)


def found(counted: RequestCounts) -> dict[tuple[str, str, str], tuple[int, float]]:
    return {
        (cell.route, cell.method, cell.status): (cell.count, cell.seconds)
        for cell in counted.cells()
    }


def test_requests_of_one_route_are_one_figure() -> None:
    counted = counts()
    for path, seconds in (("/zones/1", 0.25), ("/zones/2", 0.5), ("/zones/1", 0.25)):
        counted.note("GET", path, 200, seconds)
    assert found(counted) == {("/zones/{id}", "GET", "2xx"): (3, 1.0)}
    assert counted.total == 3


def test_methods_and_classes_of_status_are_told_apart() -> None:
    counted = counts()
    for method, status in (("GET", 200), ("GET", 404), ("GET", 304), ("POST", 201)):
        counted.note(method, "/zones/1", status, 0.0)
    classes = {key[1:] for key in found(counted)}
    assert classes == {("GET", "2xx"), ("GET", "4xx"), ("GET", "3xx"), ("POST", "2xx")}


def test_what_clients_invent_is_counted_together() -> None:
    counted = counts()
    for number in range(50):
        counted.note(f"METHOD{number}", f"/invented/{number}", 404, 0.0)
    assert found(counted) == {(OTHER, OTHER, "4xx"): (50, 0.0)}


def test_paths_that_are_remembered_do_not_grow_for_ever() -> None:
    counted = counts()
    for number in range(KNOWN_MAX + 10):
        counted.note("GET", f"/zones/{number}", 200, 0.0)
    assert len(counted._known) <= KNOWN_MAX  # noqa: SLF001
    assert counted.total == KNOWN_MAX + 10


def test_the_methods_of_http_have_their_names() -> None:
    assert {"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"} <= request_counts.METHODS

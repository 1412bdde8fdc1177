"""Routes are cut down to what some resource takes, or will take once it comes."""

from collections.abc import Iterable, Mapping

from redfish_fm.redfish.routes import Routes
from redfish_fm.redfish.served_routes import by_template, served_routes
from redfish_fm.redfish.targets import READING, Offer
from tests.redfish.builders import CATALOG, ENDPOINT, FABRIC, SYSTEM, ZONE, ZONES

ZONE_AT = "/redfish/v1/Fabrics/{FabricId}/Zones/{ZoneId}"
ZONES_AT = "/redfish/v1/Fabrics/{FabricId}/Zones"
BLOCK_ZONES = "/redfish/v1/CompositionService/ResourceZones"
BLOCK_ZONE_AT = f"{BLOCK_ZONES}/{{ZoneId}}"
PROCESSORS_AT = "/redfish/v1/Systems/{ComputerSystemId}/Processors"
ALL = (*READING, "POST", "PATCH", "DELETE")
ADD = "Zone.AddEndpoint"


def offer(type_name: str, methods: Iterable[str] = READING, actions: Iterable[str] = ()) -> Offer:
    return Offer(CATALOG.types[type_name], tuple(methods), frozenset(actions))


def told(
    there: Mapping[str, Offer],
    members: Mapping[str, Offer] | None = None,
    promised: Iterable[str] = (),
) -> dict[str, tuple[str, ...]]:
    """Return URI and methods of the routes of what is `there`, and of places without anything."""
    places = by_template(CATALOG, [*there, *promised])
    found = served_routes(CATALOG, places, there.get, (members or {}).get)
    return {route.uri: route.methods for route in found}


def test_a_method_that_no_resource_takes_is_not_told() -> None:
    assert told({f"{BLOCK_ZONES}/1": offer("Zone")}) == {BLOCK_ZONE_AT: ("GET", "HEAD")}


def test_a_method_that_one_of_many_takes_is_told() -> None:
    there = {ZONE: offer("Zone"), f"{ZONES}/2": offer("Zone", (*READING, "PATCH"))}
    assert told(there) == {ZONE_AT: ("GET", "HEAD", "PATCH")}


def test_an_action_is_told_where_one_of_many_names_it() -> None:
    there = {ZONE: offer("Zone"), f"{ZONES}/2": offer("Zone", actions=[ADD])}
    assert told(there) == {ZONE_AT: ("GET", "HEAD"), f"{ZONE_AT}/Actions/{ADD}": ("POST",)}


def test_members_that_can_come_are_told_with_all_that_they_will_take() -> None:
    coming = offer("Zone", (*READING, "PATCH", "DELETE"), [ADD])
    routes = told({ZONES: offer("ZoneCollection", (*READING, "POST"))}, {ZONES: coming})
    assert routes == {
        ZONES_AT: ("GET", "HEAD", "POST"),
        ZONE_AT: ("GET", "HEAD", "PATCH", "DELETE"),
        f"{ZONE_AT}/Actions/{ADD}": ("POST",),
    }


def test_a_collection_to_which_nothing_comes_has_no_route_for_members() -> None:
    assert told({ZONES: offer("ZoneCollection")}) == {ZONES_AT: ("GET", "HEAD")}


def test_what_stands_only_where_something_will_be_is_read_and_its_members_too() -> None:
    routes = told({}, promised=[f"{SYSTEM}/Processors"])
    read = ("GET", "HEAD")
    assert routes == {PROCESSORS_AT: read, f"{PROCESSORS_AT}/{{ProcessorId}}": read}


def test_what_no_schema_places_is_a_route_of_its_own() -> None:
    uri = f"{FABRIC}/Oem/Zone"
    assert told({uri: offer("Zone", (*READING, "PATCH"))}) == {uri: ("GET", "HEAD", "PATCH")}


def test_a_place_of_no_known_type_is_no_route() -> None:
    assert told({}, promised=[f"{FABRIC}/Oem/Thing"]) == {}


def test_no_more_is_told_than_the_type_can_do() -> None:
    (route,) = told({ENDPOINT: offer("Endpoint", ALL)}).items()
    table = {route.uri: route.methods for route in Routes(CATALOG).all()}
    assert route in table.items()


def test_of_many_alike_only_the_first_is_looked_at() -> None:
    there = {f"{ZONES}/{each}": offer("Zone", ALL, CATALOG.types["Zone"].actions) for each in "abc"}
    looked: list[str] = []

    def at(uri: str) -> Offer | None:
        looked.append(uri)
        return there.get(uri)

    served_routes(CATALOG, by_template(CATALOG, there), at, {}.get)
    assert looked == [f"{ZONES}/a"]


def test_members_that_will_take_everything_need_no_look_at_those_there_are() -> None:
    there = {ZONES: offer("ZoneCollection", (*READING, "POST"))}
    there |= {f"{ZONES}/{each}": offer("Zone") for each in "abc"}
    coming = {ZONES: offer("Zone", ALL, CATALOG.types["Zone"].actions)}
    looked: list[str] = []

    def at(uri: str) -> Offer | None:
        looked.append(uri)
        return there.get(uri)

    served_routes(CATALOG, by_template(CATALOG, there), at, coming.get)
    assert looked == [ZONES]

"""$filter of an event stream."""

from itertools import product

import pytest

from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.events import Event, EventKind
from redfish_fm.redfish.filter_syntax import FilterError, Problem
from redfish_fm.redfish.sse_filter import EVERYTHING, FORMATS, stream_filter

WORDS = {
    "EventFormatType": FORMATS,
    "RegistryPrefix": frozenset({"ResourceEvent", "Fabric"}),
    "ResourceType": frozenset({"Zone", "Port"}),
}
ZONES = "/redfish/v1/Fabrics/CXL/Zones"


def event(
    key: str = "Fabric.ZoneCreated", origin: str | None = f"{ZONES}/1", about: str = "Zone"
) -> Event:
    return Event(7, 1, Message(key), "OK", origin, about if origin else None, 0.0, EventKind.OTHER)


CREATED = event("ResourceEvent.ResourceCreated")
ZONE = event()
PORT = event("Fabric.PortDown", "/redfish/v1/Fabrics/CXL/Switches/1/Ports/2", "Port")
NOWHERE = event("Fabric.Odd", None)
ALL = (CREATED, ZONE, PORT, NOWHERE)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("RegistryPrefix eq 'Fabric'", (ZONE, PORT, NOWHERE)),
        ("RegistryPrefix eq Fabric", (ZONE, PORT, NOWHERE)),
        ("RegistryPrefix ne 'Fabric'", (CREATED,)),
        ("EventFormatType eq Event", ALL),
        ("EventFormatType ne Event", ()),
        ("MessageId eq 'Fabric.1.0.ZoneCreated'", (ZONE,)),
        ("MessageId eq 'Fabric.ZoneCreated'", (ZONE,)),
        ("ResourceType eq 'Port'", (PORT,)),
        ("not (ResourceType eq 'Port')", (CREATED, ZONE, NOWHERE)),
        (f"OriginResource eq '{ZONES}'", ()),
        (f"OriginResource eq '{ZONES}/1/'", (CREATED, ZONE)),
        (f"OriginResource eq '{ZONES}' and SubordinateResources eq true", (CREATED, ZONE)),
        (f"SubordinateResources eq true and OriginResource eq '{ZONES}'", (CREATED, ZONE)),
        (f"OriginResource eq '{ZONES}' and SubordinateResources eq false", ()),
        ("(RegistryPrefix eq 'Fabric') and (ResourceType eq 'Port')", (PORT,)),
        ("RegistryPrefix eq 'ResourceEvent' or ResourceType eq 'Port'", (CREATED, PORT)),
        ("EventType eq 'Other'", ALL),
    ],
)
def test_a_filter_takes_exactly_the_events_it_names(text: str, wanted: tuple[Event, ...]) -> None:
    found = stream_filter(text, WORDS)
    assert [each for each in ALL if found.matches(each)] == [*wanted]


def test_no_filter_takes_everything() -> None:
    assert all(EVERYTHING.matches(each) for each in ALL)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("RegistryPrefix eq 'Fabric'", {"RegistryPrefixes": ["Fabric"]}),
        (
            "(RegistryPrefix eq 'Fabric' or RegistryPrefix eq 'ResourceEvent')"
            " and ResourceType eq 'Zone'",
            {"RegistryPrefixes": ["Fabric", "ResourceEvent"], "ResourceTypes": ["Zone"]},
        ),
        (
            f"OriginResource eq '{ZONES}' and SubordinateResources eq true",
            {"OriginResources": [{"@odata.id": ZONES}], "SubordinateResources": True},
        ),
        ("RegistryPrefix eq 'Fabric' or ResourceType eq 'Zone'", {}),
        ("RegistryPrefix ne 'Fabric'", {}),
        ("RegistryPrefix eq 'Fabric' and RegistryPrefix eq 'ResourceEvent'",
         {"RegistryPrefixes": ["Fabric"]}),
        ("EventFormatType eq Event", {}),
    ],
)  # fmt: skip
def test_its_destination_shows_what_properties_can_say_of_it(
    text: str, shown: dict[str, object]
) -> None:
    assert stream_filter(text, WORDS).shown == shown


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", Problem.FORMAT),
        ("RegistryPrefix", Problem.FORMAT),
        ("true", Problem.FORMAT),
        ("'a' eq RegistryPrefix", Problem.FORMAT),
        ("RegistryPrefix eq a/b", Problem.FORMAT),
        ("not RegistryPrefix", Problem.FORMAT),
        ("RegistryPrefix eq 'Nope'", Problem.RANGE),
        ("EventFormatType eq 'MetricReport'", Problem.RANGE),
        ("MetricReportDefinition eq '/redfish/v1/TelemetryService'", Problem.RANGE),
        ("Severity eq 'OK'", Problem.RANGE),
        ("OriginResource eq 'zones'", Problem.RANGE),
        ("MessageId eq 'x'", Problem.RANGE),
        ("not (MessageId eq '')", Problem.RANGE),
        ("MessageId eq 'Nope.1.0.ZoneCreated'", Problem.RANGE),
        ("RegistryPrefix gt 'A'", Problem.UNSUPPORTED),
        ("RegistryPrefix eq 4", Problem.TYPE),
        ("RegistryPrefix eq null", Problem.TYPE),
        ("SubordinateResources eq 'perhaps'", Problem.TYPE),
        ("(" * 40 + "ResourceType eq 'Zone'" + ")" * 40, Problem.RANGE),
    ],
)
def test_what_is_no_filter_of_events_says_why(text: str, problem: Problem) -> None:
    with pytest.raises(FilterError) as caught:
        stream_filter(text, WORDS)
    assert caught.value.problem is problem


def test_a_filter_means_what_its_parts_mean() -> None:
    """Against a model: and, or, not over three comparisons, in every combination of truth."""
    parts = ("RegistryPrefix eq 'Fabric'", "ResourceType eq 'Zone'", "MessageId eq 'Fabric.Odd'")
    for joined, inner, each in product(("and", "or"), ("and", "or"), ALL):
        one, two, three = (stream_filter(part, WORDS).matches(each) for part in parts)
        text = f"{parts[0]} {joined} not ({parts[1]} {inner} {parts[2]})"
        within = (two and three) if inner == "and" else (two or three)
        expected = (one and not within) if joined == "and" else (one or not within)
        assert stream_filter(text, WORDS).matches(each) is expected, text

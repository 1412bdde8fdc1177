"""Values of every record of the command table, made from the places of its fields."""

from typing import Any, get_origin
from uuid import UUID

from hypothesis import strategies as st

from redfish_fm.drivers.cxl_fmapi import identify, switch_commands, tunnels
from redfish_fm.drivers.cxl_fmapi.command import Command
from redfish_fm.drivers.cxl_fmapi.layouts import After, At, Counted, Layout, Rest, fields_of


def values(record: type[Any]) -> st.SearchStrategy[Any]:
    """Return records whose fields have any value that fits."""
    return st.builds(
        record, **{each.name: _field(each.kind, each.place) for each in fields_of(record)}
    )


def _field(kind: Any, place: At | Counted | After | Rest) -> st.SearchStrategy[Any]:
    if isinstance(place, After):
        return values(place.record)
    if isinstance(place, Rest):
        return st.binary(max_size=300)
    if isinstance(place, Counted):
        item = (
            st.integers(0, 256**place.item - 1)
            if isinstance(place.item, int)
            else values(place.item)
        )
        return st.lists(item, max_size=6).map(tuple)
    if kind is bool:
        return st.booleans()
    if kind is UUID:
        return st.uuids()
    if kind is bytes:
        return st.binary(min_size=place.size, max_size=place.size)
    if get_origin(kind) is frozenset:
        return st.frozensets(st.integers(0, 8 * place.size - 1), max_size=20)
    return st.integers(0, place.largest)


def identities() -> st.SearchStrategy[identify.Identity]:
    """Return identities of all three lengths."""
    u16, u8 = st.integers(0, 0xFFFF), st.integers(0, 0xFF)

    def of(form: int) -> st.SearchStrategy[identify.Identity]:
        serial = u16 if form == identify.SHORT else st.integers(0, 2**64 - 1)
        kind = st.none() if form == identify.WITHOUT_TYPE else u8
        return st.builds(identify.Identity, u16, u16, u16, u16, serial, u8, kind, st.just(form))

    forms = (identify.SHORT, identify.WITHOUT_TYPE, identify.FULL)
    return st.one_of(*(of(form) for form in forms))


@st.composite
def vcs_infos(draw: Any, query: switch_commands.VcsQuery) -> tuple[switch_commands.VcsInfo, ...]:
    """Return an answer that fits a query for virtual switches."""
    found = []
    for _ in range(draw(st.integers(0, 3))):
        total = draw(st.integers(0, 12))
        shown = max(0, min(query.vppb_limit, total - query.start_vppb))
        vppbs = draw(st.lists(values(switch_commands.VppbState), min_size=shown, max_size=shown))
        ids = [draw(st.integers(0, 255)) for _ in range(3)]
        found.append(switch_commands.VcsInfo(*ids, total, tuple(vppbs)))
    return tuple(found)


def requests(command: Command[Any, Any]) -> st.SearchStrategy[Any]:
    """Return requests of a command."""
    assert isinstance(command.request, Layout)
    return values(command.request.record)


@st.composite
def exchanges(draw: Any, command: Command[Any, Any]) -> tuple[Any, Any]:
    """Return a request with an answer that fits it."""
    request = draw(requests(command))
    if command is identify.IDENTIFY:
        return request, draw(identities())
    if command is switch_commands.GET_VCSS:
        return request, draw(vcs_infos(request))
    if command is tunnels.TUNNEL:
        return request, draw(values(tunnels.TunnelResponse))
    form = command.response_to(request)
    assert isinstance(form, Layout)
    return request, draw(values(form.record))

"""Rule 5: what a composition holds is its own. DESIGN section 5.

Pure; one function per rule, listed in fabric.zoning.RULES. That its zones, connections and parts
are changed through it only is refused where writes are read (mapping.compositions.refuse_held).
"""

from collections.abc import Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.cases import Case, Finding, finding
from redfish_fm.fabric.values import Connection, Endpoint, Rule, VppbGrant, Zone


def held_by_composition(case: Case) -> Iterator[Finding]:
    """Rule 5: no zone or connection but its own takes an endpoint or unit of a composition.

    Nor of a reservation: what is composed of it is judged once that has ended.
    """
    subject = case.subject
    if isinstance(subject, Endpoint):
        yield from _endpoint_moved(case, subject)
    if not isinstance(subject, Zone | Connection | VppbGrant):
        return
    own = case.index.composition_holding(subject.id)
    pointers = case.pointers()
    told = set()
    for unit, cause in case.parts().items():
        holder = _holder_of(case, unit)
        if holder in (None, own):
            holder = _keeper_of(case, unit)
        if holder not in (None, own):
            told.add(cause)
            yield finding(Rule.COMPOSED, cause, holder, pointers.get(cause))
    for grant in case.part_grants():
        # A part lies in a unit that is shared; who has the part is nobody else's to say.
        holder = case.index.composition_holding(grant.id)
        if holder not in (None, own) and grant.id not in told:
            told.add(grant.id)
            yield finding(Rule.COMPOSED, grant.id, holder, grant.place)
    if isinstance(subject, Zone) and not reach.routes(subject):
        # It has nobody: who is in it comes to be had when it routes.
        return
    for host, cause in case.hosts().items():
        holder = case.index.composition_consuming(host)
        if holder in (None, own):
            holder = case.index.reservation_of_host(host)
        if holder in (None, own):
            continue
        # What had the host before it was composed keeps it, and gives it nothing more.
        for each in dict.fromkeys((cause, *case.parts().values())):
            if each not in told:
                told.add(each)
                yield finding(Rule.COMPOSED, each, holder, pointers.get(each))


def _holder_of(case: Case, unit: str) -> str | None:
    """Return the composition that has the unit, or something that it is in or that is in it."""
    for each in (unit, *case.index.units_around(unit)):
        holder = case.index.composition_of_unit(each)
        if holder is not None:
            return holder
    return None


def _keeper_of(case: Case, unit: str) -> str | None:
    """Return the reservation that keeps the unit, or something that it is in or that is in it."""
    for each in (unit, *case.index.units_around(unit)):
        keeper = case.index.reservation_of_unit(each)
        if keeper is not None:
            return keeper
    return None


def _endpoint_moved(case: Case, endpoint: Endpoint) -> Iterator[Finding]:
    """An endpoint that zones or connections name does not come to mean what a composition has."""
    holders = (*case.index.zones_of(endpoint.id), *case.index.connections_of(endpoint.id))
    for unit in sorted(endpoint.units):
        holder = _holder_of(case, unit)
        for name in sorted(holders):
            if holder not in (None, case.index.composition_holding(name)):
                yield finding(Rule.COMPOSED, endpoint.id, holder, "/ConnectedEntities", (name,))

"""Rule 3's common zone: whether the two sides of a connection may meet at all. DESIGN section 5.

Pure; one function per rule, listed in fabric.zoning.RULES. What a connection may grant stands in
fabric.grant_rules.
"""

from collections.abc import Iterable, Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.cases import Case, Finding
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Connection, Rule, Violation


class _Zones:
    """Whether two endpoints may meet, with one zone judged as if it had changed.

    `needed`: they meet in a zone only; else only an end that is in some zone is limited.
    """

    def __init__(
        self, index: FabricIndex, needed: bool, changed: str | None, stays: frozenset[str]
    ) -> None:
        self._index = index
        self._needed = needed
        self._changed = changed
        self._stays = stays

    def apart(self, one: str, other: str | None) -> bool:
        """Return whether the two may not meet; `other` None is an end that no zone can name."""
        if other is None:
            return self._needed or self._limited(one)
        if one in self._stays and other in self._stays:
            return False
        if any(zone != self._changed for zone in self._index.common_zones(one, other)):
            return False
        return self._needed or self._limited(one) or self._limited(other)

    def _limited(self, end: str) -> bool:
        zones = self._index.reaching_zones(end)
        return end in self._stays or any(zone != self._changed for zone in zones)


def lacks_common_zone(
    index: FabricIndex,
    connection: Connection,
    changed: str | None = None,
    stays: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, str]]:
    """Yield the (initiator, target) pairs that need a common zone and have none.

    `changed` is a zone judged as if `stays` were its members. Unknown endpoints are left out. Where
    no target is named, each volume takes the place of one: some endpoint of it must do.
    """
    facts = index.facts(connection.fabric)
    needed = facts.zoned and facts.kind is FabricKind.BIND
    if not needed and facts.kind is not FabricKind.CONNECTION_GRANTS:
        return
    zones = _Zones(index, needed, changed, stays)
    initiators = _existing(index, reach.initiators_of(connection, index))
    targets = reach.targets_of(connection, index)
    ways = {target: frozenset({target}) for target in _existing(index, targets)}
    if not targets:
        ways = {
            grant.volume: _ends(index, connection, grant.volume) for grant in connection.volumes
        }
    for target, ends in ways.items():
        for initiator in initiators:
            if all(zones.apart(initiator, end) for end in sorted(ends) or (None,)):
                yield initiator, target


def _existing(index: FabricIndex, ends: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(end for end in ends if end in index.endpoints))


def _ends(index: FabricIndex, connection: Connection, volume: str) -> frozenset[str]:
    """Return the endpoints of the connection's fabric by which the volume can be reached."""
    units = (volume, *index.units_above(volume))
    found = frozenset[str]().union(*map(index.endpoints_of_unit, units))
    return frozenset(end for end in found if index.endpoints[end].fabric == connection.fabric)


def no_common_zone(case: Case) -> Iterator[Finding]:
    """Rule 3: both ends share a zone, where the kind of fabric makes zones limit them."""
    if not isinstance(case.subject, Connection):
        return
    pointers = case.pointers()
    for initiator, target in lacks_common_zone(case.index, case.subject):
        violation = Violation(
            Rule.CONNECTION_NO_COMMON_ZONE, target, None, pointers.get(target), (initiator,)
        )
        yield Finding((Rule.CONNECTION_NO_COMMON_ZONE, initiator, target), violation)

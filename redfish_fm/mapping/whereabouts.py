"""What is where in an inventory: on a switch, behind a port, in a chassis.

Pure. Made of Facts once, where it is first asked; each answer then costs its own size.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from redfish_fm.fabric.relation import Relation
from redfish_fm.mapping.uris import chassis_of

if TYPE_CHECKING:
    from redfish_fm.mapping.facts import Facts


class Whereabouts:
    """Looks Facts up the other way round. Read-only."""

    def __init__(self, facts: "Facts") -> None:
        self.switch_at = {uri: place for place, uri in facts.switch_uris.items()}
        """URI of a switch -> its fabric and what its driver calls it."""
        self._ports_of: Relation[tuple[str, str], str] = Relation()
        self._vcss_at: Relation[str, tuple[str, str]] = Relation()
        self._units_in: Relation[str, str] = Relation()
        self._chassis_in: Relation[str, str] = Relation()
        self._switches_in: Relation[str, str] = Relation()
        for (fabric, port), uri in facts.port_uris.items():
            self._ports_of.add(((fabric, port.switch),), uri)
        for vcs in facts.vcss:
            self._vcss_at.add((vcs.port,) if vcs.port else (), (vcs.switch, vcs.vcs))
        for unit in facts.units:
            chassis = chassis_of(unit.id)
            self._units_in.add((chassis,) if chassis else (), unit.id)
        for chassis, around in facts.containers.items():
            self._chassis_in.add((around,), chassis)
        for switch, chassis in facts.switch_chassis.items():
            self._switches_in.add((chassis,) if switch in self.switch_at else (), switch)

    def ports_of(self, fabric: str, switch: str) -> frozenset[str]:
        """Return the ports of a switch."""
        return self._ports_of.get((fabric, switch))

    def vcss_at(self, port: str) -> frozenset[tuple[str, str]]:
        """Return (switch, vcs) of every virtual switch whose host comes in by the port."""
        return self._vcss_at.get(port)

    def units_in(self, chassis: str) -> frozenset[str]:
        """Return the units in the chassis itself, not in what stands in it."""
        return self._units_in.get(chassis)

    def switches_in(self, chassis: str) -> frozenset[str]:
        """Return the switches that are built into the chassis."""
        return self._switches_in.get(chassis)

    def inside(self, chassis: str) -> Iterator[str]:
        """Yield the chassis and all that stand in it, however deep; each once."""
        todo, met = [chassis], {chassis}
        while todo:
            yield (each := todo.pop())
            inner = self._chassis_in.get(each) - met
            met |= inner
            todo += inner

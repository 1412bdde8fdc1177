"""Virtual switches and wanted bindings, and the next free vPPB. A part of the fabric index.

Pure. Knows what was granted, not by which rules.
"""

from collections.abc import Container
from dataclasses import dataclass

from redfish_fm.fabric.model import VppbId
from redfish_fm.fabric.part_index import PartIndex
from redfish_fm.fabric.relation import Relation
from redfish_fm.fabric.values import Binding


@dataclass(frozen=True, slots=True)
class VcsFact:
    """A virtual switch that can bind: who owns it and how far the host is away, in switch hops.

    `latency_ns` and `bandwidth_mb_s` (per direction) are of the link by which the host comes in:
    its own, or, on a chained switch, the one from `through`, the switch nearer to the host. `link`
    names that one: all that come in by it, from either end, share what it carries.
    """

    fabric: str
    switch: str
    vcs: str
    host: str | None
    vppb_count: int
    hops: int = 1
    port: str | None = None
    """The switch port by which the host comes in, as endpoints name it; None: not known."""
    latency_ns: int | None = None
    bandwidth_mb_s: int | None = None
    through: str | None = None
    link: str | None = None


class BindingIndex(PartIndex):
    """Virtual switches by host, wanted bindings by unit and holder.

    Switch ids are unique over all fabrics (a vPPB is named by its switch alone): `put_vcs` raises
    ValueError where they are not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bindings: dict[VppbId, Binding] = {}
        self.vcss: dict[tuple[str, str], VcsFact] = {}
        self._switch_fabric: dict[str, str] = {}
        self._vcs_of_host: Relation[tuple[str, str, str], tuple[str, str]] = Relation()
        self._vcss_by_way_of: Relation[str, tuple[str, str]] = Relation()
        self._bindings_of_unit: Relation[str, VppbId] = Relation()
        self._bindings_of_holder: Relation[str, VppbId] = Relation()
        self._bindings_in: Relation[str, VppbId] = Relation()

    def put_vcs(self, vcs: VcsFact) -> None:
        """Describe a virtual switch. Raises ValueError if another fabric has that switch id."""
        owner = self._switch_fabric.setdefault(vcs.switch, vcs.fabric)
        if owner != vcs.fabric:
            raise ValueError(f"switch id {vcs.switch} is used by fabrics {owner} and {vcs.fabric}")
        self.remove_vcs(vcs.switch, vcs.vcs)
        self.vcss[vcs.switch, vcs.vcs] = vcs
        self._vcss_by_way_of.add(_switches(vcs), (vcs.switch, vcs.vcs))
        if vcs.host is not None:
            self._vcs_of_host.add(((vcs.fabric, vcs.host, vcs.switch),), (vcs.switch, vcs.vcs))
        self.work += 1

    def remove_vcs(self, switch: str, vcs: str) -> None:
        """Forget a virtual switch; unknown ones are ignored."""
        before = self.vcss.pop((switch, vcs), None)
        if before is not None:
            self._vcss_by_way_of.remove(_switches(before), (switch, vcs))
        if before is not None and before.host is not None:
            self._vcs_of_host.remove(((before.fabric, before.host, switch),), (switch, vcs))

    def put_binding(self, binding: Binding) -> None:
        """Record a wanted binding under its vPPB, in place of what was wanted there."""
        self.remove_binding(binding.vppb)
        self.bindings[binding.vppb] = binding
        self._bindings_of_unit.add((binding.unit,), binding.vppb)
        self._bindings_of_holder.add(binding.holders, binding.vppb)
        self._bindings_in.add((binding.fabric,), binding.vppb)
        self.work += 1 + len(binding.holders)

    def remove_binding(self, vppb: VppbId) -> None:
        """Forget what is wanted on `vppb`; unknown ones are ignored."""
        binding = self.bindings.pop(vppb, None)
        if binding is not None:
            self._bindings_of_unit.remove((binding.unit,), vppb)
            self._bindings_of_holder.remove(binding.holders, vppb)
            self._bindings_in.remove((binding.fabric,), vppb)
            self.work += 1 + len(binding.holders)

    def bindings_of_unit(self, unit_id: str) -> tuple[Binding, ...]:
        """Return the wanted bindings of the unit, by vPPB."""
        return self._bindings(self._bindings_of_unit.get(unit_id))

    def bindings_of_holder(self, holder: str) -> tuple[Binding, ...]:
        """Return the wanted bindings that the holder keeps alive, by vPPB."""
        vppbs = self._bindings_of_holder.get(holder)
        return self._bindings(vppbs) if vppbs else ()

    def bindings_in(self, fabric: str) -> tuple[Binding, ...]:
        """Return the wanted bindings of one fabric, in no order."""
        return tuple(map(self.bindings.__getitem__, self._bindings_in.get(fabric)))

    def vcs_of_host(self, fabric: str, host: str, switch: str) -> tuple[VcsFact, ...]:
        """Return the host's virtual switches on one switch: fewest hops first, then lowest id."""
        keys = self._vcs_of_host.get((fabric, host, switch))
        found = [self.vcss[key] for key in keys]
        return tuple(sorted(found, key=lambda vcs: (vcs.hops, vcs.vcs)))

    def vcss_by_way_of(self, switch: str) -> list[VcsFact]:
        """Return the virtual switches on a switch, and those that come in from it; in no order."""
        return [self.vcss[key] for key in self._vcss_by_way_of.each(switch)]

    def vcss_on_way(self, key: tuple[str, str]) -> tuple[VcsFact, ...]:
        """Return a virtual switch (switch, vcs) and those before it on the host's way, to its own.

        Empty where it is not known. Of several of the host on one switch the first one counts.
        """
        found: dict[str, VcsFact] = {}
        vcs = self.vcss.get(key)
        while vcs is not None and vcs.switch not in found:
            found[vcs.switch] = vcs
            near: tuple[VcsFact, ...] = ()
            if vcs.through is not None and vcs.host is not None:
                near = self.vcs_of_host(vcs.fabric, vcs.host, vcs.through)
            vcs = next(iter(near), None)
        return tuple(found.values())

    def free_vppb(
        self, fabric: str, host: str, switch: str, occupied: Container[VppbId]
    ) -> VppbId | None:
        """Return the vPPB that the host's next binding takes, or None if all are in use."""
        for vcs in self.vcs_of_host(fabric, host, switch):
            for number in range(vcs.vppb_count):
                vppb = VppbId(switch, vcs.vcs, number)
                self.work += 1
                if vppb not in self.bindings and vppb not in occupied:
                    return vppb
        return None

    def _bindings(self, vppbs: frozenset[VppbId]) -> tuple[Binding, ...]:
        if not vppbs:
            return ()
        self.work += len(vppbs)
        return tuple(self.bindings[vppb] for vppb in sorted(vppbs))


def _switches(vcs: VcsFact) -> tuple[str, ...]:
    return (vcs.switch,) if vcs.through is None else (vcs.switch, vcs.through)

"""The audit: is anything observed bound that nobody granted? DESIGN section 5, rule 8.

Pure; called after every observation. It trusts what the switch says and nothing that was planned,
so it also finds what a lying switch, a technician or a mistake of ours has done.
"""

from collections.abc import Callable, Iterable, Mapping

from redfish_fm.fabric import reach
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import LD_FM_OWNED, BindTarget, VppbId
from redfish_fm.fabric.targets import enclosing
from redfish_fm.fabric.values import Binding, Rule, Violation


def audit(
    index: FabricIndex,
    bindings: Mapping[VppbId, BindTarget | None],
    vcs_host: Callable[[VppbId], str | None],
    releasing: Iterable[Binding] = (),
) -> list[Violation]:
    """Return each observed isolation violation: the unit, and the host that should not have it.

    `subject` is the unit, `holder` a zone or connection that rightly has it (None: nobody),
    `others` the offending host and after it the rightful ones. What is `releasing` is still bound
    by right, but never together with another host. What is shareable may be seen for several
    hosts, each by a grant of its own. A part that nobody here asked for (a region or namespace of
    another manager) is judged as the unit it lies in. Hosts that are not known are not judged.
    """
    excused = {(binding.vppb, binding.target) for binding in releasing}
    seen = _observed_hosts(index, bindings, vcs_host)
    found: dict[Violation, None] = {}
    bound = [(vppb, target) for vppb, target in bindings.items() if target is not None]
    for vppb, target in sorted(bound, key=lambda item: item[0]):
        if target.ld == LD_FM_OWNED:
            units = index.units_of_target(target) or {f"{target.switch} {target.port}"}
            found.update(dict.fromkeys(Violation(Rule.LD_FM_OWNED, unit) for unit in units))
        host = vcs_host(vppb)
        if host is not None:
            for unit in sorted(_judged_units(index, target)):
                granted = index.hosts_granted(unit)
                allowed = host in granted or (vppb, target) in excused
                if not allowed or _shared(index, unit, host, seen):
                    found[_violation(unit, host, granted)] = None
    return list(found)


def _judged_units(index: FabricIndex, target: BindTarget) -> frozenset[str]:
    """Return the units bound through the target, or those around it if it is no unit itself."""
    around = (target,) if target.ld == LD_FM_OWNED else enclosing(target)
    return next(filter(None, map(index.units_of_target, around)), frozenset())


def _observed_hosts(
    index: FabricIndex,
    bindings: Mapping[VppbId, BindTarget | None],
    vcs_host: Callable[[VppbId], str | None],
) -> reach.Takings:
    """Return which hosts are seen on which units, parts and wholes included."""
    seen = index.empty_takings()
    for vppb, target in bindings.items():
        host = vcs_host(vppb)
        if target is not None and host is not None:
            for unit in index.units_of_target(target):
                seen.add(unit, host, f"{vppb.switch} {vppb.vcs} {vppb.vppb}")
    return seen


def _shared(index: FabricIndex, unit: str, host: str, seen: reach.Takings) -> bool:
    return index.exclusive(unit) and bool(seen.taken(unit).keys() - {host})


def _violation(unit: str, host: str, granted: Mapping[str, frozenset[str]]) -> Violation:
    rightful = sorted(granted.keys() - {host})
    holders = sorted(holder for other in rightful for holder in granted[other])
    return Violation(
        Rule.HOST_SHARING, unit, holders[0] if holders else None, None, (host, *rightful)
    )

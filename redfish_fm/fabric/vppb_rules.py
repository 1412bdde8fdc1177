"""Rules about a unit that a client puts on a vPPB itself. DESIGN sections 5 and 6.

Pure; one function per rule, listed in fabric.zoning.RULES.
"""

from collections.abc import Iterator

from redfish_fm.fabric.cases import Case, Finding, finding
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Binder, Rule, VppbGrant


def vppb_held(case: Case) -> Iterator[Finding]:
    """Rule 6: a vPPB that a zone or connection uses is neither bound nor freed by hand."""
    grant = case.subject
    if not isinstance(grant, VppbGrant):
        return
    binding = case.index.bindings.get(grant.vppb)
    for holder in () if binding is None else sorted(binding.holders - {grant.id}):
        yield finding(Rule.VPPB_HELD, grant.id, holder, "/Links/Port")


def vppb_wrong_unit(case: Case) -> Iterator[Finding]:
    """Rule 6: only what binds by zone, and is behind the same switch, is put on a vPPB.

    An LD or a region is granted by a Connection.
    """
    grant = case.subject
    if not isinstance(grant, VppbGrant) or case.removal:
        return
    unit = case.index.units.get(grant.unit)
    here = unit is not None and unit.target is not None and unit.target.switch == grant.vppb.switch
    zoned = unit is not None and unit.binder is Binder.ZONE
    if not here or not zoned or case.kind is not FabricKind.BIND:
        yield finding(Rule.VPPB_WRONG_UNIT, grant.unit, grant.id, "/Links/Port")

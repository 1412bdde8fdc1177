"""What is asked of a composed system and concerns the host that it runs on: resets, how it boots.

Pure. Redfish: ComputerSystem.v1_27_0 Reset and Boot. A composed system has no power and no firmware
of its own: both are its host's, and so is what a client writes of them.
"""

from dataclasses import replace

from redfish_fm.mapping import generic, power, refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.redfish.writes import OutcomeKind, Write

_OF_HOST = frozenset({"Boot"})


def reset(write: Write, tip: Tip) -> Draft:
    """Return the draft of ComputerSystem.Reset of a composed system: its host is reset."""
    return power.reset(_to_host(write, tip), tip)


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH of a composed system that leaves its blocks alone."""
    boot = {name: value for name, value in write.body.items() if name in _OF_HOST}
    own = {name: value for name, value in write.body.items() if name not in _OF_HOST}
    drafts = []
    if boot:
        drafts.append(power.patch(replace(_to_host(write, tip), body=boot), tip))
    if own or not boot:
        drafts.append(generic.patch(replace(write, body=own), tip))
    edits = tuple(edit for draft in drafts for edit in draft.edits)
    return Draft(OutcomeKind.CHANGED if edits else OutcomeKind.NO_OPERATION, write.uri, edits)


def _to_host(write: Write, tip: Tip) -> Write:
    """Return the same wish, of the host. Raises RedfishError where that one is under change."""
    composition = tip.index.compositions.get(write.uri)
    if composition is None or composition.host is None:
        return write
    task = tip.busy(composition.host)
    if task is not None:
        raise refusals.busy(task)
    return replace(write, uri=composition.host)

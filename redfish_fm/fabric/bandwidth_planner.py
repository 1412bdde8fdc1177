"""The next safe steps towards the bandwidth that LDs are to have.

Pure. The last of the passes of fabric.planner: what is being bound or cut is left alone.
"""

from collections.abc import Mapping

from redfish_fm.fabric.ground import Ground
from redfish_fm.fabric.model import BindTarget, Qos, SetQos
from redfish_fm.fabric.targets import order


def plan_bandwidth(
    ground: Ground, wanted: Mapping[BindTarget, Qos], seen: Mapping[BindTarget, Qos]
) -> list[SetQos]:
    """Return the next commands: those that take before those that give, which wait for them.

    A device refuses to guarantee more than all of it, so what one LD is to get must first be
    seen to have been taken from another.
    """
    differing = [
        SetQos(target, wanted[target])
        for target in sorted(wanted.keys() & seen.keys(), key=order)
        if seen[target] != wanted[target]
    ]
    taking = {
        (each.target.switch, each.target.port)
        for each in differing
        if each.qos.allocated < seen[each.target].allocated
    }
    steps = []
    for step in differing:
        gives = step.qos.allocated > seen[step.target].allocated
        waits = gives and (step.target.switch, step.target.port) in taking
        if not waits and ground.open_to(step.target):
            ground.taken.add(step.target)
            steps.append(step)
    return steps

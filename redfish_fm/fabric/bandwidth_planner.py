"""The next safe steps towards the bandwidth that LDs are to have.

Pure. The last of the passes of fabric.planner: what is being bound or cut is left alone.
"""

from collections.abc import Mapping

from redfish_fm.fabric.ground import Ground
from redfish_fm.fabric.model import BindTarget, PortId, PortState, Qos, SetQos
from redfish_fm.fabric.qos_control import QosControl
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


def plan_controls(
    ground: Ground, wanted: Mapping[BindTarget, QosControl], seen: Mapping[PortId, PortState]
) -> list[SetQos]:
    """Return the commands after which devices do what they are to do; those that do not tell get
    none. They concern whole devices, so they wait for whatever else concerns one.
    """
    steps = []
    for target in sorted(wanted, key=order):
        state = seen.get(PortId(target.switch, target.port))
        told = None if state is None else state.control
        if told is None or wanted[target].met_by(told):
            continue
        if ground.open_to(target):
            ground.taken.add(target)
            steps.append(SetQos(target, Qos(), wanted[target]))
    return steps

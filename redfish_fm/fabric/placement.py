"""Chooses the host, devices and memory of a system that a client describes by wishes.

Pure and deterministic: the same index gives the same answer.
"""

from redfish_fm.fabric.cases import TargetStatus
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.placement_values import Placement, Rejections, Request


def place(
    index: FabricIndex, request: Request, *, now_s: float, status: TargetStatus
) -> Placement | Rejections:
    """Return where the wishes are met best, or why no candidate meets them."""
    raise NotImplementedError

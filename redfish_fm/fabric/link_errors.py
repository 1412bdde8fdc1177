"""What the ports of switches count of their links: errors, and what was done about them.

Pure values, part of what fabric.model describes.
"""

from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class LinkErrors:
    """What a port has counted on its PCIe link since its switch got power.

    The words of Redfish PCIeErrors: `correctable` are bad TLPs and DLLPs, replay rollovers and
    receiver errors; `recoveries` are transitions of the link from L0 to Recovery.
    """

    correctable: int = 0
    non_fatal: int = 0
    fatal: int = 0
    recoveries: int = 0
    replays: int = 0
    replay_rollovers: int = 0
    naks_sent: int = 0
    naks_received: int = 0
    bad_tlps: int = 0
    bad_dllps: int = 0
    unsupported_requests: int = 0

    def __add__(self, other: "LinkErrors") -> "LinkErrors":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return LinkErrors(*(mine + more for mine, more in pairs))

    def __sub__(self, other: "LinkErrors") -> "LinkErrors":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return LinkErrors(*(mine - less for mine, less in pairs))


NO_ERRORS = LinkErrors()

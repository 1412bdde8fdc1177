"""Bandwidth of LDs: who is to have how much, and what adds up to too much.

Pure. CXL: QoS Allocated Bandwidth is what an LD of an MLD is guaranteed, QoS Bandwidth Limit what
it gets at most, both as a share of the device's (FM API 5406h to 5409h). A wish says both.
"""

from redfish_fm.fabric.model import BindTarget, Qos
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.fabric.targets import order
from redfish_fm.fabric.values import QosWish, Rule, Violation

WHOLE_PERCENT = 100


class BandwidthIndex:
    """The wishes by LD, and by device. `of_device` costs the LDs of one device."""

    def __init__(self) -> None:
        self.wishes: dict[str, QosWish] = {}
        self._at: dict[tuple[str, str], set[str]] = {}

    def put(self, wish: QosWish) -> None:
        """Record what an LD is wanted to have."""
        self.wishes[wish.holder] = wish
        self._at.setdefault((wish.target.switch, wish.target.port), set()).add(wish.holder)

    def remove(self, holder: str) -> None:
        """Forget what an LD is wanted to have; unknown ones are ignored."""
        wish = self.wishes.pop(holder, None)
        if wish is not None:
            place = (wish.target.switch, wish.target.port)
            self._at[place].discard(holder)
            if not self._at[place]:
                del self._at[place]

    def of_device(self, target: BindTarget) -> tuple[QosWish, ...]:
        """Return the wishes of all LDs of the device that the target is of, by LD."""
        holders = self._at.get((target.switch, target.port), ())
        return tuple(sorted((self.wishes[each] for each in holders), key=lambda w: order(w.target)))

    def in_fabric(self, fabric: str) -> dict[BindTarget, Qos]:
        """Return what the LDs of one fabric are to have."""
        wishes = (each for each in self.wishes.values() if each.fabric == fabric)
        return {each.target: each.qos for each in wishes if each.control is None}

    def controls_in_fabric(self, fabric: str) -> dict[BindTarget, QosControl]:
        """Return what whole devices of one fabric are to do."""
        wishes = (each for each in self.wishes.values() if each.fabric == fabric)
        return {each.target: each.control for each in wishes if each.control is not None}


def check_bandwidth(index: BandwidthIndex, wish: QosWish) -> list[Violation]:
    """Return why an LD can not be wanted to have that: a violation for each LD it collides with.

    What all LDs of a device are guaranteed is at most all that it has. An LD that wants no more
    than before is never refused: where it was too much already, less of it is better.
    """
    before = index.wishes.get(wish.holder)
    if before is not None and wish.qos.allocated <= before.qos.allocated:
        return []
    others = [
        each
        for each in index.of_device(wish.target)
        if each.holder != wish.holder and each.qos.allocated
    ]
    if wish.qos.allocated + sum(each.qos.allocated for each in others) <= WHOLE_PERCENT:
        return []
    pointer = "/QoS/AllocatedBandwidth"
    asked = str(wish.qos.allocated)
    return [Violation(Rule.BANDWIDTH, asked, each.holder, pointer) for each in others]

"""Which commands may still be under way, and which the switch has certainly dealt with.

A command handed to a driver is unsettled until an observation that began after it returned proves
the past up to a later instant (Observation.barrier_s). What an earlier process sent is unknown to
this one, so at first everything is unsettled since the start. Pure: times are arguments.
DESIGN section 4, "Unknown outcome".
"""

from redfish_fm.fabric.ground import Targets
from redfish_fm.fabric.model import BindTarget, Place, Step, places


class Settling:
    """When each place was last sent a command that nothing has proved yet."""

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._sent_s: dict[Place, float] = {}
        self._sent_targets = Targets()
        self._running: set[Place] = set()
        self._running_at_look: frozenset[Place] = frozenset()
        self._barrier_s = float("-inf")

    def sent(self, step: Step, now_s: float) -> None:
        """Note that a step is being handed to the driver."""
        for place in places(step):
            self._sent_s[place] = now_s
            self._running.add(place)
        self._sent_targets.add(step.target)

    def returned(self, step: Step) -> None:
        """Note that the driver gave the step back: accepted, or of unknown outcome."""
        self._running.difference_update(places(step))

    def refused(self, step: Step) -> None:
        """Note that the switch answered no: that command will not run any more."""
        self.returned(step)
        for place in places(step):
            self._sent_s.pop(place, None)
        self._note_targets()

    def look_begins(self) -> None:
        """Note that an observation starts: it proves nothing of what runs at this moment."""
        self._running_at_look = frozenset(self._running)

    def look_ended(self, barrier_s: float) -> None:
        """Take over what an observation proves; an older proof never takes a newer one back."""
        self._barrier_s = max(self._barrier_s, barrier_s)
        open_places = self._running | self._running_at_look
        self._sent_s = {
            place: sent_s
            for place, sent_s in self._sent_s.items()
            if sent_s > self._barrier_s or place in open_places
        }
        self._note_targets()

    def unsettled(self, place: Place) -> bool:
        """Return whether a command to `place`, a part of it or what it is part of may still run."""
        if self._start_s > self._barrier_s or place in self._sent_s:
            return True
        return isinstance(place, BindTarget) and self._sent_targets.touch(place)

    def open_places(self) -> frozenset[Place]:
        """Return the places that were sent a command which is not settled."""
        return frozenset(self._sent_s)

    def under_way(self) -> frozenset[Place]:
        """Return the places of the steps that the driver has not given back."""
        return frozenset(self._running)

    def _note_targets(self) -> None:
        self._sent_targets = Targets(each for each in self._sent_s if isinstance(each, BindTarget))

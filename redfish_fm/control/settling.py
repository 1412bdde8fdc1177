"""Which commands may still be under way, and which the switch has certainly dealt with.

A command handed to a driver is unsettled until an observation that began after it returned proves
the past up to a later instant (Observation.barrier_s). What an earlier process sent is unknown to
this one, so at first everything is unsettled since the start. Pure: times are arguments.
DESIGN section 4, "Unknown outcome".
"""

from redfish_fm.fabric.model import BindTarget, Step, VppbId

Place = VppbId | BindTarget


class Settling:
    """When each vPPB and each target was last sent a command that nothing has proved yet."""

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._sent_s: dict[Place, float] = {}
        self._running: set[Place] = set()
        self._running_at_look: frozenset[Place] = frozenset()
        self._barrier_s = float("-inf")

    def sent(self, step: Step, now_s: float) -> None:
        """Note that a step is being handed to the driver."""
        for place in (step.vppb, step.target):
            self._sent_s[place] = now_s
            self._running.add(place)

    def returned(self, step: Step) -> None:
        """Note that the driver gave the step back: accepted, or of unknown outcome."""
        self._running -= {step.vppb, step.target}

    def refused(self, step: Step) -> None:
        """Note that the switch answered no: that command will not run any more."""
        self.returned(step)
        self._sent_s.pop(step.vppb, None)
        self._sent_s.pop(step.target, None)

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

    def unsettled(self, place: Place) -> bool:
        """Return whether a command to `place` may still run."""
        return self._start_s > self._barrier_s or place in self._sent_s

    def vppbs(self) -> frozenset[VppbId]:
        """Return the vPPBs that were sent a command which is not settled."""
        return frozenset(place for place in self._sent_s if isinstance(place, VppbId))

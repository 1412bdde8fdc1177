"""What is in the memory of LDs, as far as one manager can know. Pure.

A device tells when it has overwritten an LD (Sanitize, 4400h), and nothing of what was written
since. So an LD is clean from then until it is seen bound, or its switch or device was out of
sight; whatever else is in it is somebody's.
"""

from redfish_fm.fabric.model import Media

LdPlace = tuple[int, int]
"""Port and LD."""


class Contents:
    """The LDs of one switch. `changed`: what was told since the last `looked` differs."""

    def __init__(self) -> None:
        self._clean: set[LdPlace] = set()
        self._running: set[LdPlace] = set()
        self.changed = False

    def media(self, place: LdPlace) -> Media:
        """Return what is in an LD."""
        if place in self._running:
            return Media.SANITIZING
        return Media.CLEAN if place in self._clean else Media.DIRTY

    @property
    def running(self) -> tuple[LdPlace, ...]:
        """Return the LDs that are being overwritten, in order."""
        return tuple(sorted(self._running))

    def begun(self, place: LdPlace) -> None:
        """Note that an LD is being overwritten."""
        self._clean.discard(place)
        self._running.add(place)
        self.changed = True

    def ended(self, place: LdPlace, *, clean: bool) -> None:
        """Note that this is over; it counts only for an LD that nobody was bound to meanwhile."""
        if place in self._running:
            self._running.discard(place)
            self.changed = True
            if clean:
                self._clean.add(place)

    def soiled(self, place: LdPlace) -> None:
        """Note that somebody may have written into an LD."""
        if place in self._clean or place in self._running:
            self._clean.discard(place)
            self._running.discard(place)
            self.changed = True

    def forget(self, port: int | None = None) -> None:
        """Know nothing any more of the LDs behind a port; without one, of any."""
        for place in tuple(self._clean | self._running):
            if port is None or place[0] == port:
                self.soiled(place)

    def looked(self) -> None:
        """Note that what is known was taken over."""
        self.changed = False

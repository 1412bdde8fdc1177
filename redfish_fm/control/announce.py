"""Makes observed transitions durable, so that each is told once, also across a restart.

The last announced state of a resource (State, Health, link, binding) stands in the ANNOUNCED
space; where the observed one differs, a change is committed, whose feed record is the event's
source. Resources in their normal state have no entry. DESIGN section 3, "Feed".
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.control.published import Published
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind

NORMAL = {"State": "Enabled", "Health": "OK", "LinkStatus": "LinkUp", "BindingStatus": "Unbound"}
"""What is not worth an entry."""
ACTOR = "observe"
INTERVAL_S = 1.0
"""A flapping link is announced this often at most, in its state of that moment."""


class Announcer:
    """Compares what is shown with what was told, for the resources that were touched."""

    def __init__(self, writer: Writer, published: Published, clock: Clock) -> None:
        self._writer = writer
        self._published = published
        self._clock = clock
        self._touched: dict[str, None] = {}
        self._next_s = float("-inf")

    def touched(self, uris: set[str]) -> None:
        """Note resources whose observed properties changed."""
        self._touched.update(dict.fromkeys(uris))

    async def announce(self) -> None:
        """Commit what is new, as one change, at most once per INTERVAL_S.

        Raises RedfishError (503), and keeps what it has for the next call.
        """
        now_s = self._clock.now_s()
        if not self._touched or now_s < self._next_s:
            return
        self._next_s = now_s + INTERVAL_S
        told = self._published.state.spaces[Space.ANNOUNCED]
        if self._edits(told):
            await self._writer.submit(self._prepare, ACTOR)
        self._touched.clear()

    def _prepare(self, tip: TipView) -> Draft:
        edits = self._edits(tip.state.spaces[Space.ANNOUNCED])
        kind = OutcomeKind.CHANGED if edits else OutcomeKind.NO_OPERATION
        return Draft(kind, "", tuple(edits))

    def _edits(self, told: Mapping[str, bytes]) -> list[Edit]:
        edits = []
        for uri in self._touched:
            compact = compact_state(self._published.observed(uri) or {})
            now = msgspec.json.encode(compact) if compact else None
            if told.get(uri) != now:
                edits.append(Edit(Space.ANNOUNCED, uri, told.get(uri), now))
        return edits


def compact_state(patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event-worthy part of an observed patch, without what is normal."""
    status = patch.get("Status") or {}
    state = {
        "State": status.get("State"),
        "Health": status.get("Health"),
        "LinkStatus": patch.get("LinkStatus"),
        "BindingStatus": patch.get("BindingStatus"),
    }
    return {
        name: value
        for name, value in state.items()
        if value is not None and value != NORMAL.get(name)
    }

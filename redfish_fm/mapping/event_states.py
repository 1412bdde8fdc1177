"""What a change of an observed state tells the world: health, state, links, bindings, power.

Pure. `announced_state` says what of an observed patch is kept to be compared with; both are the
entries of the ANNOUNCED space. What is normal is not in it, so an absent value is the normal one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from redfish_fm.mapping.conditions import STATUS_CHANGED
from redfish_fm.mapping.event_messages import (
    BLOCK_STATE,
    CHANGED,
    DOWNSTREAM,
    DRIVES,
    GENERIC,
    HEALTHS,
    LINKS,
    OVER,
    PORT_HEALTHS,
    POWERS,
    ROLLUPS,
    STATE_CHANGED,
    SWITCH_DEGRADED,
    SWITCH_FAILED,
    SWITCH_OK,
    TASK_ENDS,
    TASK_PROGRESS,
    TASK_REMOVED,
    TASK_STARTED,
    Told,
    at_switch,
    in_fabric,
    name_of,
)
from redfish_fm.redfish.changes import FeedEntry, FeedOp
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.event_filter import unversioned
from redfish_fm.redfish.events import EventKind

State = Mapping[str, Any]

NORMAL = {
    "State": "Enabled",
    "Health": "OK",
    "HealthRollup": "OK",
    "LinkStatus": "LinkUp",
    "BindingStatus": "Unbound",
    "PowerState": "On",
}
"""What is not worth an entry."""
SINCE = "Since"
"""When each condition of the resource itself began, by its Message."""
WHY = "Why"
"""MessageId and arguments of those that tell more than that health changed, by Message."""

INVENTORY = "Inventory"
"""What a resource is marked with that came into inventory or went out of it."""
APPEARED, VANISHED = "Appeared", "Vanished"

FOLLOWING = frozenset({"Sensor", "PortMetrics"})
"""Types that show the state of what they belong to, of which it is told."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_OF_HEALTH = frozenset(map(unversioned, STATUS_CHANGED.values()))


def announced_state(uri: str, patch: State) -> dict[str, Any]:
    """Return the event-worthy part of an observed patch, without what is normal."""
    status = patch.get("Status") or {}
    own = [
        each
        for each in status.get("Conditions", ())
        if each.get("OriginOfCondition") == {"@odata.id": uri} and "Timestamp" in each
    ]
    told = {each["Message"]: _why(each) for each in own}
    state = {
        "State": status.get("State"),
        "Health": status.get("Health"),
        "HealthRollup": status.get("HealthRollup"),
        "LinkStatus": patch.get("LinkStatus"),
        "BindingStatus": patch.get("BindingStatus"),
        "PowerState": patch.get("PowerState"),
        SINCE: {each["Message"]: each["Timestamp"] for each in own} or None,
        WHY: {text: why for text, why in told.items() if why[0] not in _OF_HEALTH} or None,
    }
    return {
        name: value
        for name, value in state.items()
        if value is not None and value != NORMAL.get(name)
    }


def states_told(
    entry: FeedEntry, name: str | None, document: Callable[[str], State | None], first: bool
) -> Iterator[Told]:
    """Yield what one observed change tells, of a resource of type `name`.

    `document` gives what inventory says at a URI. `first`: nobody looked before, so only what is
    wrong is news.
    """
    if name in FOLLOWING:
        return
    pre, post = _read(entry.pre), _read(entry.post)
    if INVENTORY in pre or INVENTORY in post:
        yield from _inventory_told(entry.uri, name, post.get(INVENTORY))
        return
    if name == "Task":
        yield from _task_told(entry.uri, pre, post)
        return
    change = _Change(entry.uri, name, pre, post)
    if not first:
        yield from change.link_told(document)
        yield from change.binding_told()
        yield from change.power_told()
    yield from change.conditions_told()
    yield from change.health_told()
    if not first:
        yield from change.state_told()


def causes(entry: FeedEntry) -> bool:
    """Return whether a condition of the resource itself began or ended."""
    pre, post = _read(entry.pre), _read(entry.post)
    return (pre.get(SINCE) or {}).keys() != (post.get(SINCE) or {}).keys()


def has_health(entry: FeedEntry) -> bool:
    """Return whether the health of the resource itself is or was not OK."""
    return "Health" in _read(entry.pre) or "Health" in _read(entry.post)


class _Change:
    """One resource's announced state before and after."""

    def __init__(self, uri: str, name: str | None, pre: State, post: State) -> None:
        self._uri, self._name = uri, name
        self._pre, self._post = pre, post

    def _told(
        self, key: str, *args: str, kind: EventKind | None = None, specific: bool = False
    ) -> Told:
        return Told(Message(key, args), self._uri, self._name, kind, specific)

    def _new(self, property_name: str) -> str | None:
        """Return the new value of a property, or None where it is as before."""
        normal = NORMAL[property_name]
        before, after = (each.get(property_name, normal) for each in (self._pre, self._post))
        return None if before == after else str(after)

    def link_told(self, document: Callable[[str], State | None]) -> Iterator[Told]:
        """A link is up or it is not: what it does in between is its own affair."""
        before, after = (each.get("LinkStatus") is None for each in (self._pre, self._post))
        if before == after:
            return
        place = at_switch(self._uri)
        yield self._told(CHANGED, specific=place is not None)
        if place is not None:
            kind = (document(self._uri) or {}).get("PortType")
            dropped, established = LINKS.get(str(kind), LINKS[DOWNSTREAM])
            yield self._told(established if after else dropped, *place)

    def binding_told(self) -> Iterator[Told]:
        """That it is another one is told; which it is, the resource says."""
        if self._new("BindingStatus") is not None:
            yield self._told(CHANGED)

    def power_told(self) -> Iterator[Told]:
        """Switched on, off, or on the way."""
        key = POWERS.get(self._new("PowerState") or "")
        if key is not None:
            yield self._told(key, self._uri)

    def conditions_told(self) -> Iterator[Told]:
        """What is the matter, and when it no longer is."""
        before, after = (each.get(WHY) or {} for each in (self._pre, self._post))
        for text in sorted(before.keys() - after.keys()):
            key, *args = before[text]
            if key in OVER:
                yield self._told(OVER[key], *args)
        for text in sorted(after.keys() - before.keys()):
            key, *args = after[text]
            yield self._told(key, *args)

    def health_told(self) -> Iterator[Told]:
        """Its own health, and that of what it depends on where that says something else."""
        own, rollup = self._new("Health"), self._new("HealthRollup")
        more = tuple(self._health_of_type(own, rollup))
        if own in HEALTHS:
            yield self._told(HEALTHS[own], self._uri, own, specific=bool(more))
        if rollup in ROLLUPS and rollup != own:
            yield self._told(
                ROLLUPS[rollup], self._uri, kind=EventKind.STATUS_CHANGE, specific=bool(more)
            )
        yield from more

    def _health_of_type(self, own: str | None, rollup: str | None) -> Iterator[Told]:
        if self._name == "Port" and own in PORT_HEALTHS:
            place = at_switch(self._uri)
            if place is not None:
                yield self._told(PORT_HEALTHS[own], *place)
        if self._name == "Switch" and (own is not None or rollup is not None):
            before, after = _switch_key(self._pre), _switch_key(self._post)
            if before != after:
                yield self._told(after, name_of(self._uri))

    def state_told(self) -> Iterator[Told]:
        """There or not, in use or not."""
        state = self._new("State")
        if state is None:
            return
        more = tuple(self._state_of_type(state))
        # One event of a resource's status for each direction: where its health changes too, that.
        kind = EventKind.RESOURCE_UPDATED if self._new("Health") is not None else None
        yield self._told(STATE_CHANGED, self._uri, state, kind=kind, specific=bool(more))
        yield from more

    def _state_of_type(self, state: str) -> Iterator[Told]:
        if self._name == "ResourceBlock":
            yield self._told(BLOCK_STATE, name_of(self._uri))
        if self._name == "Drive" and "Absent" in (self._pre.get("State"), state):
            key = DRIVES["Absent" if state == "Absent" else "Enabled"]
            yield self._told(key, name_of(self._uri))


def _inventory_told(uri: str, name: str | None, mark: str | None) -> Iterator[Told]:
    """Yield that a resource came or went; that its mark is taken away is nothing new."""
    if mark is None:
        return
    op = FeedOp.CREATED if mark == APPEARED else FeedOp.DELETED
    more = in_fabric(name, op, uri)
    for message in (Message(GENERIC[op]), more):
        if message is not None:
            specific = more is not None and message is not more
            yield Told(message, uri, name, specific=specific, gone=op is FeedOp.DELETED)


def _switch_key(state: State) -> str:
    if state.get("Health") == "Critical":
        return SWITCH_FAILED
    ails = "Health" in state or "HealthRollup" in state
    return SWITCH_DEGRADED if ails else SWITCH_OK


def _task_told(uri: str, pre: State, post: State) -> Iterator[Told]:
    """Yield what TaskState, TaskStatus and PercentComplete tell; without any the Task is gone."""
    task = name_of(uri)
    if not post:
        yield Told(Message(TASK_REMOVED, (task,)), uri, "Task", gone=True)
        return
    key = TASK_ENDS.get((post.get("TaskState", ""), post.get("TaskStatus", "")))
    if not pre:
        yield Told(Message(TASK_STARTED, (task,)), uri, "Task")
    if key is not None and pre.get("TaskState") != post.get("TaskState"):
        yield Told(Message(key, (task,)), uri, "Task")
    elif pre and key is None and pre.get("PercentComplete") != post.get("PercentComplete"):
        done = str(post.get("PercentComplete", 0))
        yield Told(Message(TASK_PROGRESS, (task, done)), uri, "Task")


def _why(condition: State) -> list[str]:
    return [unversioned(condition["MessageId"]), *condition.get("MessageArgs", ())]


def _read(raw: bytes | None) -> State:
    return {} if raw is None else _decode(raw)

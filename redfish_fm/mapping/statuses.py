"""Status of every resource of all fabrics: composed of what is seen and of what it depends on.

Pure and mutable; one for the whole service, because a host depends on several fabrics. Whoever
looks says State and own Conditions (`show`); HealthRollup and the Conditions of others follow.
The cost of a look is that of what changed.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from redfish_fm.fabric.health import Condition, Health, HealthGraph
from redfish_fm.mapping.composition_health import CompositionHealth
from redfish_fm.mapping.conditions import condition_document
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.metering import Metering, Supply

Patch = dict[str, Any]
"""Properties laid over a resource; one that is None is taken away."""

ABSENT = "Absent"
CONDITIONS_MAX = 32
"""Of more, the worst are shown: a fabric in which everything fails is not told better by all."""

_NO_PROPERTIES: Mapping[str, Any] = {}
_NOTHING = (None, _NO_PROPERTIES)


class Statuses:
    """States by URI over one health graph. `composed` counts patches made.

    `began` says when a condition began that is new to this run: before a restart, perhaps.
    """

    def __init__(self, began: Callable[[Condition], str | None] = lambda _: None) -> None:
        self._began = began
        self.graph = HealthGraph()
        self.composed = 0
        self._metered: Facts | None = None
        self._metering = Metering({}, {})
        self._readings: dict[str, Mapping[str, Any]] = {}
        self._powers: dict[str, Mapping[str, Any]] = {}
        self._shown: dict[str, tuple[str | None, Mapping[str, Any]]] = {}
        self._since: dict[Condition, str | None] = {}
        self._touched: set[str] = set()
        self.compositions = CompositionHealth(self.graph, self._state)

    def _state(self, uri: str) -> str | None:
        return self._shown.get(uri, _NOTHING)[0]

    def show(
        self,
        uri: str,
        state: str | None,
        conditions: Collection[Condition] = (),
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what is seen of a resource: State (None: not known), own Conditions, the rest."""
        self.graph.set_own(uri, conditions)
        self._shown[uri] = (state, properties or _NO_PROPERTIES)
        self._touched.add(uri)

    def meter(self, facts: Facts) -> None:
        """Say which chassis there are that draw power: all on, as their documents say."""
        if facts is not self._metered:
            self._metered = facts
            self._metering = Metering(facts.meters, facts.containers)
            self.read(dict.fromkeys(self._readings, _NO_PROPERTIES))

    def switch(self, chassis: str, supply: Supply) -> None:
        """Say whether a chassis has power: what it draws is shown up to its rack."""
        self.read(self._metering.switch(chassis, supply))

    def read(self, readings: Mapping[str, Mapping[str, Any]]) -> None:
        """Say what sensors read, by the URI that shows it."""
        self._readings.update(readings)
        self._touched.update(readings)

    def power(self, patches: Mapping[str, Mapping[str, Any]]) -> None:
        """Say what is otherwise for the power of a host, by URI; an empty one says nothing."""
        self._powers.update(patches)
        self._touched.update(patches)

    def load(self, chassis: str, own_w: int) -> None:
        """Say what a chassis draws by itself: it is shown up to its rack."""
        self.read(self._metering.set_own_w(chassis, own_w))

    def __contains__(self, uri: str) -> bool:
        """Return whether anything is said of the resource itself."""
        return uri in self._shown

    def forget(self, uri: str) -> None:
        """Say nothing of the resource any more."""
        self.graph.set_own(uri)
        self._shown.pop(uri, None)
        self._touched.add(uri)

    def take_patches(self, now: str | None) -> dict[str, Patch | None]:
        """Return what to show of everything that may have changed; None where nothing is said.

        `now` is the DateTime text of a condition that begins with this look.
        """
        parts = self.patches_in_parts(now, len(self._shown) + 1)
        return {uri: patch for part in parts for uri, patch in part.items()}

    def patches_in_parts(self, now: str | None, size: int) -> Iterator[dict[str, Patch | None]]:
        """Yield what `take_patches` returns, of at most `size` resources at a time."""
        touched = self._take_touched()
        for number, each in enumerate(self.compositions.judge(touched), start=1):
            if each.there:
                self.show(each.uri, each.state, each.conditions)
            else:
                self.forget(each.uri)
            if not number % size:
                touched |= self._take_touched()
                yield {}
        touched |= self._take_touched()
        uris = (uri for uri in touched if uri.startswith("/"))
        while part := {uri: self._compose(uri, now) for uri in islice(uris, size)}:
            yield part
        for condition in [each for each in self._since if not self.graph.active(each)]:
            del self._since[condition]

    def _take_touched(self) -> set[str]:
        touched, self._touched = self._touched | self.graph.take_changed(), set()
        return touched

    def _compose(self, uri: str, now: str | None) -> Patch | None:
        state, properties = self._shown.get(uri, _NOTHING)
        self.composed += 1
        status: Patch = {} if state is None else {"State": state}
        if state == ABSENT:
            # A slot without its device has no health; what inventory said of it is taken away.
            status |= {"Health": None, "HealthRollup": None}
        else:
            if state is not None or self.graph.own(uri) is not Health.OK:
                status["Health"] = self.graph.own(uri).value
            if self.graph.depends(uri):
                status["HealthRollup"] = self.graph.rollup(uri).value
        found = self.graph.conditions(uri, CONDITIONS_MAX)
        if found:
            status["Conditions"] = [
                condition_document(each, self._began_at(each, now)) for each in found
            ]
        properties = {**properties, **self._readings.get(uri, _NO_PROPERTIES)}
        patch = {"Status": status, **properties} if status else properties
        power = self._powers.get(uri)
        return (_laid(patch, power) if power else patch) or None

    def _began_at(self, condition: Condition, now: str | None) -> str | None:
        if condition not in self._since:
            self._since[condition] = self._began(condition) or now
        return self._since[condition]


def _laid(below: Mapping[str, Any], above: Mapping[str, Any]) -> Patch:
    """Return both patches as one, object by object; what is above wins."""
    laid = dict(below)
    for name, value in above.items():
        known = laid.get(name)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        laid[name] = _laid(known, value) if both and known is not None else value
    return laid

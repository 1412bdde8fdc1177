"""When a trouble began that was told before a restart, by what was announced. Pure."""

from typing import Any

import msgspec

from redfish_fm.control.state import WantedState
from redfish_fm.fabric.health import Condition
from redfish_fm.mapping.event_states import SINCE
from redfish_fm.redfish.changes import Space


def announced_since(state: WantedState, condition: Condition) -> str | None:
    """Return when the condition began by what was last told of its origin, as DateTime text."""
    raw = state.spaces[Space.ANNOUNCED].get(condition.origin)
    told = {} if raw is None else msgspec.json.decode(raw, type=dict[str, Any])
    since = told.get(SINCE, {}).get(condition.told)
    return since if isinstance(since, str) else None

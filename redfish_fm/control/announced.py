"""What of an observed state is told durably: the entries of the ANNOUNCED space.

Pure. An entry has State, Health, link and binding where they are not normal, and when each
condition of the resource itself began, so that a restart does not make an old trouble new.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from redfish_fm.control.state import WantedState
from redfish_fm.fabric.health import Condition
from redfish_fm.redfish.changes import Space

NORMAL = {"State": "Enabled", "Health": "OK", "LinkStatus": "LinkUp", "BindingStatus": "Unbound"}
"""What is not worth an entry."""
SINCE = "Since"
"""When each condition began, by its Message."""


def compact_state(uri: str, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event-worthy part of an observed patch, without what is normal."""
    status = patch.get("Status") or {}
    state = {
        "State": status.get("State"),
        "Health": status.get("Health"),
        "LinkStatus": patch.get("LinkStatus"),
        "BindingStatus": patch.get("BindingStatus"),
        SINCE: _own_conditions(uri, status) or None,
    }
    return {
        name: value
        for name, value in state.items()
        if value is not None and value != NORMAL.get(name)
    }


def announced_since(state: WantedState, condition: Condition) -> str | None:
    """Return when the condition began by what was last told of its origin, as DateTime text."""
    raw = state.spaces[Space.ANNOUNCED].get(condition.origin)
    told = {} if raw is None else msgspec.json.decode(raw, type=dict[str, Any])
    since = told.get(SINCE, {}).get(condition.told)
    return since if isinstance(since, str) else None


def _own_conditions(uri: str, status: Mapping[str, Any]) -> dict[str, str]:
    """Return what the resource itself causes; of others, the entry of the origin tells."""
    return {
        each["Message"]: each["Timestamp"]
        for each in status.get("Conditions", ())
        if each.get("OriginOfCondition") == {"@odata.id": uri} and "Timestamp" in each
    }

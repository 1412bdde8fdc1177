"""What was seen of the power of hosts, as properties laid over their resources.

Pure and mutable; one for the service. Said anew is only what changed. Owned here: PowerState and
LastResetTime, the Actions that a BMC can carry out, and all that a host without power shows
otherwise (`host_states`). Links of its ports are seen by the fabrics.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from redfish_fm.fabric.power import HostState, PowerState, ResetType
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.host_scene import chassis_uri, system_uri
from redfish_fm.mapping.host_states import draw_w, power_patches
from redfish_fm.mapping.power import BOOT_VALUES, MANAGER_RESETS
from redfish_fm.mapping.statuses import Patch, Statuses
from redfish_fm.mapping.uris import SYSTEM_COLLECTION
from redfish_fm.redfish.times import date_time

ACTION_INFO = "/redfish/v1/ActionInfos/{action}"
"""As schemas/service.json has it: where the protocol describes the parameters of an action."""
SYSTEM_RESET, MANAGER_RESET = "ComputerSystem.Reset", "Manager.Reset"
_BOOTING = {"LastState": "OSBootStarted"}
_BOOT_VALUES = {
    f"{name}@Redfish.AllowableValues": list(values) for name, values in BOOT_VALUES.items()
}


def system_of(host_id: str) -> str:
    """Return the URI of a host's system; hosts of an import are known by it."""
    return host_id if host_id.startswith("/") else system_uri(host_id)


def is_system(uri: str) -> bool:
    """Return whether a ComputerSystem is at `uri`.

    Of an import, who is the owner of a root complex may be shown by less: its endpoint, say.
    """
    collection, _, name = uri.rpartition("/")
    return collection == SYSTEM_COLLECTION and bool(name)


def reset_action(action: str, uri: str, values: frozenset[str]) -> dict[str, Any]:
    """Return the Actions of a resource that can be reset in these ways."""
    return {
        f"#{action}": {
            "target": f"{uri}/Actions/{action}",
            "@Redfish.ActionInfo": ACTION_INFO.format(action=action),
            "ResetType@Redfish.AllowableValues": sorted(values),
        }
    }


class ObservedHosts:
    """Looks at hosts, one look after another. `rendered` counts hosts said anew."""

    def __init__(self, statuses: Statuses) -> None:
        self._statuses = statuses
        self._facts: Facts | None = None
        self._last: dict[str, HostState] = {}
        self._said: dict[str, frozenset[str]] = {}
        self.rendered = 0

    def look(
        self,
        facts: Facts,
        resets: Mapping[str, frozenset[ResetType]],
        seen: Mapping[str, HostState],
    ) -> list[str]:
        """Take a look in; return the ids of hosts that were started since the look before.

        A host whose BMC does not answer keeps what was last seen of it.
        """
        parts = self.look_in_parts(facts, resets, seen)
        return [host for host, started in parts if started]

    def look_in_parts(
        self,
        facts: Facts,
        resets: Mapping[str, frozenset[ResetType]],
        seen: Mapping[str, HostState],
    ) -> Iterator[tuple[str, bool]]:
        """Look as `look` does; yield (host, whether it was started) after each that is said anew.

        What has no power takes some 10 ms to say. Nobody else may look meanwhile.
        """
        if facts is not self._facts:
            self._facts, self._last = facts, {}
            self._statuses.meter(facts)
        for host, state in seen.items():
            before = self._last.get(host)
            if before == state:
                continue
            self._last[host] = state
            self._say(host, facts, resets[host], state)
            yield host, before is not None and state.boots > before.boots

    def _say(
        self, host_id: str, facts: Facts, resets: frozenset[ResetType], state: HostState
    ) -> None:
        self.rendered += 1
        system = system_of(host_id)
        host, bmc = facts.hosts.get(system), facts.bmcs.get(system)
        patches: dict[str, Patch] = {}
        if host is not None:
            patches = power_patches(host, state.power.powered)
        elif not state.power.powered:
            patches = {system: {"Status": {"State": "StandbyOffline"}}}
        own = patches.setdefault(system, {})
        own |= _power_of(state)
        own["Actions"] = reset_action(
            SYSTEM_RESET, system, frozenset(each.value for each in resets)
        )
        if host is not None and host.hardware is not None:
            own["Boot"] = {**own.get("Boot", {}), **_BOOT_VALUES}
            if state.power is PowerState.POWERING_ON:
                own["BootProgress"] = _BOOTING
        if bmc is not None:
            patches[bmc] = _manager(bmc, state)
        gone = self._said.get(host_id, frozenset()) - patches.keys()
        self._said[host_id] = frozenset(patches)
        self._statuses.power({**patches, **{uri: {} for uri in gone}})
        watts = None if host is None else draw_w(host, state.power.powered)
        if watts is not None:
            self._statuses.load(chassis_uri(host_id), watts)


def _power_of(state: HostState) -> Patch:
    found: Patch = {"PowerState": state.power.value}
    if state.reset_s is not None:
        found["LastResetTime"] = date_time(state.reset_s)
    return found


def _manager(uri: str, state: HostState) -> Patch:
    found: Patch = {"Actions": reset_action(MANAGER_RESET, uri, MANAGER_RESETS)}
    if state.manager_reset_s is not None:
        found["LastResetTime"] = date_time(state.manager_reset_s)
    return found

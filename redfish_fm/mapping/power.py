"""Resets of hosts and of their BMCs, and what a host boots from: what a write means.

Pure. Redfish: ComputerSystem.v1_27_0 Reset and Boot, Manager.v1_24_0 Reset. A reset changes no
wanted state: it is a command, recorded as an operation until its BMC has answered (decision 0010).
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from redfish_fm.fabric.power import Machine, ResetType, ResetWish, is_coming
from redfish_fm.mapping import generic, refusals
from redfish_fm.mapping.drafts import Draft, OperationDraft, Tip
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind, Write

OF_NO_FABRIC = ""
"""Operation.fabric of what concerns a host."""

BOOT_VALUES: Mapping[str, tuple[str, ...]] = {
    "BootSourceOverrideEnabled": ("Disabled", "Once", "Continuous"),
    "BootSourceOverrideMode": ("UEFI",),
    "BootSourceOverrideTarget": ("None", "Pxe", "Hdd", "UefiHttp", "BiosSetup"),
}
"""Property of Boot -> what a host can be told."""

RETRY_S = 1.0
MANAGER_RESETS = frozenset({"GracefulRestart", "ForceRestart"})
_OVERRIDE = "BootSourceOverrideEnabled"
_SPENT = {_OVERRIDE: "Disabled", "BootSourceOverrideTarget": "None"}


def reset(write: Write, tip: Tip) -> Draft:
    """Return the draft of ComputerSystem.Reset. Raises RedfishError with the reason against it."""
    machine = tip.machine(write.uri)
    if machine is None:
        raise refusals.action_not_supported(write.action or "")
    given = write.body.get("ResetType")
    if given not in {each.value for each in machine.resets}:
        raise refusals.bad_content(
            messages.action_parameter_value_not_in_list(
                str(given), "ResetType", write.action or "", "#/ResetType"
            )
        )
    asked = ResetType(given)
    if machine.busy_s > 0:
        raise refusals.in_standby(machine.busy_s)
    power = None if machine.state is None else machine.state.power
    if power is not None and power.changing and not (asked.forced or is_coming(asked, power)):
        raise refusals.in_standby(RETRY_S)
    return _asking(write, machine, asked)


def reset_manager(write: Write, tip: Tip) -> Draft:
    """Return the draft of Manager.Reset: of a host's BMC, or of this service where it shows it."""
    machine = tip.machine(write.uri)
    if machine is not None:
        return _asking(write, machine, None)
    document = tip.document(write.uri) or {}
    offered = (document.get("Actions") or {}).get(f"#{write.action}")
    if offered is None:
        raise refusals.action_not_supported(write.action or "")
    given = write.body.get("ResetType")
    if given not in offered.get("ResetType@Redfish.AllowableValues", MANAGER_RESETS):
        raise refusals.bad_content(
            messages.action_parameter_value_not_in_list(
                str(given), "ResetType", write.action or "", "#/ResetType"
            )
        )
    raw = tip.overlay(write.uri)
    overlay = {} if raw is None else msgspec.json.decode(raw, type=dict[str, Any])
    after = msgspec.json.encode({**overlay, "LastResetTime": tip.timestamp()}, order="sorted")
    return Draft(OutcomeKind.CHANGED, write.uri, (Edit(Space.OVERLAY, write.uri, raw, after),))


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH of a system: how it boots only where it is driven."""
    boot = write.body.get("Boot")
    if isinstance(boot, Mapping):
        known = (tip.document(write.uri) or {}).get("Boot")
        if tip.machine(write.uri) is None or not isinstance(known, Mapping):
            raise refusals.bad_content(messages.property_not_writable("Boot", "#/Boot"))
        told = [
            messages.property_value_not_in_list(str(boot[name]), name, f"#/Boot/{name}")
            for name, values in BOOT_VALUES.items()
            if name in boot and boot[name] not in values
        ]
        if told:
            raise refusals.bad_content(*told)
    return generic.patch(write, tip)


def booted(uris: Iterable[str], tip: Tip) -> Draft:
    """Return the draft after a start of the systems at `uris`: what was meant once is spent."""
    spent = (_spent(uri, tip.overlay(uri)) for uri in uris)
    edits = tuple(edit for edit in spent if edit is not None)
    return Draft(OutcomeKind.CHANGED if edits else OutcomeKind.NO_OPERATION, "", edits)


def _spent(uri: str, raw: bytes | None) -> Edit | None:
    overlay = {} if raw is None else msgspec.json.decode(raw, type=dict[str, Any])
    boot = overlay.get("Boot") or {}
    if boot.get(_OVERRIDE) != "Once":
        return None
    after = {**overlay, "Boot": {**boot, **_SPENT}}
    return Edit(Space.OVERLAY, uri, raw, msgspec.json.encode(after, order="sorted"))


def _asking(write: Write, machine: Machine, asked: ResetType | None) -> Draft:
    if machine.state is None:
        raise refusals.not_ready(RETRY_S)
    wish = ResetWish(machine.host, asked, machine.state)
    operation = OperationDraft(OF_NO_FABRIC, write.uri, frozenset({write.uri}), reset=wish)
    return Draft(OutcomeKind.CHANGED, write.uri, operation=operation)

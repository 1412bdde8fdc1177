"""What can be wrong with a resource of a fabric, as Conditions, and how they read in JSON.

Pure tables and constructors. A Condition names who causes it; whoever depends on that shows the
same one. Redfish: Resource.v1_23_0 Status.Conditions; ResourceEvent.1.4 messages.
"""

from typing import Any

from redfish_fm.fabric.health import Condition, Health
from redfish_fm.fabric.values import Violation
from redfish_fm.mapping.rendering import ref

ERRORS_DETECTED = "ResourceEvent.1.4.ResourceErrorsDetected"
"""MessageId where no other fits: what reports errors and of which kind are its arguments."""
FOREIGN_BINDING = "RedfishFM.1.0.ForeignBinding"
ISOLATION_VIOLATED = "RedfishFM.1.0.IsolationViolated"
STATUS_CHANGED = {
    Health.WARNING: "ResourceEvent.1.4.ResourceStatusChangedWarning",
    Health.CRITICAL: "ResourceEvent.1.4.ResourceStatusChangedCritical",
}
"""MessageId of a health that hardware reports: the resource and the health are its arguments."""


def ailing(origin: str, health: Health) -> Condition:
    """Say that hardware reports this health, which is not OK, of `origin`."""
    told = f"{origin} reports health {health.value}"
    return Condition(health, origin, STATUS_CHANGED[health], (origin, health.value), told)


def trouble(severity: Health, origin: str, kind: str) -> Condition:
    """Say that there is trouble of a kind with `origin`; `kind` is a few words of ours."""
    return Condition(severity, origin, ERRORS_DETECTED, (origin, kind), f"{origin}: {kind}")


def absent(origin: str) -> Condition:
    """Say that a device that should be there is not."""
    return trouble(Health.CRITICAL, origin, "no device is present")


def exchanged(port: str, serial_number: str) -> Condition:
    """Say that another device than inventory knows is plugged into `port`."""
    return trouble(
        Health.WARNING, port, f"an unknown device with serial number {serial_number} is plugged in"
    )


def link_down(origin: str) -> Condition:
    """Say that a device is there and can not be reached."""
    return trouble(Health.CRITICAL, origin, "the link is down")


def unpowered(origin: str) -> Condition:
    """Say that a device is there without power."""
    return trouble(Health.WARNING, origin, "the device has no power")


def silent(origin: str) -> Condition:
    """Say that a switch or fabric does not answer."""
    return trouble(Health.CRITICAL, origin, "no answer")


def stale(switch: str) -> Condition:
    """Say that what is shown is what was last seen, because `switch` does not answer."""
    return trouble(
        Health.WARNING, switch, "no answer; what was last seen of what is behind it is shown"
    )


def unbound(holder: str) -> Condition:
    """Say that hardware has not bound what a zone or connection was promised."""
    return trouble(Health.CRITICAL, holder, "hardware has no binding for what was granted")


def foreign(vppb: str) -> Condition:
    """Say that somebody else bound this vPPB (or, where it has no resource, this port)."""
    told = f"{vppb}: bound by somebody else than this service"
    return Condition(Health.WARNING, vppb, FOREIGN_BINDING, (vppb,), told)


def foreign_part(port: str) -> Condition:
    """Say that behind this port there is a part of a pool that somebody else allocated."""
    return trouble(Health.WARNING, port, "capacity allocated by somebody else than this service")


def displaced(part: str) -> Condition:
    """Say that hardware has another part in the place of what was granted, and keeps it."""
    return trouble(
        Health.CRITICAL, part, "hardware has a part of another size or sharing in its place"
    )


def still_bound(part: str) -> Condition:
    """Say that a part is gone and can not be made again, because its place is still bound."""
    return trouble(Health.CRITICAL, part, "hardware has lost it, and its place is still bound")


def violated(violation: Violation) -> Condition:
    """Say that a host reaches a unit that it should not reach."""
    hosts = ", ".join(violation.others) or "nobody entitled"
    told = f"isolation violation: {violation.subject} reached by {hosts}"
    args = (violation.subject, hosts)
    return Condition(Health.CRITICAL, violation.subject, ISOLATION_VIOLATED, args, told)


def condition_document(condition: Condition, since: str | None) -> dict[str, Any]:
    """Return one member of Status.Conditions; `since` is when it began, as DateTime text."""
    document: dict[str, Any] = {
        "MessageId": condition.message_id,
        "MessageArgs": list(condition.args),
        "Message": condition.told,
        "Severity": condition.severity.value,
    }
    if since is not None:
        document["Timestamp"] = since
    if condition.origin.startswith("/"):
        document["OriginOfCondition"] = ref(condition.origin)
    return document

"""Which message tells of what: tables from type and transition to keys of registries.

Pure. What every resource has in common is told by ResourceEvent; where a registry knows the type
(Fabric, Composition, StorageDevice), its own message is told too. Redfish: Fabric.1.0,
Composition.1.1, ResourceEvent.1.4, StorageDevice.1.5, TaskEvent.1.0.
"""

from collections.abc import Iterator

from redfish_fm.mapping.uris import fabric_of
from redfish_fm.redfish.changes import FeedOp
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.events import EventKind
from redfish_fm.values import value_class

CREATED = "ResourceEvent.ResourceCreated"
CHANGED = "ResourceEvent.ResourceChanged"
REMOVED = "ResourceEvent.ResourceRemoved"
STATE_CHANGED = "ResourceEvent.ResourceStateChanged"
ERRORS_DETECTED = "ResourceEvent.ResourceErrorsDetected"
ERRORS_CORRECTED = "ResourceEvent.ResourceErrorsCorrected"

HEALTHS = {
    "OK": "ResourceEvent.ResourceStatusChangedOK",
    "Warning": "ResourceEvent.ResourceStatusChangedWarning",
    "Critical": "ResourceEvent.ResourceStatusChangedCritical",
}
"""By Status.Health: of the resource and its health."""

ROLLUPS = {
    "OK": "RedfishFM.HealthRollupOK",
    "Warning": "RedfishFM.HealthRollupWarning",
    "Critical": "RedfishFM.HealthRollupCritical",
}
"""By Status.HealthRollup: of the resource."""

POWERS = {
    "On": "ResourceEvent.ResourcePoweredOn",
    "Off": "ResourceEvent.ResourcePoweredOff",
    "PoweringOn": "ResourceEvent.ResourcePoweringOn",
    "PoweringOff": "ResourceEvent.ResourcePoweringOff",
    "Paused": "ResourceEvent.ResourcePaused",
}
"""By PowerState: of the resource."""

OVER = {
    ERRORS_DETECTED: ERRORS_CORRECTED,
    "RedfishFM.IsolationViolated": "RedfishFM.IsolationRestored",
    "RedfishFM.ForeignBinding": "RedfishFM.ForeignBindingGone",
}
"""What tells, with the same arguments, that a condition of this message is over."""

GENERIC = {FeedOp.CREATED: CREATED, FeedOp.CHANGED: CHANGED, FeedOp.DELETED: REMOVED}

IN_FABRIC = {
    "Zone": {FeedOp.CREATED: "Fabric.ZoneCreated", FeedOp.CHANGED: "Fabric.ZoneModified",
             FeedOp.DELETED: "Fabric.ZoneRemoved"},
    "Connection": {FeedOp.CREATED: "Fabric.ConnectionCreated",
                   FeedOp.CHANGED: "Fabric.ConnectionModified",
                   FeedOp.DELETED: "Fabric.ConnectionRemoved"},
    "Endpoint": {FeedOp.CREATED: "Fabric.EndpointCreated",
                 FeedOp.CHANGED: "Fabric.EndpointModified",
                 FeedOp.DELETED: "Fabric.EndpointRemoved"},
    "AddressPool": {FeedOp.CREATED: "Fabric.AddressPoolCreated",
                    FeedOp.CHANGED: "Fabric.AddressPoolModified",
                    FeedOp.DELETED: "Fabric.AddressPoolRemoved"},
}  # fmt: skip
"""By type and what happened to the resource: of its Id and that of its fabric."""

BLOCK_CHANGED = "Composition.ResourceBlockChanged"
BLOCK_STATE = "Composition.ResourceBlockStateChanged"
BLOCK_COMPOSITION = "Composition.ResourceBlockCompositionStateChanged"
MEMBERSHIP = "Composition.ResourceZoneMembershipChanged"

PORT_HEALTHS = {
    "OK": "Fabric.PortOK", "Warning": "Fabric.PortDegraded", "Critical": "Fabric.PortFailed",
}  # fmt: skip
SWITCH_OK, SWITCH_DEGRADED, SWITCH_FAILED = (
    "Fabric.SwitchOK", "Fabric.SwitchDegraded", "Fabric.SwitchFailed",
)  # fmt: skip

DOWNSTREAM = "DownstreamPort"
LINKS = {
    DOWNSTREAM: ("Fabric.DownstreamLinkDropped", "Fabric.DownstreamLinkEstablished"),
    "UpstreamPort": ("Fabric.UpstreamLinkDropped", "Fabric.UpstreamLinkEstablished"),
    "InterswitchPort": ("Fabric.InterswitchLinkDropped", "Fabric.InterswitchLinkEstablished"),
}
"""By PortType: the link of a switch's port went down, came up; of the Ids of switch and port."""

DRIVES = {"Absent": "StorageDevice.DriveRemoved", "Enabled": "StorageDevice.DriveInserted"}
"""By State, where one of both was Absent: of the drive."""

TASK_REMOVED = "TaskEvent.TaskRemoved"
TASK_STARTED = "TaskEvent.TaskStarted"
TASK_PROGRESS = "TaskEvent.TaskProgressChanged"
TASK_ENDS = {
    ("Completed", "OK"): "TaskEvent.TaskCompletedOK",
    ("Completed", "Warning"): "TaskEvent.TaskCompletedWarning",
    ("Exception", "Critical"): "TaskEvent.TaskAborted",
    ("Cancelled", "Warning"): "TaskEvent.TaskCancelled",
}
"""By TaskState and TaskStatus: of the Task's Id."""


@value_class
class Told:
    """An event before it has its place: what is told of which resource.

    `kind` None: that of the message. `specific`: another one says it more exactly.
    """

    message: Message
    origin: str
    origin_type: str | None
    kind: EventKind | None = None
    specific: bool = False
    gone: bool = False


def name_of(uri: str) -> str:
    """Return the Id that a URI ends in."""
    return uri.rpartition("/")[2]


def in_fabric(type_name: str | None, op: FeedOp, uri: str) -> Message | None:
    """Return what the Fabric registry says of it, or None."""
    key, fabric = IN_FABRIC.get(type_name or "", {}).get(op), fabric_of(uri)
    return None if key is None or fabric is None else Message(key, (name_of(uri), fabric))


def at_switch(uri: str) -> tuple[str, str] | None:
    """Return the Ids of switch and port of a switch's port, or None for another port."""
    match uri.split("/"):
        case [*_, "Switches", switch, "Ports", port]:
            return (switch, port)
    return None


def examples() -> Iterator[Message]:
    """Yield one message of each kind that is told, for the check against the registries."""
    none = (CREATED, CHANGED, REMOVED)
    blocks = (BLOCK_CHANGED, BLOCK_STATE, BLOCK_COMPOSITION, MEMBERSHIP)
    switches = (SWITCH_OK, SWITCH_DEGRADED, SWITCH_FAILED)
    tasks = (TASK_REMOVED, TASK_STARTED, *TASK_ENDS.values())
    one = (*ROLLUPS.values(), *POWERS.values(), *blocks, *switches, *DRIVES.values(), *tasks)
    foreign = ("RedfishFM.ForeignBinding", "RedfishFM.ForeignBindingGone")
    isolation = ("RedfishFM.IsolationViolated", "RedfishFM.IsolationRestored")
    in_fabrics = (key for keys in IN_FABRIC.values() for key in keys.values())
    links = (key for keys in LINKS.values() for key in keys)
    two = (
        STATE_CHANGED, ERRORS_DETECTED, ERRORS_CORRECTED, *HEALTHS.values(), *in_fabrics, *links,
        *PORT_HEALTHS.values(), *isolation, TASK_PROGRESS,
    )  # fmt: skip
    for count, keys in enumerate((none, (*one, *foreign), two)):
        yield from (Message(key, ("x",) * count) for key in keys)

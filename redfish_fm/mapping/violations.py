"""One table: each way to break isolation -> HTTP status, messages, arguments.

The only place where a fabric Rule meets a MessageId. Messages name the URIs at fault in their
arguments, because standard in-use messages take none; `ResourceInUse` follows where something
is in use, for clients that look for it. 400 (the request can never be right) wins over 409.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.redfish.errors import Message, RedfishError

CONFLICT = "Base.PropertyValueResourceConflict"
IN_USE = "Base.ResourceInUse"


@dataclass(frozen=True, slots=True)
class Row:
    """How one rule is told. `template` gives the arguments of `key`, with {property}, {subject},
    {holder} and {other} (the first of others) filled in; `property` is the one meant when the
    violation has no pointer; `also` keys take no arguments and follow once.
    """

    status: int
    key: str
    template: tuple[str, ...]
    property: str = "Links/Endpoints"
    also: tuple[str, ...] = ()


_CONFLICT_ARGS = ("{property}", "{subject}", "{holder}")


def _in_use(name: str = "Links/Endpoints") -> Row:
    return Row(409, CONFLICT, _CONFLICT_ARGS, name, (IN_USE,))


TABLE: dict[Rule, Row] = {
    Rule.HOST_SHARING: _in_use(),
    Rule.ZONE_MANY_HOSTS: _in_use(),
    Rule.ZONE_UNIT_TWICE: _in_use(),
    Rule.CONNECTION_NO_COMMON_ZONE: Row(409, CONFLICT, _CONFLICT_ARGS, "Links/TargetEndpoints"),
    Rule.CONNECTION_CHUNK_FOREIGN: Row(400, CONFLICT, _CONFLICT_ARGS, "MemoryChunkInfo"),
    Rule.CONNECTION_CHUNK_MISSING: Row(
        400, "Base.PropertyMissing", ("{holder}",), "MemoryChunkInfo"
    ),
    Rule.CONNECTION_ACCESS: Row(
        400, CONFLICT, _CONFLICT_ARGS, "MemoryChunkInfo/AccessCapabilities"
    ),
    Rule.LD_HOST: _in_use("MemoryChunkInfo"),
    Rule.LD_FM_OWNED: Row(
        400, "Base.PropertyValueIncorrect", ("{property}", "{subject}"), "MemoryChunkInfo"
    ),
    Rule.NO_FREE_VPPB: Row(409, "Base.ResourceExhaustion", ("{other}",)),
    Rule.NO_PATH: Row(409, CONFLICT, _CONFLICT_ARGS),
    Rule.TARGET_UNAVAILABLE: Row(409, CONFLICT, _CONFLICT_ARGS),
    Rule.DUPLICATE_MEMBER: Row(400, "Base.PropertyValueIncorrect", ("{property}", "{subject}")),
    Rule.UNKNOWN_MEMBER: Row(400, "Base.ResourceMissingAtURI", ("{subject}",)),
    Rule.FOREIGN_FABRIC: Row(400, CONFLICT, _CONFLICT_ARGS),
    Rule.NOT_BINDABLE: Row(400, "Base.PropertyMissing", ("ConnectedEntities",)),
    Rule.ENDPOINT_IN_USE: _in_use("Links"),
    Rule.ZONE_IN_USE: _in_use("Links"),
    Rule.PORT_HAS_INITIATOR: _in_use("Links/ConnectedPorts"),
    Rule.ZONE_TYPE: Row(400, "Base.PropertyValueError", ("{property}",), "ZoneType"),
    Rule.ZONE_NESTING: Row(400, CONFLICT, _CONFLICT_ARGS, "Links/ContainsZones"),
    Rule.CONNECTION_SIDES: Row(
        400, "Base.PropertyValueConflict", ("{property}", "{holder}"), "Links/InitiatorEndpoints"
    ),
    Rule.CONNECTION_REGION_FOREIGN: Row(400, CONFLICT, _CONFLICT_ARGS, "MemoryRegionInfo"),
    Rule.CONNECTION_VOLUME_FOREIGN: Row(400, CONFLICT, _CONFLICT_ARGS, "VolumeInfo"),
    Rule.CONNECTION_LUN: Row(400, CONFLICT, _CONFLICT_ARGS, "VolumeInfo/LUN"),
    Rule.SHARING_NEEDS_REGION: _in_use("MemoryChunkInfo"),
    Rule.NOT_CARVABLE: Row(
        400, "Base.ResourceCreationConflict", ("{holder}",), "MemoryChunkSizeMiB"
    ),
    Rule.PART_SIZE: Row(
        400, "Base.PropertyValueIncorrect", ("{property}", "{subject}"), "MemoryChunkSizeMiB"
    ),
    Rule.PART_RANGE: Row(
        400, "Base.PropertyValueOutOfRange", ("{subject}", "{property}"), "MemoryChunkSizeMiB"
    ),
    Rule.PART_OVERLAP: _in_use("AddressRangeOffsetMiB"),
    Rule.POOL_EXHAUSTED: Row(409, "Base.ResourceExhaustion", ("{holder}",), "MemoryChunkSizeMiB"),
    Rule.BANDWIDTH: _in_use("QoS/AllocatedBandwidth"),
    Rule.PART_IN_USE: _in_use("Links"),
    Rule.MUTUALLY_EXCLUSIVE: Row(409, CONFLICT, _CONFLICT_ARGS),
    Rule.GROUP_IN_USE: _in_use("Links"),
    Rule.DEFAULT_ROUTING: Row(409, CONFLICT, _CONFLICT_ARGS, "DefaultRoutingEnabled"),
    Rule.VPPB_HELD: _in_use("Links/Port"),
    Rule.VPPB_WRONG_UNIT: Row(
        400, "Base.PropertyValueConflict", ("{property}", "Connection"), "Links/Port"
    ),
    Rule.MAX_ZONES: Row(409, "Base.CreateLimitReachedForResource", ()),
}


BY_HOLDER: dict[Rule, Row] = {Rule.NOT_BINDABLE: Row(400, CONFLICT, _CONFLICT_ARGS)}
"""Rules that are told in another way where the violation names a holder: the member's device."""


def to_messages(
    violations: Iterable[Violation], pointers: Mapping[str, str] | None = None
) -> tuple[Message, ...]:
    """Return the messages of all violations, 400 first, none twice.

    `pointers` maps a subject to where the client's body names it, where that is not where the
    resource does (the parameter of an action).
    """
    told: dict[Message, None] = {}
    also: dict[Message, None] = {}
    for violation in sorted(violations, key=lambda each: TABLE[each.rule].status):
        told_by = BY_HOLDER if violation.holder is not None else TABLE
        row = told_by.get(violation.rule, TABLE[violation.rule])
        pointer = (pointers or {}).get(violation.subject, violation.pointer)
        told[_message(row, violation, pointer)] = None
        also.update((Message(key), None) for key in row.also)
    return (*told, *also)


def _message(row: Row, violation: Violation, pointer: str | None) -> Message:
    place = (pointer or row.property).lstrip("#/")
    words = {
        "property": place,
        "subject": violation.subject,
        "holder": violation.holder or " ".join(violation.others) or violation.subject,
        "other": next(iter(violation.others), violation.subject),
    }
    args = tuple(part.format(**words) for part in row.template)
    return Message(row.key, args, (f"#/{place}",))


def to_error(
    violations: Iterable[Violation], pointers: Mapping[str, str] | None = None
) -> RedfishError:
    """Return the refusal that tells all violations; at least one is given."""
    found = list(violations)
    status = min(TABLE[violation.rule].status for violation in found)
    return RedfishError(status, to_messages(found, pointers))

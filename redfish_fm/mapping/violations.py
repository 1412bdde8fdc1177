"""One table: each way to break isolation -> HTTP status, messages, arguments.

The only place where a fabric Rule meets a MessageId. Messages name the URIs at fault in their
arguments, because standard in-use messages take none; `ResourceInUse` follows where something
is in use, for clients that look for it. 400 (the request can never be right) wins over 409.

What a client has to look at is always told as the URI of a resource that is there: rules know
fabrics and access by other names, and a new resource has no URI yet that would lead anywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.mapping import uris
from redfish_fm.redfish.errors import Message, RedfishError

CONFLICT = "Base.PropertyValueResourceConflict"
IN_USE = "Base.ResourceInUse"


@dataclass(frozen=True, slots=True)
class Row:
    """How one rule is told. `template` gives the arguments of `key`, with these filled in:
    {property}, {subject}, {holder} (without one a message for each resource of others, or else the
    subject), {other} (the first resource of others), {value} (the first of others, whatever it is),
    {blamed} (the holder, or else the subject) and {fabric} (the URI of the fabric whose id the
    holder is). `property` is the one meant when the violation has no pointer; `also` keys take no
    arguments and follow once.
    """

    status: int
    key: str
    template: tuple[str, ...]
    property: str = "Links/Endpoints"
    """Where the body names what is wrong; empty where it is the body as a whole."""
    also: tuple[str, ...] = ()


_CONFLICT_ARGS = ("{property}", "{subject}", "{holder}")


_BLAMED = ("{property}", "{subject}", "{blamed}")
"""What is the matter lies in the subject itself, unless a holder is said."""

_ITSELF = ("{property}", "{subject}", "{subject}")
"""What is the matter lies in the subject; the holder may be a zone that is not there yet."""


def _in_use(name: str = "Links/Endpoints", args: tuple[str, ...] = _CONFLICT_ARGS) -> Row:
    return Row(409, CONFLICT, args, name, (IN_USE,))


TABLE: dict[Rule, Row] = {
    Rule.COMPOSED: _in_use(),
    Rule.BLOCK_UNKNOWN: Row(
        400, "Base.ResourceMissingAtURI", ("{subject}",), "Links/ResourceBlocks"
    ),
    Rule.BLOCK_TWICE: Row(
        400, "Base.PropertyValueIncorrect", ("{property}", "{subject}"), "Links/ResourceBlocks"
    ),
    Rule.BLOCK_COMPUTE: Row(
        400, "Base.PropertyValueIncorrect", ("{property}", "{subject}"), "Links/ResourceBlocks"
    ),
    Rule.BLOCK_TAKEN: _in_use("Links/ResourceBlocks"),
    Rule.BLOCK_IN_USE: _in_use("Links/ResourceBlocks"),
    Rule.BLOCK_UNAVAILABLE: Row(409, CONFLICT, _CONFLICT_ARGS, "Links/ResourceBlocks"),
    Rule.HOST_SHARING: _in_use(),
    Rule.ZONE_MANY_HOSTS: _in_use(args=("{property}", "{subject}", "{other}")),
    Rule.ZONE_UNIT_TWICE: _in_use(),
    Rule.CONNECTION_NO_COMMON_ZONE: Row(409, CONFLICT, _CONFLICT_ARGS, "Links/TargetEndpoints"),
    Rule.CONNECTION_CHUNK_FOREIGN: Row(400, CONFLICT, _CONFLICT_ARGS, "MemoryChunkInfo"),
    Rule.CONNECTION_CHUNK_MISSING: Row(
        400, "Base.PropertyMissing", ("{holder}",), "MemoryChunkInfo"
    ),
    Rule.CONNECTION_ACCESS: Row(
        400, CONFLICT, ("{property}", "{holder}", "{subject}"), "MemoryChunkInfo/AccessCapabilities"
    ),
    Rule.LD_HOST: _in_use("MemoryChunkInfo"),
    Rule.LD_FM_OWNED: Row(
        400, "Base.PropertyValueIncorrect", ("{property}", "{subject}"), "MemoryChunkInfo"
    ),
    Rule.NO_FREE_VPPB: Row(409, "Base.ResourceExhaustion", ("{other}",)),
    Rule.NO_PATH: Row(409, CONFLICT, _CONFLICT_ARGS),
    Rule.TARGET_UNAVAILABLE: Row(409, CONFLICT, _BLAMED),
    Rule.DUPLICATE_MEMBER: Row(400, "Base.PropertyValueIncorrect", ("{property}", "{subject}")),
    Rule.UNKNOWN_MEMBER: Row(400, "Base.ResourceMissingAtURI", ("{subject}",)),
    Rule.FOREIGN_FABRIC: Row(400, CONFLICT, ("{property}", "{subject}", "{fabric}")),
    Rule.NOT_BINDABLE: Row(400, CONFLICT, _BLAMED),
    Rule.ENDPOINT_IN_USE: _in_use("Links"),
    Rule.ZONE_IN_USE: _in_use("Links"),
    Rule.PORT_HAS_INITIATOR: _in_use("Links/ConnectedPorts"),
    Rule.ZONE_TYPE: Row(400, "Base.PropertyValueError", ("{property}",), "ZoneType"),
    Rule.ZONE_NESTING: Row(400, CONFLICT, _ITSELF, "Links/ContainsZones"),
    Rule.CONNECTION_SIDES: Row(
        400, "Base.PropertyValueConflict", ("{property}", "{holder}"), "Links/InitiatorEndpoints"
    ),
    Rule.CONNECTION_REGION_FOREIGN: Row(400, CONFLICT, _CONFLICT_ARGS, "MemoryRegionInfo"),
    Rule.CONNECTION_VOLUME_FOREIGN: Row(400, CONFLICT, _CONFLICT_ARGS, "VolumeInfo"),
    Rule.CONNECTION_LUN: Row(
        400, CONFLICT, ("{property}", "{value}", "{holder}"), "VolumeInfo/LUN"
    ),
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
    Rule.MAX_ZONES: Row(409, "Base.CreateLimitReachedForResource", (), ""),
}


BY_PLACE: dict[tuple[Rule, str], Row] = {
    # A new endpoint has to say it; of a member of a zone, others do not say it in their body.
    (Rule.NOT_BINDABLE, "/ConnectedEntities"): Row(
        400, "Base.PropertyMissing", ("ConnectedEntities",)
    ),
    (Rule.ZONE_NESTING, "/ZoneType"): Row(400, CONFLICT, _CONFLICT_ARGS),
    # The body asks to route, and says nothing of the members that the zone holds already.
    (Rule.DEFAULT_ROUTING, "/DefaultRoutingEnabled"): Row(
        409, CONFLICT, ("{property}", "true", "{subject}")
    ),
    # The endpoint is new; the body says what it connects.
    (Rule.FOREIGN_FABRIC, "/ConnectedEntities"): Row(
        400, CONFLICT, ("{property}", "{value}", "{fabric}")
    ),
}
"""Rules that are told in another way where the violation has that pointer."""


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
        place = (violation.rule, violation.pointer or "")
        row = BY_PLACE.get(place, TABLE[violation.rule])
        pointer = (pointers or {}).get(violation.subject, violation.pointer)
        told.update((each, None) for each in _told(row, violation, pointer))
        also.update((Message(key), None) for key in row.also)
    return (*told, *also)


_OWN_HOST_FIRST = frozenset({Rule.HOST_SHARING, Rule.LD_HOST, Rule.SHARING_NEEDS_REGION})
"""Rules whose others begin with the host that wants what the rest has."""


def _told(row: Row, violation: Violation, pointer: str | None) -> Iterator[Message]:
    """Yield a message for each resource that is in the way: an argument is one URI."""
    place = (pointer or row.property).lstrip("#/")
    others = _resources(violation.others)
    words = {
        "property": place,
        "subject": violation.subject,
        "other": (others or [violation.subject])[0],
        "value": (violation.others or (violation.subject,))[0],
        "blamed": violation.holder or violation.subject,
        "fabric": violation.subject,
    }
    if violation.holder is not None:
        words["fabric"] = uris.FABRIC.format(fabric=violation.holder)
    for holder in _holders(violation):
        args = tuple(part.format(**words, holder=holder) for part in row.template)
        yield Message(row.key, args, (f"#/{place}",) if place else ())


def _holders(violation: Violation) -> list[str]:
    if violation.holder is not None:
        return [violation.holder]
    rivals = violation.others[1:] if violation.rule in _OWN_HOST_FIRST else ()
    return _resources(rivals or violation.others) or [violation.subject]


def _resources(others: Iterable[str]) -> list[str]:
    """Return the URIs; a host may be known by a durable name only, and states stand there too."""
    return [each for each in others if each.startswith("/")]


def to_error(
    violations: Iterable[Violation], pointers: Mapping[str, str] | None = None
) -> RedfishError:
    """Return the refusal that tells all violations; at least one is given."""
    found = list(violations)
    status = min(TABLE[violation.rule].status for violation in found)
    return RedfishError(status, to_messages(found, pointers))


def refuse(
    told: Sequence[Message],
    violations: Sequence[Violation],
    pointers: Mapping[str, str] | None = None,
) -> None:
    """Raise RedfishError with everything that is against a write, if anything is.

    `told` is what its content itself can not be (400); `pointers` as for `to_messages`.
    """
    if told:
        messages = (*told, *to_messages(violations, pointers))
        raise RedfishError(400, tuple(dict.fromkeys(messages)))
    if violations:
        raise to_error(violations, pointers)

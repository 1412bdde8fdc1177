"""AddressPool writes: POST, PATCH, DELETE, and what makes a pool's numbers and addresses wrong.

Pure. Redfish: AddressPool.v1_3_0. A pool is a description that clients keep here; no driver hands
addresses out of it. So what can be wrong is in the document alone: ranges upside down or half
given, no IPv4 addresses, two purposes for one address, links that lead out of the fabric.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address
from itertools import combinations

from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.judging import (
    Change,
    Document,
    DocumentRules,
    plain_draft,
    plain_removal,
    refuse_added,
)
from redfish_fm.mapping.read import members
from redfish_fm.mapping.uris import fabric_of
from redfish_fm.mapping.violations import to_messages
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message

Bound = int | IPv4Address | bytes
"""One end of a range: a number, an IPv4 address or a MAC address. Of one kind, they compare."""

APART = (
    ("HostAddressRange", "LoopbackAddressRange", "FabricLinkAddressRange",
     "ManagementAddressRange"),
    ("IBGPAddressRange", "EBGPAddressRange"),
)  # fmt: skip
"""Ranges of Ethernet.IPv4 that may not overlap: an address is a host's, a loopback's, a link's or
a manager's, and a BGP neighbor is of the same AS or of another. Neighbors do have addresses of
links and loopbacks, so the two groups are judged apart."""

LIMITS = {
    "CIDR": (0, 32),
    "MaxCID": (0, 0xFFF),
    "MaxSID": (0, 0xFFFF),
    "MinCID": (0, 0xFFF),
    "MinSID": (0, 0xFFFF),
    "MultihopTTL": (1, 255),
}
"""Numbers that the schema leaves open: bits of an IPv4 prefix, Gen-Z identifiers (12 and 16 bits,
as the patterns of Endpoint.GenZ.GCID say), an IP packet's time to live."""

SIGNED = frozenset({"NTPOffsetHoursMinutes"})
"""The one number of a pool that may be below zero; all others count, last or identify."""

_ADDRESSES = frozenset({"Address", "AnycastGatewayIPAddress", "DNSServer", "GatewayIPAddress"})
_GEN_Z = (("MinCID", "MaxCID"), ("MinSID", "MaxSID"))


def _judge(change: Change, tip: Tip) -> Draft:
    before = change.before or {}
    known = [*_form(before), *to_messages(_links(change.uri, before, tip))]
    refuse_added([*_form(change.after), *to_messages(_links(change.uri, change.after, tip))], known)
    return plain_draft(change, tip)


RULES = DocumentRules("AddressPool", _judge, lambda uri, _document, tip: plain_removal(uri, tip))


# -- links -----------------------------------------------------------------------------------


def _links(uri: str, document: Document, tip: Tip) -> list[Violation]:
    """Return every link to what is no endpoint or zone of the pool's fabric, or given twice."""
    found: list[Violation] = []
    known: dict[str, Mapping[str, object]]
    known = {"Endpoints": tip.index.endpoints, "Zones": tip.index.zones}
    for name, resources in known.items():
        linked = members(document, f"Links/{name}")
        for position, target in enumerate(linked):
            pointer = f"/Links/{name}/{position}"
            if target not in resources:
                found.append(Violation(Rule.UNKNOWN_MEMBER, target, None, pointer))
            elif fabric_of(target) != fabric_of(uri):
                holder = fabric_of(target)
                found.append(Violation(Rule.FOREIGN_FABRIC, target, holder, pointer))
            if target in linked[:position]:
                found.append(Violation(Rule.DUPLICATE_MEMBER, target, None, pointer))
    return found


def with_back_links(documents: Mapping[str, Document]) -> dict[str, Document]:
    """Return the pools among `documents` that endpoints or zones name and that do not name them.

    Each with the missing links added. An import may say it on either side; here the pool does.
    """
    completed: dict[str, Document] = {}
    for uri, document in documents.items():
        name = {"Endpoints": "Endpoints", "Zones": "Zones"}.get(uri.rsplit("/", 2)[-2])
        for pool in members(document, "Links/AddressPools") if name else ():
            found = completed.get(pool) or documents.get(pool)
            if found is not None and uri not in members(found, f"Links/{name}"):
                links = dict(found.get("Links") or {})
                links[str(name)] = [*(links.get(str(name)) or []), {"@odata.id": uri}]
                completed[pool] = {**found, "Links": links}
    return completed


# -- numbers and addresses -------------------------------------------------------------------


def _form(document: Document) -> list[Message]:
    """Return everything wrong inside of Ethernet and GenZ."""
    ethernet, gen_z = document.get("Ethernet"), document.get("GenZ")
    found = [] if not isinstance(ethernet, Mapping) else list(_walk(ethernet, "Ethernet"))
    if isinstance(ethernet, Mapping) and isinstance(ethernet.get("IPv4"), Mapping):
        found.extend(_overlaps(ethernet["IPv4"]))
    if isinstance(gen_z, Mapping):
        found.extend(_walk(gen_z, "GenZ"))
        for lower, upper in _GEN_Z:
            found.extend(_range(gen_z, "GenZ", lower, upper))
    return found


def _walk(value: object, path: str) -> Iterator[Message]:
    """Yield what is wrong with one value and everything in it; `path` has slashes."""
    name = path.rsplit("/", 1)[-1]
    if isinstance(value, Mapping):
        for each, inner in value.items():
            yield from _walk(inner, f"{path}/{each}")
        if "Lower" in value or "Upper" in value:
            yield from _range(value, path, "Lower", "Upper")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            if name in _ADDRESSES:
                yield from _address(item, name, f"{path}/{position}")
    elif name in _ADDRESSES:
        yield from _address(value, name, path)
    elif isinstance(value, int) and not isinstance(value, bool) and name not in SIGNED:
        least, most = LIMITS.get(name, (0, None))
        if value < least or (most is not None and value > most):
            yield messages.property_value_out_of_range(str(value), name, f"#/{path}")


def _address(value: object, name: str, path: str) -> Iterator[Message]:
    if isinstance(value, str) and _bound(value) is None:
        yield messages.property_value_format_error(value, name, f"#/{path}")


def _range(holder: Document, path: str, lower: str, upper: str) -> Iterator[Message]:
    """Yield what is wrong with one range: an end missing or unreadable, or upside down."""
    given = {name: holder.get(name) for name in (lower, upper)}
    if all(value is None for value in given.values()):
        return
    bounds: list[Bound] = []
    for name, value in given.items():
        bound = _bound(value)
        if value is None:
            yield messages.property_missing(f"{path}/{name}", f"#/{path}/{name}")
        elif bound is None:
            yield messages.property_value_format_error(str(value), name, f"#/{path}/{name}")
        else:
            bounds.append(bound)
    if len(bounds) == len(given) and not _ordered(*bounds):
        names = [f"{path}/{name}" for name in given]
        yield messages.property_value_conflict(*names, *(f"#/{name}" for name in names))


def _overlaps(ipv4: Document) -> Iterator[Message]:
    for group in APART:
        for one, other in combinations(group, 2):
            ends = [_ends(ipv4.get(name)) for name in (one, other)]
            if None not in ends and _overlap(*ends):  # type: ignore[arg-type]
                names = [f"Ethernet/IPv4/{name}" for name in (one, other)]
                yield messages.property_value_conflict(*names, *(f"#/{name}" for name in names))


def _ends(value: object) -> tuple[Bound, Bound] | None:
    """Return both ends of a range that is in order, else None: that is told elsewhere."""
    if not isinstance(value, Mapping):
        return None
    lower, upper = _bound(value.get("Lower")), _bound(value.get("Upper"))
    if lower is None or upper is None or not _ordered(lower, upper):
        return None
    return lower, upper


def _overlap(one: tuple[Bound, Bound], other: tuple[Bound, Bound]) -> bool:
    return _ordered(one[0], other[1]) and _ordered(other[0], one[1])


def _ordered(lower: Bound, upper: Bound) -> bool:
    """Return whether `lower` is not above `upper`; ends of two kinds are in no order."""
    return type(lower) is type(upper) and lower <= upper  # type: ignore[operator]


def _bound(value: object) -> Bound | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    try:
        if ":" in value or "-" in value:
            return bytes.fromhex(value.replace(":", "").replace("-", ""))
        return IPv4Address(value)
    except ValueError:
        return None

"""A request for a system by what it needs, read into the wishes that placement understands.

Pure. Redfish: ComputerSystem.v1_27_0 with @Redfish.RequestedCount in members of Processors, Memory,
Storage, SimpleStorage, EthernetInterfaces and NetworkInterfaces; our own wishes stand under
Oem.RedfishFM (schemas/oem/RedfishFMComposition_v1.xml). What can not be read as a wish is told,
never passed over: a client must not believe that it was heeded.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from redfish_fm.fabric.placement_values import (
    ComputeWish,
    MemoryPolicy,
    MemoryWish,
    Request,
    Wish,
)
from redfish_fm.mapping.links import uris_at
from redfish_fm.redfish import messages, oem
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.values import pointer_to, quoted

COUNT = "@Redfish.RequestedCount"
AFFINITY = "@Redfish.ZoneAffinity"
OVERPROVISIONING = "@Redfish.AllowOverprovisioning"
COUNT_MAX = 4096
"""Of one member: more than any rack holds, and few enough to look for."""
WISHES_MAX = 64
"""In one request: they are met together, in one step that nobody interrupts."""
SIZE_MAX = 1 << 62
"""Of a capacity or another number: what no device has."""
BYTES_PER_MIB = 1 << 20
BITS_PER_BYTE = 8

LATENCY = "MaxLatencyNanoseconds"
BANDWIDTH = "MinBandwidthMegabytesPerSecond"
SAME_SWITCH = "SameSwitch"
SPREAD = "SpreadOverFailureDomains"
POLICY = "MemoryPolicy"
_OF_DEVICES = (LATENCY, BANDWIDTH, SAME_SWITCH, SPREAD)
REGION, ACCESS = "MemoryRegion", "AccessCapabilities"
_OF_MEMORY = (LATENCY, POLICY)
_OF_SHARED = (REGION, ACCESS)
_ROOT = (*_OF_DEVICES, POLICY)
_OURS = f"Oem/{oem.NAME}"

_PROCESSORS = {"GPU": "GPU", "FPGA": "FPGA"}
"""ProcessorType -> the kind of block; a CPU comes with the host."""
DRIVES = ("NVMe", "SAS", "SATA")
"""Drive.Protocol that may be asked for, which is the kind of block too."""
DRIVE = "Drive"
"""The kind that is asked for where any protocol will do: there is no such block."""
_HOST_CORES = {"ProcessorArchitecture": ("x86",), "InstructionSet": ("x86-64",)}
"""What every host's processors are, so that it may be asked for."""


@dataclass(frozen=True, slots=True)
class SharedWish:
    """A region of memory that others may have too, with the access that this host is to get."""

    region: str
    access: tuple[str, ...]
    name: str


@dataclass
class Asked:
    """What was read: wishes, and `told` what is wrong with the request."""

    devices: list[Wish] = field(default_factory=list)
    memory: list[MemoryWish] = field(default_factory=list)
    shared: list[SharedWish] = field(default_factory=list)
    compute: ComputeWish = field(default_factory=ComputeWish)
    told: list[Message] = field(default_factory=list)
    ours: Mapping[str, Any] = field(default_factory=dict)
    """Wishes about the whole system."""

    @property
    def wishes(self) -> bool:
        """Whether anything is asked for that has to be looked for."""
        found = self.devices or self.memory or self.shared
        return bool(found) or self.compute != ComputeWish()

    def request(self, **more: Any) -> Request:
        """Return the request of these wishes; `more` are its other fields."""
        budget = self.ours.get(LATENCY)
        return Request(
            self.compute, tuple(self.devices), tuple(self.memory), latency_ns_max=budget, **more
        )


def describes(body: Mapping[str, Any]) -> bool:
    """Return whether a request names a collection by its members."""
    return any(_is_described(body.get(name)) for name in _READERS)


def read_wishes(body: Mapping[str, Any]) -> Asked:
    """Return the wishes of a request; its links and names are not looked at."""
    asked = Asked()
    too_many = next(_too_many(body), None)
    if too_many is not None:
        asked.told.append(too_many)
        return asked
    asked.ours = _ours(body, "#", _ROOT, asked.told, ignored=("Composition",))
    for name, reader in _READERS.items():
        if _is_described(body.get(name)):
            for member in _members(body[name], f"#/{name}", asked.told):
                reader(member, asked)
    return asked


def _too_many(body: Mapping[str, Any]) -> Iterator[Message]:
    """Yield what is wrong with a request that describes more than a system can be made of."""
    count = 0
    for name in _READERS:
        count += _wide(body.get(name))
        if count > WISHES_MAX:
            place = f"#/{name}/Members"
            yield messages.property_value_out_of_range(f"{count} members", "Members", place)


def wishes_count(body: Mapping[str, Any]) -> int:
    """Return for how many things a request asks by describing them."""
    return sum(_wide(body.get(name)) for name in _READERS)


def _wide(value: object) -> int:
    """Return for how many things a collection asks, where it is described by its members."""
    if not isinstance(value, Mapping) or not isinstance(value.get("Members"), list):
        return 0
    return sum(map(_width, value["Members"]))


def _width(member: object) -> int:
    """Return for how many things a member asks: for itself, or for each that it lists."""
    if not isinstance(member, Mapping):
        return 1
    lists = (each["Members"] if _is_described(each) else each for each in member.values())
    return max(1, sum(len(each) for each in lists if isinstance(each, list)))


def _is_described(value: object) -> bool:
    return isinstance(value, Mapping) and "Members" in value


@dataclass
class _Member:
    """One member that is wished for, at a JSON pointer of the request; notes what was read."""

    body: Mapping[str, Any]
    place: str
    told: list[Message]
    known: set[str] = field(default_factory=lambda: {COUNT, "Oem", "Name", "Id", "Description"})

    @property
    def name(self) -> str:
        """Where the request asks for it, as wishes are named."""
        return self.place.removeprefix("#")

    def count(self) -> int:
        """Return how many are wished for; what is no number of things is told."""
        return self.integer(COUNT, least=1, most=COUNT_MAX, required=True) or 1

    def integer(
        self, name: str, *, least: int = 1, most: int = SIZE_MAX, required: bool = False
    ) -> int | None:
        """Return a whole number, or None where there is none (that is told)."""
        self.known.add(name)
        value, place = self.body.get(name), pointer_to(self.place, name)
        if value is None:
            if required or name in self.body:
                self.told.append(messages.property_missing(name, place))
        elif not isinstance(value, int) or isinstance(value, bool):
            self.told.append(messages.property_value_type_error(quoted(value), name, place))
        elif not least <= value <= most:
            self.told.append(messages.property_value_out_of_range(str(value), name, place))
        else:
            return value
        return None

    def text(self, name: str, *, among: tuple[str, ...] = (), required: bool = False) -> str | None:
        """Return a text that is not empty; `among`: only these may be asked for."""
        self.known.add(name)
        value, place = self.body.get(name), pointer_to(self.place, name)
        if value is None and not (required or name in self.body):
            return None
        if value is None or value == "":
            self.told.append(messages.property_missing(name, place))
        elif not isinstance(value, str):
            self.told.append(messages.property_value_type_error(quoted(value), name, place))
        elif among and value not in among:
            self.told.append(messages.property_value_not_in_list(quoted(value), name, place))
        else:
            return value
        return None

    def truth(self, name: str) -> None:
        """Note a property that can only be asked for as true."""
        self.known.add(name)
        value = self.body.get(name)
        if name in self.body and value is not True:
            place = pointer_to(self.place, name)
            self.told.append(messages.property_value_not_in_list(quoted(value), name, place))

    def ours(self, names: tuple[str, ...]) -> Mapping[str, Any]:
        """Return our wishes, of which only `names` mean anything here."""
        return _ours(self.body, self.place, names, self.told)

    def members(self, name: str) -> Iterator["_Member"]:
        """Yield what is listed under `name`, as it stands or as the members of a collection."""
        self.known.add(name)
        yield from _members(self.body[name], pointer_to(self.place, name), self.told)

    def finish(self) -> None:
        """Tell everything that nobody has read: it can not be asked for."""
        for name in self.body:
            if name not in self.known and "@odata." not in name:
                place = pointer_to(self.place, name)
                self.told.append(messages.property_unknown(name, place))


def _members(value: object, place: str, told: list[Message]) -> Iterator[_Member]:
    """Yield what is listed; an empty list is told, for it asks for nothing."""
    if _is_described(value) and isinstance(value, Mapping):
        value, place = value["Members"], f"{place}/Members"
        if not isinstance(value, list):
            told.append(messages.property_value_type_error(quoted(value), "Members", place))
            return
    found = value if isinstance(value, list) else [value]
    if not found:
        told.append(messages.property_missing(place.rpartition("/")[2], place))
    for position, each in enumerate(found):
        here = f"{place}/{position}" if isinstance(value, list) else place
        if isinstance(each, Mapping):
            yield _Member(each, here, told)
        else:
            name = place.rpartition("/")[2]
            told.append(messages.property_value_type_error(quoted(each), name, here))


# -- our own wishes --------------------------------------------------------------------------


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= SIZE_MAX


def _is_access(value: list[Any]) -> bool:
    return bool(value) and all(each in ("Read", "Write") for each in value)


_POLICIES = {each.value: each for each in MemoryPolicy}
_GOOD: Mapping[str, Callable[[Any], bool]] = {
    LATENCY: _is_amount,
    BANDWIDTH: _is_amount,
    SAME_SWITCH: lambda value: isinstance(value, bool),
    SPREAD: lambda value: isinstance(value, bool),
    POLICY: lambda value: isinstance(value, str) and value in _POLICIES,
    REGION: lambda value: next(uris_at(value, []), None) is not None,
    ACCESS: lambda value: isinstance(value, list) and _is_access(value),
}


def _ours(
    body: Mapping[str, Any],
    place: str,
    names: tuple[str, ...],
    told: list[Message],
    ignored: tuple[str, ...] = (),
) -> Mapping[str, Any]:
    """Return what stands under Oem.RedfishFM, good values only; the rest is told."""
    makers = body.get("Oem")
    found = makers.get(oem.NAME) if isinstance(makers, Mapping) else None
    if found is None:
        return {}
    here = f"{place}/{_OURS}"
    if not isinstance(found, Mapping):
        told.append(messages.property_value_type_error(quoted(found), oem.NAME, here))
        return {}
    kept = {}
    for name, value in found.items():
        where = pointer_to(here, name)
        if name in ignored or "@odata." in name:
            continue
        if name not in names:
            told.append(messages.property_unknown(name, where))
        elif not _GOOD[name](value):
            told.append(messages.property_value_incorrect(name, quoted(value), where))
        else:
            kept[name] = value
    return kept


def _device(member: _Member, asked: Asked, kind: str, count: int, **more: Any) -> None:
    """Note a wish for whole devices, with what the system or the member says of them."""
    ours = {**asked.ours, **member.ours(_OF_DEVICES)}
    bandwidth = max(more.pop("bandwidth_mb_s_min", 0), ours.get(BANDWIDTH, 0))
    wish = Wish(
        kind,
        count,
        model=member.text("Model"),
        manufacturer=member.text("Manufacturer"),
        bandwidth_mb_s_min=bandwidth,
        latency_ns_max=ours.get(LATENCY),
        same_switch=ours.get(SAME_SWITCH, False),
        spread=ours.get(SPREAD, False),
        name=member.name,
        **more,
    )
    asked.devices.append(wish)


def _parts(member: _Member, asked: Asked, kind: str, count: int, capacity_mib: int) -> None:
    """Note a wish for parts of pools."""
    ours = {**asked.ours, **member.ours(_OF_MEMORY)}
    policy = _POLICIES[ours.get(POLICY, MemoryPolicy.ONE_APPLIANCE.value)]
    latency = ours.get(LATENCY)
    asked.memory.append(MemoryWish(capacity_mib, count, kind, policy, latency, member.name))


# -- what can be wished for ------------------------------------------------------------------


def _read_processor(member: _Member, asked: Asked) -> None:
    count = member.count()
    kind = member.text("ProcessorType", among=("CPU", *_PROCESSORS), required=True)
    if kind is None:
        # What else may be said of it depends on that.
        return
    if kind == "CPU":
        cores = member.integer("TotalCores")
        model = member.text("Model")
        for name, among in _HOST_CORES.items():
            member.text(name, among=among)
        member.ours(())
        before = asked.compute
        total = before.core_count_min + count * (cores or 1)
        asked.compute = replace(
            before, core_count_min=total, model=model or before.model, name=member.name
        )
    else:
        capacity = 0
        if "ProcessorMemory" in member.body:
            parts = list(member.members("ProcessorMemory"))
            capacity = sum(each.integer("CapacityMiB", required=True) or 0 for each in parts)
            for each in parts:
                each.finish()
        cores = member.integer("TotalCores") or 0
        kind = _PROCESSORS[kind]
        _device(member, asked, kind, count, capacity_mib_min=capacity, core_count_min=cores)
    member.finish()


def _read_memory(member: _Member, asked: Asked) -> None:
    """Parts of so much each; or a region that is there already, declared shareable."""
    count = member.count()
    makers = member.body.get("Oem")
    found = makers.get(oem.NAME) if isinstance(makers, Mapping) else None
    if isinstance(found, Mapping) and REGION in found:
        ours = member.ours(_OF_SHARED)
        if count != 1:
            place = pointer_to(member.place, COUNT)
            asked.told.append(messages.property_value_out_of_range(str(count), COUNT, place))
        region = next(uris_at(ours, [REGION]), "")
        access = tuple(dict.fromkeys(ours.get(ACCESS, ("Read", "Write"))))
        asked.shared.append(SharedWish(region, access, member.name))
        member.finish()
        return
    capacity = member.integer("CapacityMiB", required=True)
    member.text("MemoryType", among=("DRAM",))
    if capacity is not None:
        _parts(member, asked, "Memory", count, capacity)
    member.finish()


def _read_storage(member: _Member, asked: Asked) -> None:
    """Whole drives, so many in each; or volumes, cut out of pools; or just a drive each."""
    count = member.count()
    for name in ("Drives", "Volumes"):
        if name not in member.body:
            continue
        for each in member.members(name):
            inner = each.integer(COUNT, most=COUNT_MAX) if COUNT in each.body else 1
            size = each.integer("CapacityBytes", required=name == "Volumes")
            mib = 0 if size is None else -(-size // BYTES_PER_MIB)
            total = count * (inner or 1)
            if name == "Drives":
                each.text("MediaType", among=("SSD",))
                kind = each.text("Protocol", among=DRIVES) or DRIVE
                _device(each, asked, kind, total, capacity_mib_min=mib)
            elif size is not None:
                _parts(each, asked, "NVMe", total, mib)
            each.finish()
    if not {"Drives", "Volumes"} & set(member.body):
        _device(member, asked, DRIVE, count)
    member.finish()


def _read_simple_storage(member: _Member, asked: Asked) -> None:
    count = member.count()
    if "Devices" not in member.body:
        _device(member, asked, DRIVE, count)
    else:
        for each in member.members("Devices"):
            inner = each.integer(COUNT, most=COUNT_MAX) if COUNT in each.body else 1
            mib = -(-(each.integer("CapacityBytes") or 0) // BYTES_PER_MIB)
            _device(each, asked, DRIVE, count * (inner or 1), capacity_mib_min=mib)
            each.finish()
    member.finish()


def _read_interface(member: _Member, asked: Asked) -> None:
    """A network card whose own link carries at least that speed."""
    count = member.count()
    bits = member.integer("SpeedMbps") or 0
    # Every link here carries its rate both ways at once.
    member.truth("FullDuplex")
    _device(member, asked, "NIC", count, bandwidth_mb_s_min=-(-bits // BITS_PER_BYTE))
    member.finish()


_READERS: Mapping[str, Callable[[_Member, Asked], None]] = {
    "Processors": _read_processor,
    "Memory": _read_memory,
    "Storage": _read_storage,
    "SimpleStorage": _read_simple_storage,
    "EthernetInterfaces": _read_interface,
    "NetworkInterfaces": _read_interface,
}
"""Property of the system -> how one member of it is read; service.json says the same names."""

DESCRIBED = frozenset(_READERS)
"""The properties that may be described by members."""

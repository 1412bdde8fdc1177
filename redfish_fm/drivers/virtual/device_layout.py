"""From one device of a topology to the model's Device: attachment, LDs, pools, functions, heads.

Pure. What does not add up goes to the problems, at the word that says it.
"""

from dataclasses import dataclass
from functools import lru_cache

from redfish_fm.drivers.virtual.equipment import device_hardware
from redfish_fm.drivers.virtual.identities import Identities
from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import (
    FUNCTION_COUNT_MAX,
    DynamicSpec,
    LdsSpec,
    LinkSpec,
    PluggedSpec,
    SubsystemSpec,
    mib,
)
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    Function,
    FunctionType,
    Link,
    LogicalDevice,
    PartKind,
    Pool,
)

LD_STEP_MIB = 256
"""LD capacities are multiples of 256 MiB, the unit in which the FM API counts memory."""

_LD_GRANULARITIES_MIB = (256, 512, 1024)
"""What Get LD Allocations (5401h) can say of a pool's granularity."""

NETWORK_LINK = Link(gen=4, lanes=4)
"""Stands in for the network of a subsystem, which is not modelled."""


@dataclass(frozen=True, slots=True)
class Placing:
    """Where a device goes: the member's id and number in its group, and how many heads it has."""

    id: str
    n: int
    protocol: str
    head_count: int
    path: str


@lru_cache(maxsize=64)
def link(spec: LinkSpec) -> Link:
    """Return the link a spec describes."""
    return Link(spec.gen, spec.lanes, spec.latency_ns)


def lay_out_device(
    spec: PluggedSpec, placing: Placing, identities: Identities, problems: Problems
) -> Device:
    """Return one device of a group."""
    return _Layout(spec, placing, problems).device(identities)


def lay_out_pool(
    spec: SubsystemSpec,
    subsystem: str,
    n: int,
    path: str,
    identities: Identities,
    problems: Problems,
) -> Device:
    """Return what holds the namespaces of one subsystem, member `n` of its group."""
    device = identities.claim(f"{subsystem}-pool", 1, 0, path)
    capacity_mib, step_mib = mib(spec.capacity), mib(spec.granularity)
    if step_mib < 1 or capacity_mib < step_mib:
        text = f"{spec.granularity} is no part of the subsystem's {spec.capacity}"
        problems.add_once(f"{path}.granularity", text)
    return Device(
        id=device,
        name=device,
        kind=DeviceKind.NVME,
        attachment=Attachment.SUBSYSTEM,
        model=spec.model or "Virtual NVMe subsystem",
        manufacturer=spec.manufacturer,
        serial_number=identities.serial("subsystem", subsystem),
        link=NETWORK_LINK,
        capacity_mib=capacity_mib,
        domain=identities.domain(spec.domain, n, path),
        # What is in a namespace is the volume's, whichever host has it; deleting it clears it.
        pool=Pool(PartKind.NAMESPACE, capacity_mib, step_mib, spec.namespaces),
        nqn=identities.subsystem_nqn(subsystem),
    )


class _Layout:
    """One device being laid out."""

    def __init__(self, spec: PluggedSpec, placing: Placing, problems: Problems) -> None:
        self._spec = spec
        self._placing = placing
        self._problems = problems
        self._capacity_mib = 0 if spec.capacity is None else mib(spec.capacity)

    def device(self, identities: Identities) -> Device:
        spec, placing = self._spec, self._placing
        model = spec.model or f"Virtual {spec.kind.value}"
        attachment = self._attachment()
        mld = attachment is Attachment.MLD
        shared = self._shared()
        functions = self._functions(attachment)
        return Device(
            id=placing.id,
            name=placing.id,
            kind=spec.kind,
            attachment=attachment,
            model=model,
            manufacturer=spec.manufacturer,
            serial_number=identities.serial("device", placing.id),
            link=link(spec.link),
            capacity_mib=self._capacity_mib,
            lds=self._lds() if mld else (),
            domain=identities.domain(spec.domain, placing.n, placing.path),
            functions=functions,
            binds_functions=spec.bind == "functions",
            shared_heads=shared,
            pool=self._pool() if mld else None,
            sanitizes=self._sanitizes(attachment, shared),
            qos=self._qos(attachment),
            hardware=device_hardware(
                identities, spec, placing.id, model, self._capacity_mib, placing.head_count
            ),
        )

    def _problem(self, word: str, text: str) -> None:
        """Note what is wrong; the members of a group have it in common."""
        self._problems.add_once(f"{self._placing.path}.{word}", text)

    def _attachment(self) -> Attachment:
        spec = self._spec
        cut = spec.lds is not None or spec.dynamic is not None
        usual = Attachment.MLD if cut else Attachment.SLD
        if self._placing.protocol == "PCIe":
            usual = Attachment.PCIE
        attachment = usual if spec.attachment is None else Attachment(spec.attachment)
        if self._placing.protocol == "PCIe" and attachment is not Attachment.PCIE:
            self._problem("attachment", "a PCIe fabric has no CXL devices")
        if attachment is Attachment.MLD and not cut:
            self._problem("lds", "missing: an MLD has at least one LD")
        for word in ("lds", "dynamic"):
            if attachment is not Attachment.MLD and getattr(spec, word) is not None:
                self._problem(word, f"only an MLD has LDs, this is {attachment.value}")
        if spec.lds is not None and spec.dynamic is not None:
            self._problem("dynamic", "a device has either lds or dynamic capacity")
        if self._capacity_mib == 0 and (cut or spec.kind is DeviceKind.MEMORY):
            self._problem("capacity", "missing: this device is memory")
        return attachment

    def _lds(self) -> tuple[LogicalDevice, ...]:
        spec = self._spec.lds
        if self._spec.dynamic is not None:
            return tuple(LogicalDevice(i, 0, True) for i in range(self._spec.dynamic.count))
        if spec is None:
            return ()
        each_mib = 0 if spec.pooled else self._each_mib(spec)
        return tuple(LogicalDevice(i, each_mib) for i in range(spec.count))

    def _each_mib(self, spec: LdsSpec) -> int:
        """Return the capacity of each fixed LD."""
        if spec.granularity is not None:
            self._problem("lds.granularity", "only LDs that are pooled have a granularity")
        share_mib = self._capacity_mib // spec.count
        if spec.capacity is None:
            each_mib = share_mib - share_mib % LD_STEP_MIB
        else:
            each_mib = mib(spec.capacity)
        if each_mib < LD_STEP_MIB:
            self._problem("lds", f"an LD has at least {LD_STEP_MIB} MiB")
        if each_mib * spec.count > self._capacity_mib:
            text = f"{spec.count} x {each_mib} MiB is more than the device's {self._capacity_mib}"
            self._problem("lds", f"{text} MiB")
        return each_mib

    def _pool(self) -> Pool | None:
        lds, dynamic = self._spec.lds, self._spec.dynamic
        if dynamic is not None:
            return self._dynamic_pool(dynamic)
        return None if lds is None or not lds.pooled else self._ld_pool(lds)

    def _ld_pool(self, spec: LdsSpec) -> Pool:
        step_mib = LD_STEP_MIB if spec.granularity is None else mib(spec.granularity)
        if spec.capacity is not None:
            self._problem("lds.capacity", "a pooled LD has no capacity before it is allocated")
        if step_mib not in _LD_GRANULARITIES_MIB:
            self._problem("lds.granularity", "an LD is a multiple of 256 MiB, 512 MiB or 1 GiB")
        self._check_fits("lds", step_mib)
        return Pool(PartKind.LD, self._capacity_mib, step_mib, spec.count)

    def _dynamic_pool(self, spec: DynamicSpec) -> Pool:
        step_mib = mib(spec.granularity)
        if step_mib < LD_STEP_MIB or step_mib % LD_STEP_MIB:
            text = f"{spec.granularity} is no multiple of {LD_STEP_MIB} MiB"
            self._problem("dynamic.granularity", text)
        self._check_fits("dynamic", step_mib)
        return Pool(PartKind.REGION, self._capacity_mib, step_mib, spec.regions)

    def _check_fits(self, word: str, step_mib: int) -> None:
        if 0 < self._capacity_mib < step_mib:
            text = f"nothing of {step_mib} MiB fits into the device's {self._capacity_mib} MiB"
            self._problem(word, text)

    def _functions(self, attachment: Attachment) -> tuple[Function, ...]:
        """Return all functions: the physical ones first, then the virtual ones of each in turn."""
        spec = self._spec
        count = spec.functions * (1 + spec.virtual_functions)
        if spec.bind == "functions" and count == 1:
            self._problem("bind", "function 0 alone: there is nothing to bind but the device")
        if count == 1:
            return ()
        if attachment is not Attachment.PCIE:
            word = "functions" if spec.functions > 1 else "virtual_functions"
            self._problem(word, f"only a PCIe device has several, this is {attachment.value}")
        if count > FUNCTION_COUNT_MAX:
            text = f"{count} functions in all; a device has {FUNCTION_COUNT_MAX} at most"
            self._problem("virtual_functions", text)
            return ()
        physical = [Function(i) for i in range(spec.functions)]
        parents = [pf.id for pf in physical for _ in range(spec.virtual_functions)]
        virtual = [
            Function(i, FunctionType.VIRTUAL, parent)
            for i, parent in enumerate(parents, start=spec.functions)
        ]
        return (*physical, *virtual)

    def _shared(self) -> bool:
        spec, several = self._spec, self._placing.head_count > 1
        if not several:
            if spec.shared is not None:
                self._problem("shared", "only a device with several heads is shared or not")
            return False
        if spec.shared is None:
            self._problem("shared", "missing: does each head serve a host of its own?")
        for word in ("lds", "dynamic"):
            if getattr(spec, word) is not None:
                self._problem(word, "a device with several heads is bound whole, head by head")
        if spec.bind == "functions":
            self._problem("bind", "a device with several heads is bound whole, head by head")
        return bool(spec.shared)

    def _qos(self, attachment: Attachment) -> bool:
        if self._spec.qos and attachment is not Attachment.MLD:
            self._problem("qos", f"only LDs of an MLD share bandwidth, this is {attachment.value}")
        return self._spec.qos

    def _sanitizes(self, attachment: Attachment, shared: bool) -> bool:
        spec = self._spec
        cxl_memory = spec.kind is DeviceKind.MEMORY and attachment is not Attachment.PCIE
        if spec.sanitizes is None:
            return cxl_memory and not shared
        if spec.sanitizes and spec.kind not in (DeviceKind.MEMORY, DeviceKind.NVME):
            self._problem("sanitizes", f"a {spec.kind.value} keeps nothing to overwrite")
        if spec.sanitizes and shared:
            self._problem("sanitizes", "what one head overwrites, the hosts of the others use")
        if spec.sanitizes and spec.bind == "functions":
            self._problem("sanitizes", "what one function overwrites, the others may use")
        return spec.sanitizes

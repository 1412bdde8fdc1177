"""From what a switch says now to observed values. Pure, but for what it keeps to be quick.

Of a poll almost nothing is new: what was translated once is taken again where the switch says the
same, so a poll costs little more than reading its answers.
"""

from collections.abc import Iterator, Mapping

from redfish_fm.drivers.cxl_fmapi.capacity import MANAGED_REGION
from redfish_fm.drivers.cxl_fmapi.discovering import is_upstream
from redfish_fm.drivers.cxl_fmapi.numbers import (
    BindingStatus,
    DeviceMode,
    DeviceType,
    Ltssm,
)
from redfish_fm.drivers.cxl_fmapi.switch_commands import PortState as RawPort
from redfish_fm.drivers.cxl_fmapi.switch_commands import VcsInfo, VppbState
from redfish_fm.fabric.model import Attachment, BindTarget, Device, PortId, PortState, VppbId
from redfish_fm.fabric.qos_control import QosControl

_UP = frozenset({Ltssm.L0, Ltssm.L0S, Ltssm.L1})
_TRAINING = frozenset({Ltssm.POLLING, Ltssm.CONFIGURATION, Ltssm.RECOVERY})
_GT_PER_LANE = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


Load = tuple[QosControl | None, int | None]


def is_moving(vcs: VcsInfo) -> bool:
    """Return whether a vPPB is being bound or unbound."""
    return any(each.status == BindingStatus.IN_PROGRESS for each in vcs.vppbs)


class Translator:
    """Translates one switch's answers; `meet` says what is behind its ports."""

    def __init__(self, switch: str) -> None:
        self._switch = switch
        self._devices: Mapping[int, Device] = {}
        self._loads: Mapping[int, Load] = {}
        self._ports: dict[int, tuple[RawPort, PortId, PortState]] = {}
        self._vcss: dict[int, tuple[VcsInfo, dict[VppbId, BindTarget | None]]] = {}

    def meet(self, devices: Mapping[int, Device]) -> None:
        """Take over what is behind the ports now; what was translated before may mean otherwise."""
        if devices != self._devices:
            self._devices = devices
            self._ports.clear()
            self._vcss.clear()

    def loads(self, told: Mapping[int, Load]) -> None:
        """Take over how devices watch their load, and how much it is in percent, by port."""
        if told != self._loads:
            self._loads = told
            self._ports.clear()

    def ports(self, told: Mapping[int, RawPort]) -> dict[PortId, PortState]:
        """Return the state of all ports."""
        found: dict[PortId, PortState] = {}
        for number, raw in told.items():
            known = self._ports.get(number)
            if known is None or known[0] != raw:
                id_ = PortId(self._switch, str(number))
                known = self._ports[number] = (raw, id_, self._port(number, raw))
            found[known[1]] = known[2]
        return found

    def _port(self, number: int, raw: RawPort) -> PortState:
        up = raw.ltssm in _UP
        device = self._devices.get(number)
        control, percent = self._loads.get(number, (None, None))
        if is_upstream(raw):
            present = up or raw.present or raw.device_mode != DeviceMode.NOT_CXL
        else:
            # A link without a device is what some switches show of one that was pulled.
            present = raw.device_type != DeviceType.NONE
            up = up and present
        rate = _GT_PER_LANE.get(raw.link_speed) if up else None
        width = raw.link_width or None if up else None
        return PortState(
            link_up=up,
            device_present=present,
            speed_gbps=None if rate is None or width is None else rate * width,
            width=width,
            training=present and not up and raw.ltssm in _TRAINING,
            serial_number=(device.serial_number or None)
            if present and device is not None
            else None,
            powered=not raw.perst_asserted,
            control=control if present else None,
            backpressure_percent=percent if present else None,
        )

    def bindings(
        self, told: Mapping[int, VcsInfo], running: bool
    ) -> dict[VppbId, BindTarget | None]:
        """Return what each vPPB is bound to; one that is being changed, what it was before.

        `running`: the switch still carries something out. What is `uncertain` then is not kept.
        """
        found: dict[VppbId, BindTarget | None] = {}
        for number, info in told.items():
            known = self._vcss.get(number)
            if known is None or known[0] != info:
                before = {} if known is None else known[1]
                known = (info, self._vcs(info, before, running))
                if not (running and any(self._unknown(info, before))):
                    self._vcss[number] = known
            found |= known[1]
        return found

    def uncertain(self, told: Mapping[int, VcsInfo]) -> frozenset[VppbId]:
        """Return the vPPBs that are being changed, and of which nobody knows what they were."""
        return frozenset(
            id_
            for number, info in told.items()
            for id_ in self._unknown(info, self._vcss[number][1] if number in self._vcss else {})
        )

    def _unknown(
        self, info: VcsInfo, before: Mapping[VppbId, BindTarget | None]
    ) -> Iterator[VppbId]:
        for index, vppb in enumerate(info.vppbs):
            id_ = VppbId(self._switch, str(info.vcs_id), index)
            if vppb.status == BindingStatus.IN_PROGRESS and id_ not in before:
                yield id_

    def _vcs(
        self, info: VcsInfo, before: Mapping[VppbId, BindTarget | None], running: bool
    ) -> dict[VppbId, BindTarget | None]:
        vcs, found = str(info.vcs_id), {}
        for index, vppb in enumerate(info.vppbs):
            id_ = VppbId(self._switch, vcs, index)
            if vppb.status != BindingStatus.IN_PROGRESS:
                found[id_] = self.target(vppb)
            elif id_ in before:
                found[id_] = before[id_]
            elif running:
                found[id_] = None
            else:
                # Nothing runs, so it stays like that: what is shown is not free for anybody.
                found[id_] = self._whole(vppb.port_id)
        return found

    def target(self, vppb: VppbState) -> BindTarget | None:
        """Return what a vPPB is bound to, whatever is behind that port now."""
        if vppb.status == BindingStatus.UNBOUND:
            return None
        port = str(vppb.port_id)
        device = self._devices.get(vppb.port_id)
        if vppb.status == BindingStatus.BOUND_LD and (
            device is None or device.attachment is Attachment.MLD
        ):
            lds = () if device is None else device.lds
            dynamic = any(each.dynamic and each.id == vppb.ld_id for each in lds)
            region = MANAGED_REGION if dynamic else None
            return BindTarget(self._switch, port, vppb.ld_id, region=region)
        return BindTarget(self._switch, port)

    def _whole(self, port: int) -> BindTarget | None:
        return BindTarget(self._switch, str(port)) if port in self._devices else None

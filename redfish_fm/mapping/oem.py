"""What Redfish has no property for: which vPPB or slot a zone or connection was given.

Pure. PCIe partitions and their slots are no Redfish resources, so without this nobody could see
where a device went. Our OEM schema: schemas/oem/RedfishFMBindings_v1.xml.
"""

from typing import Any

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.rendering import ref
from redfish_fm.mapping.uris import storage_of

ODATA_TYPE = "#RedfishFMBindings.v1_0_0.Bindings"


def bindings_shown(index: FabricIndex, facts: Facts, uri: str) -> dict[str, Any] | None:
    """Return Oem.RedfishFM of a zone or connection: its recorded bindings; None without any."""
    bindings = index.bindings_of_holder(uri)
    if not bindings:
        return None
    held = sorted(bindings, key=lambda binding: binding.vppb)
    return {"@odata.type": ODATA_TYPE, "Bindings": [_binding(facts, each) for each in held]}


def _binding(facts: Facts, binding: Binding) -> dict[str, Any]:
    vppb, target = binding.vppb, binding.target
    shown: dict[str, Any] = {"VirtualSwitchId": vppb.vcs, "SlotIndex": vppb.vppb}
    if target.ld is not None:
        shown["LogicalDeviceId"] = target.ld
    links = {
        "Switch": _switch(facts, binding),
        "Port": facts.target_uri(binding.fabric, target),
        "VPPB": facts.vppb_uris.get((binding.fabric, vppb)),
    }
    return {**shown, **{name: ref(uri) for name, uri in links.items() if uri is not None}}


def _switch(facts: Facts, binding: Binding) -> str | None:
    """Return the switch, unless it is a subsystem, which clients see as a Storage."""
    uri = facts.switch_uris.get((binding.fabric, binding.vppb.switch))
    return None if uri is None or storage_of(uri) is not None else uri

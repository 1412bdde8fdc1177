"""A tip over plain dictionaries, small fabrics, and the packs' mockups as documents."""

import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import (
    Attachment,
    BindTarget,
    Device,
    DeviceKind,
    FabricKind,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
    VppbId,
)
from redfish_fm.fabric.power import Machine
from redfish_fm.mapping.bindings import decode_binding, encode_binding
from redfish_fm.mapping.domain import apply_document, apply_overlay
from redfish_fm.mapping.drafts import Draft, LogState, Subscribing
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported import analyse
from redfish_fm.mapping.inventory import render_inventory
from redfish_fm.mapping.links import forward_links
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.etag import content_tag
from redfish_fm.redfish.patch import merge
from redfish_fm.redfish.writes import Write, WriteKind

CXL = "/redfish/v1/Fabrics/CXL"


@dataclass
class MemoryTip:
    """Satisfies mapping.drafts.Tip; `commit` applies a draft's edits as control would."""

    inventory: dict[str, dict[str, Any]]
    facts: Facts
    documents: dict[str, bytes] = field(default_factory=dict)
    overlays: dict[str, bytes] = field(default_factory=dict)
    secrets: dict[str, bytes] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    logs: dict[str, LogState] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    occupied: frozenset[VppbId] = frozenset()
    bound_elsewhere: frozenset[BindTarget] = frozenset()
    subscribing: Subscribing = field(default_factory=Subscribing)
    seq: int = 0

    def __post_init__(self) -> None:
        self.index = FabricIndex()
        self.facts.fill(self.index)
        for uri, document in self.inventory.items():
            if str(document["@odata.type"]).endswith(".Endpoint"):
                apply_document(self.index, self.facts, uri, None, document)
        for uri, raw in self.documents.items():
            apply_document(self.index, self.facts, uri, None, json.loads(raw))

    @property
    def next_id(self) -> str:
        return str(self.seq + 1)

    def new_id(self, n: int) -> str:
        return f"{self.next_id}-{n}"

    def timestamp(self) -> str:
        return "2026-12-01T03:04:05Z"

    def document(self, uri: str) -> Mapping[str, Any] | None:
        raw = self.documents.get(uri)
        if raw is not None:
            found: dict[str, Any] = json.loads(raw)
            return found
        document = self.inventory.get(uri)
        overlay = self.overlays.get(uri)
        if document is None or overlay is None:
            return document
        return merge(document, json.loads(overlay))

    def exists(self, uri: str) -> bool:
        return uri in self.documents or uri in self.inventory

    def wall_s(self) -> float:
        return 1_800_000_000.5

    def ends_s(self, lasting_s: float) -> float:
        return self.wall_s() + lasting_s

    def shown(self, uri: str) -> Mapping[str, Any] | None:
        return self.document(uri)

    def secret(self, uri: str) -> bytes | None:
        return self.secrets.get(uri)

    def members(self, collection: str) -> list[str]:
        known = [*self.documents, *self.inventory]
        return sorted(uri for uri in known if uri.rsplit("/", 1)[0] == collection)

    def wanted(self, uri: str) -> bytes | None:
        return self.documents.get(uri)

    def overlay(self, uri: str) -> bytes | None:
        return self.overlays.get(uri)

    def linked_by(self, uri: str, pointer: str) -> list[str]:
        aliases = self.facts.port_aliases
        found = []
        for source, raw in self.documents.items():
            name = self.type_name(source)
            if (uri, pointer) in forward_links(name, json.loads(raw), aliases):
                found.append(source)
        return sorted(found)

    def is_wanted(self, uri: str) -> bool:
        return uri in self.documents

    def wanted_tag(self, uri: str) -> str | None:
        if not self.exists(uri):
            return None
        return content_tag(self.documents.get(uri) or self.overlays.get(uri) or b"")

    def busy(self, uri: str) -> str | None:
        return self.tasks.get(uri)

    def status(self, uri: str) -> tuple[str | None, str | None]:
        return self.statuses.get(uri, (None, None))

    def machine(self, uri: str) -> Machine | None:
        return self.machines.get(uri)

    def log(self, uri: str) -> LogState | None:
        return self.logs.get(uri)

    def lay(self, edits: Sequence[Edit]) -> None:
        for edit in edits:
            self._apply(edit)

    def commit(self, draft: Draft) -> Draft:
        self.apply(draft.edits)
        return draft

    def apply(self, edits: tuple[Edit, ...]) -> None:
        self.seq += 1
        for edit in edits:
            self._apply(edit)

    def _apply(self, edit: Edit) -> None:
        if edit.space is Space.DOCUMENT:
            assert self.documents.get(edit.key) == edit.pre
            _set(self.documents, edit)
            pre, post = (None if raw is None else json.loads(raw) for raw in (edit.pre, edit.post))
            apply_document(self.index, self.facts, edit.key, pre, post)
        elif edit.space is Space.OVERLAY:
            assert self.overlays.get(edit.key) == edit.pre
            _set(self.overlays, edit)
            laid = None if edit.post is None else json.loads(edit.post)
            apply_overlay(self.index, self.facts, edit.key, laid)
        elif edit.space is Space.SECRET:
            assert self.secrets.get(edit.key) == edit.pre
            _set(self.secrets, edit)
        elif edit.space is Space.BINDING:
            self._apply_binding(edit)

    def _apply_binding(self, edit: Edit) -> None:
        if edit.pre is not None:
            before = decode_binding(edit.pre)
            assert encode_binding(self.index.bindings[before.vppb]) == edit.pre
            self.index.remove_binding(before.vppb)
        if edit.post is not None:
            self.index.put_binding(decode_binding(edit.post))

    # -- what a client does ------------------------------------------------------------------

    def post(self, collection: str, body: Mapping[str, Any]) -> Draft:
        kind = collection.rsplit("/", 1)[-1].removesuffix("s")
        write = Write(WriteKind.CREATE, collection, kind, "tester", body)
        return self.commit(prepare(write, self))

    def patch(self, uri: str, body: Mapping[str, Any], if_match: str | None = None) -> Draft:
        tags = None if if_match is None else (if_match,)
        write = Write(WriteKind.PATCH, uri, self.type_name(uri), "tester", body, if_match=tags)
        return self.commit(prepare(write, self))

    def delete(self, uri: str) -> Draft:
        write = Write(WriteKind.DELETE, uri, self.type_name(uri), "tester")
        return self.commit(prepare(write, self))

    def act(self, uri: str, action: str, **body: Any) -> Draft:
        write = Write(WriteKind.ACTION, uri, self.type_name(uri), "tester", body, action=action)
        return self.commit(prepare(write, self))

    def type_name(self, uri: str) -> str:
        document = self.document(uri)
        return "" if document is None else str(document["@odata.type"]).rsplit(".", 1)[-1]


def _set(table: dict[str, bytes], edit: Edit) -> None:
    if edit.post is None:
        table.pop(edit.key, None)
    else:
        table[edit.key] = edit.post


def links(*uris: str) -> list[dict[str, str]]:
    return [{"@odata.id": uri} for uri in uris]


def zone_body(*endpoints: str, **more: Any) -> dict[str, Any]:
    return {"Links": {"Endpoints": links(*endpoints)}, **more}


def a_device(
    name: str,
    kind: DeviceKind = DeviceKind.GPU,
    attachment: Attachment = Attachment.PCIE,
    lds: int = 0,
) -> Device:
    parts = tuple(LogicalDevice(number, 1024) for number in range(lds))
    return Device(
        name,
        name.upper(),
        kind,
        attachment,
        "M1",
        "Contoso",
        f"SN-{name}",
        Link(5, 16),
        4096,
        parts,
    )


def a_fabric(
    fabric: str = "pod",
    protocol: str = "CXL",
    hosts: int = 2,
    devices: tuple[Device, ...] | None = None,
    vppbs: int = 4,
    first_root_port: int = 1,
) -> Inventory:
    """One switch; each host has one upstream port with a virtual switch, each device one port."""
    plugged = (
        devices
        if devices is not None
        else (
            a_device("gpu1"),
            a_device("nvme1", DeviceKind.NVME),
            a_device("nic1", DeviceKind.NIC),
            a_device("fpga1", DeviceKind.FPGA, Attachment.SLD),
            a_device("mem1", DeviceKind.MEMORY, Attachment.SLD),
            a_device("mem2", DeviceKind.MEMORY, Attachment.MLD, lds=3),
        )
    )
    switch = f"{fabric}-sw"
    names = [f"h{number}" for number in range(1, hosts + 1)]
    ports = [
        Port(
            PortId(switch, str(number)),
            PortRole.UPSTREAM,
            Link(5, 16),
            host=name,
            host_port=first_root_port,
        )
        for number, name in enumerate(names)
    ]
    ports += [
        Port(PortId(switch, str(32 + number)), PortRole.DOWNSTREAM, Link(5, 16), device=device.id)
        for number, device in enumerate(plugged)
    ]
    virtual = tuple(
        VirtualSwitch(str(number), switch, str(number), name, vppbs)
        for number, name in enumerate(names)
    )
    return Inventory(
        fabric,
        f"Fabric {fabric}",
        FabricKind.BIND,
        protocol,
        (Switch(switch, "Switch", protocol, "S1", "SN-S", tuple(ports), virtual),),
        tuple(
            Host(name, name, f"00000000-0000-4000-8000-{number:012d}", 2, 64, 65536)
            for number, name in enumerate(names, 1)
        ),
        plugged,
    )


def a_tip(inventory: Inventory | None = None) -> MemoryTip:
    rendered = render_inventory(inventory or a_fabric())
    return MemoryTip(rendered.documents, rendered.facts)


def mockup(shared: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return the documents of one public mockup, straight from its pack."""
    documents = {}
    with tarfile.open(shared / "data" / "mockups-dmtf-2025.4.tar.gz") as pack:
        for member in pack.getmembers():
            _, found, path = member.name.partition(f"/{name}/")
            if (found and path.endswith("index.json")) or (found and path == "index.json"):
                stream = pack.extractfile(member)
                assert stream is not None
                uri = f"/redfish/v1/{path}".removesuffix("/index.json")
                documents[uri] = json.load(stream)
    return documents


def imported_tip(documents: Mapping[str, Mapping[str, Any]]) -> MemoryTip:
    found = analyse(documents)
    wanted = {uri: msgspec.json.encode(document) for uri, document in found.wanted.items()}
    tip = MemoryTip(found.inventory, found.facts, wanted)
    for binding in found.bindings:
        tip.index.put_binding(binding)
    return tip

"""What clients want of resource blocks: systems composed, changed, expanded and given back."""

import json
from collections.abc import Iterable
from typing import Any

from redfish_fm.fabric.composition import Block, Composition
from redfish_fm.mapping.uris import (
    COMPOSITION_SERVICE,
    RESERVATIONS,
    SYSTEM_COLLECTION,
)
from tests.sim.process import Process
from tests.sim.wishing import Wishes, refs

ADD, REMOVE = "ComputerSystem.AddResourceBlock", "ComputerSystem.RemoveResourceBlock"
COMPOSE = f"{COMPOSITION_SERVICE}/Actions/CompositionService.Compose"


class Compositions(Wishes):
    """Systems of blocks, by all ways there are to ask for them."""

    # -- choosing ------------------------------------------------------------------------------

    def _free(self, block: Block) -> bool:
        """Whether a block looks free to a client."""
        index = self._index
        taken = index.compositions_of_block(block.id) or index.is_reserved(block.id)
        if block.host is not None:
            held = index.compositions_of_host(block.host) or index.holders_of_host(block.host)
            return not taken and not held
        return not taken and (block.sharing or not index.holders_of_units(block.units))

    def _some(self, blocks: Iterable[Block], count: int) -> list[str]:
        """Return so many blocks, mostly such as nobody has."""
        known = sorted(blocks, key=lambda block: block.id)
        free = [each for each in known if self._free(each)]
        known = free if self._often(0.85) else known
        return [each.id for each in self._rng.sample(known, min(count, len(known)))]

    def _hosts(self) -> list[Block]:
        return [each for each in self._index.blocks.values() if each.host is not None]

    def _devices(self) -> list[Block]:
        return [each for each in self._index.blocks.values() if each.host is None]

    def _system(self, *, expanded: bool | None = None) -> Composition | None:
        """Return a system of blocks, mostly one that no Task is about."""
        busy = {each.uri for each in self._client.checker.open_operations()}
        known = [each for each in self._index.compositions.values()
                 if expanded is None or each.expands is expanded]  # fmt: skip
        calm = [each for each in known if each.id not in busy]
        uri = self._one(each.id for each in (calm if calm and self._often(0.9) else known))
        return None if uri is None else self._index.compositions[uri]

    # -- by blocks -----------------------------------------------------------------------------

    async def compose(self, process: Process) -> None:
        await self._make_room(process)
        hosts = self._some(self._hosts(), 1 if self._often(0.97) else 2)
        devices = self._some(self._devices(), self._rng.choice((0, 1, 1, 2, 3)))
        blocks = [*hosts, *devices]
        if self._often(0.03):
            blocks.append(self._rng.choice([*blocks, f"{RESERVATIONS}/none"]))
        body = {"Links": {"ResourceBlocks": refs(blocks)}}
        await self._write(process, "POST", SYSTEM_COLLECTION, body, blocks)

    async def _make_room(self, process: Process) -> None:
        """Give a system back where no host is free, mostly."""
        if not any(map(self._free, self._hosts())) and self._often(0.8):
            await self.give_back(process)

    async def give_back(self, process: Process) -> None:
        system = self._system(expanded=False)
        if system is not None:
            await self._write(process, "DELETE", system.id)

    async def add(self, process: Process) -> None:
        system = self._system()
        blocks = self._some(self._devices(), 1)
        if system is not None and blocks:
            await self._act(process, system.id, ADD, blocks[0], blocks)

    async def remove(self, process: Process) -> None:
        system = self._system()
        held = [] if system is None else [*system.blocks]
        if system is not None and held:
            block = self._rng.choice(held[1:] or held)
            await self._act(process, system.id, REMOVE, block, ())

    async def expand(self, process: Process) -> None:
        """Give a physical host more, in place."""
        used = {each.host for each in self._index.compositions.values() if not each.expands}
        hosts = [each for each in self._hosts() if each.host not in used]
        known = hosts if self._often(0.95) else self._hosts()
        host = self._one(each.host or "" for each in known)
        blocks = self._some(self._devices(), 1)
        if host is not None and blocks:
            await self._act(process, host, ADD, blocks[0], blocks)

    async def _act(
        self, process: Process, system: str, action: str, block: str, adds: Iterable[str]
    ) -> None:
        path = f"{system}/Actions/{action}"
        await self._write(process, "POST", path, {"ResourceBlock": refs([block])[0]}, adds)

    async def patch(self, process: Process) -> None:
        """Say of which blocks a system is to be made from now on."""
        system = self._system()
        if system is None:
            return
        blocks = [each for each in system.blocks
                  if each == system.blocks[0] or self._often(0.7)]  # fmt: skip
        blocks += [each for each in self._some(self._devices(), self._rng.choice((0, 1, 1)))
                   if each not in blocks]  # fmt: skip
        body = {"Links": {"ResourceBlocks": refs(blocks)}}
        tag = self._client.tag(process, system.id) if self._often(0.3) else None
        await self._write(process, "PATCH", system.id, body, blocks, tag)

    # -- by needs ------------------------------------------------------------------------------

    async def ask(self, process: Process) -> None:
        """Ask for a system by what it needs: parts of pools come with it."""
        await self._make_room(process)
        await self._write(process, "POST", SYSTEM_COLLECTION, self._needs())

    def _needs(self) -> dict[str, Any]:
        """Return requirements that can be met, mostly."""
        body: dict[str, Any] = {"Processors": {"Members": [_wish(ProcessorType="CPU")]}}
        kinds = {each.kind for each in self._devices() if self._free(each) and not each.sharing}
        if "GPU" in kinds and self._often(0.4):
            body["Processors"]["Members"].append(_wish(ProcessorType="GPU"))
        if self._often(0.6):
            size = self._rng.choice((256, 256, 512, 1024, 131072 // 2))
            body["Memory"] = {"Members": [_wish(CapacityMiB=size)]}
            body["@Redfish.AllowOverprovisioning"] = self._often(0.5)
        if "NVMe" in kinds and self._often(0.3):
            body["Storage"] = {"Members": [_wish()]}
        if self._often(0.03):
            body["Processors"]["Members"].append({"@Redfish.RequestedCount": 0})
        return body

    # -- reservations --------------------------------------------------------------------------

    async def reserve(self, process: Process) -> None:
        """Reserve what a manifest needs; sometimes only ask, sometimes take it at once."""
        await self._make_room(process)
        if self._often(0.25):
            await self.lasting(process)
        body = self._needs() if self._often(0.4) else {
            "Links": {"ResourceBlocks": refs([*self._some(self._hosts(), 1),
                                              *self._some(self._devices(), 1)])}
        }  # fmt: skip
        stanza = {"StanzaType": "ComposeSystem", "StanzaId": "1", "Request": body}
        kind = self._rng.choice(("PreviewReserve", "PreviewReserve", "Apply", "Apply", "Preview"))
        manifest = {"Stanzas": [stanza]}
        request = {"RequestFormat": "Manifest", "RequestType": kind, "Manifest": manifest}
        await self._write(process, "POST", COMPOSE, request)
        response = self._client.last
        if kind != "PreviewReserve" or response is None or response.status != 200:
            return
        if self._often(0.6):
            taken = json.loads(response.body).get("ReservationId")
            await self._write(
                process, "POST", COMPOSE,
                {"RequestFormat": "Manifest", "RequestType": "Apply", "ReservationId": taken,
                 "Manifest": manifest},
            )  # fmt: skip

    async def forget(self, process: Process) -> None:
        """Give up a reservation."""
        uri = self._one(self._index.reservations)
        if uri is not None:
            await self._write(process, "DELETE", uri)

    async def lasting(self, process: Process) -> None:
        """Say how long reservations last from now on."""
        body = {"ReservationDuration": self._rng.choice(("PT1S", "PT3S", "PT20S"))}
        await self._write(process, "PATCH", COMPOSITION_SERVICE, body)


def _wish(count: int = 1, **more: Any) -> dict[str, Any]:
    return {"@Redfish.RequestedCount": count, **more}

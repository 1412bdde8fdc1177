"""Bodies about compositions that should be taken: systems of blocks, of wishes, and manifests."""

import random
from typing import Any

from tests.fuzz.surface import Surface

Body = dict[str, Any]
_TEXTS = ("composed by chance", "日本 é", "0")


class Compositions:
    """Draws them by one source of chance from the blocks that there are."""

    def __init__(self, rng: random.Random, surface: Surface) -> None:
        self._rng = rng
        self._surface = surface
        self.reserving = False
        """Whether the next manifest is to leave a reservation; set back by it."""

    def _blocks(self, *, computing: bool, state: str = "Unused") -> list[str]:
        """Return the blocks of one kind that are in a state, or any where there is none."""
        known = [
            uri
            for uri in self._surface.of_type("ResourceBlock")
            if ("Compute" in self._surface.tree[uri].get("ResourceBlockType", ())) == computing
        ]
        status = "CompositionStatus"
        fit = [
            uri
            for uri in known
            if self._surface.tree[uri].get(status, {}).get("CompositionState") == state
        ]
        return fit or known

    def _hosts(self) -> list[str]:
        """Return the blocks of hosts that nothing has, or of any where there is none."""
        held = {
            self._system(each["@odata.id"])
            for kind, name in (("Zone", "Endpoints"), ("Connection", "InitiatorEndpoints"))
            for uri in self._surface.of_type(kind, "/redfish/v1/Fabrics/")
            for each in self._surface.tree[uri].get("Links", {}).get(name, ())
        }
        known = self._blocks(computing=True)
        return [uri for uri in known if uri.rpartition("/")[2] not in held] or known

    def _system(self, end: str) -> str:
        """Return the name of what an endpoint stands for."""
        entities = self._surface.tree.get(end, {}).get("ConnectedEntities") or [{}]
        return str((entities[0].get("EntityLink") or {}).get("@odata.id", "")).rpartition("/")[2]

    def _made_of(self) -> list[Body]:
        hosts, others = self._hosts(), self._blocks(computing=False)
        if not hosts or not others:
            return []
        count = min(len(others), self._rng.choice((1, 1, 2, 3)))
        return [
            {"@odata.id": uri}
            for uri in (self._rng.choice(hosts), *self._rng.sample(others, count))
        ]

    def system(self, uri: str) -> Body:
        """Return the body of a POST that composes a system."""
        if self._rng.random() < 0.3:
            return self._wishes()
        return {"Name": self._rng.choice(_TEXTS), "Links": {"ResourceBlocks": self._made_of()}}

    def _wishes(self) -> Body:
        """Return a system that is asked for by what it needs."""
        kind = self._rng.choice(("GPU", "FPGA"))
        wished = [{"@Redfish.RequestedCount": self._rng.choice((1, 1, 2)), "ProcessorType": kind}]
        body: Body = {"Name": "wished", "Processors": {"Members": wished}}
        if self._rng.random() < 0.5:
            size = self._rng.choice((1024, 8192, 65536))
            body["Memory"] = {"Members": [{"@Redfish.RequestedCount": 1, "CapacityMiB": size}]}
        return body

    def system_update(self, uri: str) -> Body:
        """Return a PATCH of a system."""
        held = self._surface.tree.get(uri, {}).get("Links", {}).get("ResourceBlocks")
        if held and self._rng.random() < 0.5:
            more = self._blocks(computing=False)
            after = [*held, {"@odata.id": self._rng.choice(more)}] if more else held[:-1]
            return {"Links": {"ResourceBlocks": after}}
        return {"AssetTag": self._rng.choice(_TEXTS)}

    def block(self, uri: str) -> Body:
        """Return the body of a POST that makes a block of free ones, or of what is in none."""
        return self._registered() if self._rng.random() < 0.2 else self._of_blocks()

    def _of_blocks(self) -> Body:
        """Return a block of one or two free ones."""
        known = [each for each in self._blocks(computing=False) if not self._is_made(each)]
        chosen = self._rng.sample(known, min(len(known), self._rng.choice((1, 1, 2))))
        links = {"SupplyingResourceBlocks": [{"@odata.id": each} for each in chosen]}
        return {"Name": self._rng.choice(_TEXTS), "Links": links}

    def _is_made(self, uri: str) -> bool:
        """Whether a block can be no component: of other blocks itself, or shared."""
        document = self._surface.tree[uri]
        shared = document.get("CompositionStatus", {}).get("SharingCapable")
        return bool(shared or document.get("Links", {}).get("SupplyingResourceBlocks"))

    def _registered(self) -> Body:
        """Return a block of one device; only imports have any that are in no block yet."""
        processors = sorted(self._surface.of_type("Processor"))
        links = [{"@odata.id": self._rng.choice(processors)}] if processors else []
        return {"ResourceBlockType": ["Processor"], "Processors": links}

    def more_block(self, uri: str) -> Body:
        """Return the parameters of AddResourceBlock."""
        known = self._blocks(computing=False)
        return {"ResourceBlock": {"@odata.id": self._rng.choice(known)}} if known else {}

    def less_block(self, uri: str) -> Body:
        """Return the parameters of RemoveResourceBlock."""
        system = uri.partition("/Actions/")[0]
        held = self._surface.tree.get(system, {}).get("Links", {}).get("ResourceBlocks") or []
        known = [each["@odata.id"] for each in held] or self._blocks(computing=False)
        return {"ResourceBlock": {"@odata.id": self._rng.choice(known)}} if known else {}

    def settings(self, uri: str) -> Body:
        """Return a PATCH of the CompositionService."""
        allows = {"AllowOverprovisioning": self._rng.random() < 0.5}
        lasts = {"ReservationDuration": self._rng.choice(("PT10M", "PT1H", "P1D"))}
        return self._rng.choice((allows, lasts, {**allows, **lasts}))

    def manifest(self, uri: str) -> Body:
        """Return the parameters of Compose."""
        body: Body = {"RequestFormat": "Manifest"}
        if self.reserving:
            self.reserving = False
            stanza = {"StanzaType": "ComposeResource", "Request": self._of_blocks()}
            stanzas = {"Stanzas": [{**stanza, "StanzaId": "0"}]}
            return {**body, "RequestType": "PreviewReserve", "Manifest": stanzas}
        reserved = self._surface.of_type("CompositionReservation")
        if reserved and self._rng.random() < 0.5:
            name = self._rng.choice(reserved).rpartition("/")[2]
            return {**body, "RequestType": "Apply", "ReservationId": name}
        count = self._rng.choice((1, 1, 1, 2))
        stanzas = [{**self._stanza(), "StanzaId": str(each)} for each in range(count)]
        kind = self._rng.choice(("Preview", "Apply", "PreviewReserve", "PreviewReserve"))
        expand = self._rng.choice(("None", "Relevant", "All"))
        return {**body, "RequestType": kind, "Manifest": {"Stanzas": stanzas, "Expand": expand}}

    def _stanza(self) -> Body:
        """Return one stanza: most often of what is asked for where a host is free."""
        composed = [
            each
            for each in self._surface.of_type("ComputerSystem")
            if self._surface.tree[each].get("SystemType") == "Composed"
        ]
        blocks = [
            each
            for each in self._surface.of_type("ResourceBlock")
            if self._surface.tree[each].get("Links", {}).get("SupplyingResourceBlocks")
        ]
        asked: list[tuple[str, Body]] = [
            ("ComposeSystem", self._wishes()),
            ("ComposeSystem", {"Links": {"ResourceBlocks": self._made_of()}}),
            ("ComposeResource", self._of_blocks()),
        ]
        if self._rng.random() < 0.1:
            asked = [("RegisterResourceBlock", self._registered())]
        if composed:
            asked += [("DecomposeSystem", {"@odata.id": self._rng.choice(composed)})] * 2
        if blocks:
            asked.append(("DecomposeResource", {"@odata.id": self._rng.choice(blocks)}))
        kind, request = self._rng.choice(asked)
        return {"StanzaType": kind, "Request": request}

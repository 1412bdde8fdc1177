"""Bodies that should be taken: made from the request schemas and from what there is now.

What no schema says (whose endpoints, which part of which device) stands in one recipe per type;
all else, and every type without a recipe, is drawn from its schema.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.compositions import Compositions
from tests.fuzz.events import Events
from tests.fuzz.surface import Surface

Body = dict[str, Any]
PASSWORD = "an-invented-Passw0rd"
AUTHORITY = (Path(__file__).parent / "authority.pem").read_text()
"""A certificate whose key nobody has; valid until 2125."""
_TEXTS = ("x", "made by chance", "日本 é 🙂", "a/b?c#d", "0", " ", "x" * 200)
_TIMES = ("2026-01-02T03:04:05Z", "2030-12-31T23:59:59.5+01:00")
_PARTS = ("MemoryChunks", "MemoryRegion")


class Bodies:
    """Draws bodies by one source of chance; `login` is the password of the user "admin"."""

    def __init__(self, rng: random.Random, surface: Surface, login: str = PASSWORD) -> None:
        self._rng = rng
        self._login = login
        self._surface = surface
        self._count = 0
        self.composed = composed = Compositions(rng, surface)
        events = Events(rng, surface)
        self._recipes: dict[str, Callable[[str], Body]] = {
            "Zone.Create": self._zone,
            "Zone.Update": self._zone_update,
            "Zone.AddEndpoint.Parameters": self._zone_member,
            "Zone.RemoveEndpoint.Parameters": self._zone_member,
            "Connection.Create": self._connection,
            "Connection.AddVolumeInfo.Parameters": self._more_volume,
            "Connection.RemoveVolumeInfo.Parameters": self._less_volume,
            "Endpoint.Create": self._endpoint,
            "EndpointGroup.Create": self._group,
            "AddressPool.Create": self._pool,
            "MemoryChunks.Create": self._chunk,
            "MemoryRegion.Create": self._region,
            "Volume.Create": self._volume,
            "ManagerAccount.Create": self._account,
            "Role.Create": self._role,
            "Session.Create": self._session,
            "VirtualPCI2PCIBridge.Update": self._vppb,
            "CXLLogicalDevice.Update": self._qos,
            "Certificate.Create": self._certificate,
            "CertificateService.ReplaceCertificate.Parameters": self._other_certificate,
            "ComputerSystem.Create": composed.system,
            "ComputerSystem.Update": composed.system_update,
            "ComputerSystem.AddResourceBlock.Parameters": composed.more_block,
            "ComputerSystem.RemoveResourceBlock.Parameters": composed.less_block,
            "CompositionService.Compose.Parameters": composed.manifest,
            "ResourceBlock.Create": composed.block,
            "EventDestination.Create": events.subscription,
            "EventDestination.Update": events.changed,
            "EventDestination.ResumeSubscription.Parameters": events.resumed,
            "EventService.SubmitTestEvent.Parameters": events.test_event,
            "LogService.ClearLog.Parameters": self._clear,
            "CompositionService.Update": composed.settings,
        }

    def good(self, method: str, uri: str) -> Body:
        """Return a body for a write at `uri` (an action's target too)."""
        template = self._surface.template_of(uri)
        name = None if template is None else self._surface.body_name(method, template)
        if name is None:
            return {}
        recipe = self._recipes.get(name)
        if recipe is not None and self._rng.random() < 0.8:
            return recipe(uri)
        schema = self._surface.schemas[name]
        return self._some(schema, uri, 1 if method == "PATCH" else 0)

    # -- from schemas ------------------------------------------------------------------------

    def _some(self, schema: Body, uri: str, least: int) -> Body:
        """Return an object with what it must have and little else."""
        properties: Body = schema.get("properties", {})
        needed = list(schema.get("required", ()))
        rest = [name for name in properties if name not in needed]
        more = self._rng.sample(rest, min(len(rest), self._rng.choice((least, 1, 1, 2))))
        return {name: self._value(properties[name], name, uri) for name in (*needed, *more)}

    def _value(self, schema: Body, name: str, uri: str) -> Any:
        shape = self._rng.choice(schema["anyOf"]) if "anyOf" in schema else schema
        if "enum" in shape:
            return self._listed(name, uri) or self._rng.choice(shape["enum"])
        kind = shape.get("type")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), "null")
        match kind:
            case "object":
                if set(shape.get("properties", ())) == {"@odata.id"}:
                    return {"@odata.id": self._link(name, uri)}
                return self._some(shape, uri, 1)
            case "array":
                least = shape.get("minItems", 0)
                count = max(least, self._rng.choice((0, 1, 1, 2)))
                return [self._value(shape["items"], name, uri) for _ in range(count)]
            case "string":
                return self._text(shape, name, uri)
            case "integer":
                return self._rng.choice((int(shape.get("minimum", 0)), 1, 5, 100, 512))
            case "number":
                return self._rng.choice((shape.get("minimum", 0), 1, 2.5, 40))
            case "boolean":
                return self._rng.random() < 0.5
            case _:
                return None

    def _listed(self, name: str, uri: str) -> Any:
        """Return one of the values that a resource says an action's parameter may have."""
        owner, _, action = uri.partition("/Actions/")
        actions = self._surface.tree.get(owner, {}).get("Actions", {})
        listed = actions.get(f"#{action}", {}).get(f"{name}@Redfish.AllowableValues")
        return self._rng.choice(listed) if listed else None

    def _text(self, shape: Body, name: str, uri: str) -> str:
        if shape.get("format") == "date-time":
            return self._rng.choice(_TIMES)
        if shape.get("pattern") == "^/":
            return self._link(name, uri)
        if name == "Id":
            return self._fresh("id")
        if "Password" in name:
            return PASSWORD
        held = self._surface.tree.get(uri, {}).get(name)
        if isinstance(held, str) and self._rng.random() < 0.3:
            return held
        return self._rng.choice(_TEXTS)[: shape.get("maxLength", 200)]

    def _link(self, name: str, uri: str) -> str:
        """Return what a link of that name may lead to: of its type, near `uri` if there is any."""
        type_name = name.removeprefix("Initiator").removeprefix("Target").removesuffix("s")
        known = self._surface.of_type(type_name, self._fabric(uri))
        known = known or self._surface.of_type(type_name) or list(self._surface.tree)
        return self._rng.choice(known)

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}-{self._count}"

    # -- recipes -----------------------------------------------------------------------------

    def _fabric(self, uri: str) -> str:
        return "/".join(uri.split("/")[:5]) if "/Fabrics/" in uri else ""

    def _ends(self, uri: str, role: str) -> list[str]:
        """Return the endpoints of a fabric that have a role."""
        found = []
        for each in self._surface.of_type("Endpoint", f"{self._fabric(uri)}/Endpoints/"):
            entities = self._surface.tree[each].get("ConnectedEntities") or [{}]
            if entities[0].get("EntityRole") == role:
                found.append(each)
        return found

    def _zones(self, fabric: str) -> list[str]:
        return self._surface.of_type("Zone", f"{fabric}/Zones/")

    def _zoned(self, zone: str) -> list[str]:
        shown = self._surface.tree[zone].get("Links", {}).get("Endpoints", [])
        return [each["@odata.id"] for each in shown]

    def _free(self, uri: str) -> list[str]:
        """Return targets that no zone has."""
        taken = {each for zone in self._zones(self._fabric(uri)) for each in self._zoned(zone)}
        return [each for each in self._ends(uri, "Target") if each not in taken]

    def _pick(self, known: list[str], most: int, least: int = 1) -> list[str]:
        return self._rng.sample(known, min(len(known), self._rng.randint(least, most)))

    def _to_zone(self, uri: str) -> list[str]:
        """Return endpoints of hosts: most often none of the one that is left to compositions."""
        known = self._ends(uri, "Initiator")
        systems = {each: self._entity(each) for each in known}
        kept = max(systems.values(), default="")
        others = [each for each in known if systems[each] != kept]
        return others if others and self._rng.random() < 0.9 else known

    def _zone(self, uri: str) -> Body:
        hosts = self._pick(self._to_zone(uri), 1)
        free = self._free(uri)
        # Most often what has memory to grant: few devices do.
        granting = [each for each in free if self._parts(each)]
        known = granting if granting and self._rng.random() < 0.7 else free
        members = [*hosts, *self._pick(known, 2, int(self._rng.random() < 0.8))]
        return {"Name": self._fresh("zone"), "Links": {"Endpoints": links(*members)}}

    def _zone_update(self, uri: str) -> Body:
        members = self._zoned(uri) if uri in self._surface.tree else []
        change = self._rng.randrange(3)
        if change == 0:
            members = [*members, *self._pick(self._free(uri), 1)]
        elif change == 1:
            members = members[:-1]
        else:
            return {"Description": self._rng.choice(_TEXTS)}
        return {"Links": {"Endpoints": links(*members)}}

    def _zone_member(self, uri: str) -> Body:
        zone, _, action = uri.partition("/Actions/")
        held = self._zoned(zone) if zone in self._surface.tree else []
        known = self._free(uri) if action.endswith("AddEndpoint") else held
        end = self._rng.choice(known or self._ends(uri, "Target") or [zone])
        return {"Endpoint": self._rng.choice(({"@odata.id": end}, end))}

    def _connection(self, uri: str) -> Body:
        volumes = self._surface.of_type("Volume", "/redfish/v1/Storage/")
        fabric = self._surface.tree.get(self._fabric(uri), {}).get("FabricType")
        if fabric == "NVMeOverFabrics" and volumes:
            hosts = self._pick(self._to_zone(uri), 1)
            return {
                "ConnectionType": "Storage",
                "VolumeInfo": self._rows(self._rng.choice((1, 2))),
                "Links": {"InitiatorEndpoints": links(*hosts)},
            }
        hosts, targets = self._met(uri)
        sides = {"InitiatorEndpoints": links(*hosts), "TargetEndpoints": links(*targets)}
        parts = [part for target in targets for part in self._parts(target)]
        if not parts:
            return {"Links": sides}
        part = self._rng.choice(parts)
        name = "MemoryRegion" if "/MemoryRegions/" in part else "MemoryChunk"
        row = {name: {"@odata.id": part}, "AccessCapabilities": ["Read", "Write"]}
        return {"ConnectionType": "Memory", f"{name}Info": [row], "Links": sides}

    def _met(self, uri: str) -> tuple[list[str], list[str]]:
        """Return a host and a target that a zone holds together, or any two."""
        hosts, targets = self._ends(uri, "Initiator"), self._ends(uri, "Target")
        pairs = [
            (host, target)
            for zone in self._zones(self._fabric(uri))
            for host in self._zoned(zone)
            for target in self._zoned(zone)
            if host in hosts and target in targets
        ]
        pairs = [each for each in pairs if self._parts(each[1])] or pairs
        if pairs:
            host, target = self._rng.choice(pairs)
            return [host], [target]
        return self._pick(hosts, 1), self._pick(targets, 1)

    def _entity(self, end: str) -> str:
        """Return what an endpoint stands for."""
        entities = self._surface.tree[end].get("ConnectedEntities") or [{}]
        return str((entities[0].get("EntityLink") or {}).get("@odata.id", ""))

    def _parts(self, target: str) -> list[str]:
        """Return the chunks and regions of the device part that an endpoint stands for."""
        entity = self._entity(target)
        shown = self._surface.tree.get(entity, {}).get("Links", {}).get("MemoryChunks", [])
        regions = self._surface.of_type("MemoryRegion", f"{entity}/MemoryRegions/")
        return [*(each["@odata.id"] for each in shown), *regions] if entity else []

    def _any_volume(self, under: str = "/redfish/v1/Storage/") -> Body:
        return {"Volume": {"@odata.id": self._rng.choice(self._ungranted(under))}}

    def _ungranted(self, under: str) -> list[str]:
        """Return volumes that no connection grants, or any where there is none."""
        known = self._surface.of_type("Volume", under) or ["/redfish/v1"]
        granted = {
            row["Volume"]["@odata.id"]
            for each in self._surface.of_type("Connection")
            for row in self._surface.tree[each].get("VolumeInfo") or ()
        }
        return [each for each in known if each not in granted] or known

    def _rows(self, most: int) -> list[Body]:
        """Return what a connection grants: volumes of one subsystem."""
        first = self._rng.choice(self._ungranted("/redfish/v1/Storage/"))
        near = self._ungranted(first.rpartition("/")[0] + "/")
        chosen = [first, *self._pick([each for each in near if each != first], most - 1, 0)]
        access = {"AccessCapabilities": ["Read", "Write"]}
        return [{"Volume": {"@odata.id": each}, **access} for each in chosen]

    def _volumes(self, uri: str) -> list[Body]:
        """Return the rows of the connection that an action is on."""
        connection = self._surface.tree.get(uri.partition("/Actions/")[0], {})
        return list(connection.get("VolumeInfo") or ())

    def _more_volume(self, uri: str) -> Body:
        rows = self._volumes(uri)
        # All volumes of a connection are of one subsystem.
        near = "/redfish/v1/Storage/"
        if rows:
            near = rows[0]["Volume"]["@odata.id"].rpartition("/")[0] + "/"
        return {**self._any_volume(near), "AccessCapabilities": ["Read", "Write"]}

    def _less_volume(self, uri: str) -> Body:
        rows = self._volumes(uri)
        return {"Volume": self._rng.choice(rows)["Volume"]} if rows else self._any_volume()

    def _endpoint(self, uri: str) -> Body:
        model = self._surface.tree[self._rng.choice(self._ends(uri, "Target") or [uri])]
        names = ("EntityType", "EntityRole", "EntityLink")
        entities = [
            {name: entity[name] for name in names if name in entity}
            for entity in model.get("ConnectedEntities", [])
        ]
        ports = model.get("Links", {}).get("ConnectedPorts", [])
        body = {"Name": self._fresh("endpoint"), "ConnectedEntities": entities}
        return {**body, "Links": {"ConnectedPorts": ports}} if ports else body

    def _group(self, uri: str) -> Body:
        ends = self._pick(self._ends(uri, self._rng.choice(("Initiator", "Target"))), 2)
        return {"Name": self._fresh("group"), "Links": {"Endpoints": links(*ends)}}

    def _pool(self, uri: str) -> Body:
        ends = self._pick(self._ends(uri, "Initiator"), 2, 0)
        return {"Name": self._fresh("pool"), "Links": {"Endpoints": links(*ends)}}

    def _chunk(self, _uri: str) -> Body:
        return {"MemoryChunkSizeMiB": 256 * self._rng.randint(1, 4)}

    def _region(self, _uri: str) -> Body:
        size = {"RegionSizeMiB": 512 * self._rng.randint(1, 2)}
        return {"RegionType": "Dynamic", **size, "ShareableRegion": self._rng.random() < 0.3}

    def _volume(self, _uri: str) -> Body:
        body: Body = {"CapacityBytes": self._rng.randint(1, 3) << 30}
        if self._rng.random() < 0.3:
            body["NVMeNamespaceProperties"] = {"IsShareable": True}
        return body

    def _account(self, _uri: str) -> Body:
        role = self._rng.choice(("ReadOnly", "Operator", "Administrator"))
        return {"UserName": self._fresh("user"), "Password": PASSWORD, "RoleId": role}

    def _role(self, _uri: str) -> Body:
        return {"RoleId": self._fresh("Role"), "AssignedPrivileges": ["Login"]}

    def _session(self, _uri: str) -> Body:
        return {"UserName": "admin", "Password": self._login}

    def _vppb(self, uri: str) -> Body:
        switch = uri.partition("/VCSs/")[0]
        ports = self._surface.of_type("Port", f"{switch}/Ports/")
        chosen = self._rng.choice((None, *ports))
        return {"Links": {"Port": None if chosen is None else {"@odata.id": chosen}}}

    def _certificate(self, _uri: str) -> Body:
        return {"CertificateString": AUTHORITY, "CertificateType": "PEM"}

    def _other_certificate(self, uri: str) -> Body:
        known = self._surface.of_type("Certificate") or [uri]
        return {**self._certificate(uri), "CertificateUri": links(self._rng.choice(known))[0]}

    def _clear(self, uri: str) -> Body:
        entries = uri.partition("/Actions/")[0] + "/Entries"
        tag = self._surface.tree.get(entries, {}).get("@odata.etag")
        return {"LogEntriesETag": tag} if tag and self._rng.random() < 0.3 else {}

    def _qos(self, _uri: str) -> Body:
        return {"QoS": {"AllocatedBandwidth": self._rng.choice((0, 5, 10, 90))}}


def links(*uris: str) -> list[dict[str, str]]:
    """Return links to `uris`."""
    return [{"@odata.id": uri} for uri in uris]

"""A run: the service in this process in virtual time, asked one case after the other.

Virtual time makes a run the same each time (but for ids that come from os.urandom), and shows a
request that would wait for ever. What a case changes is read from the kernel, not from answers.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import yaml

from redfish_fm import worlds
from redfish_fm.config import Config
from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.roles import ROLES
from redfish_fm.redfish.targets import normal
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.server.targets import split_target
from redfish_fm.store.base import StoredState
from tests.cases.stack import CATALOG, CUSTOM_ROLES, ROOT, USERS, Stack, a_stack
from tests.fuzz.events import NETWORK
from tests.fuzz.judge import Seen, wrong
from tests.fuzz.plan import ADMIN, Case, Plan, shown
from tests.fuzz.report import Report
from tests.fuzz.surface import Surface
from tests.fuzz.surroundings import Receivers, heard
from tests.redfish.house import ACCOUNTS, PASSWORD
from tests.sim.isolation import broken
from tests.virtual_time import VirtualTimeLoop

HANG_S = 120.0
"""Virtual time in which every request must be answered."""
RESET_S = 60.0
"""Virtual time in which a host, or what manages it, is back after a reset."""
SESSIONS_MAX = 64
FULL_LOOK_EVERY, ISOLATION_EVERY = 200, 500
"""How many refused writes between two comparisons of all tags, and requests between two audits."""
NEWS_MAX = 3
"""Of the members of a collection that is read, so many are taken in."""
MADE_MAX = 250
"""More than that, and what was made first is deleted: a run is to stay as fast as it began."""
_HOLDING = ("CompositionReservations", "Systems", "Connections", "Zones", "ResourceBlocks")
"""Collections whose members hold hosts and devices, in the order in which they can be deleted."""
_TIDY = (*_HOLDING, "EndpointGroups", "AddressPools", "Endpoints", "MemoryChunks",
         "MemoryRegions", "Volumes", "AllocatedVolumes", "Accounts", "Roles", "Certificates",
         "Tasks")  # fmt: skip
_FEW = ("Subscriptions",)
"""Of these no more than FEW_MAX at once: each costs with every change."""
FEW_MAX = 8
SETTINGS = (f"{ROOT}/AccountService", f"{ROOT}/SessionService", f"{ROOT}/EventService")
NO_SETTINGS = b"{}"
LASTING = 0.1
"""Chance that such settings end with a request."""
MONITORED = 0.5
"""Chance that a task monitor is remembered, to be deleted."""
WATCHED = (Space.DOCUMENT, Space.OVERLAY, Space.SECRET)
COMPOSE = f"{ROOT}/CompositionService/Actions/CompositionService.Compose"
RESERVATIONS = f"{ROOT}/CompositionService/CompositionReservations"
SUBSCRIPTIONS = f"{ROOT}/EventService/Subscriptions/"
GIVEN_UP = ("TerminateAfterRetries", "SuspendRetries")
_VOLATILE = ("/redfish/v1/TaskService/",)
"""Where a refused write may leave something: the Task that says why it failed."""


Trace = Callable[[dict[str, Any]], None]


def topology_world(name: str) -> worlds.World:
    """Return the world of a shipped topology."""
    return worlds.source(Config(topology=name), CATALOG)(StoredState(0, {}))


async def fuzz(
    seed: int, requests: int, world: worlds.World, name: str = "mixed", trace: Trace | None = None
) -> Report:
    """Send `requests` cases to a service over `world`; return what was seen."""
    config, receivers = Config(topology=name, event_destinations=(NETWORK,)), Receivers()
    async with a_stack(world, config=config, outbox=receivers) as stack:
        run = Run(stack, seed, await surface_of(stack), trace)
        for _ in range(requests):
            await run.step()
        await run.look_around()
        run.report.problems += receivers.wrong
        run.report.delivered = receivers.got
        return run.report


async def surface_of(stack: Stack) -> Surface:
    """Return what a client finds by reading the OpenAPI document and everything that is served."""
    document = await stack.ask("GET", f"{ROOT}/openapi.yaml")
    surface = Surface(yaml.load(document.body, Loader=yaml.CSafeLoader))
    for uri in await stack.crawl():
        response = await stack.ask("GET", uri)
        allow = tuple(response.headers["Allow"].split(", "))
        surface.learn(uri, json.loads(response.body), allow)
    return surface


class Run:
    """One run over a stack that somebody else starts and ends."""

    def __init__(self, stack: Stack, seed: int, surface: Surface, trace: Trace | None) -> None:
        self.stack = stack
        self.surface = surface
        self.plan = Plan(seed, surface, PASSWORD)
        self.report = Report(seed, told=surface.told())
        self._trace = trace
        self._bound: set[str] = set()
        """vPPBs that cases have changed: one that is bound by hand takes its host."""
        self._identity = self._who_may_what()
        self._sound = broken(stack.kernel.published.state.index) is None
        """An import may bring violations of its own; then new ones can not be told apart."""

    def _who_may_what(self) -> dict[tuple[Space, str], bytes]:
        """Return the accounts and roles that the run began with, as they are now."""
        spaces = self.stack.kernel.published.state.spaces
        keys = [
            *(f"{ACCOUNTS}/{user}" for user in USERS),
            *(f"{ROLES}/{role}" for role in CUSTOM_ROLES),
        ]
        return {
            (space, key): spaces[space][key]
            for space in (Space.DOCUMENT, Space.SECRET)
            for key in keys
            if key in spaces[space]
        }

    async def step(self) -> None:
        """Send one case and judge the answer."""
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualTimeLoop):
            loop.came()
        case = self.plan.next()
        self.report.writable |= {(case.method, case.template)} & self.surface.writable()
        headers = await self._headers(case)
        before = self._wanted()
        tags = self.stack.tags() if self._looks(case) else None
        path, query = split_target(case.target)
        request = Request(case.method, path, query, headers, case.body, "192.0.2.1")
        sessions = len(self.stack.durable.sessions)
        seen = Seen(query, sessions, SESSIONS_MAX, self._offers_basic(), self._tells_events())
        try:
            async with asyncio.timeout(HANG_S):
                response = await self.stack.service.handle(request)
        except TimeoutError:
            self._problem(case, "no answer")
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what a fuzzer looks for
            self._problem(case, f"raised {error!r}")
            self.report.note(case, 500)
            return
        self.report.note(case, response.status)
        self.plan.came(case, response.status)
        if self._trace is not None:
            self._trace({**shown(case), "status": response.status, "answer": _text(response)})
        for each in wrong(case, response, seen):
            self._problem(case, each, response)
        if response.flow is not None:
            await self._listen(case, response)
        if response.status >= 400:
            self._unchanged(case, response, before, tags)
            await self._gone(case, response)
        elif case.method not in ("GET", "HEAD", "OPTIONS"):
            await self._follow(case, response)
        if self._sound and self.report.requests % ISOLATION_EVERY == 0:
            self._isolated(case)
        elif case.method == "GET" and "?" not in case.target:
            await self._discover(case, response)
        await self._tidy()
        await self._reset_settings()

    # -- a request ---------------------------------------------------------------------------

    async def _headers(self, case: Case) -> dict[str, str]:
        headers = dict(case.headers)
        if case.user == "stranger":
            headers["x-auth-token"] = "0" * 64
        elif case.user is not None:
            headers["x-auth-token"] = await self.stack.token(case.user)
        return headers

    def _problem(self, case: Case, what: str, response: Response | None = None) -> None:
        answer = "" if response is None else f" -> {response.status} {_text(response)}"
        self.report.problems.append(
            f"request {self.report.requests}: {what}: {json.dumps(shown(case))}{answer}"
        )

    async def _listen(self, case: Case, response: Response) -> None:
        """Read a stream for a moment, and leave."""
        self.report.streams += 1
        assert response.flow is not None
        try:
            async with asyncio.timeout(HANG_S):
                found = await heard(response.flow, response.body)
        except TimeoutError:
            found = ["a stream that goes on without its reader"]
        for each in found:
            self._problem(case, each)

    def _offers_basic(self) -> bool:
        found = self.stack.kernel.published.get(SETTINGS[0])
        said = None if found is None else json.loads(found.body).get("HTTPBasicAuth")
        return said in (None, "Enabled")

    def _tells_events(self) -> bool:
        return self.stack.events.subscriptions.settings().enabled

    # -- what a refusal must not do ----------------------------------------------------------

    def _wanted(self) -> dict[Space, dict[str, bytes]]:
        """Return what clients have written, shallowly copied."""
        spaces = self.stack.kernel.published.state.spaces
        return {space: dict(spaces[space]) for space in WATCHED}

    def _calm(self) -> bool:
        """Whether nothing is under way, and all that is durable is shown."""
        kernel = self.stack.kernel
        operations = kernel.published.state.operations.values()
        shown = kernel.writer.tip.seq == kernel.published.seq
        return shown and not any(each.open for each in operations)

    def _looks(self, case: Case) -> bool:
        writes = case.method not in ("GET", "HEAD", "OPTIONS")
        return writes and self.report.refused_writes % FULL_LOOK_EVERY == 0 and self._calm()

    def _unchanged(
        self, case: Case, response: Response, before: Any, tags: dict[str, str | None] | None
    ) -> None:
        if case.method in ("GET", "HEAD", "OPTIONS"):
            return
        self.report.refused_writes += 1
        if not self._calm():
            return
        self.report.compared += 1
        after = self._wanted()
        for space in WATCHED:
            if before[space] != after[space]:
                fading = {each for state in (before, after) for each in _fading(state)}
                self._compare(case, response, before[space], after[space], fading)
        if tags is not None and self._calm():
            self.report.compared_fully += 1
            now = self.stack.tags()
            if now["seq"] == tags["seq"] and now != tags:
                moved = [uri for uri in now if now[uri] != tags.get(uri)]
                self._problem(case, f"refused, and these have other tags: {moved[:5]}", response)

    def _compare(
        self, case: Case, response: Response, before: Any, after: Any, fading: set[str]
    ) -> None:
        changed = [
            key
            for key in before.keys() | after.keys()
            if before.get(key) != after.get(key)
            and not key.startswith(_VOLATILE)
            and key not in fading
        ]
        if changed:
            self._problem(case, f"refused, and this has changed: {sorted(changed)[:5]}", response)

    # -- what a success must lead to ---------------------------------------------------------

    async def _follow(self, case: Case, response: Response) -> None:
        """Read what was made or changed; forget what is gone."""
        # The answer to a write that is repeated tells of what may be gone by now.
        first = "idempotency-key" not in case.headers
        if response.status == 201:
            location = response.headers["Location"]
            await self._learn(case, location, must=first)
            self.surface.made.add(location)
        elif response.status == 202:
            await self._until_done(case, response)
        elif case.target == COMPOSE:
            await self._reserved(case, response)
        uri = case.uri or normal(split_target(case.target)[0])
        deleted = case.method == "DELETE" and response.status == 204
        if "/VPPBs/" in uri:
            self._bound.add(uri)
        if deleted:
            self.surface.forget(uri)
            if first and self.stack.kernel.published.get(uri) is not None:
                self._problem(case, "deleted, and still there", response)
        # Before anything is read: it may be the reader who was deleted.
        if "/AccountService" in uri or "/SessionService" in uri:
            await self._restore()
        if not deleted:
            owner = uri.partition("/Actions/")[0].removesuffix("/Members")
            await self._learn(case, owner, must=first and response.status in (200, 204))
        if ".Reset" in uri and self.plan.rng.random() < 0.7:
            await asyncio.sleep(RESET_S)

    async def _reserved(self, case: Case, response: Response) -> None:
        """Take in the reservation that a manifest has left, if it was to leave one."""
        name = json.loads(response.body or b"{}").get("ReservationId")
        if name is not None and json.loads(response.body)["RequestType"] == "PreviewReserve":
            await self._learn(case, f"{RESERVATIONS}/{name}", must=False)
            self.surface.made.add(f"{RESERVATIONS}/{name}")

    async def _learn(self, case: Case, uri: str, must: bool) -> None:
        read = await self.stack.ask("GET", uri)
        if read.status == 200:
            document = json.loads(read.body)
            self.surface.learn(uri, document, tuple(read.headers["Allow"].split(", ")))
        elif must or read.status != 404:
            self._problem(case, f"done, and {uri} can not be read", read)
        else:
            self.surface.forget(uri)

    async def _gone(self, case: Case, response: Response) -> None:
        """Forget what has gone by itself: sessions, tasks, subscriptions that were given up."""
        if response.status == 404 and case.uri:
            owner = case.uri.partition("/Actions/")[0].removesuffix("/Members")
            await self._learn(case, owner, must=False)

    async def _discover(self, case: Case, response: Response) -> None:
        """Take in some of what a collection has that nobody here has made: entries of logs."""
        template = self.surface.template_of(case.uri)
        if response.status != 200 or template is None or template not in self.surface.at:
            return
        document = json.loads(response.body)
        members = document.get("Members", ()) if isinstance(document, dict) else ()
        for each in members[-NEWS_MAX:]:
            uri = str(each.get("@odata.id", ""))
            fits = self.surface.template_of(uri)
            if uri not in self.surface.tree and len(self.surface.at.get(str(fits), ())) < MADE_MAX:
                await self._learn(case, uri, must=False)

    async def _until_done(self, case: Case, response: Response) -> None:
        """Wait for the end of a task; take in what it has made, and the Task itself."""
        done = await self._monitor(case, response)
        if done is not None and done.status == 201:
            location = done.headers["Location"]
            await self._learn(case, location, must=False)
            self.surface.made.add(location)
        task = str(json.loads(response.body or b"{}").get("@odata.id", ""))
        if task:
            await self._learn(case, task, must=False)
            self.surface.made.add(task)
            if self.plan.rng.random() < MONITORED:
                # What it answers to a GET is another resource; it is only called off.
                self.surface.place(response.headers["Location"], ("DELETE",))

    async def _monitor(self, case: Case, response: Response) -> Response | None:
        """Wait until a task has ended, so that the next case meets a calm service."""
        monitor = response.headers["Location"]
        for _ in range(100):
            read = await self.stack.ask("GET", monitor)
            if read.status != 202:
                return read
            await asyncio.sleep(1.0)
        self._problem(case, "a task that does not end", response)
        return None

    async def _restore(self) -> None:
        """Give the users of the run back what a case has taken from them."""
        now = self._who_may_what()
        if now == self._identity:
            return
        edits = tuple(
            Edit(space, key, now.get((space, key)), value)
            for (space, key), value in self._identity.items()
            if now.get((space, key)) != value
        )
        await self.stack.kernel.writer.submit(
            lambda _: Draft(OutcomeKind.CHANGED, ADMIN, edits), "service"
        )
        for uri in {edit.key for edit in edits}:
            await self._learn(Case("GET", uri), uri, must=True)

    async def _reset_settings(self) -> None:
        """Let no setting that locks everybody out, or tells nobody anything, last for long."""
        overlays = self.stack.kernel.published.state.spaces[Space.OVERLAY]
        changed = [uri for uri in SETTINGS if overlays.get(uri, NO_SETTINGS) != NO_SETTINGS]
        edits = tuple(Edit(Space.OVERLAY, uri, overlays[uri], NO_SETTINGS) for uri in changed)
        if edits and self.plan.rng.random() < LASTING:
            await self.stack.kernel.writer.submit(
                lambda _: Draft(OutcomeKind.CHANGED, edits[0].key, edits), "service"
            )

    async def _tidy(self) -> None:
        """Delete the oldest of what was made, where that has become too much."""
        sessions = self.stack.durable.sessions
        if len(sessions) > SESSIONS_MAX - 4:
            await self.stack.identity.sessions.end_all()
            self.stack.tokens.clear()
            for uri in self.surface.of_type("Session"):
                self.surface.forget(uri)
        for uri in self._made(_FEW)[FEW_MAX:]:
            await self._delete(uri)
        if self.plan.crowded:
            self.plan.crowded = False
            await self._make_room()
        if len(self.surface.made) >= MADE_MAX:
            for uri in self._made(_TIDY):
                await self._delete(uri)

    def _made(self, collections: tuple[str, ...]) -> list[str]:
        """Return what this run has made in these collections, in their order."""
        made = sorted(self.surface.made)
        return [uri for each in collections for uri in made if uri.split("/")[-2] == each]

    async def _delete(self, uri: str) -> None:
        read = await self.stack.ask("DELETE", uri)
        if read.status == 202:
            await self._monitor(Case("DELETE", uri), read)
        if read.status in (200, 202, 204, 404):
            self.surface.forget(uri)

    async def _give_back(self, system: str) -> None:
        """Take apart a composed system, and from a host what it was given."""
        stanza = {"StanzaType": "DecomposeSystem", "Request": {"@odata.id": system}}
        body = {
            "RequestFormat": "Manifest",
            "RequestType": "Apply",
            "Manifest": {"Stanzas": [stanza]},
        }
        done = await self.stack.ask("POST", COMPOSE, body)
        if done.status == 202:
            await self._monitor(Case("POST", COMPOSE), done)

    async def _find_holding(self) -> None:
        """Take in what holds hosts and devices, and was made by what tells no Location of it."""
        known = [uri for uri in self.surface.allow if uri.rpartition("/")[2] in _HOLDING]
        for uri in known:
            shown = json.loads((await self.stack.ask("GET", uri)).body)
            for member in (str(each["@odata.id"]) for each in shown["Members"]):
                if member not in self.surface.tree:
                    await self._learn(Case("GET", member), member, must=False)
                if "DELETE" in self.surface.allow.get(member, ()):
                    self.surface.made.add(member)

    async def _make_room(self) -> None:
        """Delete all that holds hosts and devices, and read anew what is free now."""
        await self._find_holding()
        for uri in self._made(_HOLDING):
            await self._delete(uri)
        for uri in self.surface.of_type("ComputerSystem"):
            await self._give_back(uri)
        for uri in sorted(self._bound):
            freed = await self.stack.ask("PATCH", uri, {"Links": {"Port": None}})
            if freed.status == 202:
                await self._monitor(Case("PATCH", uri), freed)
        self._bound.clear()
        for kind in ("ResourceBlock", "Zone", "ComputerSystem"):
            for uri in self.surface.of_type(kind):
                await self._learn(Case("GET", uri), uri, must=False)

    # -- now and then ------------------------------------------------------------------------

    def _isolated(self, case: Case) -> None:
        rule = broken(self.stack.kernel.published.state.index)
        if rule is not None:
            self._problem(case, f"isolation: {rule}")

    async def look_around(self) -> None:
        """Read everything once more: whatever was written, it must be there to be read."""
        tree = await self.stack.crawl(without="Oem")
        assert len(tree) > 20


def _fading(state: dict[Space, dict[str, bytes]]) -> set[str]:
    """Return the subscriptions that end or change by themselves: streams, and what is given up."""
    found = set()
    for uri, raw in state[Space.DOCUMENT].items():
        if uri.startswith(SUBSCRIPTIONS):
            document = json.loads(raw)
            given_up = document.get("DeliveryRetryPolicy") in GIVEN_UP
            if given_up or document.get("SubscriptionType") == "SSE":
                found.add(uri)
    return found


def _text(response: Response) -> str:
    return response.body[:600].decode("utf-8", "backslashreplace")

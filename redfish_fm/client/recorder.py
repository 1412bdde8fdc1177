"""The walk: from the service root over every link, each resource once, into a mockup folder.

Knows which documents there are beside resources (metadata, odata, schemas) and what pages are.
What is recorded of each is decided in `left_out`, how a service is asked in `service`.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.client.left_out import (
    LOG_COLLECTION,
    MEMBERS_LEFT_OUT,
    SCHEMA_COLLECTION,
    is_of_a_client,
    kept,
    kept_headers,
    without_members,
)
from redfish_fm.client.links import ROOT, links, resource_uri, type_name
from redfish_fm.client.mockup_folder import MockupFolder, NoFileName
from redfish_fm.client.service import Answer, Service, ServiceError

VERSIONS, ODATA, METADATA = "/redfish", f"{ROOT}/odata", f"{ROOT}/$metadata"
RESOURCES_MAX = 2_000_000
"""A service that invents ever new links is left at some point."""
_NEXT = "@odata.nextLink"
_FILE_TYPES = frozenset({"JsonSchemaFile", "MessageRegistryFile"})

Progress = Callable[[int, int], None]
"""Called with (resources asked for, resources known of)."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What else to record, and how many requests may be under way at once."""

    headers: bool = False
    schemas: bool = False
    parallel: int = 4


@dataclass(slots=True)
class Report:
    """What was recorded. `failures` has what was not, by URI; `left_out` counts by collection type.

    `elsewhere` counts links that lead out of the service and were not followed.
    """

    resources: int = 0
    files: int = 0
    waits: int = 0
    elsewhere: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)


class _Failed(ServiceError):
    """One thing could not be recorded."""


class Recorder:
    """One walk over one service, for one run()."""

    def __init__(
        self, service: Service, folder: MockupFolder, wishes: Wishes, progress: Progress
    ) -> None:
        self.report = Report()
        self._service = service
        self._folder = folder
        self._wishes = wishes
        self._progress = progress
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._known: set[str] = set()
        self._private: set[str] = set()
        self._done = 0

    async def run(self) -> Report:
        """Walk until nothing new is known; return what came of it. Raises FolderError."""
        self._want(ROOT)
        async with asyncio.TaskGroup() as tasks:
            workers = [tasks.create_task(self._work()) for _ in range(self._wishes.parallel)]
            await self._besides()
            await self._queue.join()
            for worker in workers:
                worker.cancel()
        self.report.files = self._folder.files
        self.report.waits = self._service.waits
        return self.report

    async def _besides(self) -> None:
        """Record what no link leads to, though every service has it."""
        for uri in (VERSIONS, ODATA):
            await self._try(uri, self._odata(uri))
        await self._try(METADATA, self._metadata())

    async def _odata(self, uri: str) -> None:
        _, document = await self._json(uri)
        self._folder.write_json(uri, document)

    async def _metadata(self) -> None:
        self._folder.write_xml(METADATA, (await self._ok(METADATA)).body)

    async def _work(self) -> None:
        while True:
            uri = await self._queue.get()
            if uri not in self._private:
                await self._try(uri, self._resource(uri))
            self._done += 1
            self._progress(self._done, len(self._known))
            self._queue.task_done()

    async def _try(self, uri: str, work: Awaitable[None]) -> None:
        try:
            await work
        except RecursionError:
            self.report.failures[uri] = "nested too deep"
        except (ServiceError, NoFileName) as error:
            self.report.failures[uri] = str(error)

    async def _resource(self, uri: str) -> None:
        answer, document = await self._json(f"{uri}/" if uri == ROOT else uri)
        await self._add_pages(uri, document)
        document = self._without_private(document)
        for link in links(document):
            self._follow(link)
        self._folder.write_json(uri, kept(document))
        if self._wishes.headers:
            self._folder.write_headers(uri, kept_headers(answer.headers))
        self.report.resources += 1
        if self._wishes.schemas and type_name(document) in _FILE_TYPES:
            await self._files(document)

    def _without_private(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the document, without members where it is a collection whose members stay out."""
        name = type_name(document)
        if name == LOG_COLLECTION:
            return self._without_clients(document)
        schemas = name == SCHEMA_COLLECTION and not self._wishes.schemas
        if not schemas and name not in MEMBERS_LEFT_OUT:
            return document
        members = document.get("Members", [])
        uris = {resource_uri(link, self._service.origin) or "" for link in links(members)}
        self._private |= uris
        if uris:
            self.report.left_out[name] += len(uris)
        return without_members(document)

    def _without_clients(self, log: dict[str, Any]) -> dict[str, Any]:
        """Return the entries of a log without those that tell who did what."""
        members = log.get("Members", [])
        if not isinstance(members, list):
            return log
        left = [each for each in members if is_of_a_client(each)]
        kept_members = [each for each in members if not is_of_a_client(each)]
        uris = {resource_uri(link, self._service.origin) or "" for link in links(left)}
        self._private |= uris
        if left:
            self.report.left_out[LOG_COLLECTION] += len(left)
        return {**log, "Members": kept_members, "Members@odata.count": len(kept_members)}

    def _follow(self, link: str) -> None:
        uri = resource_uri(link, self._service.origin)
        if uri is None:
            self.report.elsewhere += 1
        else:
            self._want(uri)

    def _want(self, uri: str) -> None:
        if uri in self._known or uri in self._private:
            return
        if len(self._known) >= RESOURCES_MAX:
            self.report.failures[uri] = f"more than {RESOURCES_MAX} resources"
            return
        self._known.add(uri)
        self._queue.put_nowait(uri)

    async def _add_pages(self, uri: str, document: dict[str, Any]) -> None:
        """Put all pages of the document's lists into it, each list whole and in its order."""
        for name in [name for name in document if name.endswith(_NEXT)]:
            values = document.get(listed := name.removesuffix(_NEXT))
            link = document.pop(name)
            if not isinstance(values, list):
                continue
            seen: set[str] = set()
            while isinstance(link, str):
                page_uri = resource_uri(link, self._service.origin)
                if page_uri is None or page_uri in seen:
                    raise _Failed(f"{name} leads out of the service or back to where it was")
                seen.add(page_uri)
                _, page = await self._json(page_uri)
                more = page.get(listed)
                if not isinstance(more, list):
                    raise _Failed(f"{page_uri} is no page of {uri}")
                values.extend(more)
                link = page.get(name)

    async def _files(self, document: Mapping[str, Any]) -> None:
        """Record the schema or registry itself, in all languages that the service has it in."""
        for uri in _locations(document):
            inside = resource_uri(uri, self._service.origin)
            if inside is not None and inside not in self._known:
                self._known.add(inside)
                self._done += 1
                await self._try(inside, self._plain(inside))

    async def _plain(self, uri: str) -> None:
        self._folder.write_plain(uri, (await self._ok(uri)).body)

    async def _json(self, uri: str) -> tuple[Answer, dict[str, Any]]:
        answer = await self._ok(uri)
        try:
            document = json.loads(answer.body, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise _Failed(f"no JSON: {error}") from error
        if not isinstance(document, dict):
            raise _Failed("JSON, but no object")
        return answer, document

    async def _ok(self, uri: str) -> Answer:
        answer = await self._service.get(uri)
        if answer.status != 200:
            raise _Failed(f"answered {answer.status}")
        return answer


def _locations(document: Mapping[str, Any]) -> Iterator[str]:
    locations = document.get("Location")
    for location in locations if isinstance(locations, list) else ():
        uri = location.get("Uri") if isinstance(location, dict) else None
        if isinstance(uri, str):
            yield uri


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")

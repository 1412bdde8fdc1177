"""The service as its own manager: what it shows of itself, and what it does when that is changed.

A part of the composition root: it puts the logs, the network interfaces, discovery, the
listener that leads to HTTPS and the restart behind the resources that stand for them.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Collection, Mapping

from redfish_fm import __version__
from redfish_fm.clocks import Clock
from redfish_fm.config import Config
from redfish_fm.control.kernel import Kernel
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.observed_hosts import MANAGER_RESET
from redfish_fm.mapping.power import MANAGER_RESETS
from redfish_fm.mapping.service_interfaces import InterfaceTable
from redfish_fm.mapping.service_manager import (
    AboutService,
    Documents,
    OwnUris,
    add_service,
)
from redfish_fm.mapping.service_protocols import ProtocolWishes, wishes_of
from redfish_fm.mapping.uris import TASK_SERVICE
from redfish_fm.own_logs import OwnLogs
from redfish_fm.redfish import messages
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.requests import Response
from redfish_fm.redfish.tables import Moment, Table
from redfish_fm.redfish.times import date_time
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write
from redfish_fm.server.discovery import Discovery, DiscoverySettings, Ipv6Scope
from redfish_fm.server.interfaces import IpAddress
from redfish_fm.server.listener import ListenError
from redfish_fm.server.machine_interfaces import machine_interfaces
from redfish_fm.server.redirect import Redirect
from redfish_fm.store.base import Store, StoredState

log = logging.getLogger(__name__)

_UTC_OFFSET = "+00:00"


def about_service(
    config: Config, uuid: str, port: int, listening: Collection[IpAddress], *, certificates: bool
) -> AboutService:
    """Return what the service says of itself; `port` is the one it has, `listening` where.

    `certificates`: those of HTTPS are served.
    """
    played = bool(config.emulation_reset_outage_s)
    shown = config.show_interfaces and bool(machine_interfaces(listening))
    return AboutService(
        uuid=uuid,
        version=__version__,
        host_name=socket.gethostname(),
        http_port=port if config.http else None,
        https_port=None if config.http else port,
        redirect_port=config.http_redirect_port,
        ssdp=config.ssdp,
        mdns=config.mdns,
        interfaces=shown,
        certificates=certificates,
        log_entries_max=config.audit_log_entries,
        event_entries_max=config.event_log_entries,
        persistent=config.state is not None,
        resets=MANAGER_RESETS if played else frozenset({"GracefulRestart"}),
    )


def add_to(documents: Documents, facts: Facts, about: AboutService) -> OwnUris:
    """Add the service's own manager to a world; return where it stands."""
    own = add_service(documents, about)
    facts.own_protocols.clear()
    facts.own_protocols[own.protocols] = about.redirect_port is not None
    return own


def own_uris(facts: Facts) -> OwnUris:
    """Return where the service's own manager stands. Raises StopIteration where it was not made."""
    protocols = next(iter(facts.own_protocols))
    return OwnUris.of(protocols.split("/")[-2])


class OwnManager:
    """Stands behind the service's own manager. `restart` is set when it was asked to restart."""

    def __init__(
        self,
        config: Config,
        kernel: Kernel,
        store: Store,
        catalog: Catalog,
        registries: Registries,
        clock: Clock,
        discovery: Discovery,
        listening: Collection[IpAddress],
        https_port: int,
    ) -> None:
        self.restart = asyncio.Event()
        self._kernel = kernel
        self._registries = registries
        self._clock = clock
        self._discovery = discovery
        self._plays_reset = bool(config.emulation_reset_outage_s)
        self._uris = own_uris(kernel.published.base.facts)
        self._changing = asyncio.Lock()
        self._redirect: Redirect | None = None
        if config.http_redirect_port is not None:
            port = config.http_redirect_port
            self._redirect = Redirect(config.host, port, https_port, self._refusal, clock)
        self.logs = OwnLogs(config, self._uris, kernel, store, catalog, registries, clock)
        self.tables: tuple[Table, ...] = (
            *self.logs.tables,
            InterfaceTable(self._uris.interfaces, lambda: machine_interfaces(listening), clock),
        )
        self.moments: Mapping[str, Moment] = {
            self._uris.manager: self._now,
            **dict.fromkeys(self.logs.books, self._now),
            TASK_SERVICE: lambda: {"DateTime": date_time(clock.wall_s())},
        }

    @property
    def uri(self) -> str:
        """The URI of the manager."""
        return self._uris.manager

    async def load(self, stored: StoredState) -> None:
        """Take over what is kept of the log, and begin to listen for what leads to HTTPS.

        Call once the kernel has the stored state. Raises ListenError.
        """
        await self.logs.load(stored)
        if self._redirect is not None:
            await self._redirect.switch(self._wishes().redirect)
            self._show_redirect()

    def commit(self, write: Write) -> Awaitable[Outcome]:
        """Carry out a write, and what it means for the service itself."""
        if write.uri not in (self._uris.protocols, self._uris.manager):
            return self._kernel.commits.commit(write)
        return self._commit_own(write)

    async def _commit_own(self, write: Write) -> Outcome:
        outcome = await self._kernel.commits.commit(write)
        if outcome.kind is OutcomeKind.CHANGED and write.uri == self._uris.protocols:
            await self.apply()
        reset = write.action == MANAGER_RESET and write.uri == self._uris.manager
        if reset and not self._plays_reset:
            log.warning("restarting: %s asked for it", write.actor)
            self.restart.set()
        return outcome

    async def apply(self) -> None:
        """Switch protocols as they are wanted now."""
        async with self._changing:
            wishes = self._wishes()
            if self._redirect is not None:
                try:
                    await self._redirect.switch(wishes.redirect)
                except ListenError as error:
                    log.warning("plain HTTP does not lead to HTTPS: %s", error)
                self._show_redirect()
            await self._discovery.apply(_settings(wishes))

    async def close(self) -> None:
        """Stop what was switched on and write what the log has; call before the store is closed."""
        if self._redirect is not None:
            await self._redirect.close()
        await self.logs.close()

    def _wishes(self) -> ProtocolWishes:
        document = self._kernel.published.state.document(self._uris.protocols)
        return wishes_of(document or {})

    def _now(self) -> dict[str, str]:
        return {
            "DateTime": date_time(self._clock.wall_s()),
            "DateTimeLocalOffset": _UTC_OFFSET,
        }

    def _show_redirect(self) -> None:
        """Show whether plain HTTP is listened for, and where: what is wanted may not have come."""
        if self._redirect is not None:
            shown = {"ProtocolEnabled": self._redirect.listens, "Port": self._redirect.port}
            self._kernel.published.observe({self._uris.protocols: {"HTTP": shown}})

    def _refusal(self, status: int) -> Response:
        told = (messages.operation_not_allowed(),)
        error = RedfishError(status, told)
        body = self._registries.error_body(error.messages)
        return Response(status, {"Content-Type": "application/json", "OData-Version": "4.0"}, body)


def _settings(wishes: ProtocolWishes) -> DiscoverySettings:
    return DiscoverySettings(
        ssdp=wishes.ssdp,
        mdns=wishes.mdns,
        ssdp_notify_interval_s=wishes.notify_interval_s,
        ssdp_notify_ttl=wishes.notify_ttl,
        ssdp_notify_ipv6_scope=Ipv6Scope(wishes.notify_ipv6_scope),
    )

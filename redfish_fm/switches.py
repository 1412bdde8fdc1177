"""Real switches: from their configuration to drivers, and from what those find to what is served.

A part of the composition root. A fabric is served from the start on, whether or not its switches
answer; whenever other things are found of it, inventory is rendered anew below everything that
clients wrote. Nothing of a switch is ever made up.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.config import Config
from redfish_fm.config_switches import SwitchStanza, network_and_eid
from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel
from redfish_fm.control.reconcile import Policy
from redfish_fm.control.tip import TipView
from redfish_fm.drivers.base import Driver, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.driver import CxlFmApiDriver, create
from redfish_fm.drivers.cxl_fmapi.header import Dialect
from redfish_fm.drivers.cxl_fmapi.inventories import named_host
from redfish_fm.drivers.cxl_fmapi.places import Framing, LdMemory, LinkKind, SwitchPlace
from redfish_fm.errors import FmError
from redfish_fm.fabric.inventory import collisions
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    FabricKind,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    PartKind,
    Pool,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
)
from redfish_fm.mapping.default_zone import keep_default_zones
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import StoredState

log = logging.getLogger(__name__)

APPLY_S = 30.0
"""How long a step at a real switch may take; an operation in its background takes seconds."""

_DIALECTS = {"auto": None, "spec": Dialect.SPEC, "jrl": Dialect.JRL}

POOLS_KEY = "ld_memory"
"""Key in META space: device to whether the memory of its LDs is a pool, as JSON."""

BaseOf = Callable[[Sequence[Inventory]], Base]
"""Renders these fabrics, together with those that are always there."""


def place_of(stanza: SwitchStanza, hosts: Mapping[str, Host]) -> SwitchPlace:
    """Return a stanza in the words of its driver; `hosts` are those known from elsewhere."""
    network, eid = network_and_eid(stanza.address) or (1, 0)
    return SwitchPlace(
        stanza.id,
        LinkKind(stanza.link),
        stanza.place,
        stanza.address,
        Framing.FRAMES if stanza.frames else Framing.PACKETS,
        _DIALECTS[stanza.dialect],
        network,
        eid,
        None if stanza.serial is None else int(stanza.serial, 16),
        LdMemory(stanza.ld_memory),
        {int(port): hosts.get(name) or named_host(name) for port, name in stanza.hosts.items()},
        {int(port): DeviceKind(kind) for port, kind in stanza.devices.items()},
    )


def by_fabric(
    stanzas: Iterable[SwitchStanza], hosts: Iterable[Host]
) -> dict[str, list[SwitchPlace]]:
    """Return the places of each fabric's switches, in the order of the file."""
    known = {host.id: host for host in hosts}
    found: dict[str, list[SwitchPlace]] = {}
    for stanza in stanzas:
        found.setdefault(stanza.fabric, []).append(place_of(stanza, known))
    return found


class SwitchFabrics:
    """The fabrics of real switches, with a driver each.

    Made before anything is served; `serve` once there is a kernel. `change` takes over what a
    configuration says anew.
    """

    def __init__(
        self,
        config: Config,
        clock: Clock,
        others: Sequence[Inventory],
        stored: StoredState | None = None,
    ) -> None:
        meta = {} if stored is None else stored.spaces.get(Space.META, {})
        self._pools = _stored_pools(meta.get(POOLS_KEY))
        self._stored_pools = dict(self._pools)
        self._config = config
        self._clock = clock
        self._others = tuple(others)
        self._hosts = [host for each in others for host in each.hosts]
        self._places = by_fabric(config.switches, self._hosts)
        self._stanzas = config.switches
        self._served: tuple[Kernel, BaseOf] | None = None
        self._changing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.drivers: dict[str, CxlFmApiDriver] = {
            fabric: self._driver(fabric, places) for fabric, places in self._places.items()
        }
        self._found = {fabric: each.inventory for fabric, each in self.drivers.items()}

    def _driver(self, fabric: str, places: Sequence[SwitchPlace]) -> CxlFmApiDriver:
        made = create(fabric, places, self._clock, pools=self._pools)
        made.on_inventory = self._take
        return made

    @property
    def inventories(self) -> tuple[Inventory, ...]:
        """Return what is known of these fabrics now."""
        return tuple(self._found.values())

    @property
    def policies(self) -> dict[str, Policy]:
        """Return how each fabric is looked after."""
        return {fabric: self._policy(fabric) for fabric in self.drivers}

    def _policy(self, fabric: str) -> Policy:
        own = next(each for each in self._stanzas if each.fabric == fabric)
        wanted = own.foreign_bindings or self._config.foreign_bindings
        return Policy(
            observe_interval_s=self._config.observe_interval_s,
            apply_timeout_s=APPLY_S,
            enforce=wanted == "enforce",
        )

    def serve(self, kernel: Kernel, base_of: BaseOf) -> None:
        """Let the kernel serve whatever is found from now on."""
        self._served = kernel, base_of

    async def close(self) -> None:
        """End what is under way, and every driver. Safe to repeat."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for driver in self.drivers.values():
            await driver.close()

    async def _take(self, found: Inventory) -> None:
        """Serve what was found of one fabric. Raises DriverUnavailable where that can not be."""
        async with self._changing:
            if self.drivers.get(found.fabric) is not None:
                await self._keep_pools()
                await self._show({**self._found, found.fabric: found})

    async def _keep_pools(self) -> None:
        """Let what was decided of devices be durable before anybody sees it."""
        pools = dict(self._pools)
        if self._served is None or pools == self._stored_pools:
            return
        kernel, _ = self._served
        try:
            await kernel.writer.submit(lambda tip: _pools_stored(pools, tip), "service")
        except RedfishError as error:
            raise DriverUnavailable(f"it can not be recorded what was found: {error}") from error
        self._stored_pools = pools

    async def _show(self, found: Mapping[str, Inventory]) -> None:
        told = collisions([*self._others, *found.values()])
        if told:
            raise DriverUnavailable(f"it can not be served beside the others: {'; '.join(told)}")
        if self._served is not None:
            kernel, base_of = self._served
            async with kernel.published.looking:
                # A look goes in parts and must find below it what it began with.
                kernel.rebase(base_of(tuple(found.values())))
        self._found = dict(found)

    # -- another configuration ---------------------------------------------------------------

    def change(self, stanzas: tuple[SwitchStanza, ...]) -> None:
        """Take over other switches, beside what goes on; fabrics without a change never notice."""
        task = asyncio.ensure_future(self._change(stanzas))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _change(self, stanzas: tuple[SwitchStanza, ...]) -> None:
        wanted = by_fabric(stanzas, self._hosts)
        before = {fabric: self._wish(self._stanzas, fabric) for fabric in self._places}
        changed = {
            fabric
            for fabric in before.keys() | wanted.keys()
            if before.get(fabric) != self._wish(stanzas, fabric)
        }
        try:
            for fabric in sorted(changed):
                await self._replace(fabric, wanted.get(fabric), stanzas)
        except FmError as error:
            log.warning("the switches could not all be taken over: %s", error)

    @staticmethod
    def _wish(stanzas: Iterable[SwitchStanza], fabric: str) -> list[SwitchStanza]:
        return [each for each in stanzas if each.fabric == fabric]

    async def _replace(
        self,
        fabric: str,
        places: list[SwitchPlace] | None,
        stanzas: tuple[SwitchStanza, ...],
    ) -> None:
        """Drive a fabric as it is configured now, or no longer.

        What is under way is waited for, but not where nobody answers, or where it waits itself for
        what may never be (a switch that is gone, say): it goes on with the fabric, or ends with it.
        """
        assert self._served is not None  # noqa: S101 - nobody asks before there is a service
        kernel, _ = self._served
        if places is not None and fabric in {each.fabric for each in self._others}:
            log.warning("fabric %s is there already: its switches are not driven", fabric)
            return
        driver = self.drivers.get(fabric)
        loop = kernel.loops.get(fabric)
        under_way = [
            each
            for each in kernel.operations.open_of(fabric)
            if loop is not None and not loop.waits(each.id)
        ]
        if driver is not None and driver.answers and under_way:
            log.warning(
                "fabric %s stays as it is: changes to it are under way; send SIGHUP again", fabric
            )
            return
        if driver is not None:
            await kernel.remove_fabric(fabric)
            await driver.close()
        async with self._changing:
            self.drivers.pop(fabric, None)
            self._places.pop(fabric, None)
            found = {name: each for name, each in self._found.items() if name != fabric}
            others = [each for each in self._stanzas if each.fabric != fabric]
            self._stanzas = (*others, *self._wish(stanzas, fabric))
            if places is not None:
                self._places[fabric] = places
                self.drivers[fabric] = made = self._driver(fabric, places)
                found[fabric] = made.inventory
            await self._show(found)
        if places is not None:
            await kernel.writer.submit(lambda tip: keep_default_zones((fabric,), tip), "service")
            kernel.add_fabric(fabric, self.drivers[fabric], self._policy(fabric))
        log.warning("fabric %s: %s", fabric, "driven" if places else "no longer driven")


def _stored_pools(raw: bytes | None) -> dict[str, bool]:
    return {} if raw is None else msgspec.json.decode(raw, type=dict[str, bool])


def _pools_stored(pools: Mapping[str, bool], tip: TipView) -> Draft:
    """Return the draft that records what was decided of devices."""
    raw = tip.state.spaces[Space.META].get(POOLS_KEY)
    post = msgspec.json.encode({**_stored_pools(raw), **pools}, order="sorted")
    return Draft(OutcomeKind.CHANGED, "", (Edit(Space.META, POOLS_KEY, raw, post),))


@contextlib.asynccontextmanager
async def switch_fabrics(
    config: Config,
    clock: Clock,
    others: Sequence[Inventory],
    stored: StoredState | None = None,
) -> AsyncIterator[SwitchFabrics]:
    """Yield the fabrics of the configured switches. Raises FmError where ids collide."""
    made = SwitchFabrics(config, clock, others, stored)
    try:
        told = collisions([*others, *made.inventories])
        if told:
            raise FmError(f"these fabrics can not be served together: {'; '.join(told)}")
        yield made
    finally:
        await made.close()


def drivers_of(virtual: Mapping[str, Driver], switches: SwitchFabrics) -> dict[str, Driver]:
    """Return every driver by its fabric."""
    return {**virtual, **switches.drivers}


def types_of_switches() -> set[str]:
    """Return the @odata.type of whatever a switch may turn out to have."""
    return render_inventories([_SAMPLE], linked_back=False).documents.odata_types()


def _sample() -> Inventory:
    """Return a fabric with one thing of each kind; it is never served."""
    link, pools = Link(5, 8), (None, Pool(PartKind.LD, 4, 1, 1), Pool(PartKind.REGION, 4, 1, 1))
    memory = [
        Device(
            f"m{n}",
            "",
            DeviceKind.MEMORY,
            Attachment.MLD,
            "",
            "",
            "",
            link,
            4,
            (LogicalDevice(0, 0 if pool else 4, n == 2),),
            pool=pool,
        )
        for n, pool in enumerate(pools)
    ]
    others = [Device(kind.value, "", kind, Attachment.SLD, "", "", "", link) for kind in DeviceKind]
    devices = (*memory, *others)
    ports = [Port(PortId("s", "up"), PortRole.UPSTREAM, link, host="h")]
    ports += [
        Port(PortId("s", each.id), PortRole.DOWNSTREAM, link, device=each.id) for each in devices
    ]
    vcs = VirtualSwitch("0", "s", "up", "h", 1)
    switch = Switch("s", "", "CXL", "", "", tuple(ports), (vcs,))
    return Inventory("f", "", FabricKind.BIND, "CXL", (switch,), (named_host("h"),), devices)


_SAMPLE = _sample()

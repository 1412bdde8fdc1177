"""What preparing a write may read (Tip) and what it makes (Draft).

Pure values and one protocol between mapping and control: control keeps a Tip over its newest
state and hands it to `writes.prepare`; the Draft that comes back is what it commits. No I/O.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, Place
from redfish_fm.fabric.port_control import PortResetWish
from redfish_fm.fabric.power import Machine, ResetWish
from redfish_fm.fabric.values import Allocation, Binding, QosWish
from redfish_fm.mapping.facts import Facts
from redfish_fm.redfish.changes import Edit
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.values import value_class


@dataclass(frozen=True, slots=True)
class LogState:
    """A log at the moment of a write.

    `key` in META space says up to which entry it is cleared, `pre` is the value there. `newest`
    is the number of its newest entry, `etag` that of its collection of entries.
    """

    key: str
    pre: bytes | None
    newest: int
    etag: str


@dataclass(frozen=True, slots=True)
class Subscribing:
    """What whoever sends events says about subscriptions: how many clients may make, and why
    nothing is sent to a URL (`refuses`; None where it is)."""

    refuses: Callable[[str], str | None] = lambda _: None
    subscriptions_max: int = 200


class Tip(Protocol):
    """The newest state, in flight included, as one write may see it. Never observed properties.

    Made by control's writer for each write; nothing in it changes while a draft is prepared.
    """

    @property
    def next_id(self) -> str:
        """The Id for the one resource this write makes: base 36 of its sequence number."""
        ...

    @property
    def index(self) -> FabricIndex:
        """The typed index of everything wanted at the tip."""
        ...

    @property
    def facts(self) -> Facts:
        """What inventory means to the fabrics: units, virtual switches, hosts by URI."""
        ...

    @property
    def occupied(self) -> Container[Place]:
        """What must not be granted: vPPBs and parts seen taken by others, releasing, unsettled."""
        ...

    @property
    def bound_elsewhere(self) -> Container[BindTarget]:
        """What was last seen bound by another manager: nothing to choose for somebody here."""
        ...

    def new_id(self, n: int) -> str:
        """Return the Id of the n-th further resource of this write (from 1): `next_id`-n."""
        ...

    def timestamp(self) -> str:
        """Return the wall time as Redfish DateTime text with seconds and zone."""
        ...

    def wall_s(self) -> float:
        """Return the wall time in seconds since 1970."""
        ...

    def ends_s(self, lasting_s: float) -> float:
        """Return the wall time, seconds since 1970, when so much of the fabric's time is over."""
        ...

    def shown(self, uri: str) -> Mapping[str, Any] | None:
        """Return the resource or collection at `uri` as a GET would show it, were this durable."""
        ...

    def document(self, uri: str) -> Mapping[str, Any] | None:
        """Return the wanted document, or inventory with its overlay laid over; else None.

        None also for collections, whose documents are derived: ask `exists`.
        """
        ...

    def exists(self, uri: str) -> bool:
        """Return whether there is a resource at `uri`, collections and services included."""
        ...

    def wanted(self, uri: str) -> bytes | None:
        """Return the bytes stored in DOCUMENT space, or None."""
        ...

    def overlay(self, uri: str) -> bytes | None:
        """Return the bytes stored in OVERLAY space, or None."""
        ...

    def secret(self, uri: str) -> bytes | None:
        """Return the bytes stored in SECRET space, or None."""
        ...

    def members(self, collection: str) -> Sequence[str]:
        """Return the URIs of a collection's members."""
        ...

    def linked_by(self, uri: str, pointer: str) -> Sequence[str]:
        """Return the wanted resources that `uri` shows at the JSON pointer of derived links."""
        ...

    def is_wanted(self, uri: str) -> bool:
        """Return whether `uri` lives in DOCUMENT space."""
        ...

    def wanted_tag(self, uri: str) -> str | None:
        """Return the W part of the ETag at the tip, or None where nothing is."""
        ...

    def busy(self, uri: str) -> str | None:
        """Return the URI of the Task whose open operation holds `uri`, or None."""
        ...

    def status(self, uri: str) -> tuple[str | None, str | None]:
        """Return the last observed Status (State, Health) of the endpoint at `uri`."""
        ...

    def machine(self, uri: str) -> Machine | None:
        """Return the host whose system or BMC is at `uri`; None where nobody can reset it."""
        ...

    def lay(self, edits: Sequence[Edit]) -> None:
        """Let the tip be as if `edits` were committed; for mapping.transactions alone.

        Whoever lays something on takes it off (the inverse edits) before the draft is returned.
        """
        ...

    @property
    def subscribing(self) -> Subscribing:
        """What holds for subscriptions to events."""
        ...

    def log(self, uri: str) -> LogState | None:
        """Return the log whose LogService is at `uri`; None where nobody keeps one."""
        ...


class TakeBack(Enum):
    """What undoing the grants of an operation means for the resource it changed."""

    NOTHING = "nothing"
    """Nothing was granted: releases only roll forward."""
    DELETE = "delete"
    """The operation made the resource: delete it, and what it made with it."""
    REMOVE_MEMBERS = "remove-members"
    """The operation changed members of it: what it added goes, and the rest is as before."""
    CLEAR_PORT = "clear-port"
    """The operation named a port in a vPPB's overlay: the vPPB names none again."""
    COMPOSITION = "composition"
    """Several writes in one: what they made is deleted, what they added elsewhere goes."""
    RESTORE_OVERLAY = "restore-overlay"
    """The operation laid wishes over a resource: what was laid over it before is there again."""


@dataclass(frozen=True, slots=True)
class OperationDraft:
    """The hardware part of a write, for control to number, store and drive.

    `resources` are the URIs under change: they take only GET and DELETE until it is over.
    `granted`, `changed` (before, after) and `released` are bindings whose records stand among
    the draft's edits; the hardware work is in `granted` and `released`, and in the parts that are
    `allocated` and `freed`. `joined` are those of `granted` that an earlier operation had bound
    for another holder. `holders` keep the granted bindings alive. `resource` is what `take_back`
    applies to, and `added` maps each member URI that the write added to it (endpoints of a zone,
    chunks of a connection) to the units it brought, so that only what failed goes. `bandwidth`
    (before, after) is what LDs are to have. `overlay_before` and `document_before` are pre-images
    for `take_back`: the overlay there was, and the document ("" for none).
    `places` is unit, or part that is made, -> JSON pointer to where the request names what brings
    it.
    `reset` is what to ask a BMC: then nothing else is in it, and `fabric` is ""; `port_reset` what
    to ask a switch, and nothing else is in it. `made` are the documents that several writes in one
    made. What is granted, released, allocated and freed may
    be of several fabrics; `fabric` is then one of them.
    """

    fabric: str
    resource: str
    resources: frozenset[str]
    granted: tuple[Binding, ...] = ()
    changed: tuple[tuple[Binding, Binding], ...] = ()
    released: tuple[Binding, ...] = ()
    take_back: TakeBack = TakeBack.NOTHING
    added: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allocated: tuple[Allocation, ...] = ()
    freed: tuple[Allocation, ...] = ()
    joined: tuple[tuple[Binding, Binding], ...] = ()
    holders: frozenset[str] = frozenset()
    bandwidth: tuple[tuple[QosWish, QosWish], ...] = ()
    overlay_before: str = ""
    document_before: str = ""
    places: Mapping[str, str] = field(default_factory=dict)
    reset: ResetWish | None = None
    made: frozenset[str] = frozenset()
    port_reset: PortResetWish | None = None


@value_class
class Draft:
    """One write, judged and ready to commit. Made by writes.prepare, committed by control.

    `kind` is CREATED, CHANGED, DELETED or NO_OPERATION (then `edits` is empty); control turns it
    into ACCEPTED when `operation` is not observed in time. `uri` is the resource meant. `body` is
    what an action answers with, once all of it is done.
    """

    kind: OutcomeKind
    uri: str
    edits: tuple[Edit, ...] = ()
    operation: OperationDraft | None = None
    body: Mapping[str, Any] | None = None

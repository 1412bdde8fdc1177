"""A client's write after the protocol has checked its form, and what became of it.

Made by redfish.service, carried out by control (given to the service as `commit`).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from redfish_fm.redfish.certificates import Material
from redfish_fm.redfish.requests import Request
from redfish_fm.redfish.retries import Retry
from redfish_fm.values import value_class


class WriteKind(Enum):
    """The four ways to change something."""

    # As exact as Enum's own, which hashes the name in Python at each look-up.
    __hash__ = object.__hash__

    CREATE = "create"
    PATCH = "patch"
    DELETE = "delete"
    ACTION = "action"


@value_class
class Write:
    """One wish. `uri` is the collection (CREATE) or the resource (others), without trailing slash.

    `body` is the parsed JSON object, its property names, types and enumerations already checked
    against the catalog; what it means has not been checked. `action` is "Zone.AddEndpoint" style.
    `if_match` holds the unquoted tags of If-Match, or None where the header is absent; ("*",)
    matches anything that exists. `secret` is the hash of a password that the body named: the
    password itself goes no further than the protocol. `retry` is set by an Idempotency-Key.
    `material` is the certificate that the body brought, once it has been read. `request` is what
    a Task may tell of it, None where it holds a secret. `wait_s` is how long the client is ready
    to wait for the end; None: as long as the service does.
    """

    kind: WriteKind
    uri: str
    type_name: str
    actor: str
    body: Mapping[str, Any] = field(default_factory=dict)
    action: str | None = None
    if_match: tuple[str, ...] | None = None
    secret: bytes | None = field(default=None, repr=False)
    retry: Retry | None = None
    material: Material | None = None
    request: Request | None = field(default=None, repr=False, compare=False)
    wait_s: float | None = None


class OutcomeKind(Enum):
    """How a write ended."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    NO_OPERATION = "no-operation"
    ACCEPTED = "accepted"


@value_class
class Outcome:
    """The truth about one write, durable before it is told.

    `uri` is the created or changed resource; `task` the URI of the Task when ACCEPTED; `body` what
    an action answers with, where it has something to say: then that is the whole answer.
    """

    kind: OutcomeKind
    uri: str
    task: str | None = None
    body: Mapping[str, Any] | None = None


Commit = Callable[[Write], Awaitable[Outcome]]
"""Carry out a write. Raises RedfishError with every reason when it is refused."""

Replay = Callable[[Retry], Awaitable[Outcome | None]]
"""Return how the write of an Idempotency-Key ended, waiting while it runs; None where it is new.

Raises RedfishError (422) where the key came with another request before.
"""

"""The refusals of a write that no isolation rule makes: absent, busy, stale, already there.

Pure. One function per refusal, so that one situation is always told in one way.
"""

import math

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message, RedfishError


def missing(uri: str) -> RedfishError:
    """404: nothing is at the URI of the request."""
    return RedfishError(404, (messages.resource_missing_at_uri(uri),))


def missing_reference(uri: str, pointer: str) -> Message:
    """Return the message for a link in the body that leads nowhere (400)."""
    return messages.resource_missing_at_uri(uri, pointer)


def busy(task: str) -> RedfishError:
    """409: an open operation holds the resource; the message names its Task.

    ResourceInUse takes no argument, so TaskEvent.TaskStarted says which task it is.
    """
    told = (messages.resource_in_use(), Message("TaskEvent.TaskStarted", (task,)))
    return RedfishError(409, told, {"Retry-After": "1"})


def in_standby(retry_s: float) -> RedfishError:
    """409: its power is changing, or was just changed; it takes the same again in a moment."""
    retry = {"Retry-After": str(max(1, math.ceil(retry_s)))}
    return RedfishError(409, (messages.resource_in_standby(),), retry)


def not_ready(retry_s: float) -> RedfishError:
    """503: the BMC behind the resource does not answer now."""
    retry_after = str(max(1, math.ceil(retry_s)))
    told = (
        messages.service_temporarily_unavailable(retry_after),
        messages.resource_in_standby(),
    )
    return RedfishError(503, told, {"Retry-After": retry_after})


def stale() -> RedfishError:
    """412: If-Match names another state of the resource."""
    return RedfishError(412, (messages.precondition_failed(),))


def precondition_required(parameter: str) -> RedfishError:
    """428: an ETag parameter of an action names another state of the resource."""
    return RedfishError(428, (Message("Base.PreconditionRequired", (), (f"#/{parameter}",)),))


def already_exists(type_name: str, resource_id: str) -> RedfishError:
    """409: the Id that the client asked for is taken."""
    told = messages.resource_already_exists(type_name, "Id", resource_id, "#/Id")
    return RedfishError(409, (told,))


def not_deletable() -> RedfishError:
    """409: the resource is kept by the service or belongs to inventory."""
    return RedfishError(409, (messages.resource_cannot_be_deleted(),))


def kept() -> RedfishError:
    """405: clients may change it, but the service keeps it."""
    allow = {"Allow": "GET, HEAD, OPTIONS, PATCH"}
    return RedfishError(405, (messages.operation_not_allowed(),), allow)


def action_not_supported(action: str) -> RedfishError:
    """400: no driver can do it, or the resource has no such action."""
    return RedfishError(400, (messages.action_not_supported(action),))


def not_allowed() -> RedfishError:
    """405: nothing can be created there."""
    return RedfishError(405, (messages.operation_not_allowed(),), {"Allow": "GET, HEAD"})


def bad_content(*told: Message) -> RedfishError:
    """400: the body can not be right, for all these reasons."""
    return RedfishError(400, told)

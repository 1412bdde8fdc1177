"""Tasks as clients see them: messages in words, and how a finished Task answers its monitor.

A Task's document in the view names its messages by registry key ("Base.OperationTimeout") and
arguments; the words and the TaskMonitor link are added here: whoever has a Task's document from
here sees by that link whether there is a monitor.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.messages import operation_failed
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.view import Representation
from redfish_fm.redfish.writes import Outcome, OutcomeKind

RETRY_AFTER_S = 1
"""What a client is told to wait before it asks a task monitor again."""
TASK_KEPT_MINUTES = 1440
"""How long a Task is kept once it has ended: as long as the outcome of an Idempotency-Key."""

TaskResult = Callable[[str], Outcome | RedfishError | None]
"""How the Task at a URI ended: what its write would have answered, or None while it runs.

Called only for a Task that the view shows. Given to Service by control where it knows more than
the document says; `result_of` is the default.
"""

_RENDERED_MAX = 256

_ENDED_BADLY = frozenset({"Exception", "Killed", "Cancelled", "Interrupted"})


class Tasks:
    """Rewrites Task representations; remembers the newest few."""

    def __init__(self, catalog: Catalog, registries: Registries) -> None:
        self._catalog = catalog
        self._registries = registries
        self._collection = catalog.uri_of("TaskCollection")
        self._rendered: dict[tuple[str, str], Representation] = {}

    def render(self, found: Representation) -> Representation:
        """Return the Task `found` with its messages in words and its monitor named.

        A sub-task has none: it ends with the Task that it is a part of.
        """
        key = (found.uri, found.etag)
        rendered = self._rendered.get(key)
        if rendered is None:
            document = json.loads(found.body)
            if found.uri.rpartition("/")[0] == self._collection and _has_monitor(document):
                document.setdefault("TaskMonitor", self._catalog.monitor_of(found.uri))
            else:
                document.pop("TaskMonitor", None)
            document["Messages"] = [self._worded(each) for each in document.get("Messages", [])]
            rendered = replace(found, body=encode(document))
            if len(self._rendered) >= _RENDERED_MAX:
                self._rendered.clear()
            self._rendered[key] = rendered
        return rendered

    def _worded(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        if "Message" in message:
            return message
        arguments = tuple(str(each) for each in message.get("MessageArgs", ()))
        return self._registries.render(Message(str(message.get("MessageId")), arguments))


def _has_monitor(document: Mapping[str, Any]) -> bool:
    """Return whether a Task has one: not when it was cancelled (TaskService.v1_3_0).

    Nor while that is under way where the document says null: it was deleted by who called it off.
    """
    return document.get("TaskState") != "Cancelled" and document.get("TaskMonitor", "") is not None


def result_of(document: Mapping[str, Any]) -> Outcome | RedfishError | None:
    """Return how a Task ended by its own document; None while it runs.

    Completed with a created resource: CREATED; otherwise completed: DELETED, which answers 204.
    Ended badly: 409 with the Task's messages.
    """
    uri, state = str(document.get("@odata.id", "")), document.get("TaskState")
    if state in _ENDED_BADLY:
        reasons = tuple(
            Message(_key_of(str(each.get("MessageId"))), tuple(each.get("MessageArgs", ())))
            for each in document.get("Messages", ())
        )
        return RedfishError(409, reasons or (operation_failed(),))
    if state != "Completed":
        return None
    created = document.get("Links", {}).get("CreatedResources", ())
    if created:
        return Outcome(OutcomeKind.CREATED, str(created[0]["@odata.id"]))
    return Outcome(OutcomeKind.DELETED, uri)


def _key_of(message_id: str) -> str:
    parts = message_id.split(".")
    return f"{parts[0]}.{parts[-1]}"

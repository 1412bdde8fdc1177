"""Are the answers true? Each is judged at the moment it leaves, against what is durable and bound.

A client makes one write at a time under a name of its own, so its change is the newest durable
one of that name since it asked.
"""

import json
from dataclasses import dataclass

from redfish_fm.mapping.bindings import decode_binding
from redfish_fm.mapping.uris import COMPOSITION_SERVICE
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.requests import Request, Response
from tests.sim.checker import Checker, members


@dataclass
class Asked:
    """One write of a client. `adds` are the members it wants in the resource at `uri`."""

    request: Request
    actor: str
    verb: str
    uri: str
    adds: frozenset[str] = frozenset()
    since_seq: int = 0
    asked_s: float = 0.0

    @property
    def adds_targets(self) -> bool:
        """Whether it may give somebody what is behind a port."""
        return self.verb in ("POST", "PATCH", "ACTION") and "EndpointGroups" not in self.uri

    @property
    def kind(self) -> str:
        """What was asked for, to be counted: "Zones POST", "VPPBs PATCH", "Default zone PATCH"."""
        segments = self.uri.split("/")
        if self.uri == COMPOSITION_SERVICE:
            return f"CompositionService {self.verb}{self._wish()}"
        if segments[-1] == "Systems" or segments[-2] == "Systems":
            return f"Systems {self.verb}{self._wish()}"
        collection = segments[-1] if self.verb == "POST" else segments[-2]
        if segments[-1].startswith("Default") and self.verb == "PATCH":
            routing = b"DefaultRoutingEnabled" in self.request.body
            collection = "Default zone routing" if routing else "Default zone"
        return f"{collection} {self.verb}"

    def _wish(self) -> str:
        """Return what of systems and blocks is asked for."""
        if self.verb == "ACTION":
            kind = "" if self.uri != COMPOSITION_SERVICE else json.loads(self.request.body)
            told = kind and f" {kind['RequestType']}{' reserved' * ('ReservationId' in kind)}"
            return f" {self.request.path.rpartition('.')[2]}{told}"
        return " by needs" * (b"@Redfish.RequestedCount" in self.request.body)

    @property
    def previews(self) -> bool:
        """Whether it changes nothing when it is accepted."""
        return self.kind.endswith("Compose Preview")


@dataclass
class Promise:
    """A 202: what was asked, the change that was made, and the Task that will tell."""

    asked: Asked
    change: Change
    task: str


class Answers:
    """Judges what clients are told, and remembers what they are promised."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._expect = checker.expect
        self.promises: list[Promise] = []

    def judge(self, asked: Asked, response: Response) -> Change | None:
        """An answer leaves at this moment: is it true? Returns the change that it made."""
        change = self.change_of(asked)
        self._checker.note(f"{asked.actor} {asked.verb} {asked.uri}: {response.status} "
                  f"{message_keys(response)} change {change and change.seq}")  # fmt: skip
        self._checker.counts[f"{asked.verb} {response.status}"] += 1
        self._checker.counts[f"asked {asked.kind}"] += 1
        if response.status < 400 and (change is not None or asked.previews):
            self._checker.counts[f"accepted {asked.kind}"] += 1
            if change is not None and asked.adds_targets:
                self._checker.expect_available(asked.asked_s, change)
        self._published_is_durable()
        if response.status >= 400:
            self._refused(asked, response, change)
        elif response.status == 202:
            self._accepted(asked, response, change)
        else:
            self._succeeded(asked, response, change)
        return change

    def change_of(self, asked: Asked) -> Change | None:
        """Return the durable change that this client's request made."""
        for change in reversed(self._checker.log):
            if change.seq <= asked.since_seq:
                return None
            if change.actor == asked.actor:
                return change
        return None

    def _published_is_durable(self) -> None:
        if self._checker.process is not None:
            published, durable = (
                self._checker.process.kernel.published.seq,
                self._checker.durable.seq,
            )
            self._expect(published <= durable, f"{published} is published, {durable} durable")

    def _refused(self, asked: Asked, response: Response, change: Change | None) -> None:
        usual = (400, 403, 404, 405, 409, 412, 503, 507)
        self._expect(response.status in usual, f"{asked.verb} {asked.uri}: {response.status}")
        if change is not None:
            undone = change.operation is not None and change.operation in self._checker.stopped
            self._expect(
                response.status == 409 and undone,
                f"{asked.actor} was answered {response.status}, change {change.seq} remains",
            )

    def _accepted(self, asked: Asked, response: Response, change: Change | None) -> None:
        if change is None or change.operation is None:
            self._checker.fail(f"{asked.actor} was promised a Task, but nothing is durable")
            return
        task = str(json.loads(response.body or b"{}").get("@odata.id", "(none)"))
        self._expect(task.endswith(f"/{change.operation}"), f"202 with task {task}")
        self.promises.append(Promise(asked, change, task))

    def _succeeded(self, asked: Asked, response: Response, change: Change | None) -> None:
        if change is None:
            no_operation = asked.verb not in ("POST", "DELETE")
            self._expect(no_operation, f"{asked.actor} was told {response.status} for nothing")
            self._checker.counts["no-operation"] += 1
            return
        uri = response.headers.get("Location", asked.uri)
        self._expect(
            change.operation not in self._checker.stopped, f"success, but {uri} was taken back"
        )
        # What is told of a resource (of a Task that is called off, say) is not the resource.
        kept = (edit for edit in change.edits if edit.space is not Space.ANNOUNCED)
        edit = next((edit for edit in kept if edit.key == uri), None)
        freed = edit is not None and edit.space is Space.OVERLAY and edit.post is None
        if freed and (b"null" in asked.request.body or not asked.adds):
            pass
        elif edit is None and uri == COMPOSITION_SERVICE and asked.verb == "ACTION":
            # What it made stands in the manifest; that all of it is bound is looked at below.
            pass
        elif asked.verb == "DELETE":
            self._expect(edit is None or edit.post is None, f"{uri} was not deleted")
        elif edit is None or edit.post is None:
            self._checker.fail(
                f"{asked.actor} was told {response.status}, but {uri} was not stored"
            )
        else:
            missing = asked.adds - members(edit.post)
            self._expect(not missing, f"{uri} was stored without {missing}")
        if self._checker.weather.steady:
            self._is_bound_as_promised(uri, change)

    def _is_bound_as_promised(self, uri: str, change: Change) -> None:
        """What this change recorded for `uri`, and nobody has taken since, is bound now."""
        holders = {uri} | self._held_by(uri, change)
        recorded = [decode_binding(edit.post) for edit in change.edits
                    if edit.space is Space.BINDING and edit.post is not None]  # fmt: skip
        for binding in recorded:
            now = self._checker.mirror.index.bindings.get(binding.vppb)
            mine = now is not None and now.unit == binding.unit and holders & now.holders
            if mine and holders & binding.holders:
                place = (binding.vppb, binding.target)
                bound = self._checker.is_bound(binding.fabric, place)
                self._expect(bound, f"{uri} was answered as done, but {place} is not bound")
        made = {edit.key for edit in change.edits if edit.pre is None}
        for part in self._checker.mirror.index.allocations.values():
            if part.holder != uri and part.holder not in holders & made:
                continue
            there = self._checker.plant(part.fabric).allocated()
            exists = there.get(part.target) == (part.size_mib, part.shareable)
            self._expect(exists, f"{uri} was answered as done, but {part} is not allocated")

    def _held_by(self, uri: str, change: Change) -> set[str]:
        """Return what a system of blocks holds; of a manifest, what all its systems do."""
        known = self._checker.mirror.index.compositions
        systems = {edit.key for edit in change.edits} if uri == COMPOSITION_SERVICE else {uri}
        return {name for each in systems & known.keys() for name in known[each].holdings}

    def task_read(self, promise: Promise, response: Response) -> None:
        """What a Task says must be what happened."""
        operation = self._checker.mirror.operations.get(promise.change.operation or "")
        if response.status == 404:
            self._expect(operation is None, f"{promise.task} is gone, its operation is not")
            return
        told = json.loads(response.body)["TaskState"]
        undone = promise.change.operation in self._checker.stopped
        # What only cleaned and waited can be called off: it ends as it is.
        given_up = operation is not None and operation.called_off and not operation.grants
        fine = undone or told in ("Running", "Completed") or (told == "Cancelled" and given_up)
        self._expect(fine, f"{promise.task} says {told}")
        self._expect(not undone or told != "Completed", f"{promise.task} says {told}, taken back")


def message_keys(response: Response) -> str:
    """Return the message keys of a refusal, for the trace."""
    if response.status < 400:
        return ""
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return " ".join(entry["MessageId"].rsplit(".", 1)[-1] for entry in entries)

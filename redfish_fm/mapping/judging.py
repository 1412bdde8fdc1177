"""The one shape of writes to documents that have rules: read, judge, and make a draft of it.

Pure. A type with rules of its own gives three functions (`DocumentRules`); how a POST, PATCH or
DELETE comes to them is the same for all. What the rules are stands in the modules of the types.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.fabric.values import Violation
from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.resources import (
    document_edit,
    id_refusal,
    patched,
    stored,
    wished_document,
)
from redfish_fm.mapping.violations import to_error
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write
from redfish_fm.values import value_class

Document = Mapping[str, Any]


@value_class
class Change:
    """One document as it was (None: not at all) and as it is to be.

    `pointers` maps a URI to where the request names it, where that is not where the document does.
    """

    kind: OutcomeKind
    uri: str
    before: Document | None
    after: Document
    pointers: Mapping[str, str] = field(default_factory=dict)


def _as_it_is(_document: dict[str, Any]) -> None:
    """Complete nothing."""


@dataclass(frozen=True, slots=True)
class DocumentRules:
    """How documents of one type are judged.

    `judge` returns the draft of a change, or raises RedfishError with every reason against it;
    `remove` does the same for a DELETE, given the URI and the document. `complete` puts into a
    new document what the client may leave out.
    """

    type_name: str
    judge: Callable[[Change, Tip], Draft]
    remove: Callable[[str, Document, Tip], Draft]
    complete: Callable[[dict[str, Any]], None] = _as_it_is

    def create(self, write: Write, tip: Tip) -> Draft:
        """Return the draft of a POST to a collection of this type."""
        uri, document = wished_document(self.type_name, write.uri, write.body, tip)
        self.complete(document)
        change = Change(OutcomeKind.CREATED, uri, None, document)
        refused = id_refusal(self.type_name, write.uri, write.body, tip)
        if refused is None:
            return self.judge(change, tip)
        # Judged in the place of what has the Id: a POST sent twice does not collide with itself.
        try:
            self.judge(change, tip)
        except RedfishError as error:
            told = (*error.messages, *refused.messages)
            raise RedfishError(min(error.status, refused.status), told) from error
        raise refused

    def patch(self, write: Write, tip: Tip) -> Draft:
        """Return the draft of a PATCH on a client-made document."""
        before = stored(tip, write.uri)
        return self.replace(write.uri, before, patched(self.type_name, before, write.body), tip)

    def delete(self, write: Write, tip: Tip) -> Draft:
        """Return the draft of a DELETE of a client-made document."""
        return self.remove(write.uri, stored(tip, write.uri), tip)

    def replace(
        self,
        uri: str,
        before: Document,
        after: Document,
        tip: Tip,
        pointers: Mapping[str, str] | None = None,
    ) -> Draft:
        """Return the draft that puts `after` in the place of `before`, if they differ."""
        if dict(before) == dict(after):
            return Draft(OutcomeKind.NO_OPERATION, uri)
        return self.judge(Change(OutcomeKind.CHANGED, uri, before, after, pointers or {}), tip)


def plain_draft(change: Change, tip: Tip) -> Draft:
    """Return the draft of a change that binds nothing."""
    return Draft(change.kind, change.uri, (document_edit(tip, change.uri, change.after),))


def plain_removal(uri: str, tip: Tip, violations: Iterable[Violation] = ()) -> Draft:
    """Return the draft of a DELETE that releases nothing; raises RedfishError for violations."""
    found = list(violations)
    if found:
        raise to_error(found)
    return Draft(OutcomeKind.DELETED, uri, (document_edit(tip, uri, None),))


def unless_busy(task: str | None, judged: Callable[[], Draft]) -> Draft:
    """Return the draft; while `task` holds what it rests on, refuse it (409) naming the Task.

    What can never be right (400) is told all the same; conflicts may be gone when the Task is.
    """
    try:
        draft = judged()
    except RedfishError as error:
        if task is None or error.status < 409:
            raise
        raise refusals.busy(task) from error
    if task is not None:
        raise refusals.busy(task)
    return draft


def link_parameter(write: Write, name: str, tip: Tip) -> str:
    """Return the resource that a parameter of an action names: {"@odata.id"} or a string.

    DESIGN section 6. Raises RedfishError (400) where it is missing or leads nowhere.
    """
    value = write.body.get(name)
    uri = value.rstrip("/") if isinstance(value, str) else next(uris_at(value, []), None)
    if uri is None:
        told = messages.action_parameter_missing(write.action or "", name, f"#/{name}")
        raise refusals.bad_content(told)
    if not tip.exists(uri):
        raise refusals.bad_content(refusals.missing_reference(uri, f"#/{name}"))
    return uri


def links_taken_out(uri: str, tip: Tip, sources: Iterable[str], name: str) -> Iterator[Edit]:
    """Yield the edits that take a deleted resource out of the Links of `sources`, which name it.

    `name` is the list under their Links. Only for links that do not hold what they lead to.
    """
    for source in sorted(sources):
        document = stored(tip, source)
        links = dict(document.get("Links") or {})
        links[name] = [each for each in links.get(name) or [] if uri not in uris_at(each, [])]
        yield document_edit(tip, source, {**document, "Links": links})


def refuse_added(found: Iterable[Message], already: Iterable[Message] = ()) -> None:
    """Raise RedfishError (400) for what a change makes wrong; what was wrong before may stay."""
    known = frozenset(already)
    told = [each for each in dict.fromkeys(found) if each not in known]
    if told:
        raise refusals.bad_content(*told)

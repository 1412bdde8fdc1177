"""CompositionService.Compose: all stanzas of a manifest as one draft, or as a preview of it.

Pure. Redfish: CompositionService.v1_2_3 Compose, Manifest.v1_1_2. Each stanza is judged upon those
before it; one that is refused refuses the manifest. A preview does the very same on the tip, looks
at what is there then, and takes it all off again: so it answers like the real thing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redfish_fm.mapping import composed_blocks, refusals
from redfish_fm.mapping.compositions import change, dissolve, lay_composition, target_of
from redfish_fm.mapping.constrained import own, recipe_of
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.read import members
from redfish_fm.mapping.reservations import manifest_of, new_reservation, taken
from redfish_fm.mapping.resources import document_edit
from redfish_fm.mapping.systems_shown import COLLECTIONS, COMPOSE
from redfish_fm.mapping.transactions import Transaction, transaction
from redfish_fm.mapping.wishes import DESCRIBED, wishes_count
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.stanzas import PLACE, moved
from redfish_fm.redfish.writes import OutcomeKind, Write

Document = Mapping[str, Any]

WISHES_MAX = 256
"""In one manifest: members described in all its stanzas, which are met in one step."""


@dataclass(frozen=True, slots=True)
class _Done:
    """One stanza that can be carried out: the resource it is about, and its blocks.

    `gone` is what a resource was that is taken apart; None: it is made, and is there afterwards.
    """

    uri: str
    blocks: tuple[str, ...] = ()
    gone: Document | None = None


@dataclass(frozen=True, slots=True)
class _Asking:
    """In which surroundings stanzas are judged. `among`: choose of these blocks only."""

    laid: Transaction
    tip: Tip
    actor: str
    among: frozenset[str] | None


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of an action of the CompositionService, its answer included."""
    if write.action != COMPOSE:
        raise refusals.action_not_supported(write.action or "")
    kind, wished = write.body["RequestType"], write.body.get("ReservationId")
    if kind == "PreviewReserve" and wished is not None:
        told = messages.action_parameter_value_conflict
        raise refusals.bad_content(told("ReservationId", wished, "#/ReservationId"))
    held = None if wished is None else taken(wished, write.actor, tip)
    manifest = _manifest(write, None if held is None else held[1])
    with transaction(tip) as laid:
        if held is not None:
            # In the very change that uses it, so its blocks are nobody else's in between.
            laid.edit(document_edit(tip, held[0], None))
        among = None if held is None else _reserved(held[1], manifest)
        done = _carried_out(manifest, _Asking(laid, tip, write.actor, among))
        answer = _answer(write, manifest, done, tip)
        draft = _merged(laid, done, write) if kind == "Apply" else None
    if draft is not None:
        return replace(draft, body=answer)
    if kind == "PreviewReserve":
        return _reserving(write, manifest, done, answer, tip)
    return Draft(OutcomeKind.NO_OPERATION, write.uri, body=answer)


def _manifest(write: Write, held: Document | None) -> Document:
    """Return the manifest: the request's, else the one that the reservation was made for."""
    manifest = write.body.get("Manifest") or manifest_of(held or {})
    if not manifest or not manifest.get("Stanzas"):
        told = messages.action_parameter_missing(COMPOSE, "Manifest", "#/Manifest")
        raise refusals.bad_content(told)
    count = 0
    for position, stanza in enumerate(manifest["Stanzas"]):
        count += wishes_count(stanza["Request"]) if stanza["StanzaType"] == "ComposeSystem" else 0
        if count > WISHES_MAX:
            place = f"{PLACE}/{position}/Request"
            told = messages.property_value_out_of_range(f"{count} members", "Stanzas", place)
            raise refusals.bad_content(told)
    found: Document = manifest
    return found


def _reserved(held: Document, manifest: Document) -> frozenset[str] | None:
    """Return the blocks that were promised, where it is that manifest which is applied."""
    if manifest_of(held) != manifest:
        return None
    return frozenset(each["@odata.id"] for each in held.get("ReservedResourceBlocks") or ())


def _merged(laid: Transaction, done: Sequence[_Done], write: Write) -> Draft:
    """Return everything as one draft: about the first resource that is made, if any is."""
    made = [each.uri for each in done if each.gone is None]
    if made:
        return laid.merged(OutcomeKind.CREATED, made[0])
    return laid.merged(OutcomeKind.DELETED, done[0].uri if done else write.uri)


def _reserving(
    write: Write, manifest: Document, done: Sequence[_Done], answer: dict[str, Any], tip: Tip
) -> Draft:
    """Return the draft of a reservation of all blocks that the manifest would take."""
    wanted = dict.fromkeys(block for each in done for block in each.blocks)
    # What the manifest itself makes is nowhere yet, and its components are named beside it.
    blocks = [block for block in wanted if tip.exists(block)]
    uri, document = new_reservation(blocks, manifest, write.actor, tip)
    answer = {**answer, "ReservationId": document["Id"]}
    return Draft(OutcomeKind.CREATED, uri, (document_edit(tip, uri, document),), body=answer)


# -- stanzas ---------------------------------------------------------------------------------


def _carried_out(manifest: Document, asking: _Asking) -> list[_Done]:
    """Lay every stanza on the tip. Raises RedfishError with the reasons of all that are refused."""
    done, refused = [], []
    for position, stanza in enumerate(manifest["Stanzas"]):
        asking.laid.at = f"{PLACE}/{position}/Request".removeprefix("#")
        try:
            with asking.laid.attempt():
                done.append(_STANZAS[stanza["StanzaType"]](stanza["Request"], asking))
        except RedfishError as error:
            refused.append((error, _told(error, stanza, position)))
    if refused:
        status = min(error.status for error, _ in refused)
        told = (each for _, found in refused for each in found)
        headers = refused[0][0].headers if len(refused) == 1 else {}
        raise RedfishError(status, tuple(dict.fromkeys(told)), headers)
    return done


def _told(error: RedfishError, stanza: Document, position: int) -> list[Message]:
    """Return the reasons against one stanza, with pointers into the manifest, and its name."""
    place = f"{PLACE}/{position}"
    name = str(stanza.get("StanzaId") or position)
    told = [_named(each, name) for each in moved(list(error.messages), f"{place}/Request")]
    return [*told, messages.stanza_refused(name, stanza["StanzaType"], place)]


def _named(message: Message, stanza: str) -> Message:
    """Return a message that says itself which stanza asks for what can not be met."""
    if message.key != "RedfishFM.RequirementUnmet":
        return message
    return replace(message, args=(f"{message.args[0]} of stanza {stanza}", *message.args[1:]))


def _compose_system(request: Document, asking: _Asking) -> _Done:
    tip = asking.tip
    recipe = recipe_of(request, tip, among=asking.among)
    uri = lay_composition(asking.laid, recipe, own(request), tip, asking.actor)
    return _Done(uri, recipe.blocks)


def _decompose_system(request: Document, asking: _Asking) -> _Done:
    """Give back a composed system, or what a physical one was given."""
    tip, uri = asking.tip, str(request["@odata.id"])
    if uri not in tip.index.compositions:
        told = messages.resource_missing_at_uri(uri, "#/@odata.id")
        raise refusals.bad_content(told)
    before, target = tip.shown(uri) or {}, target_of(uri, tip)
    if target.physical:
        task = tip.busy(uri)
        if task is not None:
            raise refusals.busy(task)
        asking.laid.add(change(target, (), tip, asking.actor))
    else:
        asking.laid.add(dissolve(target, tip, asking.actor))
    return _Done(uri, gone=before)


def _compose_resource(request: Document, asking: _Asking) -> _Done:
    draft = composed_blocks.compose(request, asking.tip)
    asking.laid.add(draft)
    return _Done(draft.uri, members(request, composed_blocks.SUPPLYING))


def _register(request: Document, asking: _Asking) -> _Done:
    draft = composed_blocks.register(request, asking.tip)
    asking.laid.add(draft)
    return _Done(draft.uri)


def _decompose_resource(request: Document, asking: _Asking) -> _Done:
    tip, uri = asking.tip, str(request["@odata.id"])
    if uri not in tip.index.blocks:
        told = messages.resource_missing_at_uri(uri, "#/@odata.id")
        raise refusals.bad_content(told)
    before = tip.shown(uri) or {}
    asking.laid.add(composed_blocks.decompose(uri, tip))
    return _Done(uri, gone=before)


_STANZAS: Mapping[str, Callable[[Document, _Asking], _Done]] = {
    "ComposeSystem": _compose_system,
    "DecomposeSystem": _decompose_system,
    "ComposeResource": _compose_resource,
    "DecomposeResource": _decompose_resource,
    "RegisterResourceBlock": _register,
}
"""StanzaType -> how it is carried out; redfish.stanzas refuses the others."""


# -- the answer ------------------------------------------------------------------------------


def _answer(write: Write, manifest: Document, done: Sequence[_Done], tip: Tip) -> dict[str, Any]:
    """Return the manifest with a response in each stanza: what is there, or was, after all."""
    expand = manifest.get("Expand") or "None"
    stanzas = [
        {**stanza, "Response": _response(each, stanza["Request"], expand, tip)}
        for stanza, each in zip(manifest["Stanzas"], done, strict=True)
    ]
    return {
        "RequestFormat": write.body["RequestFormat"],
        "RequestType": write.body["RequestType"],
        "Manifest": {**manifest, "Stanzas": stanzas},
    }


def _response(done: _Done, request: Document, expand: str, tip: Tip) -> dict[str, Any]:
    shown = dict(tip.shown(done.uri) or {} if done.gone is None else done.gone)
    if done.gone is not None or expand == "None":
        return shown
    # Relevant is what the request asked for by its members; all is all that lies below.
    names = COLLECTIONS if expand == "All" else DESCRIBED & request.keys()
    for name in names:
        link = shown.get(name)
        if isinstance(link, Mapping) and "@odata.id" in link:
            shown[name] = _expanded(link["@odata.id"], tip) or link
    return shown


def _expanded(uri: str, tip: Tip) -> dict[str, Any] | None:
    """Return a collection with its members whole."""
    collection = tip.shown(uri)
    if collection is None:
        return None
    found = [(each, tip.shown(each["@odata.id"])) for each in collection.get("Members") or ()]
    return {**collection, "Members": [link if shown is None else shown for link, shown in found]}

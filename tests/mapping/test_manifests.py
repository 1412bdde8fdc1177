"""Compose: several stanzas as one draft, nothing of it where one is refused, previews of it."""

from collections.abc import Callable
from typing import Any

import pytest

from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, links
from tests.mapping.test_compositions import SYSTEMS, a_pod, block, body, post

SERVICE = "/redfish/v1/CompositionService"
COMPOSE = "CompositionService.Compose"


def stanza(name: str, *blocks: str, **more: Any) -> dict[str, Any]:
    request = {**body(*blocks), **more} if blocks else more
    return {"StanzaType": "ComposeSystem", "StanzaId": name, "Request": request}


def undo(name: str, uri: str) -> dict[str, Any]:
    return {"StanzaType": "DecomposeSystem", "StanzaId": name, "Request": {"@odata.id": uri}}


def compose(tip: MemoryTip, kind: str, *stanzas: dict[str, Any], **more: Any) -> Draft:
    manifest = {"Stanzas": list(stanzas)}
    return tip.act(
        SERVICE, COMPOSE, RequestFormat="Manifest", RequestType=kind, Manifest=manifest, **more
    )


def answered(draft: Draft) -> list[dict[str, Any]]:
    assert draft.body is not None
    return [each["Response"] for each in draft.body["Manifest"]["Stanzas"]]


def refusal(act: Callable[[], Draft]) -> RedfishError:
    with pytest.raises(RedfishError) as refused:
        act()
    return refused.value


def test_stanzas_are_one_draft_about_the_first_system() -> None:
    tip = a_pod()
    draft = compose(tip, "Apply", stanza("a", "h1", "gpu1"), stanza("b", "h2", "gpu2"))
    assert draft.kind is OutcomeKind.CREATED
    assert draft.operation is not None
    assert len(draft.operation.granted) == 2
    first, second = answered(draft)
    assert draft.uri == first["@odata.id"] != second["@odata.id"]
    assert tip.index.compositions[second["@odata.id"]].blocks == (block("h2"), block("gpu2"))
    # A compose that takes long keeps nobody else from composing.
    assert SERVICE not in draft.operation.resources


def test_one_refused_stanza_refuses_all_and_each_says_why() -> None:
    tip = a_pod()
    before = tip.index.snapshot()
    stanzas = (
        stanza("good", "h1", "gpu1"),
        stanza("bad", "h2", "none"),
        stanza("taken", "h2", "gpu1"),
    )
    error = refusal(lambda: compose(tip, "Apply", *stanzas))
    assert error.status == 400
    assert [message.related for message in error.messages if message.related] == [
        ("#/Manifest/Stanzas/1/Request/Links/ResourceBlocks/1",),
        ("#/Manifest/Stanzas/1",),
        ("#/Manifest/Stanzas/2/Request/Links/ResourceBlocks/1",),
        ("#/Manifest/Stanzas/2",),
    ]
    assert [message.args for message in error.messages if "Stanza" in message.key] == [
        ("bad", "ComposeSystem"),
        ("taken", "ComposeSystem"),
    ]
    assert tip.index.snapshot() == before
    assert not tip.documents


def test_a_stanza_that_is_refused_half_way_leaves_nothing_to_the_next() -> None:
    tip = a_pod()
    vppbs = [vppb for _fabric, vppb in tip.facts.vppb_uris]
    tip.occupied = frozenset(vppb for vppb in vppbs if vppb.vcs == "0")
    error = refusal(
        lambda: compose(tip, "Apply", stanza("full", "h1", "gpu1"), stanza("ok", "h2", "gpu1"))
    )
    assert [message.args[0] for message in error.messages if "Stanza" in message.key] == ["full"]


def test_what_one_stanza_gives_back_the_next_one_has() -> None:
    tip = a_pod()
    made = post(tip, "h1", "gpu1", "gpu2").uri
    draft = compose(tip, "Apply", undo("old", made), stanza("new", "h2", "gpu1"))
    gone, new = answered(draft)
    assert gone["@odata.id"] == made
    assert made not in tip.documents
    assert tip.index.compositions_of_block(block("gpu1")) == {new["@odata.id"]}
    assert draft.uri == new["@odata.id"]


def test_a_manifest_that_only_gives_back_is_a_release() -> None:
    tip = a_pod()
    made = post(tip, "h1", "gpu1").uri
    draft = compose(tip, "Apply", undo("old", made))
    assert draft.kind is OutcomeKind.DELETED
    assert draft.operation is not None
    assert len(draft.operation.released) == 1
    assert not tip.documents


def test_a_physical_host_gives_back_what_it_was_given() -> None:
    tip = a_pod()
    host = f"{SYSTEMS}/h2"
    add = "ComputerSystem.AddResourceBlock"
    tip.act(host, add, ResourceBlock=links(block("gpu3"))[0])
    compose(tip, "Apply", undo("old", host))
    assert host not in tip.index.compositions
    assert tip.exists(host)
    tip.act(host, add, ResourceBlock=links(block("gpu3"))[0])
    tip.tasks[host] = "/redfish/v1/TaskService/Tasks/7"
    error = refusal(lambda: compose(tip, "Apply", undo("old", host)))
    assert error.status == 409
    assert error.messages[1].args == ("/redfish/v1/TaskService/Tasks/7",)


@pytest.mark.parametrize("uri", [f"{SYSTEMS}/none", f"{SYSTEMS}/h1", SERVICE])
def test_only_what_is_composed_is_decomposed(uri: str) -> None:
    error = refusal(lambda: compose(a_pod(), "Apply", undo("x", uri)))
    assert error.status == 400
    assert error.messages[0].related == ("#/Manifest/Stanzas/0/Request/@odata.id",)


def test_a_preview_does_everything_and_leaves_nothing() -> None:
    tip = a_pod()
    before = tip.index.snapshot()
    seen = compose(tip, "Preview", stanza("a", "h1", "gpu1", Name="n"))
    assert (seen.kind, seen.edits) == (OutcomeKind.NO_OPERATION, ())
    assert tip.index.snapshot() == before
    assert not tip.documents
    tip.seq = 0
    done = compose(tip, "Apply", stanza("a", "h1", "gpu1", Name="n"))
    assert answered(done) == answered(seen)


def test_a_preview_is_refused_like_the_real_thing() -> None:
    told = [
        refusal(lambda kind=kind: compose(a_pod(), kind, stanza("a", "h1", "none"))).messages
        for kind in ("Preview", "PreviewReserve", "Apply")
    ]
    assert told[0] == told[1] == told[2]


def test_a_reservation_is_all_that_a_reserving_preview_makes() -> None:
    tip = a_pod()
    draft = compose(tip, "PreviewReserve", stanza("a", "h1", "gpu1"))
    (edit,) = draft.edits
    assert (edit.space, edit.key) == (Space.DOCUMENT, draft.uri)
    assert draft.operation is None
    assert draft.body is not None
    assert draft.body["ReservationId"] == draft.uri.rsplit("/", 1)[-1]
    assert tip.index.reservations[draft.uri].blocks == (block("h1"), block("gpu1"))


def test_a_reservation_names_no_block_that_its_manifest_has_yet_to_make() -> None:
    tip = a_pod()
    request = {"Id": "both", "Links": {"SupplyingResourceBlocks": links(block("gpu1"))}}
    made = {"StanzaType": "ComposeResource", "StanzaId": "a", "Request": request}
    stanzas = (made, stanza("b", "h1", "both"))
    draft = compose(tip, "PreviewReserve", *stanzas)
    assert tip.index.reservations[draft.uri].blocks == (block("gpu1"), block("h1"))
    name = draft.uri.rsplit("/", 1)[-1]
    applied = compose(tip, "Apply", *stanzas, ReservationId=name)
    assert answered(applied)[1]["Links"]["ResourceBlocks"] == links(block("h1"), block("both"))


def test_apply_needs_a_manifest_or_a_reservation_that_has_one() -> None:
    tip = a_pod()
    wish = {"RequestFormat": "Manifest", "RequestType": "Apply"}
    error = refusal(lambda: tip.act(SERVICE, COMPOSE, **wish))
    assert error.messages[0].args == (COMPOSE, "Manifest")
    reservation = compose(tip, "PreviewReserve", stanza("a", "h1", "gpu1")).uri
    tip.act(SERVICE, COMPOSE, **wish, ReservationId=reservation.rsplit("/", 1)[-1])
    assert reservation not in tip.documents
    assert len(tip.index.compositions) == 1


def test_an_action_that_is_not_ours_is_refused() -> None:
    error = refusal(lambda: a_pod().act(SERVICE, "CompositionService.Other"))
    assert error.messages[0].key == "Base.ActionNotSupported"


def test_no_manifest_describes_more_than_one_step_can_meet() -> None:
    member = {"@Redfish.RequestedCount": 1, "ProcessorType": "GPU"}
    wishes = {"Processors": {"Members": [member] * 64}}
    stanzas = [stanza(str(number), **wishes) for number in range(5)]
    error = refusal(lambda: compose(a_pod(), "Preview", *stanzas))
    assert (error.status, len(error.messages)) == (400, 1)
    (told,) = error.messages
    assert told.key == "Base.PropertyValueOutOfRange"
    assert told.related == ("#/Manifest/Stanzas/4/Request",)
    least = refusal(lambda: compose(a_pod(), "Preview", *stanzas[:4]))
    assert "Base.PropertyValueOutOfRange" not in {each.key for each in least.messages}

"""The requests of a manifest are held to the form that they would need alone."""

from typing import Any

import pytest

from redfish_fm.redfish.stanzas import STANZAS_MAX, check_stanzas, cleaned_stanzas
from tests.redfish.builders import CATALOG

BLOCK = "/redfish/v1/CompositionService/ResourceBlocks/1"
GOOD = {"Links": {"ResourceBlocks": [{"@odata.id": BLOCK}]}}


def of(*stanzas: Any) -> dict[str, Any]:
    return {"Manifest": {"Stanzas": list(stanzas)}}


def stanza(kind: str = "ComposeSystem", request: Any = None, **more: Any) -> dict[str, Any]:
    return {"StanzaType": kind, "Request": GOOD if request is None else request, **more}


def places(body: dict[str, Any]) -> list[tuple[str, str]]:
    told = check_stanzas(CATALOG, body)
    return [(each.key.removeprefix("Base.Property"), each.related[0]) for each in told]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"Manifest": None},
        {"Manifest": {}},
        of(stanza()),
        of(stanza(StanzaId="a"), stanza(StanzaId="b"), stanza(), stanza()),
        of(stanza("DecomposeSystem", {"@odata.id": "/redfish/v1/Systems/1", "@odata.type": "#x"})),
        of(stanza(request={"Memory": {"Members": [{"@Redfish.RequestedCount": 1}]}})),
    ],
)
def test_what_has_the_form_is_let_through(body: dict[str, Any]) -> None:
    assert places(body) == []


AT = "#/Manifest/Stanzas/0"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (of(), [("ValueOutOfRange", "#/Manifest/Stanzas")]),
        (of(*[stanza()] * (STANZAS_MAX + 1)), [("ValueOutOfRange", "#/Manifest/Stanzas")]),
        (of(None), [("ValueTypeError", AT)]),
        (of({}), [("Missing", f"{AT}/StanzaType"), ("Missing", f"{AT}/Request")]),
        (of(stanza("OEM", {})), [("ValueNotInList", f"{AT}/StanzaType")]),
        (of(stanza("DecomposeSystem", {})), [("Missing", f"{AT}/Request/@odata.id")]),
        (
            of(stanza("DecomposeSystem", {"@odata.id": 7})),
            [("ValueTypeError", f"{AT}/Request/@odata.id")],
        ),
        (
            of(stanza("DecomposeSystem", {"@odata.id": "/x", "Name": "n"})),
            [("Unknown", f"{AT}/Request/Name")],
        ),
        (of(stanza(request={"Nmae": "n"})), [("Unknown", f"{AT}/Request/Nmae")]),
        (of(stanza(request={"Name": 7})), [("ValueTypeError", f"{AT}/Request/Name")]),
        (of(stanza(request={"Id": "a/b"})), [("ValueFormatError", f"{AT}/Request/Id")]),
        (
            of(stanza(request={"Links": {"ResourceBlocks": [7]}})),
            [("ValueTypeError", f"{AT}/Request/Links/ResourceBlocks/0")],
        ),
        (
            of(stanza(StanzaId="a"), stanza(StanzaId="a")),
            [("ValueIncorrect", "#/Manifest/Stanzas/1/StanzaId")],
        ),
    ],
)
def test_what_has_not_is_told_at_its_place(body: dict[str, Any], told: list[Any]) -> None:
    assert places(body) == told


def test_only_what_means_something_is_kept() -> None:
    body = of(
        stanza(request={**GOOD, "@odata.type": "#x", "Name": "n"}, Response={"Name": "mine"}),
        stanza("DecomposeSystem", {"@odata.id": "/redfish/v1/Systems/1/", "@odata.type": "#x"}),
    )
    first, second = cleaned_stanzas(CATALOG, body)["Manifest"]["Stanzas"]
    assert first == {"StanzaType": "ComposeSystem", "Request": {**GOOD, "Name": "n"}}
    assert second["Request"] == {"@odata.id": "/redfish/v1/Systems/1"}

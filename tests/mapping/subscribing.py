"""A tip with an EventService and accounts, for tests of subscriptions."""

from typing import Any

import pytest

from redfish_fm.mapping.drafts import Subscribing
from redfish_fm.mapping.event_service import AboutEvents, event_service_documents
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.uris import SUBSCRIPTIONS
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Write, WriteKind
from tests.mapping.builders import MemoryTip

ZONES = "/redfish/v1/Fabrics/CXL/Zones"
PUSH = {"Destination": "https://192.0.2.50/events", "Protocol": "Redfish"}
REFUSED = "https://10.0.0.1/"


def a_tip(subscriptions_max: int = 10, users: tuple[str, ...] = ("admin", "op")) -> MemoryTip:
    about = AboutEvents(("Base", "Fabric", "ResourceEvent"), ("Endpoint", "Zone"), {})
    zones = {"@odata.id": ZONES, "@odata.type": "#ZoneCollection.ZoneCollection"}
    tip = MemoryTip({**event_service_documents(about), ZONES: zones}, Facts())
    for user in users:
        account = {"@odata.type": "#ManagerAccount.v1_0_0.ManagerAccount", "UserName": user}
        tip.inventory[f"{ACCOUNTS}/{user}"] = account

    def refuses(url: str) -> str | None:
        return "10.0.0.1 is not allowed" if url == REFUSED else None

    tip.subscribing = Subscribing(refuses, subscriptions_max)
    return tip


def post(tip: MemoryTip, actor: str = "admin", **body: Any) -> str:
    write = Write(WriteKind.CREATE, SUBSCRIPTIONS, "EventDestination", actor, {**PUSH, **body})
    return tip.commit(prepare(write, tip)).uri


def refused(status: int, *told: tuple[str, str]) -> Any:
    """Expect a refusal with exactly these (message key, JSON pointer) in any order."""

    def matches(error: RedfishError) -> bool:
        found = [(each.key, each.related[0] if each.related else "") for each in error.messages]
        assert (error.status, sorted(found)) == (status, sorted(told))
        return True

    return pytest.raises(RedfishError, check=matches)

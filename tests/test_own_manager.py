"""The service as its own manager, over the protocol: what it shows, what it switches, its log."""

import asyncio
import json
from typing import Any

import pytest

from redfish_fm.config import Config
from redfish_fm.server.listener import ListenError
from redfish_fm.store.memory import DurableState
from tests.cases.stack import ROOT, Stack, a_stack
from tests.control.builders import PCIE_ZONES, zone_body
from tests.redfish.builders import keys
from tests.virtual_time import in_virtual_time

MANAGER = f"{ROOT}/Managers/FabricManager"
PROTOCOLS = f"{MANAGER}/NetworkProtocol"
AUDIT = f"{MANAGER}/LogServices/AuditLog"
ENTRIES = f"{AUDIT}/Entries"
CLEAR = f"{AUDIT}/Actions/LogService.ClearLog"
HOST1 = f"{ROOT}/Fabrics/PCIe/Endpoints/host1-1"


async def entries(stack: Stack) -> list[dict[str, Any]]:
    await stack.itself.logs.audit_log.flush()
    found: list[dict[str, Any]] = (await stack.get(ENTRIES))["Members"]
    return found


async def queried(stack: Stack, target: str) -> dict[str, Any]:
    answer = await stack.ask("GET", target)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = json.loads(answer.body)
    return found


@in_virtual_time
async def test_the_root_names_it_and_it_names_the_root() -> None:
    async with a_stack() as stack:
        root = await stack.get(ROOT)
        assert root["Links"]["ManagerProvidingService"] == {"@odata.id": MANAGER}
        manager = await stack.get(MANAGER)
        assert manager["UUID"] == manager["ServiceEntryPointUUID"] == root["UUID"]
        assert {"@odata.id": MANAGER} in (await stack.get(f"{ROOT}/Managers"))["Members"]


@in_virtual_time
@pytest.mark.parametrize("uri", [MANAGER, AUDIT])
async def test_time_is_now_and_no_tag_moves_with_it(uri: str) -> None:
    async with a_stack() as stack:
        before = await stack.ask("GET", uri)
        await asyncio.sleep(2.0)
        after = await stack.ask("GET", uri)
        assert json.loads(before.body)["DateTime"] != json.loads(after.body)["DateTime"]
        assert json.loads(after.body)["DateTimeLocalOffset"] == "+00:00"
        assert before.headers["ETag"] == after.headers["ETag"]
        unchanged = await stack.ask("GET", uri, if_none_match=before.headers["ETag"])
        assert unchanged.status == 304


@in_virtual_time
@pytest.mark.parametrize("name", ["DateTime", "DateTimeLocalOffset", "TimeZoneName"])
async def test_a_clock_that_can_not_be_set_does_not_say_so(name: str) -> None:
    async with a_stack() as stack:
        value = "+01:00" if name == "DateTimeLocalOffset" else "2026-01-01T00:00:00Z"
        answer = await stack.ask("PATCH", MANAGER, {name: value})
        assert (answer.status, keys(answer)) == (400, ["PropertyNotWritable"])


@in_virtual_time
@pytest.mark.parametrize("body", [{"ProtocolEnabled": False}, {"Port": 8444}])
async def test_https_is_not_switched_by_who_is_connected_through_it(body: Any) -> None:
    async with a_stack() as stack:
        answer = await stack.ask("PATCH", PROTOCOLS, {"HTTPS": body})
        assert (answer.status, keys(answer)) == (400, ["PropertyNotWritable"])


@in_virtual_time
async def test_a_switch_of_discovery_is_told_to_it_and_is_durable() -> None:
    durable = DurableState()
    async with a_stack(durable=durable) as stack:
        answer = await stack.ask("PATCH", PROTOCOLS, {"SSDP": {"ProtocolEnabled": True}})
        assert (answer.status, json.loads(answer.body)["SSDP"]["ProtocolEnabled"]) == (200, True)
        assert stack.itself._discovery._settings.ssdp  # noqa: SLF001
        refused = await stack.ask("PATCH", PROTOCOLS, {"SSDP": {"NotifyTTL": 0}})
        assert refused.status == 400
    async with a_stack(durable=durable) as stack:
        assert (await stack.get(PROTOCOLS))["SSDP"]["ProtocolEnabled"] is True
        await stack.itself.apply()
        assert stack.itself._discovery._settings.ssdp  # noqa: SLF001


@in_virtual_time
async def test_an_operator_switches_nothing() -> None:
    async with a_stack() as stack:
        body = {"SSDP": {"ProtocolEnabled": True}}
        assert (await stack.ask("PATCH", PROTOCOLS, body, user="op")).status == 403
        assert (await stack.ask("POST", CLEAR, {}, user="op")).status == 403
        assert (await stack.get(PROTOCOLS))["SSDP"]["ProtocolEnabled"] is False


@in_virtual_time
async def test_a_redirect_that_can_not_listen_is_shown_as_it_is(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(topology="two-hosts", http_redirect_port=8080)

    async def no_port(_: bool) -> None:
        raise ListenError("cannot listen on 127.0.0.1:8080: address already in use")

    async def off(_: bool) -> None:
        return None

    monkeypatch.setattr("redfish_fm.server.redirect.Redirect.switch", staticmethod(off))
    async with a_stack(config=config) as stack:
        monkeypatch.setattr("redfish_fm.server.redirect.Redirect.switch", staticmethod(no_port))
        await stack.ask("PATCH", PROTOCOLS, {"HTTP": {"ProtocolEnabled": False}})
        answer = await stack.ask("PATCH", PROTOCOLS, {"HTTP": {"ProtocolEnabled": True}})
        assert answer.status == 200
        assert json.loads(answer.body)["HTTP"] == {"ProtocolEnabled": False, "Port": 8080}
        assert "already in use" in caplog.text


@in_virtual_time
async def test_writes_refusals_and_failed_logins_stand_in_the_log_and_reads_do_not() -> None:
    async with a_stack() as stack:
        await stack.ask("POST", CLEAR, {})
        await stack.ask("POST", PCIE_ZONES, zone_body(HOST1))
        await stack.ask("POST", PCIE_ZONES, {"Bogus": 1})
        await stack.ask("GET", f"{ROOT}/Systems")
        wrong = {"UserName": "admin", "Password": "not-the-Passw0rd"}
        await stack.ask("POST", f"{ROOT}/SessionService/Sessions", wrong, user=None)
        found = await entries(stack)
        assert [each["MessageId"].rpartition(".")[2] for each in found] == [
            "RequestAudited",
            "RequestAudited",
            "RequestAudited",
            "LoginFailed",
        ]
        assert [each["Severity"] for each in found] == ["OK", "OK", "Warning", "Warning"]
        assert "not-the-Passw0rd" not in json.dumps(found)


@in_virtual_time
async def test_the_log_is_filtered_paged_and_selected_like_every_collection() -> None:
    async with a_stack(config=Config(topology="two-hosts", page_size=2)) as stack:
        for _ in range(3):
            await stack.ask("POST", PCIE_ZONES, {"Bogus": 1})
        warned = f"{ENTRIES}?$filter=Severity%20eq%20'Warning'"
        await stack.itself.logs.audit_log.flush()
        first = await queried(stack, warned)
        assert first["Members@odata.count"] == 3
        assert len(first["Members"]) == 2
        second = await queried(stack, first["Members@odata.nextLink"])
        assert [each["Severity"] for each in (*first["Members"], *second["Members"])] == [
            "Warning"
        ] * 3
        none = await queried(stack, f"{ENTRIES}?$filter=Created%20gt%20'2999-01-01T00:00:00Z'")
        assert none["Members@odata.count"] == 0
        assert len((await queried(stack, f"{ENTRIES}?$top=1"))["Members"]) == 1


@in_virtual_time
async def test_clearing_is_audited_and_holds_after_a_crash() -> None:
    durable = DurableState()
    async with a_stack(durable=durable, crash=True) as stack:
        await stack.ask("POST", PCIE_ZONES, zone_body(HOST1))
        assert len(await entries(stack)) == 1
        assert (await stack.ask("POST", CLEAR, {})).status == 204
        (only,) = await entries(stack)
        assert only["MessageArgs"][:3] == ["POST", CLEAR, "admin"]
        assert not (await stack.get(AUDIT))["Overflow"]
    async with a_stack(durable=durable) as stack:
        assert only in await entries(stack)


@in_virtual_time
async def test_clearing_with_the_tag_of_what_was_seen_refuses_when_more_has_come() -> None:
    async with a_stack() as stack:
        await entries(stack)
        tag = (await stack.get(ENTRIES))["@odata.etag"]
        await stack.ask("POST", PCIE_ZONES, {"Bogus": 1})
        await stack.itself.logs.audit_log.flush()
        refused = await stack.ask("POST", CLEAR, {"LogEntriesETag": tag})
        assert refused.status == 428
        await stack.itself.logs.audit_log.flush()
        tag = (await stack.get(ENTRIES))["@odata.etag"]
        assert (await stack.ask("POST", CLEAR, {"LogEntriesETag": tag})).status == 204


@in_virtual_time
async def test_a_full_log_shows_that_it_has_overflowed() -> None:
    async with a_stack(config=Config(topology="two-hosts", audit_log_entries=2)) as stack:
        assert (await stack.get(AUDIT))["MaxNumberOfRecords"] == 2
        for _ in range(3):
            await stack.ask("POST", PCIE_ZONES, {"Bogus": 1})
        assert len(await entries(stack)) == 2
        assert (await stack.get(AUDIT))["Overflow"] is True


@in_virtual_time
async def test_nobody_writes_an_entry() -> None:
    async with a_stack() as stack:
        await stack.ask("POST", PCIE_ZONES, {"Bogus": 1})
        uri = (await entries(stack))[0]["@odata.id"]
        assert (await stack.ask("POST", ENTRIES, {"EntryType": "Event"})).status == 405
        assert (await stack.ask("DELETE", uri)).status == 405
        assert (await stack.ask("PATCH", uri, {"Resolved": True})).status in (400, 405)


@in_virtual_time
async def test_a_log_of_a_bmc_can_not_be_cleared_here() -> None:
    async with a_stack() as stack:
        log = f"{ROOT}/Managers/host1-bmc/LogServices/Log"
        answer = await stack.ask("POST", f"{log}/Actions/LogService.ClearLog", {})
        assert (answer.status, keys(answer)) == (400, ["ActionNotSupported"])

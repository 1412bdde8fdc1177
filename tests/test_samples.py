"""What /metrics shows: true figures, all of them explained in docs/metrics.md, none in excess."""

import re
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from redfish_fm.drivers.virtual.faults import Refuse
from redfish_fm.redfish.requests import Response
from redfish_fm.samples import metrics_of
from redfish_fm.server.http import HttpServer
from tests.cases.life import BLOCKS, GPU1, HOST1, PCIE_ZONES, SYSTEMS, system_body, zone_body
from tests.cases.stack import Stack, a_stack
from tests.virtual_time import in_virtual_time

Key = tuple[str, frozenset[tuple[str, str]]]


def server_of(stack: Stack) -> HttpServer:
    return HttpServer(stack.service.handle, lambda status: Response(status))


def families(stack: Stack, server: HttpServer) -> Iterator[Metric]:
    made = metrics_of(stack.kernel, stack.store, stack.identity, stack.events, lambda: server)
    return text_string_to_metric_families(made.render().body.decode())


def figures(stack: Stack, server: HttpServer | None = None) -> dict[Key, float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families(stack, server or server_of(stack))
        for sample in family.samples
    }


def of(name: str, **labels: str) -> Key:
    return f"redfish_fm_{name}", frozenset(labels.items())


async def lived(stack: Stack) -> HttpServer:
    """Let everything that is counted happen at least once."""
    await stack.made(SYSTEMS, system_body("host2", "gpu2"))
    server = server_of(stack)
    server.counts.note("GET", "/redfish/v1", 200, 0.5)
    return server


@in_virtual_time
async def test_every_figure_is_explained_with_its_labels(repository: Path) -> None:
    async with a_stack() as stack:
        server = await lived(stack)
        shown = {
            sample.name: ", ".join(f"`{label}`" for label in sorted(sample.labels))
            for family in families(stack, server)
            for sample in family.samples
        }
    text = (repository / "docs" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(redfish_fm_\w+)` \| ([^|]*)\|", text, re.MULTILINE)
    explained = {name: ", ".join(sorted(labels.strip().split(", "))) for name, labels in rows}
    assert shown == explained


@in_virtual_time
async def test_counters_end_in_total_and_every_family_has_a_help_text() -> None:
    async with a_stack() as stack:
        for family in families(stack, await lived(stack)):
            assert family.documentation
            is_counter = family.samples[0].name.endswith("_total")
            assert family.type == ("counter" if is_counter else "gauge"), family.name


@in_virtual_time
async def test_pools_are_counted_as_the_blocks_show_them() -> None:
    async with a_stack() as stack:
        before = figures(stack)
        await stack.made(SYSTEMS, system_body("host2", "gpu2"))
        after = figures(stack)
        assert (before[of("compositions")], after[of("compositions")]) == (0, 1)
        members = (await stack.get(BLOCKS))["Members"]
        shown = [(await stack.get(each["@odata.id"])) for each in members]
        for kind in ("Compute", "Processor", "Storage"):
            for pool in ("Free", "Active"):
                mine = [x for x in shown if x["ResourceBlockType"] == [kind] and x["Pool"] == pool]
                found = after.get(of("resource_blocks", type=kind, pool=pool), 0)
                assert found == len(mine), (kind, pool)


@in_virtual_time
async def test_steps_are_counted_by_what_the_switch_said() -> None:
    async with a_stack() as stack:
        stack.rig.faults().next_apply(None, Refuse("no"))
        assert (await stack.ask("POST", PCIE_ZONES, zone_body(HOST1, GPU1))).status == 409
        await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        found = figures(stack)
        for outcome in ("ok", "rejected"):
            labels = {"fabric": "PCIe", "step": "Bind", "outcome": outcome}
            assert found[of("driver_steps_total", **labels)] == 1, outcome


@in_virtual_time
async def test_every_fabric_is_looked_at_and_tells_what_it_saw() -> None:
    async with a_stack() as stack:
        before = figures(stack)
        await stack.clock.sleep(5.0)
        after = figures(stack)
        for fabric in ("PCIe", "CXL"):
            looks = of("observations_total", fabric=fabric)
            assert 1 <= before[looks] < after[looks]
            for name in ("observations_failed_total", "isolation_violations", "foreign_bindings"):
                assert after[of(name, fabric=fabric)] == 0, name


@in_virtual_time
async def test_commits_sessions_and_tasks_are_as_many_as_there_are() -> None:
    async with a_stack() as stack:
        before = figures(stack)
        await stack.ask("POST", PCIE_ZONES, zone_body(HOST1, GPU1), prefer="respond-async")
        await stack.clock.sleep(5.0)
        after = figures(stack)
        assert after[of("commits_total")] > before[of("commits_total")]
        assert (before[of("tasks", state="ended")], after[of("tasks", state="ended")]) == (0, 1)
        assert after[of("sessions")] == len(stack.durable.sessions)


@in_virtual_time
async def test_requests_are_told_apart_by_route_method_and_status() -> None:
    async with a_stack() as stack:
        found = figures(stack, await lived(stack))
        labels = {"route": "other", "method": "GET", "status": "2xx"}
        assert found[of("http_requests_total", **labels)] == 1
        assert found[of("http_request_seconds_total", **labels)] == 0.5


@in_virtual_time
async def test_figures_do_not_become_more_with_what_clients_make() -> None:
    async with a_stack() as stack:
        server = await lived(stack)
        before = figures(stack, server).keys()
        for number in range(20):
            await stack.made(PCIE_ZONES, {"Name": f"zone {number}"})
            server.counts.note("GET", f"{PCIE_ZONES}/{number}", 200, 0.1)
        assert figures(stack, server).keys() == before

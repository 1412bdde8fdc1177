"""Memory and bandwidth of a CXL switch on a wire, through plain Redfish, down to the bytes.

Each test has a transcript of the wire, what the simulated hardware then has (told by the service
that simulates it), and what the managing service shows of it.
"""

import asyncio
import struct
from collections.abc import Iterator

import pytest

from tests.drivers.virtual.fmapi_raw import raw_manager
from tests.drivers.virtual.test_fmapi_mld import inner
from tests.e2e.fmapi_pair import (
    DYNAMIC,
    FABRIC,
    FIXED,
    HOSTS,
    POOLED,
    SWITCH,
    Pair,
    paired,
)
from tests.e2e.fmapi_tap import Spoil, Told
from tests.e2e.service import links

BIND, UNBIND, SANITIZE = 0x5201, 0x5202, 0x4400
SET_ALLOCATIONS, SET_ALLOCATED, SET_LIMIT = 0x5402, 0x5407, 0x5409
SET_CONTROL, ADD, RELEASE = 0x5404, 0x5604, 0x5605
DONE, STARTED = 0x0000, 0x0001
MIB = 1 << 20


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Return two services; each test leaves them as it found them, and has a device for itself."""
    with paired(tmp_path_factory.mktemp("pair")) as found:
        yield found


def outlines(told: list[Told]) -> list[tuple[int, int | None, int | None, int | None]]:
    """Return what was asked of whom, and the return code."""
    return [(each.opcode, each.port, each.ld, each.code) for each in told]


def bind_request(vcs: int, vppb: int, port: int, ld: int) -> bytes:
    return struct.pack("<BBBxH", vcs, vppb, port, ld)


def allocation(ld: int, units: int) -> bytes:
    """Return a request for so much memory of one LD, in 256 MiB."""
    return struct.pack("<BBxxQQ", 1, ld, units, 0)


def test_an_ld_is_bound_moved_to_another_host_and_unbound(pair: Pair) -> None:
    since = pair.tap.mark()
    chunk = f"{pair.device(FIXED)}/MemoryDomains/1/MemoryChunks/1"
    zone = pair.zone(0, FIXED, 1)
    connection = pair.connection(0, FIXED, 1, chunk=chunk)
    # What is in the LD is not known: it is overwritten before its first owner has it.
    told = pair.tap.changes(since)
    assert outlines(told) == [(SANITIZE, FIXED, 1, STARTED), (BIND, None, None, STARTED)]
    assert told[1].request == bind_request(0, 0, FIXED, 1)
    assert pair.bound_there() == {"1/0": ("BoundLD", 1)}
    vppb = pair.manager.get(f"{FABRIC}/Switches/real1/VCSs/0/VPPBs/0")
    assert (vppb["BindingStatus"], vppb["BoundLDId"]) == ("BoundLD", 1)

    since = pair.tap.mark()
    pair.write("DELETE", connection)
    pair.write("DELETE", zone)
    zone = pair.zone(1, FIXED, 1)
    connection = pair.connection(1, FIXED, 1, chunk=chunk)
    # What the first host had is gone before the second one has the LD.
    told = pair.tap.changes(since)
    assert outlines(told) == [
        (UNBIND, None, None, STARTED),
        (SANITIZE, FIXED, 1, STARTED),
        (BIND, None, None, STARTED),
    ]
    assert told[0].request == bytes((0, 0, 1))
    assert told[2].request == bind_request(1, 0, FIXED, 1)
    assert pair.bound_there() == {"2/0": ("BoundLD", 1)}

    pair.write("DELETE", connection)
    pair.write("DELETE", zone)
    assert pair.bound_there() == {}
    assert pair.manager.get(FABRIC)["Status"]["Health"] == "OK"


def test_a_chunk_is_an_ld_with_memory_for_as_long_as_it_exists(pair: Pair) -> None:
    since, domain = pair.tap.mark(), f"{pair.device(POOLED)}/MemoryDomains/1"
    chunk = pair.made(f"{domain}/MemoryChunks", {"MemoryChunkSizeMiB": 768})
    (told,) = pair.tap.changes(since)
    assert (told.opcode, told.port, told.code) == (SET_ALLOCATIONS, POOLED, DONE)
    assert told.request == told.answer == allocation(0, 3)
    assert pair.ld_there(POOLED, 0)["MemorySizeMiB"] == 768
    assert pair.manager.get(pair.ld(POOLED, 0))["MemorySizeMiB"] == 768
    assert pair.manager.get(chunk)["Links"]["CXLLogicalDevices"] == links(pair.ld(POOLED, 0))
    assert pair.manager.get(domain)["Oem"]["RedfishFM"]["FreeMiB"] == 8192 - 768

    since = pair.tap.mark()
    zone = pair.zone(0, POOLED, 0)
    connection = pair.connection(0, POOLED, 0, chunk=chunk)
    refused = pair.manager("DELETE", chunk)
    assert (refused.status, connection in str(refused.body)) == (409, True)
    assert pair.bound_there() == {"1/0": ("BoundLD", 0)}
    pair.write("DELETE", connection)
    pair.write("DELETE", chunk)
    pair.write("DELETE", zone)
    told = pair.tap.changes(since)
    assert outlines(told) == [
        (SANITIZE, POOLED, 0, STARTED),
        (BIND, None, None, STARTED),
        (UNBIND, None, None, STARTED),
        (SANITIZE, POOLED, 0, STARTED),
        (SET_ALLOCATIONS, POOLED, None, DONE),
    ]
    assert told[-1].request == told[-1].answer == allocation(0, 0)
    assert pair.ld_there(POOLED, 0)["MemorySizeMiB"] == 0
    assert pair.manager.get(pair.ld(POOLED, 0))["MemorySizeMiB"] == 0
    assert pair.manager.get(domain)["Oem"]["RedfishFM"]["FreeMiB"] == 8192


def test_bandwidth_of_an_ld_is_set_by_patch(pair: Pair) -> None:
    since, ld = pair.tap.mark(), pair.ld(FIXED, 2)
    wanted = {"AllocatedBandwidth": 25, "LimitPercent": 50}
    assert pair.write("PATCH", ld, {"QoS": wanted}).json["QoS"] == wanted
    told = pair.tap.changes(since)
    assert outlines(told) == [
        (SET_ALLOCATED, FIXED, None, DONE),
        (SET_LIMIT, FIXED, None, DONE),
    ]
    # One LD from number 2 on: 25 % and 50 % of 256.
    assert [each.request for each in told] == [bytes((1, 2, 64)), bytes((1, 2, 128))]
    assert pair.ld_there(FIXED, 2)["QoS"] == wanted
    pair.write("PATCH", ld, {"QoS": {"AllocatedBandwidth": None, "LimitPercent": None}})
    assert pair.ld_there(FIXED, 2)["QoS"] == {"AllocatedBandwidth": 0, "LimitPercent": 100}


def test_dynamic_capacity_is_added_granted_and_released(pair: Pair) -> None:
    since, ld = pair.tap.mark(), pair.ld(DYNAMIC, 1)
    body = {"RegionType": "Dynamic", "RegionSizeMiB": 1024}
    region = pair.made(f"{ld}/MemoryRegions", body)
    (told,) = pair.tap.changes(since)
    assert (told.opcode, told.port, told.code) == (ADD, DYNAMIC, DONE)
    # Host 1, free choice of place, region 0, 1 GiB, no tag, no extents.
    assert told.request == struct.pack("<HBBQ16sI", 1, 0, 0, 1024 * MIB, bytes(16), 0)
    assert pair.ld_there(DYNAMIC, 1)["MemorySizeMiB"] == 1024
    shown = pair.manager.get(region)
    assert shown["MemoryExtents"] == [{"ExtentOffsetMiB": 0, "ExtentSizeMiB": 1024}]
    assert (shown["RegionNumber"], shown["BlockSizeMiB"]) == (0, 512)
    # The simulated device overwrites what is given back.
    assert shown["SanitizeOnRelease"] is True

    since, zone = pair.tap.mark(), pair.zone(0, DYNAMIC, 1)
    connection = pair.connection(0, DYNAMIC, 1, region=region)
    assert pair.bound_there() == {"1/0": ("BoundLD", 1)}
    pair.write("DELETE", connection)
    pair.write("DELETE", region)
    pair.write("DELETE", zone)
    told = pair.tap.changes(since)
    assert outlines(told) == [
        (BIND, None, None, STARTED),
        (UNBIND, None, None, STARTED),
        (RELEASE, DYNAMIC, None, DONE),
    ]
    # The one extent that it had, by its place.
    head = struct.pack("<HBBQ16sI", 1, 1, 0, 1024 * MIB, bytes(16), 1)
    assert told[2].request == head + struct.pack("<QQ16sH6x", 0, 1024 * MIB, bytes(16), 0)
    assert pair.ld_there(DYNAMIC, 1)["MemorySizeMiB"] == 0
    assert pair.manager.get(ld)["MemorySizeMiB"] == 0


def test_an_ld_has_one_region_which_is_bound_with_it(pair: Pair) -> None:
    place = f"{pair.ld(DYNAMIC, 0)}/MemoryRegions"
    body = {"RegionType": "Dynamic", "RegionSizeMiB": 512}
    region, zone = pair.made(place, body), pair.zone(0, DYNAMIC, 0)
    connection, since = pair.connection(0, DYNAMIC, 0, region=region), pair.tap.mark()
    assert pair.manager("POST", place, body).status == 409
    assert pair.manager("POST", place, body | {"RegionNumber": 1}).status == 400
    assert pair.wire(since) == []
    assert pair.manager.get(connection)["Status"]["Health"] == "OK"
    for uri in (connection, region, zone):
        pair.write("DELETE", uri)


STRANGE_CHUNKS = [
    ({"MemoryChunkSizeMiB": 100}, "MemoryChunkSizeMiB"),
    ({"MemoryChunkSizeMiB": 0}, "MemoryChunkSizeMiB"),
    ({"MemoryChunkSizeMiB": -256}, "MemoryChunkSizeMiB"),
    ({"MemoryChunkSizeMiB": 256.5}, "MemoryChunkSizeMiB"),
    ({"MemoryChunkSizeMiB": "256"}, "MemoryChunkSizeMiB"),
    ({"MemoryChunkSizeMiB": 1 << 62}, "MemoryChunkSizeMiB"),
    ({}, "MemoryChunkSizeMiB"),
    ({"MemoryChunkSizeMiB": 256, "IsMirrorEnabled": True}, "IsMirrorEnabled"),
    ({"MemoryChunkSizeMiB": 256, "AddressRangeOffsetMiB": 256}, "AddressRangeOffsetMiB"),
    ({"MemoryChunkSizeMiB": 256, "Sizes": 1}, "Sizes"),
]


@pytest.mark.parametrize(("body", "named"), STRANGE_CHUNKS)
def test_a_strange_chunk_is_refused_and_the_wire_hears_nothing(
    pair: Pair, body: dict[str, object], named: str
) -> None:
    since = pair.tap.mark()
    answer = pair.manager("POST", f"{pair.device(POOLED)}/MemoryDomains/1/MemoryChunks", body)
    assert answer.status == 400
    assert named in str(answer.json)
    assert pair.wire(since) == []


STRANGE_REGIONS = [
    ({"RegionType": "Dynamic", "RegionSizeMiB": 500}, "RegionSizeMiB"),
    ({"RegionType": "Dynamic", "RegionSizeMiB": 0}, "RegionSizeMiB"),
    ({"RegionType": "Dynamic", "RegionSizeMiB": 1 << 62}, "RegionSizeMiB"),
    ({"RegionType": "Dynamic"}, "RegionSizeMiB"),
    ({"RegionType": "Static", "RegionSizeMiB": 512}, "RegionType"),
    ({"RegionType": "Dynamic", "RegionSizeMiB": 512, "RegionNumber": 1}, "RegionNumber"),
    ({"RegionType": "Dynamic", "RegionSizeMiB": 512, "ShareableRegion": True}, "ShareableRegion"),
    ({"RegionType": "Dynamic", "RegionSizeMiB": 512, "BlockSizeMiB": 256}, "BlockSizeMiB"),
    ({"RegionType": "Dynamic", "RegionSizeMiB": 512, "SanitizeOnRelease": False},
     "SanitizeOnRelease"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "named"), STRANGE_REGIONS)
def test_a_strange_region_is_refused_and_the_wire_hears_nothing(
    pair: Pair, body: dict[str, object], named: str
) -> None:
    since = pair.tap.mark()
    answer = pair.manager("POST", f"{pair.ld(DYNAMIC, 0)}/MemoryRegions", body)
    assert answer.status == 400
    assert named in str(answer.json)
    assert pair.wire(since) == []


STRANGE_BANDWIDTHS = [
    ({"AllocatedBandwidth": 101}, "AllocatedBandwidth"),
    ({"AllocatedBandwidth": -1}, "AllocatedBandwidth"),
    ({"AllocatedBandwidth": 1.5}, "AllocatedBandwidth"),
    ({"LimitPercent": "50"}, "LimitPercent"),
    ({"AllocatedBandwidth": 60, "LimitPercent": 50}, "AllocatedBandwidth"),
    ({"Allocated": 1}, "Allocated"),
    ([], "QoS"),
]


@pytest.mark.parametrize(("qos", "named"), STRANGE_BANDWIDTHS)
def test_a_strange_bandwidth_is_refused_and_the_wire_hears_nothing(
    pair: Pair, qos: object, named: str
) -> None:
    since = pair.tap.mark()
    answer = pair.manager("PATCH", pair.ld(FIXED, 3), {"QoS": qos})
    assert answer.status == 400
    assert named in str(answer.json)
    assert pair.wire(since) == []


def test_what_the_ld_of_another_host_has_is_not_granted_and_the_wire_hears_nothing(
    pair: Pair,
) -> None:
    chunk = f"{pair.device(FIXED)}/MemoryDomains/0/MemoryChunks/1"
    zone = pair.zone(0, FIXED, 0)
    connection, since = pair.connection(0, FIXED, 0, chunk=chunk), pair.tap.mark()
    body = {"Links": {"Endpoints": links(HOSTS[1], pair.endpoint(FIXED, 0))}}
    refused = pair.manager("POST", f"{FABRIC}/Zones", body)
    assert (refused.status, connection in str(refused.body)) == (409, True)
    assert pair.wire(since) == []
    for uri in (connection, zone):
        pair.write("DELETE", uri)


# -- how a device watches its load ---------------------------------------------------------------


async def _control_there(port: int) -> bytes:
    """Return what the simulated device says of QoS Control, asked by another manager."""
    async with raw_manager("127.0.0.1", port) as manager:
        return (await inner(manager, 0x5403, port=FIXED)).payload


def test_how_a_device_watches_its_load_is_set_by_patch_of_its_port(pair: Pair) -> None:
    since, port = pair.tap.mark(), f"{SWITCH}/Ports/{FIXED}"
    before = pair.manager.get(port)["CXL"]
    assert before["QoSTelemetryCapabilities"]["EgressPortBackpressureSupported"] is True
    assert before["Congestion"]["CongestionTelemetryEnabled"] is False
    wanted = {"CongestionTelemetryEnabled": True, "EgressSeverePercentage": 80}
    shown = pair.write("PATCH", port, {"CXL": {"Congestion": wanted}}).json["CXL"]
    assert shown["Congestion"] == before["Congestion"] | wanted
    (told,) = pair.tap.changes(since)
    assert (told.opcode, told.port, told.code) == (SET_CONTROL, FIXED, DONE)
    # Congestion telemetry on, throughput reduction as it was; moderate 10 %, severe 80 %,
    # interval 8, bias 0, interval 64.
    assert told.request == told.answer == bytes((1, 10, 80, 8, 0, 0, 64))
    assert asyncio.run(_control_there(pair.switch_port)) == told.request
    metrics = pair.manager.get(f"{port}/Metrics")
    assert metrics["CXL"] == {"BackpressureAveragePercentage": 0}


STRANGE_CONGESTIONS = [
    ({"EgressModeratePercentage": 0}, "EgressModeratePercentage"),
    ({"EgressSeverePercentage": 101}, "EgressSeverePercentage"),
    ({"EgressModeratePercentage": 60, "EgressSeverePercentage": 50}, "EgressModeratePercentage"),
    ({"BackpressureSampleInterval": 16}, "BackpressureSampleInterval"),
    ({"MaxSustainedRequestCmpBias": 65536}, "MaxSustainedRequestCmpBias"),
    ({"CompletionCollectionInterval": -1}, "CompletionCollectionInterval"),
    ({"CongestionTelemetryEnabled": 1}, "CongestionTelemetryEnabled"),
    ({"Moderate": 1}, "Moderate"),
]


@pytest.mark.parametrize(("congestion", "named"), STRANGE_CONGESTIONS)
def test_a_strange_congestion_is_refused_and_the_wire_hears_nothing(
    pair: Pair, congestion: object, named: str
) -> None:
    since, body = pair.tap.mark(), {"CXL": {"Congestion": congestion}}
    answer = pair.manager("PATCH", f"{SWITCH}/Ports/{FIXED}", body)
    assert answer.status == 400
    assert named in str(answer.json)
    assert pair.wire(since) == []


def test_a_port_without_an_mld_takes_no_congestion(pair: Pair) -> None:
    body = {"CXL": {"Congestion": {"EgressSeverePercentage": 50}}}
    answer = pair.manager("PATCH", f"{SWITCH}/Ports/0", body)
    assert (answer.status, "Congestion" in str(answer.json)) == (400, True)


# -- faults -------------------------------------------------------------------------------------

SPOILS = [Spoil.BUSY, Spoil.CUT, Spoil.NEVER]


def is_done_once(pair: Pair, since: int, opcode: int, spoil: Spoil) -> None:
    """Check how often a command was carried out: never twice."""
    really = [
        each for each in pair.tap.changes(since) if each.opcode == opcode and each.code == DONE
    ]
    assert len(really) == 1
    # What was answered, and what was seen to be done, is not sent again.
    sent = [each for each in pair.tap.changes(since) if each.opcode == opcode]
    assert len(sent) == (1 if spoil is Spoil.CUT else 2)


@pytest.mark.parametrize("spoil", SPOILS)
def test_an_allocation_that_is_spoiled_ends_and_is_made_once(pair: Pair, spoil: Spoil) -> None:
    place = f"{pair.device(POOLED)}/MemoryDomains/1/MemoryChunks"
    since = pair.tap.mark()
    pair.tap.spoil(SET_ALLOCATIONS, spoil)
    chunk = pair.made(place, {"MemoryChunkSizeMiB": 512})
    is_done_once(pair, since, SET_ALLOCATIONS, spoil)
    assert pair.ld_there(POOLED, 0)["MemorySizeMiB"] == 512
    pair.write("DELETE", chunk)
    assert pair.ld_there(POOLED, 0)["MemorySizeMiB"] == 0


@pytest.mark.parametrize("spoil", SPOILS)
def test_dynamic_capacity_that_is_spoiled_is_added_once(pair: Pair, spoil: Spoil) -> None:
    place, since = f"{pair.ld(DYNAMIC, 0)}/MemoryRegions", pair.tap.mark()
    pair.tap.spoil(ADD, spoil)
    region = pair.made(place, {"RegionType": "Dynamic", "RegionSizeMiB": 512})
    is_done_once(pair, since, ADD, spoil)
    assert pair.ld_there(DYNAMIC, 0)["MemorySizeMiB"] == 512
    since = pair.tap.mark()
    pair.tap.spoil(RELEASE, spoil)
    pair.write("DELETE", region)
    is_done_once(pair, since, RELEASE, spoil)
    assert pair.ld_there(DYNAMIC, 0)["MemorySizeMiB"] == 0


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("opcode", [SET_ALLOCATED, SET_LIMIT])
def test_bandwidth_that_is_spoiled_is_set_in_the_end(pair: Pair, opcode: int, spoil: Spoil) -> None:
    wanted = {"AllocatedBandwidth": 10, "LimitPercent": 20}
    pair.tap.spoil(opcode, spoil)
    pair.write("PATCH", pair.ld(FIXED, 3), {"QoS": wanted})
    assert pair.tap.spoils == []
    assert pair.ld_there(FIXED, 3)["QoS"] == wanted
    pair.write("PATCH", pair.ld(FIXED, 3), {"QoS": {"AllocatedBandwidth": 0, "LimitPercent": 100}})


@pytest.mark.parametrize(("spoil", "ld"), [(Spoil.CUT, 3), (Spoil.NEVER, 2)])
def test_an_ld_whose_sanitizing_is_spoiled_is_bound_clean_and_once(
    pair: Pair, spoil: Spoil, ld: int
) -> None:
    # Each has an LD that was not used before: what is clean is not sanitized again.
    chunk = f"{pair.device(FIXED)}/MemoryDomains/{ld}/MemoryChunks/1"
    zone, since = pair.zone(0, FIXED, ld), pair.tap.mark()
    pair.tap.spoil(SANITIZE, spoil)
    connection = pair.connection(0, FIXED, ld, chunk=chunk)
    told = pair.tap.changes(since)
    assert told[-1].opcode == BIND
    assert [each.opcode for each in told].count(BIND) == 1
    assert (SANITIZE, STARTED) in [(each.opcode, each.code) for each in told]
    for uri in (connection, zone):
        pair.write("DELETE", uri)


def test_an_answer_that_never_comes_delays_an_allocation_and_is_not_taken_for_a_no(
    pair: Pair,
) -> None:
    place = f"{pair.device(POOLED)}/MemoryDomains/1/MemoryChunks"
    since = pair.tap.mark()
    pair.tap.spoil(SET_ALLOCATIONS, Spoil.LOSE)
    chunk = pair.made(place, {"MemoryChunkSizeMiB": 256})
    is_done_once(pair, since, SET_ALLOCATIONS, Spoil.CUT)
    pair.write("DELETE", chunk)

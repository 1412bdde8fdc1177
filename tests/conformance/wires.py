"""Two CXL switches of other services on sockets, driven by one that a validator then reads.

One listens and speaks MCTP packets, the other one dials in with frames and has the manners of
another maker. Everything that a client can do to such switches has been done to them; one of them
has something bound that nobody asked this service for.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.fmapi_pair import (
    DYNAMIC,
    FABRIC,
    FIXED,
    POOLED,
    TOPOLOGY,
    Pair,
)
from tests.e2e.fmapi_tap import tapped
from tests.e2e.service import Client, serving, zone_body
from tests.e2e.test_cxl_switches import free_port
from tests.e2e.test_fmapi_wire import port_of

NAME = "cxl-switches"
DIALLED = "/redfish/v1/Fabrics/DIALLED"
_THERE = "/redfish/v1/Fabrics/CXL"
_DIALS = ("--topology", "two-hosts", "--ephemeral", "--fmapi-profile", "short-identity")


@contextlib.contextmanager
def served(place: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the URL of the managing service, and what a validator must visit there."""
    topology, config, state = place / "wire.yaml", place / "switches.toml", place / "state"
    topology.write_text(TOPOLOGY, encoding="utf-8")
    listens = ("--topology", str(topology), "--ephemeral", "--fmapi-listen", "127.0.0.1:0")
    dialled = free_port()
    with contextlib.ExitStack() as stack:
        simulator, there_url = stack.enter_context(serving(*listens))
        switch = port_of(simulator)
        tap = stack.enter_context(tapped(switch))
        config.write_text(
            _stanza("real1", "REAL", "mctp-tcp", tap.port, ("a", "b"))
            + _stanza("real2", "DIALLED", "fm-listen", dialled, ("c", "d")),
            encoding="utf-8",
        )
        arguments = ("--config", str(config), "--state", str(state))
        service, url = stack.enter_context(serving(*arguments, tls=True))
        flags = (*_DIALS, "--fmapi-dial", f"127.0.0.1:{dialled}")
        _, other_url = stack.enter_context(serving(*flags))
        manager, there, other = (
            stack.enter_context(contextlib.closing(client))
            for client in (
                Client(url, cafile=state / "tls" / "ca.pem"),
                Client(there_url),
                Client(other_url),
            )
        )
        pair = Pair(manager, there, tap, service, switch)
        for fabric in (FABRIC, DIALLED):
            pair.until(lambda uri=fabric: manager.get(uri)["Status"]["State"], "Enabled")
        yield url, [*_written(pair), *_foreign(pair, other)]


def _written(pair: Pair) -> list[str]:
    """Bind, cut, grant and limit what the first switch has; return what there is then."""
    chunk = f"{pair.device(FIXED)}/MemoryDomains/0/MemoryChunks/1"
    made = [pair.zone(0, FIXED, 0), pair.zone(1, FIXED, 1)]
    made.append(pair.connection(0, FIXED, 0, chunk=chunk))
    domain = f"{pair.device(POOLED)}/MemoryDomains/1"
    pooled = pair.made(f"{domain}/MemoryChunks", {"MemoryChunkSizeMiB": 768})
    made += [pooled, pair.zone(0, POOLED, 0), pair.connection(0, POOLED, 0, chunk=pooled)]
    regions = f"{pair.ld(DYNAMIC, 1)}/MemoryRegions"
    region = pair.made(regions, {"RegionType": "Dynamic", "RegionSizeMiB": 1024})
    made += [region, pair.zone(1, DYNAMIC, 1), pair.connection(1, DYNAMIC, 1, region=region)]
    pair.write("PATCH", pair.ld(FIXED, 0), {"QoS": {"LimitPercent": 50}})
    return [*made, pair.ld(FIXED, 0), pair.device(POOLED)]


def _foreign(pair: Pair, other: Client) -> list[str]:
    """Bind by the second switch's own service what this one did not ask for."""
    ends = (f"{_THERE}/Endpoints/host1-2", f"{_THERE}/Endpoints/mem2")
    answer = other("POST", f"{_THERE}/Zones", zone_body(*ends))
    assert answer.status == 201, answer
    pair.until(lambda: pair.manager.get(DIALLED)["Status"]["Health"], "Critical")
    members = pair.manager.get(f"{DIALLED}/Endpoints")["Members"]
    return [DIALLED, *(each["@odata.id"] for each in members)]


def _stanza(name: str, fabric: str, link: str, port: int, hosts: tuple[str, str]) -> str:
    return (
        f'[[switches]]\nid = "{name}"\nfabric = "{fabric}"\nlink = "{link}"\n'
        f'address = "127.0.0.1:{port}"\nhosts = {{ "0" = "{hosts[0]}", "1" = "{hosts[1]}" }}\n'
    )

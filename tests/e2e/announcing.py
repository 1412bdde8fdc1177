"""Discovery alone, without a service behind it; `python -m tests.e2e.announcing SCALE ADDRESS …`.

A test runs this inside a namespace. Each line on stdin is a JSON object of DiscoverySettings to
apply, answered with "applied" on stdout; the end of stdin closes. Its clock runs SCALE times as
fast as that of the machine.
"""

import asyncio
import ipaddress
import json
import random
import sys

from redfish_fm.clocks import ScaledClock, SystemClock
from redfish_fm.server.discovery import Discovery, DiscoverySettings, Ipv6Scope
from redfish_fm.server.ssdp import Announced

UUID = "2f3f1a4e-8c3f-4c52-9d0e-3a1f7f3e9b10"
PORT = 8443


def settings(text: str) -> DiscoverySettings:
    """Return the settings in one line."""
    given = json.loads(text)
    if "ssdp_notify_ipv6_scope" in given:
        given["ssdp_notify_ipv6_scope"] = Ipv6Scope(given["ssdp_notify_ipv6_scope"])
    return DiscoverySettings(**given)


async def main(scale: str, *addresses: str) -> None:
    """Announce until stdin ends."""
    bound = [ipaddress.ip_address(each) for each in addresses]
    announced = Announced(UUID, "1.20.0", "https", PORT, "/redfish/v1/")
    clock = ScaledClock(SystemClock(), float(scale))
    discovery = Discovery(announced, bound, (), clock, random.Random(0))  # noqa: S311 - spreads answers only
    running = asyncio.create_task(discovery.run())
    while line := await asyncio.to_thread(sys.stdin.readline):
        await discovery.apply(settings(line))
        print("applied", flush=True)
    running.cancel()
    await discovery.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

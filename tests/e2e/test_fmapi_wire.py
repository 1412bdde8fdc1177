"""A service whose virtual switch is driven by a fabric manager over a socket, as processes."""

import asyncio
import contextlib
import re
import struct
import time

from tests.drivers.virtual.fmapi_raw import raw_manager
from tests.e2e.service import Client, Service, serving

VPPB = "/redfish/v1/Fabrics/CXL/Switches/cxl1/VCSs/1/VPPBs/0"
WAIT_S = 30.0


def port_of(service: Service) -> int:
    """Return the port that the log names."""
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        for line in tuple(service.complaints):
            if found := re.search(r"switch cxl1 listens on 127\.0\.0\.1 port (\d+)", line):
                return int(found[1])
        time.sleep(0.01)
    raise AssertionError(service.complaints)


async def bound(port: int) -> int:
    """Bind an SLD to the first vPPB over the wire; return the operation's return code."""
    async with raw_manager("127.0.0.1", port) as manager:
        assert (await manager.ask(0x5201, struct.pack("<BBBBH", 0, 0, 3, 0, 0xFFFF))).code == 1
        while True:
            status = (await manager.ask(0x0002)).payload
            if not status[0] & 1:
                return int.from_bytes(status[4:6], "little")
            await asyncio.sleep(0.01)


def test_what_a_manager_binds_over_the_wire_is_seen_through_redfish() -> None:
    flags = ("--topology", "two-hosts", "--ephemeral", "--fmapi-listen", "127.0.0.1:0")
    with serving(*flags) as (service, url):
        assert asyncio.run(bound(port_of(service))) == 0
        with contextlib.closing(Client(url)) as client:
            until_s = time.monotonic() + WAIT_S
            while (seen := client.get(VPPB)["BindingStatus"]) == "Unbound":
                assert time.monotonic() < until_s
                time.sleep(0.05)
            assert seen == "BoundPhysicalPort"
        assert service.terminate() == 0


def test_a_switch_that_there_is_not_is_told_with_a_hint_and_exit_code_2() -> None:
    service = Service("--topology", "two-hosts", "--ephemeral", "--port", "0", "--http",
                      "--fmapi-listen", "no=127.0.0.1:0")  # fmt: skip
    try:
        assert service.wait() == 2
        told = [line for line in service.complaints if " INFO " not in line]
        assert told == [
            "redfish-fm: fmapi_listen: 'no=127.0.0.1:0' names no CXL switch; there are: cxl1",
            "hint: docs/fmapi-server.md has the settings, and every fault",
        ]
    finally:
        service.close()

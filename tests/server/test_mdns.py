"""The records of the service; what is done with them on a wire: tests/e2e/test_discovery.py."""

import ipaddress

import pytest

from redfish_fm.server import mdns
from redfish_fm.server.interfaces import InterfaceAddress
from redfish_fm.server.mdns import MdnsAnnouncer, service_info
from redfish_fm.server.ssdp import Announced

UUID = "2f3f1a4e-8c3f-4c52-9d0e-3a1f7f3e9b10"


def test_the_records_name_the_service_its_port_and_its_addresses() -> None:
    places = [
        InterfaceAddress("eth0", 2, ipaddress.ip_address(ip), 24)
        for ip in ("192.0.2.1", "2001:db8::1")
    ]
    info = service_info(Announced(UUID, "1.20.0", "https", 8443, "/redfish/v1/"), places)
    assert info.type == "_redfish._tcp.local."
    assert info.name == "redfish-fm-2f3f1a4e._redfish._tcp.local."
    assert info.server == "redfish-fm-2f3f1a4e.local."
    assert info.port == 8443
    assert info.parsed_addresses() == ["192.0.2.1", "2001:db8::1"]
    assert info.properties == {
        b"txtvers": b"1",
        b"path": b"/redfish/v1",
        b"uuid": UUID.encode(),
        b"protovers": b"1.20.0",
    }


@pytest.mark.parametrize("error", [OSError(98, "Address in use"), RuntimeError("No adapter found")])
async def test_what_can_not_be_opened_is_said_and_no_more(monkeypatch, caplog, error) -> None:
    def refuses(**_interfaces: object) -> None:
        raise error

    monkeypatch.setattr(mdns, "AsyncZeroconf", refuses)
    place = InterfaceAddress("eth0", 2, ipaddress.ip_address("192.0.2.1"), 24)
    announcer = MdnsAnnouncer(Announced(UUID, "1.20.0", "https", 8443, "/redfish/v1/"), [place])
    announcer.open()
    await announcer.close()
    assert [record.getMessage() for record in caplog.records] == [f"no mDNS: {error}"]

"""The BMC of a host: it has power as long as the chassis is plugged in, whatever the host does.

Pure. Redfish: Manager.v1_24_0, EthernetInterface.v1_12_4, ManagerNetworkProtocol.v1_12_0,
LogService.v1_9_0. It is what a client expects between a chassis and its system; no protocol of
its own is spoken at any address, so none is shown.
"""

from typing import Any

from redfish_fm.fabric.hardware import Bmc
from redfish_fm.fabric.model import Host
from redfish_fm.mapping import uris
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.host_scene import (
    chassis_uri,
    identity,
    manager_id,
    manager_uri,
    system_uri,
)
from redfish_fm.mapping.rendering import Rendering, ref, refs

ETHERNET, LOG = "eth0", "Log"
_RECORDS_MAX = 1000


def render_manager(out: Rendering, host: Host, bmc: Bmc) -> None:
    """Add the BMC; what it is made of only where the whole host is shown."""
    out.put(
        manager_uri(host.id),
        "Manager",
        f"BMC of {host.name}",
        ManagerType="BMC",
        **identity(bmc.part),
        UUID=bmc.uuid,
        FirmwareVersion=bmc.firmware_version,
        PowerState="On",
        Status=OK,
        **({} if host.hardware is None else _inside(out, host, bmc)),
        Links={
            "ManagerForServers": refs([system_uri(host.id)]),
            "ManagerForChassis": refs([chassis_uri(host.id)]),
            "ManagerInChassis": ref(chassis_uri(host.id)),
        },
    )


def _inside(out: Rendering, host: Host, bmc: Bmc) -> dict[str, Any]:
    """Add network and log of the BMC; return its links to them."""
    manager, name = manager_id(host.id), f"BMC of {host.name}"
    _render_network(out, host, bmc)
    _render_log(out, manager, name)
    ethernets = uris.MANAGER_ETHERNETS.format(manager=manager)
    logs = uris.MANAGER_LOGS.format(manager=manager)
    return {
        "EthernetInterfaces": out.collection(
            ethernets, "EthernetInterface", f"Ethernet interfaces of the {name}"
        ),
        "NetworkProtocol": ref(uris.MANAGER_PROTOCOLS.format(manager=manager)),
        "LogServices": out.collection(logs, "LogService", f"Logs of the {name}"),
    }


def _render_network(out: Rendering, host: Host, bmc: Bmc) -> None:
    manager = manager_id(host.id)
    out.put(
        uris.MANAGER_ETHERNET.format(manager=manager, interface=ETHERNET),
        "EthernetInterface",
        f"Ethernet interface of the BMC of {host.name}",
        EthernetInterfaceType="Physical",
        InterfaceEnabled=True,
        LinkStatus="LinkUp",
        MACAddress=bmc.mac,
        PermanentMACAddress=bmc.mac,
        SpeedMbps=1000,
        FullDuplex=True,
        AutoNeg=True,
        HostName=manager,
        Status=OK,
        Links={"Chassis": ref(chassis_uri(host.id))},
    )
    off = {"ProtocolEnabled": False}
    out.put(
        uris.MANAGER_PROTOCOLS.format(manager=manager),
        "ManagerNetworkProtocol",
        f"Network protocols of the BMC of {host.name}",
        HostName=manager,
        HTTP=off,
        HTTPS=off,
        IPMI=off,
        SSH=off,
        SNMP=off,
        Status=OK,
    )


def _render_log(out: Rendering, manager: str, name: str) -> None:
    place = {"manager": manager, "log": LOG}
    entries = uris.MANAGER_LOG_ENTRIES.format(**place)
    out.put(
        uris.MANAGER_LOG.format(**place),
        "LogService",
        f"Log of the {name}",
        LogEntryType="Event",
        LogPurposes=["Operations"],
        OverWritePolicy="WrapsWhenFull",
        MaxNumberOfRecords=_RECORDS_MAX,
        Overflow=False,
        ServiceEnabled=True,
        Status=OK,
        Entries=out.collection(entries, "LogEntry", f"Entries of the log of the {name}"),
    )

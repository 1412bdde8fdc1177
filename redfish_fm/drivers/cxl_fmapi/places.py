"""What is configured of one switch: where it is, and what it can not say of itself. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from redfish_fm.drivers.cxl_fmapi.header import Dialect
from redfish_fm.fabric.model import DeviceKind, Host


class LinkKind(Enum):
    """How a switch is reached."""

    MCTP_TCP = "mctp-tcp"
    """We dial it; packets of 68 bytes."""
    FM_LISTEN = "fm-listen"
    """It dials us."""
    MAILBOX = "mailbox"
    """A device file of the Linux kernel."""
    AF_MCTP = "af-mctp"
    """Sockets of the Linux kernel."""


class Framing(Enum):
    """How messages go over a stream of bytes."""

    PACKETS = "packets"
    """MCTP packets of 68 bytes each."""
    FRAMES = "frames"
    """Frames with a head of 2 + 1 + 1 bytes."""


class LdMemory(Enum):
    """Whether the memory of logical devices is as it is, or is given to them on demand."""

    AUTO = "auto"
    """On demand where at least one LD had none when the device was first seen."""
    FIXED = "fixed"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class SwitchPlace:
    """One switch. `address`: where it listens, or where we do.

    `serial`: the only switch that is meant; None takes any. `hosts` and `kinds` are by port: the
    host at an upstream port, and what a PCIe device is for, neither of which a switch tells.
    """

    id: str
    link: LinkKind
    address: tuple[str, int] = ("", 0)
    path: str = ""
    framing: Framing = Framing.PACKETS
    dialect: Dialect | None = None
    network: int = 1
    eid: int = 0
    serial: int | None = None
    ld_memory: LdMemory = LdMemory.AUTO
    hosts: Mapping[int, Host] = field(default_factory=dict)
    kinds: Mapping[int, DeviceKind] = field(default_factory=dict)

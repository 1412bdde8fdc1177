"""Enumerations of the FM API, under the names the standard gives them.

A number that stands in none of them is kept as a plain number by whoever reads it: switches are
newer, or more broken, than this list.
"""

from enum import IntEnum


class ReturnCode(IntEnum):
    """What a component answers to a command."""

    SUCCESS = 0x0000
    BACKGROUND_STARTED = 0x0001
    INVALID_INPUT = 0x0002
    UNSUPPORTED = 0x0003
    INTERNAL_ERROR = 0x0004
    RETRY_REQUIRED = 0x0005
    BUSY = 0x0006
    MEDIA_DISABLED = 0x0007
    FW_TRANSFER_IN_PROGRESS = 0x0008
    FW_TRANSFER_OUT_OF_ORDER = 0x0009
    FW_VERIFICATION_FAILED = 0x000A
    INVALID_SLOT = 0x000B
    ACTIVATION_FAILED_ROLLED_BACK = 0x000C
    ACTIVATION_FAILED_COLD_RESET = 0x000D
    INVALID_HANDLE = 0x000E
    INVALID_PHYSICAL_ADDRESS = 0x000F
    INJECT_POISON_LIMIT = 0x0010
    PERMANENT_MEDIA_FAILURE = 0x0011
    ABORTED = 0x0012
    INVALID_SECURITY_STATE = 0x0013
    INCORRECT_PASSPHRASE = 0x0014
    UNSUPPORTED_MAILBOX = 0x0015
    INVALID_PAYLOAD_LENGTH = 0x0016
    INVALID_LOG = 0x0017
    INTERRUPTED = 0x0018
    UNSUPPORTED_FEATURE_VERSION = 0x0019
    UNSUPPORTED_FEATURE_SELECTION = 0x001A
    FEATURE_TRANSFER_IN_PROGRESS = 0x001B
    FEATURE_TRANSFER_OUT_OF_ORDER = 0x001C
    RESOURCES_EXHAUSTED = 0x001D
    INVALID_EXTENT_LIST = 0x001E
    TRANSFER_OUT_OF_ORDER = 0x001F
    ABORT_UNSUPPORTED = 0x0020


class ComponentType(IntEnum):
    """Identify (0001h)."""

    SWITCH = 0x00
    TYPE3 = 0x03
    GFD = 0x04


class EventLog(IntEnum):
    """Get Event Records (0100h); the bits of the event masks have the same numbers."""

    INFORMATIONAL = 0
    WARNING = 1
    FAILURE = 2
    FATAL = 3
    DYNAMIC_CAPACITY = 4


class Severity(IntEnum):
    """Common event record."""

    INFORMATIONAL = 0
    WARNING = 1
    FAILURE = 2
    FATAL = 3


class ConfigurationState(IntEnum):
    """Current port configuration state (5101h)."""

    DISABLED = 0x0
    BIND_IN_PROGRESS = 0x1
    UNBIND_IN_PROGRESS = 0x2
    DSP = 0x3
    USP = 0x4
    FABRIC = 0x5
    INVALID_PORT = 0xF


class DeviceMode(IntEnum):
    """Connected device mode (5101h)."""

    NOT_CXL = 0
    RCD = 1
    VH_68B = 2
    FLIT_256B = 3
    LATENCY_OPTIMIZED_256B = 4
    PBR = 5


class DeviceType(IntEnum):
    """Connected device type (5101h); says something of a DSP only."""

    NONE = 0
    PCIE = 1
    TYPE1 = 2
    TYPE2 = 3
    TYPE3_SLD = 4
    TYPE3_MLD = 5
    SWITCH = 6


class LinkSpeed(IntEnum):
    """A PCIe link speed code (5101h): generations 1 to 6."""

    GT_2_5 = 1
    GT_5 = 2
    GT_8 = 3
    GT_16 = 4
    GT_32 = 5
    GT_64 = 6


class Ltssm(IntEnum):
    """State of the link's training machine (5101h)."""

    DETECT = 0x0
    POLLING = 0x1
    CONFIGURATION = 0x2
    RECOVERY = 0x3
    L0 = 0x4
    L0S = 0x5
    L1 = 0x6
    L2 = 0x7
    DISABLED = 0x8
    LOOPBACK = 0x9
    HOT_RESET = 0xA


class PortOperation(IntEnum):
    """Physical Port Control (5102h)."""

    ASSERT_PERST = 0
    DEASSERT_PERST = 1
    RESET_PPB = 2


class Transfer(IntEnum):
    """Direction of a configuration or memory request (5103h, 5301h, 5302h)."""

    READ = 0
    WRITE = 1


class VcsState(IntEnum):
    """State of a virtual switch (5200h)."""

    DISABLED = 0x00
    ENABLED = 0x01
    INVALID_VCS = 0xFF


class BindingStatus(IntEnum):
    """Binding status of a vPPB (5200h)."""

    UNBOUND = 0
    IN_PROGRESS = 1
    BOUND_PHYSICAL_PORT = 2
    BOUND_LD = 3
    BOUND_PID = 4


class UnbindOption(IntEnum):
    """How Unbind vPPB (5202h) treats the host."""

    WAIT_FOR_LINK_DOWN = 0
    MANAGED_HOT_REMOVE = 1
    SURPRISE_HOT_REMOVE = 2


class TunnelTarget(IntEnum):
    """Whom Tunnel Management Command (5300h) is for."""

    PORT_OR_LD = 0
    LD_POOL_CCI = 1


class Granularity(IntEnum):
    """Unit of LD allocations (5401h)."""

    MIB_256 = 0
    MIB_512 = 1
    MIB_1024 = 2


class AddPolicy(IntEnum):
    """How Initiate Dynamic Capacity Add (5604h) chooses extents."""

    FREE = 0
    CONTIGUOUS = 1
    PRESCRIPTIVE = 2
    SHARED_ACCESS = 3


class RemovalPolicy(IntEnum):
    """How Initiate Dynamic Capacity Release (5605h) chooses extents."""

    TAG_BASED = 0
    PRESCRIPTIVE = 1


class PhysicalSwitchEventType(IntEnum):
    """Physical switch event record."""

    LINK_STATE_CHANGE = 0
    SLOT_STATUS_UPDATED = 1


class VirtualSwitchEventType(IntEnum):
    """Virtual CXL switch event record."""

    BINDING_CHANGE = 0
    SECONDARY_BUS_RESET = 1
    LINK_CONTROL_UPDATED = 2
    SLOT_CONTROL_UPDATED = 3


class MldPortEventType(IntEnum):
    """MLD port event record."""

    CORRECTABLE = 0
    NON_FATAL = 1
    FATAL = 2


class DynamicCapacityEventType(IntEnum):
    """Dynamic capacity event record."""

    ADD = 0
    RELEASE = 1
    FORCED_RELEASE = 2
    REGION_UPDATED = 3
    ADD_RESPONSE = 4
    RELEASED = 5

"""The commands that every component shares: status, limits, events, time, logs. Pure tables.

Offsets and sizes in bytes; a field's `At` is its row of the layout. Times in ns since 1970.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar
from uuid import UUID

from redfish_fm.drivers.cxl_fmapi.command import Nothing, command
from redfish_fm.drivers.cxl_fmapi.events import EventRecord
from redfish_fm.drivers.cxl_fmapi.identify import IDENTIFY
from redfish_fm.drivers.cxl_fmapi.layouts import At, Counted, Rest
from redfish_fm.drivers.cxl_fmapi.numbers import EventLog, ReturnCode

EFFECTS_LOG = UUID("0da9c0b5-bf41-4b78-8f79-96b1623b3f17")
"""The Command Effects Log: which opcodes a component implements."""


@dataclass(frozen=True, slots=True)
class BackgroundStatus:
    """How far the last background command is; its return code is valid at 100 %."""

    SIZE: ClassVar = 8
    running: Annotated[bool, At(0x00, bits=(0, 1))]
    percent: Annotated[int, At(0x00, bits=(1, 7), unit="%")]
    opcode: Annotated[int, At(0x02, 2)]
    return_code: Annotated[int, At(0x04, 2, of=ReturnCode)]
    vendor_status: Annotated[int, At(0x06, 2)]


@dataclass(frozen=True, slots=True)
class MessageLimit:
    """Messages of up to 2^exponent bytes."""

    SIZE: ClassVar = 1
    exponent: Annotated[int, At(0x00)]


@dataclass(frozen=True, slots=True)
class LogChoice:
    """Which event log."""

    SIZE: ClassVar = 1
    log: Annotated[int, At(0x00, of=EventLog)]


@dataclass(frozen=True, slots=True)
class EventRecords:
    """Records of one log, oldest first, and what was lost of it."""

    SIZE: ClassVar = 0x20
    overflow: Annotated[bool, At(0x00, bits=(0, 1))]
    more: Annotated[bool, At(0x00, bits=(1, 1))]
    overflow_count: Annotated[int, At(0x02, 2)]
    first_overflow_ns: Annotated[int, At(0x04, 8, unit="ns")]
    last_overflow_ns: Annotated[int, At(0x0C, 8, unit="ns")]
    records: Annotated[tuple[EventRecord, ...], Counted(0x20, EventRecord, At(0x14, 2))]


@dataclass(frozen=True, slots=True)
class EventHandles:
    """Which records of a log to clear: those with these handles, or all."""

    SIZE: ClassVar = 6
    log: Annotated[int, At(0x00, of=EventLog)]
    clear_all: Annotated[bool, At(0x01, bits=(0, 1))]
    handles: Annotated[tuple[int, ...], Counted(0x06, 2, At(0x02))]


@dataclass(frozen=True, slots=True)
class InterruptPolicy:
    """Per log: bits 1:0 the mode, bits 7:4 the vector."""

    SIZE: ClassVar = 5
    informational: Annotated[int, At(0x00)]
    warning: Annotated[int, At(0x01)]
    failure: Annotated[int, At(0x02)]
    fatal: Annotated[int, At(0x03)]
    dynamic_capacity: Annotated[int, At(0x04)]


@dataclass(frozen=True, slots=True)
class EventMask:
    """Logs, by the numbers of EventLog, and bit 15 for the end of a background operation."""

    SIZE: ClassVar = 2
    logs: Annotated[frozenset[int], At(0x00, 2)]


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment."""

    SIZE: ClassVar = 8
    moment_ns: Annotated[int, At(0x00, 8, unit="ns")]


@dataclass(frozen=True, slots=True)
class SupportedLog:
    """One log and its size."""

    SIZE: ClassVar = 20
    log: Annotated[UUID, At(0x00, 16)]
    size: Annotated[int, At(0x10, 4, unit="byte")]


@dataclass(frozen=True, slots=True)
class SupportedLogs:
    """The logs there are."""

    SIZE: ClassVar = 8
    logs: Annotated[tuple[SupportedLog, ...], Counted(0x08, SupportedLog, At(0x00, 2))]


@dataclass(frozen=True, slots=True)
class LogRange:
    """A piece of a log."""

    SIZE: ClassVar = 24
    log: Annotated[UUID, At(0x00, 16)]
    offset: Annotated[int, At(0x10, 4, unit="byte")]
    length: Annotated[int, At(0x14, 4, unit="byte")]


@dataclass(frozen=True, slots=True)
class LogData:
    """Bytes of a log."""

    SIZE: ClassVar = 0
    data: Annotated[bytes, Rest(0x00)]


@dataclass(frozen=True, slots=True)
class CommandEffect:
    """One entry of the Command Effects Log."""

    SIZE: ClassVar = 4
    opcode: Annotated[int, At(0x00, 2)]
    effect: Annotated[int, At(0x02, 2)]


BACKGROUND_STATUS = command(0x0002, "Background Operation Status", Nothing, BackgroundStatus)
GET_MESSAGE_LIMIT = command(0x0003, "Get Response Message Limit", Nothing, MessageLimit)
SET_MESSAGE_LIMIT = command(0x0004, "Set Response Message Limit", MessageLimit, MessageLimit)
ABORT = command(0x0005, "Request Abort Background Operation", Nothing, Nothing)
GET_EVENTS = command(0x0100, "Get Event Records", LogChoice, EventRecords)
CLEAR_EVENTS = command(0x0101, "Clear Event Records", EventHandles, Nothing)
GET_INTERRUPTS = command(0x0102, "Get Event Interrupt Policy", Nothing, InterruptPolicy)
SET_INTERRUPTS = command(0x0103, "Set Event Interrupt Policy", InterruptPolicy, InterruptPolicy)
GET_EVENT_MASK = command(0x0104, "Get MCTP Event Interrupt Policy", Nothing, EventMask)
SET_EVENT_MASK = command(0x0105, "Set MCTP Event Interrupt Policy", EventMask, EventMask)
EVENT_NOTIFICATION = command(0x0106, "Event Notification", EventMask, Nothing)
GET_TIMESTAMP = command(0x0300, "Get Timestamp", Nothing, Timestamp)
SET_TIMESTAMP = command(0x0301, "Set Timestamp", Timestamp, Nothing)
GET_LOGS = command(0x0400, "Get Supported Logs", Nothing, SupportedLogs)
GET_LOG = command(0x0401, "Get Log", LogRange, LogData)
SANITIZE = command(0x4400, "Sanitize", Nothing, Nothing, background=True)
"""Of memory devices; to an LD it comes through two tunnels, and concerns nothing but that LD."""

ROWS = (
    IDENTIFY,
    BACKGROUND_STATUS,
    GET_MESSAGE_LIMIT,
    SET_MESSAGE_LIMIT,
    ABORT,
    GET_EVENTS,
    CLEAR_EVENTS,
    GET_INTERRUPTS,
    SET_INTERRUPTS,
    GET_EVENT_MASK,
    SET_EVENT_MASK,
    EVENT_NOTIFICATION,
    GET_TIMESTAMP,
    SET_TIMESTAMP,
    GET_LOGS,
    GET_LOG,
    SANITIZE,
)

"""How simulated switches behave on the wire: as the standard has it, or as two real ones were seen.

Pure: a table. Names are of what is seen on the wire, not of products. Limits of a profile are
those of the switch that was watched; what it lacks is refused, or not answered, as it did.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from redfish_fm.drivers.virtual.fmapi_wire import Dialect
from redfish_fm.drivers.virtual.refusals import Forgets


@dataclass(frozen=True, slots=True)
class WireProfile:
    """How one kind of switch speaks; the defaults are those of the standard.

    `opcodes`: what it implements, None everything; the same of `device_opcodes` for what is
    reached behind a port. `operation_s`: usual time of a bind, in fabric seconds.
    """

    name: str
    dialect: Dialect = Dialect.SPEC
    identity_bytes: int = 18
    vendor_id: int = 0xFFFE
    device_id: int = 0x0001
    opcodes: frozenset[int] | None = None
    device_opcodes: frozenset[int] | None = None
    operation_s: float = 0.02
    strict: bool = False
    """What the standard does not allow is refused: a payload that is longer than its command, a
    command on the other MCTP message type than its own, another form of tunnel."""
    shown_percent: int | None = None
    """What every operation under way is said to be at; None: as far as it is."""
    silent: bool = False
    """What it does not implement is not answered."""
    one_manager: bool = False
    """The second manager is accepted, and answered when the first has gone."""
    dies_of_cci: bool = False
    """Messages of MCTP type 8 end the connection."""
    truncates: bool = False
    """The last byte of some answers is missing: see fmapi_wire.Packets."""
    perst_s: float = 0.1
    """How long PERST# is held at least, in fabric seconds."""
    zero_opcode: bool = False
    """Answers of the switch itself carry opcode 0."""
    routes_by_port: bool = False
    """Devices are reached by the port of the frame, not by a tunnel."""
    typed_tunnel: bool | None = None
    """Whether tunnelled messages have their MCTP message type before them; None: as asked."""
    checks_late: bool = False
    """A bind is accepted whatever it asks for; only the operation's end tells."""
    shows_background: bool = True
    """The background bit is set where an operation was started."""
    running_at_first: bool = False
    """Before the first operation, one is said to be running."""
    device_as_ld: bool = False
    """What is no MLD is bound as LD 0, and shown as one."""
    vendor_notices: bool = False
    """Changes are told by notices C000h to C002h, unasked."""
    unknown_port_code: int | None = None
    """Refusal of 5101h for a port that there is not; None: a block that says so."""
    drops_unknown: bool = False
    """Ports and virtual switches that there are not are left out of the answer."""
    link_numbers: bool = True
    """Whether width, speed and modes of links are told."""
    types_by_position: bool = False
    """Device types are right only where ports are asked for in one list from 0."""
    absent_ltssm: int = 0
    identify_bytes: int = 73
    """Length of the answer to 5100h; what is beyond the standard's is zeros."""
    vppbs_from_start_only: bool = False
    """Entries of 5200h that do not start at vPPB 0 are zeros."""
    filler: int = 0
    """The reserved byte of a vPPB entry."""
    no_ld: int = 0xFF
    """The LD id that is shown where no LD is bound."""
    one_ld_a_port: bool = False
    """A second LD of a port that is bound is refused."""
    set_breaks: bool = False
    """Set LD Allocations ends the connection."""
    set_filler: bytes = b"\0\0"
    backpressure: int = 0
    forgets: frozenset[Forgets] = frozenset()
    """What checks the hardware behind it leaves out; whoever powers the hardware says so."""

    def has(self, opcode: int, *, behind_port: bool = False) -> bool:
        """Whether it implements a command, itself or in a device behind a port."""
        known = self.device_opcodes if behind_port else self.opcodes
        return opcode not in VENDOR_OPCODES if known is None else opcode in known


VENDOR_OPCODES = frozenset({0x5215, 0x5216, 0xC003})
"""Commands of one vendor: freeze and unfreeze a vPPB, list of devices."""

STANDARD = WireProfile("standard")
STRICT = WireProfile("strict", strict=True, typed_tunnel=False)

_GENERIC = frozenset({0x0001, 0x0002})
_SWITCH = frozenset({0x5100, 0x5101, 0x5200, 0x5201, 0x5202})

SHORT_IDENTITY = WireProfile(
    "short-identity",
    identity_bytes=14,
    vendor_id=0x1DC5,
    device_id=0xF000,
    opcodes=_GENERIC | _SWITCH | VENDOR_OPCODES,
    device_opcodes=frozenset({0x5400, 0x5401, 0x5402}),
    operation_s=0.03,
    shown_percent=50,
    zero_opcode=True,
    routes_by_port=True,
    checks_late=True,
    running_at_first=True,
    device_as_ld=True,
    vendor_notices=True,
    unknown_port_code=0x0002,
    link_numbers=False,
    types_by_position=True,
    absent_ltssm=8,
    filler=0xFF,
    no_ld=0x00,
    set_breaks=True,
    forgets=frozenset({Forgets.DOUBLE_BIND, Forgets.TARGET}),
)

JRL = WireProfile(
    "jrl",
    dialect=Dialect.JRL,
    identity_bytes=17,
    vendor_id=0x1AED,
    device_id=0x2003,
    opcodes=_GENERIC | _SWITCH | {0x0003, 0x0004, 0x5102, 0x5103, 0x5203, *range(0x5300, 0x5303)},
    device_opcodes=frozenset(range(0x5400, 0x540A)),
    operation_s=0.0,
    silent=True,
    one_manager=True,
    dies_of_cci=True,
    perst_s=0.0,
    truncates=True,
    typed_tunnel=True,
    shows_background=False,
    drops_unknown=True,
    identify_bytes=93,
    vppbs_from_start_only=True,
    no_ld=0x00,
    one_ld_a_port=True,
    set_filler=b"\xff\xff",
    backpressure=0x2A,
)

PROFILES: Mapping[str, WireProfile] = {
    profile.name: profile for profile in (STANDARD, STRICT, SHORT_IDENTITY, JRL)
}

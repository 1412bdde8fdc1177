"""What known switches do otherwise, chosen by what Identify shows. Pure: a table.

A row applies when everything it names fits; the first that does is taken. Names are of what is
seen on the wire, not of products: a product's next version need not have the same faults.
"""

from dataclasses import dataclass

from redfish_fm.drivers.cxl_fmapi.header import Dialect
from redfish_fm.drivers.cxl_fmapi.identify import SHORT, Identity
from redfish_fm.drivers.cxl_fmapi.mld_commands import SET_LD_ALLOCATIONS
from redfish_fm.drivers.cxl_fmapi.switch_commands import NO_LD
from redfish_fm.drivers.cxl_fmapi.tunnels import TunnelFormat


@dataclass(frozen=True, slots=True)
class Profile:
    """How to speak to one switch.

    `tunnel`: how commands reach a device; None where the wire routes them by port.
    `ld_of_port`: the LD id that Bind wants for a port that is no MLD.
    `all_ports`: ports are to be asked for in one list from 0, or the answer is wrong.
    `harmful`: opcodes that break the switch or its connection, never to be sent.
    """

    name: str
    tunnel: TunnelFormat | None = TunnelFormat.PLAIN
    ld_of_port: int = NO_LD
    all_ports: bool = False
    harmful: frozenset[int] = frozenset()


STANDARD = Profile("standard")


@dataclass(frozen=True, slots=True)
class Row:
    """When a profile applies; None fits everything."""

    profile: Profile
    identity_form: int | None = None
    dialect: Dialect | None = None
    vendor_id: int | None = None
    device_id: int | None = None

    def fits(self, identity: Identity, dialect: Dialect | None) -> bool:
        """Return whether everything that this row names is so."""
        seen = (identity.form, dialect, identity.vendor_id, identity.device_id)
        named = (self.identity_form, self.dialect, self.vendor_id, self.device_id)
        return all(want is None or want == have for want, have in zip(named, seen, strict=True))


ROWS = (
    Row(
        Profile(
            "short-identity",
            tunnel=None,
            ld_of_port=0,
            all_ports=True,
            # The fabric manager's connection does not survive it.
            harmful=frozenset({SET_LD_ALLOCATIONS.opcode}),
        ),
        identity_form=SHORT,
    ),
    Row(Profile("jrl", tunnel=TunnelFormat.TYPED), dialect=Dialect.JRL),
)


def profile_of(identity: Identity, dialect: Dialect | None) -> Profile:
    """Return how to speak to a switch; STANDARD where nothing else is known."""
    for row in ROWS:
        if row.fits(identity, dialect):
            return row.profile
    return STANDARD

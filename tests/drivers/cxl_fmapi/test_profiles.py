"""Which profile a switch gets: by everything a row names, the first row that fits."""

from dataclasses import replace
from pathlib import Path

import pytest

from redfish_fm.drivers.cxl_fmapi.header import Dialect
from redfish_fm.drivers.cxl_fmapi.identify import FULL, SHORT, WITHOUT_TYPE, Identity
from redfish_fm.drivers.cxl_fmapi.profiles import ROWS, STANDARD, Profile, Row, profile_of
from redfish_fm.drivers.cxl_fmapi.switch_commands import NO_LD
from redfish_fm.drivers.cxl_fmapi.tunnels import TunnelFormat

SWITCH = Identity(0x1AED, 0x2003, 0, 0, 1, 12, 0)


@pytest.mark.parametrize(
    ("form", "dialect", "name"),
    [
        (FULL, Dialect.SPEC, "standard"),
        (FULL, None, "standard"),
        (WITHOUT_TYPE, Dialect.SPEC, "standard"),
        (WITHOUT_TYPE, Dialect.JRL, "jrl"),
        (FULL, Dialect.JRL, "jrl"),
        (SHORT, Dialect.SPEC, "short-identity"),
        (SHORT, Dialect.JRL, "short-identity"),
    ],
)
def test_a_profile_follows_from_identity_and_dialect(
    form: int, dialect: Dialect | None, name: str
) -> None:
    assert profile_of(replace(SWITCH, form=form), dialect).name == name


def test_a_row_fits_only_where_everything_it_names_does() -> None:
    row = Row(Profile("x"), dialect=Dialect.SPEC, vendor_id=0x1AED, device_id=0x2003)
    assert row.fits(SWITCH, Dialect.SPEC)
    assert not row.fits(SWITCH, Dialect.JRL)
    assert not row.fits(replace(SWITCH, vendor_id=1), Dialect.SPEC)
    assert not row.fits(replace(SWITCH, device_id=1), Dialect.SPEC)


def test_no_row_fits_everything_and_names_are_unique() -> None:
    assert not any(row.fits(SWITCH, Dialect.SPEC) for row in ROWS)
    names = [STANDARD.name, *(row.profile.name for row in ROWS)]
    assert len(set(names)) == len(names)


def test_the_standard_is_the_standards() -> None:
    assert (STANDARD.tunnel, STANDARD.ld_of_port) == (TunnelFormat.PLAIN, NO_LD)
    assert not STANDARD.harmful and not STANDARD.all_ports


def test_every_profile_is_explained(repository: Path) -> None:
    guide = (repository / "docs" / "cxl-fm-api.md").read_text(encoding="utf-8")
    for profile in (STANDARD, *(row.profile for row in ROWS)):
        assert f"| `{profile.name}` |" in guide

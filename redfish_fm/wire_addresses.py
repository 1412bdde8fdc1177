"""Where switches meet their managers, as settings write it: [SWITCH=]HOST:PORT, and FAULT=RATE.

Pure, and below the configuration that uses it. What speaks without a login stays on loopback.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_ADDRESS = re.compile(r"(?:([^=\[\]]+)=)?(\[[0-9A-Fa-f:.%]+\]|[^:=\[\]]+):([0-9]{1,5})")
_PORT_MAX = 65535


@dataclass(frozen=True, slots=True)
class WireAddress:
    """A place of the network for one switch; `switch` None: the first CXL switch."""

    switch: str | None
    host: str
    port: int


def wire_address(text: str) -> WireAddress | None:
    """Return what "[SWITCH=]HOST:PORT" says, None where it is none. IPv6 stands in brackets."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None or int(found[3]) > _PORT_MAX:
        return None
    return WireAddress(found[1], found[2].strip("[]"), int(found[3]))


def fault_rate(text: str) -> tuple[str, float] | None:
    """Return what "FAULT=RATE" says, None where it is none or the rate is not from 0 to 1."""
    name, _, number = text.strip().partition("=")
    try:
        rate = float(number)
    except ValueError:
        return None
    return (name, rate) if name and 0 <= rate <= 1 else None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host` (an address, or the name localhost)."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def problems(key: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with the values of `fmapi_listen`, `fmapi_dial` or `fmapi_faults`."""
    for text in texts:
        if key == "fmapi_faults":
            if fault_rate(text) is None:
                yield f"{text!r} is not FAULT=RATE with a rate from 0 to 1"
            continue
        found = wire_address(text)
        if found is None:
            yield f"{text!r} is not [SWITCH=]HOST:PORT, such as cxl1=127.0.0.1:2508"
        elif not is_loopback(found.host):
            yield f"the FM API has no login: on loopback only, not on {found.host}"
        elif key == "fmapi_dial" and not found.port:
            yield f"{text!r}: nobody listens on port 0"

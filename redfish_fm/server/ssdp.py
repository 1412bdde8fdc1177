"""SSDP as DSP0266 uses it: what a search is, and the texts of answers and announcements.

Pure: bytes in, bytes out; knows no socket and no clock. The header AL carries the URL of the
service root, where UPnP has LOCATION with that of an XML description, which Redfish has not.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass

from redfish_fm.server.interfaces import IpAddress

PORT = 1900
GROUP_V4 = "239.255.255.250"

MAX_AGE_S_MIN = 1800
"""DSP0266 lets no announcement live shorter than this."""

MX_S_MAX = 5
"""UPnP lets a device take any larger MX for this."""

DATAGRAM_BYTES_MAX = 2048
"""No sensible search is longer: what is longer is thrown away unread."""

URN = "urn:dmtf-org:service:redfish-rest:1"
_ROOT_DEVICE = "upnp:rootdevice"
_ALL = "ssdp:all"
_MX = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class Announced:
    """What is to be found: the service by its ServiceRoot.UUID, and where it listens.

    `root` is the path of the service root, `redfish_version` its RedfishVersion: "1.20.0".
    """

    uuid: str
    redfish_version: str
    scheme: str
    port: int
    root: str

    def url(self, ip: IpAddress) -> str:
        """Return the URL of the service root at one of this machine's addresses."""
        host = f"[{ip}]" if ip.version == 6 else str(ip)
        return f"{self.scheme}://{host}:{self.port}{self.root}"

    @property
    def minor(self) -> int:
        """The minor version of the Redfish protocol."""
        return int(self.redfish_version.split(".")[1])


@dataclass(frozen=True, slots=True)
class Search:
    """A search that may be ours to answer: its target, and how long an answer may take."""

    target: str
    mx_s: int


def read_search(datagram: bytes) -> Search | None:
    """Return the search in a datagram, or None where there is none that asks for an answer.

    UPnP wants searches without MX, or with another MAN, to be ignored in silence. The blank line
    at the end may be missing: a client of DMTF leaves it out.
    """
    if len(datagram) > DATAGRAM_BYTES_MAX:
        return None
    try:
        start, *lines = datagram.decode("ascii").splitlines()
    except (UnicodeDecodeError, ValueError):
        return None
    if start.split() != ["M-SEARCH", "*", "HTTP/1.1"]:
        return None
    headers = dict(map(_header, lines))
    mx = headers.get("MX", "")
    if headers.get("MAN") != '"ssdp:discover"' or not _MX.fullmatch(mx) or int(mx) < 1:
        return None
    target = headers.get("ST", "")
    return Search(target, min(int(mx), MX_S_MAX)) if target else None


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().upper(), value.strip()


def targets_of(search: Search, minor: int) -> tuple[str, ...]:
    """Return the search targets to answer for; none where the search is for something else.

    Names are compared without regard to case, as URNs are; the answer has the standard spelling.
    """
    known = {each.lower(): each for each in (URN, _ROOT_DEVICE)}
    if minor:
        known[f"{URN}:{minor}"] = f"{URN}:{minor}"
    wanted = search.target.lower()
    if wanted == _ALL:
        return (_ROOT_DEVICE, URN)
    return (known[wanted],) if wanted in known else ()


def max_age_s(notify_interval_s: int) -> int:
    """Return how long an announcement counts: two of them may get lost before it ends."""
    return max(MAX_AGE_S_MIN, 3 * notify_interval_s)


def answer(announced: Announced, ip: IpAddress, target: str, age_s: int) -> bytes:
    """Return the answer to a search that came by the interface with address `ip`."""
    return _message(
        "HTTP/1.1 200 OK",
        ("CACHE-CONTROL", f"max-age={age_s}"),
        ("ST", target),
        ("USN", _usn(announced, target)),
        ("AL", announced.url(ip)),
        ("EXT", ""),
    )


def alive(announced: Announced, ip: IpAddress, group: str, age_s: int) -> bytes:
    """Return the announcement that the service is there, for a multicast group."""
    return _message(
        "NOTIFY * HTTP/1.1",
        ("HOST", _host(group)),
        ("CACHE-CONTROL", f"max-age={age_s}"),
        ("NT", URN),
        ("NTS", "ssdp:alive"),
        ("USN", _usn(announced, URN)),
        ("AL", announced.url(ip)),
    )


def byebye(announced: Announced, group: str) -> bytes:
    """Return the announcement that the service is not there any more."""
    return _message(
        "NOTIFY * HTTP/1.1",
        ("HOST", _host(group)),
        ("NT", URN),
        ("NTS", "ssdp:byebye"),
        ("USN", _usn(announced, URN)),
    )


def _usn(announced: Announced, target: str) -> str:
    return f"uuid:{announced.uuid}::{target}"


def _host(group: str) -> str:
    name = f"[{group}]" if ipaddress.ip_address(group).version == 6 else group
    return f"{name}:{PORT}"


def _message(start: str, *headers: tuple[str, str]) -> bytes:
    lines = (start, *(f"{name}: {value}".rstrip() for name, value in headers), "", "")
    return "\r\n".join(lines).encode("ascii")


class Allowance:
    """How many answers may go out: `burst` at once, then `per_s` a second.

    An answer is longer than the search, and whose search it is can be forged: without a limit
    others could be flooded through this service. `now_s` gives monotonic seconds.
    """

    def __init__(self, per_s: float, burst: int, now_s: Callable[[], float]) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._now_s = now_s
        self._left = self._burst
        self._since_s = now_s()

    def take(self, count: int) -> bool:
        """Take `count` answers out of the allowance; return False, and take none, if it lacks."""
        now_s = self._now_s()
        self._left = min(self._burst, self._left + (now_s - self._since_s) * self._per_s)
        self._since_s = now_s
        if self._left < count:
            return False
        self._left -= count
        return True

    @property
    def is_full(self) -> bool:
        """Whether nothing is remembered of what was taken."""
        passed_s = self._now_s() - self._since_s
        return self._left + passed_s * self._per_s >= self._burst

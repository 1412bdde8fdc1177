"""Names of what a topology describes: ids, UUIDs, serial numbers, NQNs, failure domains.

Pure and deterministic: everything is derived from the topology's name and from the id, so that
equal specs give equal identities and two topologies never share one.
"""

import hashlib
import uuid
from functools import lru_cache

from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import TopologySpec

_UUID_SPACE = uuid.UUID("4ffb6c3e-6b7c-5d43-9d7a-0a5a1f2f4a10")

_NQN = "nqn.2014-08.org.nvmexpress:uuid:{}"
"""The form of an NQN that is made of a UUID (NVMe Base Specification, NVMe Qualified Names)."""


class Identities:
    """Gives out the identities of one topology; what is double or unknown goes to `problems`."""

    def __init__(self, spec: TopologySpec, problems: Problems) -> None:
        self._spec = spec
        self._problems = problems
        # A failure domain is a rack, which stands among the chassis of all that has an id.
        self._ids = {name: f"domains[{i}]" for i, name in enumerate(spec.domains)}
        self._nqns: dict[str, str] = {}
        self._told: set[str] = set()

    def claim(self, template: str, count: int, n: int, path: str) -> str:
        """Return the id made of `template`; ids of hosts, switches and devices never meet."""
        made = template.replace("{n}", str(n))
        where = f"{path}.id"
        if "{" in made or "}" in made:
            self._tell(where, f"{template!r}: only {{n}} and, for devices, {{switch}} are known")
        elif count > 1 and "{n}" not in template:
            self._tell(where, f"count {count} needs {{n}} in the id {template!r}")
        elif made in self._ids:
            self._tell(where, f"{made} is already the id of {self._ids[made]}")
        self._ids.setdefault(made, path)
        return made

    def uuid_of(self, given: str | None, host: str, path: str) -> str:
        """Return the given UUID in its usual form, or one derived from the host's id."""
        try:
            made = uuid.UUID(given) if given else self._derived("host", host)
        except ValueError:
            self._problems.add(f"{path}.uuid", f"{given!r} is not a UUID")
            return ""
        return str(made)

    def host_nqn(self, given: str | None, host: str, host_uuid: str, path: str) -> str:
        """Return the NQN of a host; no two hosts have one."""
        nqn = given or _NQN.format(host_uuid)
        other = self._nqns.setdefault(nqn, host)
        if other != host:
            self._tell(f"{path}.{'nqn' if given else 'uuid'}", f"{other} already has NQN {nqn}")
        return nqn

    def subsystem_nqn(self, subsystem: str) -> str:
        """Return the NQN of a subsystem."""
        return _NQN.format(self._derived("subsystem", subsystem))

    def serial(self, what: str, name: str) -> str:
        """Return a serial number of twelve hexadecimal digits."""
        return hashlib.blake2s(self._key(what, name).encode(), digest_size=6).hexdigest().upper()

    def part_number(self, model: str) -> str:
        """Return a part number: one for each model, the same in every topology."""
        return _part_number(model)

    def mac(self, what: str, name: str) -> str:
        """Return a MAC address out of those that are locally administered."""
        digest = hashlib.blake2s(self._key(what, name).encode(), digest_size=5).hexdigest().upper()
        return ":".join(["02", *(digest[i : i + 2] for i in range(0, 10, 2))])

    def eui64(self, what: str, name: str) -> str:
        """Return an EUI-64 out of those that are locally administered: 16 hexadecimal digits."""
        digest = hashlib.blake2s(self._key(what, name).encode(), digest_size=7).hexdigest()
        return f"02{digest.upper()}"

    def derived_uuid(self, what: str, name: str) -> str:
        """Return a UUID made of the names."""
        return str(self._derived(what, name))

    def domain(self, given: str | tuple[str, ...] | None, n: int, path: str) -> str | None:
        """Return the failure domain of member `n` of a group."""
        names = (given,) if isinstance(given, str) else given or ()
        for name in names:
            if name not in self._spec.domains:
                self._problems.add_once(
                    f"{path}.domain", f"{name} is not among the topology's domains"
                )
        return names[n % len(names)] if names else None

    def _tell(self, path: str, text: str) -> None:
        """Add a problem unless its group has one there already: a repeat is not news."""
        if path not in self._told:
            self._told.add(path)
            self._problems.add(path, text)

    def _derived(self, what: str, name: str) -> uuid.UUID:
        return uuid.uuid5(_UUID_SPACE, self._key(what, name))

    def _key(self, what: str, name: str) -> str:
        return f"{self._spec.name}/{what}/{name}"


@lru_cache(maxsize=64)
def _part_number(model: str) -> str:
    digest = hashlib.blake2s(model.encode(), digest_size=4).digest()
    return f"RF-{int.from_bytes(digest) % 1_000_000:06d}-{chr(ord('A') + digest[0] % 8)}1"

"""The hosts of a topology: made from its groups, then dealt to switches and subsystems.

Pure and deterministic.
"""

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace

from redfish_fm.drivers.virtual import host_hardware
from redfish_fm.drivers.virtual.identities import Identities
from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import EachSpec, FabricSpec, Hosts, HostSpec, mib
from redfish_fm.fabric.model import Host


class HostLayout:
    """All hosts of one topology, in the order of the file."""

    def __init__(
        self, groups: tuple[HostSpec, ...], identities: Identities, problems: Problems
    ) -> None:
        self._identities = identities
        self._problems = problems
        self._ports: Counter[str] = Counter()
        self._groups: dict[str, HostSpec] = {}
        self.hosts: dict[str, Host] = {}
        for i, group in enumerate(groups):
            self._check_group(group, f"hosts[{i}]")
            for n in range(group.count):
                host = self._host(group, n, f"hosts[{i}]")
                self.hosts[host.id] = host
                self._groups[host.id] = group

    def furnish(self, fabrics: Sequence[tuple[FabricSpec, Container[str]]]) -> None:
        """Put into each host what is inside it, once it is known who is cabled to which fabric.

        `fabrics` are those whose cables end in a card, with the names of the hosts of each.
        """
        for name, host in self.hosts.items():
            group = self._groups[name]
            if group.detail == "full":
                cabled = [fabric for fabric, hosts in fabrics if name in hosts]
                built = host_hardware.hardware(
                    self._identities, group, name, host.memory_mib, cabled
                )
                self.hosts[name] = replace(host, hardware=built)

    def among(self, names: Container[str]) -> tuple[Host, ...]:
        """Return the hosts of these names."""
        return tuple(host for name, host in self.hosts.items() if name in names)

    def next_port(self, host: str) -> int:
        """Return the number of the next root port of a host; it counts over all fabrics."""
        self._ports[host] += 1
        return self._ports[host]

    def dealt(self, hosts: Hosts, n: int, of: int, path: str) -> list[str]:
        """Return the hosts that member `n` of a group of switches gets, as `hosts` says.

        `of` is how many members the group has.
        """
        names = list(self.hosts)
        if hosts == "all":
            return names
        if hosts == "dealt":
            return names[len(names) * n // of : len(names) * (n + 1) // of]
        if isinstance(hosts, EachSpec):
            if hosts.each > len(names):
                self._problems.add_once(f"{path}.each", f"there are only {len(names)} hosts")
                return []
            return [names[(n * hosts.each + i) % len(names)] for i in range(hosts.each)]
        known: list[str] = []
        for i, name in enumerate(hosts):
            if name in known:
                self._problems.add_once(f"{path}[{i}]", f"host {name} is named twice")
            elif name not in self.hosts:
                self._problems.add_once(f"{path}[{i}]", f"there is no host {name}")
            else:
                known.append(name)
        return known

    def _check_group(self, group: HostSpec, path: str) -> None:
        for word in ("uuid", "nqn"):
            if getattr(group, word) is not None and group.count > 1:
                text = f"several hosts can not have one {word.upper()}"
                self._problems.add(f"{path}.{word}", text)

    def _host(self, group: HostSpec, n: int, path: str) -> Host:
        made = self._identities.claim(group.id, group.count, group.first + n, path)
        alone = group.count == 1
        uuid = self._identities.uuid_of(group.uuid if alone else None, made, path)
        return Host(
            id=made,
            name=made,
            uuid=uuid,
            cpu_count=group.cpus,
            core_count=group.cores,
            memory_mib=mib(group.memory),
            domain=self._identities.domain(group.domain, n, path),
            nqn=self._identities.host_nqn(group.nqn if alone else None, made, uuid, path),
            part=host_hardware.machine(self._identities, group, made),
            bmc=host_hardware.bmc(self._identities, group, made),
            hot_plug=group.hot_plug,
        )

"""Links between the switches of a PCIe fabric, and the hosts that come in by them.

Pure and deterministic. A link has a port at either end (F1..), which no other port moves for. Each
host has a virtual switch on every switch that it gets to: by a port of its own, or by way of the
nearest switch where it has one (fewest hops, then least latency, then the order of the file). Links
side by side have their hosts dealt in turn. Links that would close a loop are refused: there is one
way from switch to switch, and nothing goes another one when it is cut.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from redfish_fm.drivers.virtual.device_layout import link
from redfish_fm.drivers.virtual.size import SIZE_MAX
from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import PORT_COUNT_MAX, UplinkSpec
from redfish_fm.fabric.equipment import Cable
from redfish_fm.fabric.model import Port, PortId, PortRole, Switch, VirtualSwitch
from redfish_fm.fabric.paths import HOP_NS


@dataclass(frozen=True, slots=True)
class Joint:
    """What one switch says of its links to another; `cable` makes the cable of each.

    `path` is where the file says so.
    """

    switch: str
    spec: UplinkSpec
    path: str
    cable: Callable[[PortId, bool], Cable | None]


def joined(
    switches: Mapping[str, Switch],
    joints: list[Joint],
    vppbs: Mapping[str, int],
    protocol: str,
    problems: Problems,
) -> dict[str, Switch]:
    """Return the switches with their links to each other; what can not be goes to `problems`.

    `vppbs` says how many bridges each host has on a switch.
    """
    before = problems.count
    sound = [joint for joint in joints if _may_be(joint, switches, protocol, problems)]
    chain = _Chain(switches)
    for joint in sound:
        chain.join(joint, problems)
    if problems.count > before or not sound or not chain.fits(problems):
        return dict(switches)
    return {name: chain.reached(name, vppbs[name]) for name in switches}


def _may_be(
    joint: Joint, switches: Mapping[str, Switch], protocol: str, problems: Problems
) -> bool:
    """Return whether a joint alone may be; if not, `problems` says why."""
    if protocol == "CXL":
        text = "a CXL 2.0 switch has none below it, and CXL 3 fabrics (PBR) are not simulated"
        problems.add_once(joint.path, f"{text}: only switches of a PCIe fabric can be joined")
    elif joint.spec.to not in switches:
        problems.add_once(f"{joint.path}.to", f"there is no switch {joint.spec.to} in this fabric")
    elif joint.spec.to == joint.switch:
        problems.add_once(f"{joint.path}.to", f"{joint.switch} can not be joined to itself")
    else:
        return True
    return False


class _Chain:
    """Switches being joined. What is joined at all, in however many steps, has one `root`."""

    def __init__(self, switches: Mapping[str, Switch]) -> None:
        self._switches = dict(switches)
        self._root = {name: name for name in switches}
        self._links: dict[str, dict[str, list[Port]]] = {name: {} for name in switches}
        """Switch -> the switch at the other end -> the ports of the links to it."""
        self._hosts = {
            name: list(dict.fromkeys(vcs.host for vcs in switch.virtual_switches if vcs.host))
            for name, switch in switches.items()
        }

    def join(self, joint: Joint, problems: Problems) -> None:
        """Make the links of a joint, unless they would close a loop."""
        one, other = joint.switch, joint.spec.to
        if other in self._links[one]:
            text = f"{one} and {other} are joined already; count says how many links there are"
            problems.add_once(f"{joint.path}.to", text)
            return
        if self._root_of(one) == self._root_of(other):
            way = " - ".join(self._between(one, other))
            problems.add_once(f"{joint.path}.to", f"{one} and {other} would close a loop: {way}")
            return
        self._root[self._root_of(one)] = self._root_of(other)
        near = self._switches[one].domain == self._switches[other].domain
        for _ in range(joint.spec.count):
            ends = self._next_port(one), self._next_port(other)
            made = link(joint.spec.link)
            cable = joint.cable(ends[0], near)
            self._add(Port(ends[0], PortRole.INTERSWITCH, made, cable=cable, peer=ends[1]), other)
            self._add(Port(ends[1], PortRole.INTERSWITCH, made, peer=ends[0]), one)

    def _root_of(self, name: str) -> str:
        while (above := self._root[name]) != name:
            self._root[name] = name = self._root[above]
        return name

    def _between(self, one: str, other: str) -> list[str]:
        """Return the switches on the way from one to the other, which are joined."""
        todo = [[one]]
        while (way := todo.pop())[-1] != other:
            todo += [[*way, at] for at in self._links[way[-1]] if at not in way]
        return way

    def _next_port(self, switch: str) -> PortId:
        return PortId(switch, f"F{1 + sum(map(len, self._links[switch].values()))}")

    def _add(self, port: Port, to: str) -> None:
        name = port.id.switch
        self._links[name].setdefault(to, []).append(port)
        self._switches[name] = replace(
            self._switches[name], ports=(*self._switches[name].ports, port)
        )

    def fits(self, problems: Problems) -> bool:
        """Return whether there is no switch with too many ports, and not too much in all."""
        for name, switch in self._switches.items():
            if self._links[name] and len(switch.ports) > PORT_COUNT_MAX:
                text = f"{name} would have {len(switch.ports)} ports; a switch has {PORT_COUNT_MAX}"
                problems.add("", f"{text} at most")
                return False
        hosts: dict[str, set[str]] = {}
        members: Counter[str] = Counter()
        for name in self._switches:
            hosts.setdefault(self._root_of(name), set()).update(self._hosts[name])
            members[self._root_of(name)] += 1
        total = sum(count * len(hosts[root]) for root, count in members.items())
        if total > SIZE_MAX:
            problems.add("", f"{total} virtual switches; there are {SIZE_MAX} at most")
        return total <= SIZE_MAX

    def reached(self, name: str, vppb_count: int) -> Switch:
        """Return a switch with the virtual switches of all hosts that come in by its links."""
        switch = self._switches[name]
        made, met = list(switch.virtual_switches), {*self._hosts[name]}
        dealt: Counter[str] = Counter()
        for at, through in self._nearest(name):
            ports = self._links[name][through]
            for host in self._hosts[at]:
                if host not in met:
                    met.add(host)
                    port = ports[dealt[through] % len(ports)].id.port
                    dealt[through] += 1
                    vcs = VirtualSwitch(str(len(made) + 1), name, port, host, vppb_count, through)
                    made.append(vcs)
        return replace(switch, virtual_switches=tuple(made))

    def _nearest(self, name: str) -> list[tuple[str, str]]:
        """Return the switches that are joined to it, nearest first, each with the way there.

        That is the switch at the other end of the first link.
        """
        order = {each: number for number, each in enumerate(self._switches)}
        found: list[tuple[int, int, int, str, str]] = []
        todo = [(1, 0, name, at, at) for at in self._links[name]]
        while todo:
            hops, latency_ns, before, at, through = todo.pop()
            # What nobody tells the latency of counts as placement counts it.
            latency_ns += self._links[at][before][0].link.latency_ns or HOP_NS
            found.append((hops, latency_ns + self._own_ns(at), order[at], at, through))
            more = (each for each in self._links[at] if each != before)
            todo += [(hops + 1, latency_ns, at, each, through) for each in more]
        return [(at, through) for *_, at, through in sorted(found)]

    def _own_ns(self, switch: str) -> int:
        """Return the latency of the links that hosts have to a switch; they are all alike."""
        ports = self._switches[switch].ports
        own = next((port for port in ports if port.role is PortRole.UPSTREAM), None)
        return HOP_NS if own is None else own.link.latency_ns or HOP_NS

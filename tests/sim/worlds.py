"""What the fabrics of a run are made of: a topology text for each world. Pure text.

Every kind of thing that a driver can bind or allocate has a number in the weather; 0 leaves it out.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sim.weather import Weather

STORAGE = True
"""Whether worlds have an NVMe-oF fabric: the one switch, to be turned on with Volume writes."""


def topology(weather: "Weather") -> str:
    """Return the topology file of a world."""
    parts = [_HOSTS.format(hosts=weather.hosts)]
    if weather.gpus or weather.functions or weather.heads or weather.dual:
        parts.append(_pcie(weather))
    parts.append(_cxl(weather))
    if STORAGE and weather.namespaces:
        parts.append(_STORAGE.format(namespaces=weather.namespaces, vppbs=weather.vppbs))
    return "".join(parts)


def _pcie(weather: "Weather") -> str:
    switches = ["pcie1", "pcie2"][: weather.pcie_switches]
    parts = [_PCIE.format(vppbs=weather.vppbs, limit=_limit(weather), switches=len(switches))]
    parts.append(_DEVICES if weather.gpus or weather.functions else "")
    if weather.gpus:
        parts.append(_GPU.format(gpus=weather.gpus))
    if weather.functions:
        parts.append(_FUNCTIONS.format(functions=weather.functions))
    if weather.chained:
        words = {"top": switches[-1], "links": weather.chained, "vppbs": weather.vppbs}
        parts.append(_BELOW.format(**words))
        switches = [*switches, "pcie9"]
    spanning = []
    if weather.heads:
        at = ", ".join(switches[n % len(switches)] for n in range(weather.heads))
        spanning.append(_HEADS.format(at=at))
    if weather.dual:
        spanning.append(_DUAL.format(at=f"{switches[0]}, {switches[-1]}"))
    return "".join([*parts, _SPANNING if spanning else "", *spanning])


def _cxl(weather: "Weather") -> str:
    parts = [_CXL.format(vppbs=weather.vppbs, slds=weather.slds, limit=_limit(weather))]
    if weather.lds:
        parts.append(_MLD.format(first=weather.slds + 1, lds=weather.lds))
    if weather.pooled:
        parts.append(_POOLED.format(lds=weather.pooled))
    if weather.regions:
        parts.append(_DYNAMIC.format(regions=weather.regions, lds=weather.dynamic_lds))
    return "".join(parts)


def _limit(weather: "Weather") -> str:
    return f"\n    max_zones: {weather.max_zones}" if weather.max_zones else ""


_HOSTS = """\
name: simulated
description: What one seed of the simulation runs on.
hosts:
  - {{id: "host{{n}}", count: {hosts}, cpus: 1, cores: 8, memory: 64 GiB}}
fabrics:
"""
_PCIE = """\
  - id: PCIe
    name: PCIe fabric
    protocol: PCIe{limit}
    switches:
      - id: "pcie{{n}}"
        count: {switches}
        model: simulated
        host_link: {{gen: 5, lanes: 16, latency_ns: 110}}
        vppbs: {vppbs}
"""
_DEVICES = """\
        devices:
"""
_GPU = """\
          - id: "gpu{{n}}"
            count: {gpus}
            kind: GPU
            capacity: 80 GiB
            link: {{gen: 5, lanes: 16, latency_ns: 110}}
"""
_FUNCTIONS = """\
          - id: "nic{{n}}"
            kind: NIC
            functions: 2
            virtual_functions: {functions}
            bind: functions
            link: {{gen: 5, lanes: 16, latency_ns: 110}}
"""
_BELOW = """\
      - id: pcie9
        model: simulated
        hosts: []
        vppbs: {vppbs}
        uplinks:
          - {{to: {top}, count: {links}, link: {{gen: 5, lanes: 16, latency_ns: 110}}}}
        devices:
          - id: "below{{n}}"
            count: 2
            kind: GPU
            capacity: 80 GiB
            link: {{gen: 5, lanes: 16, latency_ns: 110}}
"""
_SPANNING = """\
    devices:
"""
_HEADS = """\
      - id: mhnic1
        kind: NIC
        ports: [{at}]
        shared: true
        link: {{gen: 5, lanes: 4, latency_ns: 110}}
"""
_DUAL = """\
      - id: drive1
        kind: NVMe
        capacity: 1 TiB
        ports: [{at}]
        shared: false
        sanitizes: true
        link: {{gen: 5, lanes: 2, latency_ns: 110}}
"""
_CXL = """\
  - id: CXL
    name: CXL fabric
    protocol: CXL{limit}
    switches:
      - id: cxl1
        model: simulated
        host_link: {{gen: 5, lanes: 16, latency_ns: 80}}
        vppbs: {vppbs}
        devices:
          - id: "mem{{n}}"
            count: {slds}
            kind: Memory
            model: simulated
            capacity: 64 GiB
            link: {{gen: 5, lanes: 8, latency_ns: 80}}
"""
_MLD = """\
          - id: "mem{{n}}"
            first: {first}
            kind: Memory
            model: simulated
            capacity: 128 GiB
            lds: {{count: {lds}}}
            link: {{gen: 5, lanes: 16, latency_ns: 80}}
"""
_POOLED = """\
          - id: pooled1
            kind: Memory
            model: simulated
            capacity: 4 GiB
            lds: {{count: {lds}, pooled: true, granularity: 256 MiB}}
            link: {{gen: 5, lanes: 16, latency_ns: 80}}
"""
_DYNAMIC = """\
          - id: dynamic1
            kind: Memory
            model: simulated
            capacity: 3 GiB
            dynamic: {{count: {lds}, regions: {regions}, granularity: 256 MiB}}
            link: {{gen: 5, lanes: 16, latency_ns: 80}}
"""
_STORAGE = """\
  - id: NVMeoF
    name: Storage fabric
    protocol: NVMeOverFabrics
    subsystems:
      - id: jbof1
        capacity: 8 GiB
        namespaces: {namespaces}
        attachments: {vppbs}
        granularity: 1 GiB
"""

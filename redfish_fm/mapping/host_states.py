"""What a host shows otherwise once its power changes: the difference of two renderings.

Pure. Nothing here knows which properties those are: a host is rendered with and without power, and
what differs is the patch. It costs the rendering of one host, twice.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.fabric.model import Host
from redfish_fm.mapping.host_readings import host_readings
from redfish_fm.mapping.hosts import put_host
from redfish_fm.mapping.rendering import Rendering

Patch = dict[str, Any]


def power_patches(host: Host, powered: bool) -> dict[str, Patch]:
    """Return URI -> properties to lay over the documents of a host that `render_host` made.

    A property that is None is taken away, at any depth. What does not depend on power is not in
    it; for a host that has power nothing is.
    """
    if powered:
        return {}
    on, off = _documents(host, True), _documents(host, False)
    patches = {uri: _difference(document, off[uri]) for uri, document in on.items()}
    return {uri: patch for uri, patch in patches.items() if patch}


def draw_w(host: Host, powered: bool) -> int | None:
    """Return what the host's chassis draws, in W; None where its driver does not tell."""
    if host.hardware is None:
        return None
    return host_readings(host, host.hardware, powered).input_w


def _documents(host: Host, powered: bool) -> Mapping[str, dict[str, Any]]:
    out = Rendering()
    put_host(out, host, powered)
    return out.documents


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Patch:
    """Return what is laid over `before` to see `after`; lists are replaced whole."""
    patch: Patch = dict.fromkeys(before.keys() - after.keys())
    for name, value in after.items():
        known = before.get(name)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            inner = _difference(known, value)
            if inner:
                patch[name] = inner
        elif known != value:
            patch[name] = value
    return patch

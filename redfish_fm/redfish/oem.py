"""Our own OEM part of Redfish: its CSDL, which is served, and that only the service fills it.

Knows the name under Oem and the files; what stands in the objects is made elsewhere.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message

NAME = "RedfishFM"
"""The property under Oem that is ours."""
FOLDER = "oem"
URI = "/redfish/v1/Schemas/{file}"
"""Where a CSDL file is served; $metadata refers to it."""

_NAMESPACE = re.compile(rb'<Schema [^>]*Namespace="([^"]+)"')


def load(directory: Path) -> dict[str, bytes]:
    """Return our CSDL files by the URI they are served at."""
    files = sorted((directory / FOLDER).glob("*.xml"))
    return {URI.format(file=path.name): path.read_bytes() for path in files}


def namespaces(csdl: bytes) -> list[str]:
    """Return the namespaces that a CSDL file of ours defines."""
    return [found.decode() for found in _NAMESPACE.findall(csdl)]


def not_writable(body: Mapping[str, Any]) -> list[Message]:
    """Return what is wrong with a PATCH that names our OEM part: the service fills it."""
    oem = body.get("Oem")
    if not isinstance(oem, Mapping) or NAME not in oem:
        return []
    return [messages.property_not_writable(NAME, f"#/Oem/{NAME}")]


def without_own(body: dict[str, Any]) -> dict[str, Any]:
    """Return a POST body without our OEM part: what is read-only is ignored there."""
    oem = body.get("Oem")
    if not isinstance(oem, Mapping) or NAME not in oem:
        return body
    kept = {name: value for name, value in oem.items() if name != NAME}
    rest = {name: value for name, value in body.items() if name != "Oem"}
    return {**rest, "Oem": kept} if kept else rest

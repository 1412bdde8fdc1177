"""What a client may switch of the service's own network protocols, and what is switched on.

Pure. Redfish: ManagerNetworkProtocol.v1_12_0. Discovery goes on and off at any time; plain HTTP
that only leads to HTTPS does where the configuration gives it a port. HTTPS stays as it was
started: who switched it off could not switch it on again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.mapping import generic, refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import Write

TTL_MAX = 255
INTERVAL_MAX_S = 86400


@dataclass(frozen=True, slots=True)
class ProtocolWishes:
    """What is to be on. `redirect`: plain HTTP that leads to HTTPS. Seconds."""

    redirect: bool
    ssdp: bool
    mdns: bool
    notify_interval_s: int
    notify_ttl: int
    notify_ipv6_scope: str


def wishes_of(document: Mapping[str, Any]) -> ProtocolWishes:
    """Return what the service's own ManagerNetworkProtocol asks for."""
    ssdp = document["SSDP"]
    return ProtocolWishes(
        document["HTTP"]["ProtocolEnabled"] is True,
        ssdp["ProtocolEnabled"] is True,
        document["mDNS"]["ProtocolEnabled"] is True,
        ssdp["NotifyMulticastIntervalSeconds"],
        ssdp["NotifyTTL"],
        ssdp["NotifyIPv6Scope"],
    )


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH. Only our own protocols are ours to switch."""
    redirects = tip.facts.own_protocols.get(write.uri)
    if redirects is None:
        raise refusals.bad_content(*_not_writable(write.body))
    told = [*_wrong(write.body, redirects)]
    if told:
        raise refusals.bad_content(*told)
    return generic.patch(write, tip)


def _not_writable(body: Mapping[str, Any]) -> Iterator[Message]:
    for name, value in body.items():
        if not isinstance(value, Mapping) or not value:
            yield messages.property_not_writable(name, f"#/{name}")
            continue
        for inner in value:
            yield messages.property_not_writable(inner, f"#/{name}/{inner}")


def _wrong(body: Mapping[str, Any], redirects: bool) -> Iterator[Message]:
    for name, value in body.items():
        if not isinstance(value, Mapping):
            continue
        if name == "HTTP" and not redirects:
            yield from _not_writable({name: value})
            continue
        for inner, wish in value.items():
            yield from _wrong_value(inner, wish, f"#/{name}/{inner}")


def _wrong_value(name: str, value: object, pointer: str) -> Iterator[Message]:
    if value is None:
        yield messages.property_value_type_error("null", name, pointer)
        return
    highest = _HIGHEST.get(name)
    if highest is not None and isinstance(value, int) and value > highest:
        yield messages.property_value_out_of_range(str(value), name, pointer)


_HIGHEST = {"NotifyTTL": TTL_MAX, "NotifyMulticastIntervalSeconds": INTERVAL_MAX_S}

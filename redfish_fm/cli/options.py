"""The flags that set configuration keys, in one table; docs/configuration.md follows it.

Values stay text here: redfish_fm.config checks them, so that all mistakes appear at once.
"""

from collections.abc import Callable
from typing import Any

import click

_SETTINGS = (
    (
        "--topology",
        "NAME|FILE",
        "Shipped topology (redfish-fm topology list) or a YAML file; NAME:hosts=4 sets parameters.",
    ),
    ("--mockup", "DIR|ZIP", "Redfish mockup to serve instead of a topology."),
    ("--strict", None, "Refuse to begin with a mockup that has defects."),
    ("--faults", "FILE", "YAML file of faults that befall the virtual fabric, each in its time."),
    ("--config", "FILE", "TOML file of settings; flags and environment win over it."),
    ("--host", "ADDRESS", "Where to listen (default 127.0.0.1)."),
    ("--port", "N", "TCP port (default 8443); 0 picks a free one."),
    ("--http", None, "Plain HTTP instead of TLS; on loopback only."),
    ("--state", "DIR", "State folder (default ~/.local/state/redfish-fm/SOURCE)."),
    ("--ephemeral", None, "Keep nothing on disk."),
    ("--seed", "N", "What the virtual fabric's chances derive from (default 0)."),
    ("--time-scale", "X", "Fabric seconds per second (default 1); 0 jumps to the next timer."),
    ("--event-destinations", "CIDR,…", "Networks that events may be sent to."),
    (
        "--fmapi-listen",
        "[SWITCH=]HOST:PORT",
        "Offer a virtual CXL switch to fabric managers there, over the FM API; may be repeated.",
    ),
    (
        "--fmapi-dial",
        "[SWITCH=]HOST:PORT",
        "Let a virtual CXL switch dial a fabric manager that listens there; may be repeated.",
    ),
    ("--dialect", "spec|jrl", "How these switches pack the headers of messages (default spec)."),
    (
        "--fmapi-profile",
        "NAME",
        "How they behave: standard (default), strict, short-identity or jrl.",
    ),
    ("--fmapi-faults", "FAULT=RATE,…", "What goes wrong on their wires, and how likely, 0 to 1."),
    ("--ssdp", None, "Answer searches by SSDP; needs an address that others reach."),
    ("--mdns", None, "Announce the service by mDNS, as _redfish._tcp; needs the same."),
    ("--tls-cert", "FILE", "PEM certificate chain; without it one is made."),
    ("--tls-key", "FILE", "PEM private key of --tls-cert."),
    ("--log-format", "text|json", "Form of the log lines on stderr (default text)."),
    ("--log-level", "LEVEL", "Least of what is logged: debug, info (default), warning or error."),
)


_REPEATED = ("--fmapi-listen", "--fmapi-dial")


def _none_if_empty(_: object, __: object, value: tuple[str, ...]) -> tuple[str, ...] | None:
    return value or None


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add every setting's flag to a command; a flag that is not given arrives as None."""
    for flag, metavar, text in reversed(_SETTINGS):
        if metavar is None:
            option = click.option(flag, is_flag=True, default=None, help=text)
        elif flag in _REPEATED:
            option = click.option(
                flag, metavar=metavar, help=text, multiple=True, callback=_none_if_empty
            )
        else:
            option = click.option(flag, metavar=metavar, help=text)
        command = option(command)
    return command

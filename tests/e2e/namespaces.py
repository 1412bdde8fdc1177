"""Network namespaces made for a test: what is sent in them reaches nobody else.

    with alone() as network:                      one interface, nobody behind it
    with neighbours() as (ours, theirs):          two, with a cable between them
        subprocess.run([*ours.enter, "ip", "address"])

They are held by processes of their own, and gone with them. Needs root or user namespaces, and
`unshare`, `nsenter` and `ip`.
"""

import contextlib
import functools
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

INTERFACE = "wire0"
_OURS, _THEIRS = ("192.0.2.1", "2001:db8::1"), ("192.0.2.2", "2001:db8::2")
_HELD_S = "3600"
_STEP_TIMEOUT_S = 30.0
_READY_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Network:
    """One namespace: how a command gets into it, and the addresses of its interface there."""

    enter: tuple[str, ...]
    ipv4: str
    ipv6: str
    holder: int

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> str:
        """Run a command inside, by default in our environment; return what it printed."""
        done = subprocess.run(
            [*self.enter, *command],
            env=env,
            capture_output=True,
            text=True,
            timeout=_STEP_TIMEOUT_S,
            check=True,
        )
        return done.stdout


@functools.cache
def unavailable() -> str | None:
    """Return why no network namespace can be made here, or None."""
    for command in ("unshare", "nsenter", "ip"):
        if shutil.which(command) is None:
            return f"no command {command}: no network namespace can be made"
    try:
        with neighbours():
            return None
    except subprocess.CalledProcessError as error:
        return f"no network namespace can be made: {error.stderr.strip()}"


@contextlib.contextmanager
def alone() -> Iterator[Network]:
    """Make a namespace whose one interface leads nowhere: a bridge without ports."""
    with _held((), _unshare(), _OURS) as network:
        network.run("ip", "link", "add", INTERFACE, "type", "bridge")
        set_up(network)
        yield network


@contextlib.contextmanager
def neighbours() -> Iterator[tuple[Network, Network]]:
    """Make two namespaces and a cable between them."""
    with (
        _held((), _unshare(), _OURS) as ours,
        _held(ours.enter, ("unshare", "--net"), _THEIRS) as theirs,
    ):
        peer = ("peer", "name", INTERFACE, "netns", str(theirs.holder))
        ours.run("ip", "link", "add", INTERFACE, "type", "veth", *peer)
        for network in (ours, theirs):
            set_up(network)
        yield ours, theirs


def _unshare() -> tuple[str, ...]:
    return ("unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--net")


@contextlib.contextmanager
def _held(
    outside: tuple[str, ...], unshare: tuple[str, ...], addresses: tuple[str, str]
) -> Iterator[Network]:
    holder = subprocess.Popen(
        [*outside, *unshare, "sh", "-c", f"echo made; exec sleep {_HELD_S}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stderr is not None
    try:
        if holder.stdout.readline() != "made\n":
            code = holder.wait(_STEP_TIMEOUT_S)
            raise subprocess.CalledProcessError(code, unshare, stderr=holder.stderr.read())
        user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        enter = ("nsenter", "--target", str(holder.pid), *user, "--net")
        yield Network(enter, *addresses, holder.pid)
    finally:
        holder.kill()
        holder.wait(_STEP_TIMEOUT_S)
        holder.stdout.close()
        holder.stderr.close()


def set_up(network: Network) -> None:
    """Give both interfaces the addresses they lack, and multicast a way out."""
    network.run("ip", "link", "set", "lo", "up")
    for each in (f"{network.ipv4}/24", f"{network.ipv6}/64"):
        network.run("ip", "address", "replace", each, "dev", INTERFACE, "nodad")
    network.run("ip", "link", "set", INTERFACE, "up", "multicast", "on")
    network.run("ip", "route", "replace", "default", "dev", INTERFACE)
    end_s = time.monotonic() + _READY_TIMEOUT_S
    # Until an address is known to be nobody else's, the interface does not speak from it.
    while "tentative" in network.run("ip", "-6", "address", "show", "dev", INTERFACE):
        assert time.monotonic() < end_s, "the interface's own address stays tentative"
        time.sleep(0.05)

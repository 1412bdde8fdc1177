"""Whether a host has power, and what can be asked of it.

Pure values. The power of a host is no matter of a fabric but of the host's BMC, so nothing here
names one; fabrics see its links go. Redfish: Resource.v1_23_0 PowerState and ResetType.
"""

from dataclasses import dataclass
from enum import Enum


class PowerState(Enum):
    """Redfish Resource.PowerState, the values of hosts that can not be paused."""

    ON = "On"
    OFF = "Off"
    POWERING_ON = "PoweringOn"
    POWERING_OFF = "PoweringOff"

    @property
    def powered(self) -> bool:
        """Whether what is inside has power: also while it starts and while it shuts down."""
        return self is not PowerState.OFF

    @property
    def changing(self) -> bool:
        """Whether it is on its way to another state."""
        return self in (PowerState.POWERING_ON, PowerState.POWERING_OFF)


class ResetType(Enum):
    """Redfish Resource.ResetType, those that some driver can carry out."""

    ON = "On"
    FORCE_ON = "ForceOn"
    FORCE_OFF = "ForceOff"
    GRACEFUL_SHUTDOWN = "GracefulShutdown"
    GRACEFUL_RESTART = "GracefulRestart"
    FORCE_RESTART = "ForceRestart"
    POWER_CYCLE = "PowerCycle"
    PUSH_POWER_BUTTON = "PushPowerButton"

    @property
    def forced(self) -> bool:
        """Whether it asks nobody: it ends what hangs, whatever the host is doing."""
        return self in _FORCED


_FORCED = frozenset({ResetType.FORCE_OFF, ResetType.FORCE_RESTART, ResetType.POWER_CYCLE})
_ON = frozenset({ResetType.ON, ResetType.FORCE_ON})
_OFF = frozenset({ResetType.FORCE_OFF, ResetType.GRACEFUL_SHUTDOWN})


@dataclass(frozen=True, slots=True)
class HostState:
    """What a BMC last said of its host.

    `boots` counts how often the host was started since somebody first counted; it never shrinks,
    so a restart that began and ended between two looks is seen. Times are seconds since 1970.
    """

    power: PowerState
    boots: int = 0
    reset_s: float | None = None
    """When it was last started, stopped or restarted; None where nobody knows."""
    manager_reset_s: float | None = None
    """When its BMC was last restarted; None where nobody knows."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What is known of the power of one host; `host` is its id.

    `state` is what was last seen, None while its BMC does not answer; `busy_s` is for how long it
    takes no command, for a reason of its own.
    """

    host: str
    resets: frozenset[ResetType]
    state: HostState | None = None
    busy_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ResetWish:
    """What was asked of a host, and how it was before: enough to see later that it was done.

    `asked` None: its BMC is to restart.
    """

    host: str
    asked: ResetType | None
    before: HostState


def is_coming(asked: ResetType, power: PowerState) -> bool:
    """Return whether a host in that state is on its way to what is asked."""
    if power is PowerState.POWERING_ON:
        return asked in _ON
    return power is PowerState.POWERING_OFF and asked is ResetType.GRACEFUL_SHUTDOWN


def is_achieved(wish: ResetWish, state: HostState) -> bool:
    """Return whether `state` shows that a wish was carried out.

    Of what restarts a host only another start shows it, and of a power button also that it is off.
    """
    if wish.asked is None:
        return state.manager_reset_s != wish.before.manager_reset_s
    if wish.asked in _ON:
        return state.power in (PowerState.ON, PowerState.POWERING_ON)
    if wish.asked in _OFF:
        return state.power is PowerState.OFF
    pressed = wish.asked is ResetType.PUSH_POWER_BUTTON and wish.before.power.powered
    if pressed:
        return state.power is PowerState.OFF
    return state.boots > wish.before.boots

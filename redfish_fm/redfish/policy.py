"""What AccountService demands of logins and passwords, as one value made from its document.

Pure. Redfish: AccountService.v1_18_1. Properties that this service does not act on are not here,
and not shown either. Also which values go together; the same rules are asked before a PATCH is
taken, for one answer with every fault, and again against the newest state.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message

ACCOUNT_SERVICE = "/redfish/v1/AccountService"
"""Where clients set the policy; an overlay over the service's own document."""

PASSWORD_CHARS_LEAST, PASSWORD_CHARS_MOST = 8, 128
"""Bounds of both password lengths: fewer can be guessed, more are only work to hash."""
LOCK_S_MAX = 86_400
"""The longest lockout, as the longest session; one that never lapses has a property of its own."""
THRESHOLD_MAX = 1_000
"""More failed logins than this protect nobody."""


class BasicAuth(Enum):
    """AccountService.HTTPBasicAuth."""

    ENABLED = "Enabled"
    UNADVERTISED = "Unadvertised"
    DISABLED = "Disabled"


@dataclass(frozen=True, slots=True)
class AccountPolicy:
    """AccountService as logins and password changes see it. Times in seconds.

    `lockout_threshold` failed logins, none of them more than `counter_reset_s` after the one
    before, lock an account for `lockout_s`; 0 of either: never. Without `counter_resets` failures
    never age and a lock never lapses. Every `failure_logging`-th failure of an account is told to
    the audit log; 0: none.
    """

    enabled: bool = True
    basic: BasicAuth = BasicAuth.ENABLED
    lockout_threshold: int = 10
    lockout_s: int = 300
    counter_reset_s: int = 30
    counter_resets: bool = True
    failure_logging: int = 1
    password_chars_min: int = 8
    password_chars_max: int = 128

    @property
    def locks(self) -> bool:
        """Return whether failed logins ever lock an account."""
        return self.lockout_threshold > 0 and (self.lockout_s > 0 or not self.counter_resets)

    def fits(self, password: str) -> bool:
        """Return whether a new password may have this length."""
        return self.password_chars_min <= len(password) <= self.password_chars_max


PROPERTIES: Mapping[str, str] = {
    "enabled": "ServiceEnabled",
    "basic": "HTTPBasicAuth",
    "lockout_threshold": "AccountLockoutThreshold",
    "lockout_s": "AccountLockoutDuration",
    "counter_reset_s": "AccountLockoutCounterResetAfter",
    "counter_resets": "AccountLockoutCounterResetEnabled",
    "failure_logging": "AuthFailureLoggingThreshold",
    "password_chars_min": "MinPasswordLength",
    "password_chars_max": "MaxPasswordLength",
}
"""Field of AccountPolicy -> property of AccountService."""

RANGES: Mapping[str, tuple[int, int]] = {
    "AccountLockoutThreshold": (0, THRESHOLD_MAX),
    "AccountLockoutDuration": (0, LOCK_S_MAX),
    "AccountLockoutCounterResetAfter": (0, LOCK_S_MAX),
    "AuthFailureLoggingThreshold": (0, THRESHOLD_MAX),
    "MinPasswordLength": (PASSWORD_CHARS_LEAST, PASSWORD_CHARS_MOST),
    "MaxPasswordLength": (PASSWORD_CHARS_LEAST, PASSWORD_CHARS_MOST),
}
"""Property -> lowest and highest value it takes here."""

DEFAULT = AccountPolicy()


def policy_of(document: Mapping[str, Any]) -> AccountPolicy:
    """Return the policy that a document, or an overlay, of AccountService describes.

    What it leaves out is as in DEFAULT.
    """
    given = {
        field.name: document[PROPERTIES[field.name]]
        for field in fields(AccountPolicy)
        if document.get(PROPERTIES[field.name]) is not None
    }
    if "basic" in given:
        given["basic"] = BasicAuth(given["basic"])
    return AccountPolicy(**given)


def properties_of(policy: AccountPolicy) -> dict[str, Any]:
    """Return the policy as properties of AccountService."""
    values = {name: getattr(policy, field) for field, name in PROPERTIES.items()}
    return {**values, "HTTPBasicAuth": policy.basic.value}


def check_settings(
    uri: str, body: Mapping[str, Any], told: Iterable[Message], policy: AccountPolicy
) -> list[Message]:
    """Return what else is wrong with a PATCH of AccountService, beside what is `told` already."""
    if uri != ACCOUNT_SERVICE:
        return []
    wrong = {place for message in told for place in message.related}
    sound = {name: value for name, value in body.items() if f"#/{name}" not in wrong}
    return [*violations(sound, properties_of(policy))]


def violations(body: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Message]:
    """Yield what can not be set, in values of the right type, over the document `before`."""
    kept = {}
    for name in PROPERTIES.values():
        if name not in body:
            continue
        value, bounds = body[name], RANGES.get(name)
        if value is None:
            # All of them are in force all the time, so null removes none.
            yield messages.property_value_type_error("null", name, f"#/{name}")
        elif bounds is not None and not bounds[0] <= value <= bounds[1]:
            yield messages.property_value_out_of_range(str(value), name, f"#/{name}")
        else:
            kept[name] = value
    yield from _contradictions(kept, policy_of({**before, **kept}))


def _contradictions(given: Mapping[str, Any], policy: AccountPolicy) -> Iterator[Message]:
    """Yield a message for each pair of values that can not go together, told of what was given."""
    wrong = {
        ("AccountLockoutCounterResetAfter", "AccountLockoutDuration"): (
            policy.counter_reset_s > policy.lockout_s
        ),
        ("MinPasswordLength", "MaxPasswordLength"): (
            policy.password_chars_min > policy.password_chars_max
        ),
        ("ServiceEnabled", "HTTPBasicAuth"): (
            not policy.enabled and policy.basic is BasicAuth.DISABLED
        ),
    }
    for names, contradict in wrong.items():
        named = [name for name in names if name in given]
        if contradict and named:
            other = next(name for name in names if name != named[0])
            places = (f"#/{name}" for name in named)
            yield messages.property_value_conflict(named[0], other, *places)

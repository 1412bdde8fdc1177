"""How long to wait before asking again: what the service wishes, else longer each time. Pure."""

import datetime
import email.utils
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient a client is. `tries` counts all attempts at one request, the first included.

    `wait_s_first` doubles with each further attempt up to `wait_s_max`, which also bounds what
    a Retry-After asks for: a service that wants longer is asked too early rather than never.
    """

    tries: int = 6
    wait_s_first: float = 0.5
    wait_s_max: float = 60.0

    def wait_s(self, attempt: int, retry_after: str | None, now: datetime.datetime) -> float:
        """Return the seconds to wait after the `attempt`-th failure (the first is 1)."""
        asked_s = retry_after_s(retry_after, now)
        if asked_s is None:
            asked_s = self.wait_s_first * 2 ** (attempt - 1)
        return min(asked_s, self.wait_s_max)


def retry_after_s(value: str | None, now: datetime.datetime) -> float | None:
    """Return the seconds a Retry-After header asks for, None where it says nothing usable.

    It has either seconds or a date (RFC 9110 §10.2.3). `now` has a time zone.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:_DIGITS_MAX])
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return max(0.0, (moment - now).total_seconds())


_DIGITS_MAX = 9
"""Of seconds: thirty years, and no number too large for a float."""

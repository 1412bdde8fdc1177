"""Points in time as Redfish writes them. Pure: the time is an argument."""

from datetime import UTC, datetime
from functools import lru_cache


def date_time(wall_s: float) -> str:
    """Return seconds since 1970 as a Redfish date-time in UTC, to the second."""
    return _of_second(int(wall_s))


@lru_cache(maxsize=16)
def _of_second(wall_s: int) -> str:
    # A busy service asks for the same second again and again.
    return datetime.fromtimestamp(wall_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

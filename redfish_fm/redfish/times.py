"""Points in time as Redfish writes them. Pure: the time is an argument."""

from datetime import UTC, datetime


def date_time(wall_s: float) -> str:
    """Return seconds since 1970 as a Redfish date-time in UTC, to the second."""
    return datetime.fromtimestamp(int(wall_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

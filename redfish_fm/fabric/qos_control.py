"""How an MLD watches its own load, and warns hosts before it is too much.

Pure. CXL: QoS Control (FM API 5403h, 5404h). One for the whole device, whoever has its LDs.
"""

from dataclasses import dataclass, fields

PERCENT_MAX = 100


@dataclass(frozen=True, slots=True)
class QosTelemetry:
    """Of what a device can warn (Get LD Info, 5400h): congestion at its egress, and slowness."""

    congestion: bool
    throughput_reduction: bool


@dataclass(frozen=True, slots=True)
class QosControl:
    """What is so, or wanted; None is as it is. Intervals in ns, as the FM API has them."""

    congestion: bool | None = None
    throughput_reduction: bool | None = None
    moderate_percent: int | None = None
    severe_percent: int | None = None
    sample_interval: int | None = None
    request_bias: int | None = None
    collection_interval: int | None = None

    def over(self, seen: "QosControl") -> "QosControl":
        """Return what is seen, with what is wanted here in its place."""
        mine, theirs = _values(self), _values(seen)
        both = (one if one is not None else other for one, other in zip(mine, theirs, strict=True))
        return QosControl(*both)  # type: ignore[arg-type]

    def met_by(self, seen: "QosControl | None") -> bool:
        """Return whether all that is wanted here is seen."""
        if seen is None:
            return self == QosControl()
        return self.over(seen) == seen


def _values(control: QosControl) -> tuple[bool | int | None, ...]:
    return tuple(getattr(control, each.name) for each in fields(control))

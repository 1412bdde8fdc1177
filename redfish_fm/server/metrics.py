"""GET /metrics: accumulators of the other rooms, exported when asked (DESIGN section 11).

Knows prometheus_client and the names it is given; nothing of what they mean.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from redfish_fm.redfish.requests import Response


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure. A name that ends in "_total" only ever grows; the others go up and down."""

    name: str
    text: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


class _Samples(Collector):
    """What prometheus_client asks at each scrape."""

    def __init__(self, read: Callable[[], Iterable[Sample]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Yield one family per name, in the order of first appearance."""
        families: dict[str, Metric] = {}
        for sample in self._read():
            family = families.get(sample.name)
            if family is None:
                make = CounterMetricFamily if sample.name.endswith("_total") else GaugeMetricFamily
                family = make(sample.name, sample.text, labels=list(sample.labels))
                families[sample.name] = family
            family.add_metric(list(sample.labels.values()), sample.value)  # type: ignore[attr-defined]
        yield from families.values()


Source = Callable[[], Iterable[Sample]]
"""Gives what a part of the service counts, as it is now."""


class Metrics:
    """Renders what all `sources` give in the Prometheus text format; parts may add theirs."""

    def __init__(self, *sources: Source) -> None:
        self.sources: list[Source] = [*sources]
        self._registry = CollectorRegistry()
        self._registry.register(_Samples(self._read))

    def _read(self) -> Iterator[Sample]:
        for source in self.sources:
            yield from source()

    def render(self) -> Response:
        """Return the answer to one scrape."""
        body = generate_latest(self._registry)
        return Response(200, {"Content-Type": CONTENT_TYPE_LATEST}, body)

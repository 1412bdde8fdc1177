"""GET /metrics: what other rooms count, in the Prometheus text format, read when asked."""

from prometheus_client.parser import text_string_to_metric_families

from redfish_fm.server.metrics import Metrics, Sample


def families(samples: list[Sample]) -> dict[str, object]:
    text = Metrics(lambda: samples).render().body.decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_a_name_that_ends_in_total_is_a_counter_and_others_are_gauges() -> None:
    found = families([Sample("fm_commits_total", "Commits", 3), Sample("fm_open", "Open", 2)])
    assert {name: family.type for name, family in found.items()} == {
        "fm_commits": "counter",
        "fm_open": "gauge",
    }


def test_samples_of_one_name_are_one_family_told_apart_by_labels() -> None:
    fabrics = [Sample("fm_seen_total", "Looks", n, {"fabric": f"f{n}"}) for n in (1, 2)]
    (family,) = families(fabrics).values()
    values = {sample.labels["fabric"]: sample.value for sample in family.samples}
    assert values == {"f1": 1, "f2": 2}


def test_each_scrape_reads_anew() -> None:
    value = [0]

    def read() -> list[Sample]:
        value[0] += 1
        return [Sample("fm_scrapes_total", "Scrapes", value[0])]

    metrics = Metrics(read)
    first, second = metrics.render(), metrics.render()
    assert first.status == 200 and first.headers["Content-Type"].startswith("text/plain")
    assert first.body != second.body


def test_a_label_may_hold_anything() -> None:
    (family,) = families([Sample("fm_x", "X", 1, {"fabric": 'a"b\\c\nd'})]).values()
    assert family.samples[0].labels["fabric"] == 'a"b\\c\nd'

"""The row of event streams: what a silent one costs, and how soon all of them hear of a change."""

import json
import time
import urllib.request
from pathlib import Path
from typing import Any

from .api import Api
from .children import Child, Launcher
from .report import Figure

STREAMS = 1000
LATENCY_TARGET = "< 250 ms"
PAUSE_S = 0.5
"""Between two changes: each is to be heard on its own."""
TOPOLOGY = "two-hosts"


def listening(child: Child, count: int, wanted: str = "") -> Child:
    """Start a process that reads so many streams of a service; `wanted` is their $filter."""
    url = f"{child.url.scheme}://127.0.0.1:{child.port}"
    return Child("tests.bench.listeners", url, Api(child).token, str(count), wanted)


def asked(listeners: Child, target: str) -> Any:
    """Return what the listeners tell."""
    with urllib.request.urlopen(f"http://127.0.0.1:{listeners.port}{target}") as answer:
        return json.load(answer)


def roomy(folder: Path) -> tuple[str, str]:
    """Return the flags of a service that lets so many in."""
    file = folder / "roomy.toml"
    file.write_text(f"event_stream_limit = {2 * STREAMS}\nconnection_limit = {3 * STREAMS}\n")
    return ("--config", str(file))


def streams_row(launcher: Launcher, folder: Path, changes: int, count: int) -> list[Figure]:
    """Return the figures of the row for `count` streams, plain and over TLS."""
    figures = []
    for tls, target in ((False, "< 16 KiB"), (True, "< 64 KiB")):
        what = "tls" if tls else "plain"
        flags = ("--topology", TOPOLOGY, *roomy(folder))
        with launcher.serve(*flags, tls=tls) as child:
            # A first few warm up what is made once.
            with listening(child, 50):
                time.sleep(1)
            time.sleep(2)
            before = child.rss_bytes()
            with listening(child, count) as listeners:
                time.sleep(2)
                each = (child.rss_bytes() - before) / count / 1024
                waited_ms = sorted(_waits_ms(child, listeners, changes))
        heard = len(waited_ms) / changes
        p50, p99 = (waited_ms[int(len(waited_ms) * part)] for part in (0.5, 0.99))
        figures += [
            Figure("streams", f"idle {what}", round(each, 1), "KiB", target, f"{count} streams"),
            Figure("streams", f"heard {what}", heard, "", f">= {count}", f"{changes} changes"),
            Figure("streams", f"p50 {what}", round(p50, 1), "ms"),
            Figure("streams", f"p99 {what}", round(p99, 1), "ms", LATENCY_TARGET, "with the POST"),
        ]
    return figures


def _waits_ms(child: Child, listeners: Child, changes: int) -> list[float]:
    """Return from the sending of a POST to its event, for each change and stream."""
    api = Api(child)
    zones = next(uri for fabric in api.fabrics() if (uri := api.collection_of(fabric, "Zones")))
    found = []
    for number in range(changes):
        # A client's own Id is honoured: so the word to listen for is known beforehand.
        name = f"heard-{number}-"
        asked(listeners, f"/arrived?Zones/{name}")
        sent_s = time.monotonic()
        reply = api.ask("POST", zones, json.dumps({"Id": name, "Name": name}).encode())
        if reply.status != 201:
            raise RuntimeError(f"POST of a zone was answered {reply.status}")
        time.sleep(PAUSE_S)
        found += [1000 * (at_s - sent_s) for at_s in asked(listeners, f"/arrived?Zones/{name}")]
    return found

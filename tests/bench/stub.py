"""A stand-in for the service: the real server room over a table of canned resources.

Shows what the server room alone costs, and lets the harness be tested without the rest.
Understands the flags of `redfish-fm serve` that the bench uses.
"""

import argparse
import asyncio
import itertools
import json
import signal
import tempfile
import time
from pathlib import Path

from redfish_fm.redfish.requests import Request, Response, Sink
from redfish_fm.server.http import HttpServer
from redfish_fm.server.listener import bind, listen
from redfish_fm.server.tls import ensure_certificate, server_context

from .listeners import SSE

ROOT = "/redfish/v1"
TOKEN = "stub-token"
FABRIC = f"{ROOT}/Fabrics/Stub"
_HEADERS = {
    "Content-Type": "application/json;charset=utf-8",
    "OData-Version": "4.0",
    "ETag": '"0123456789abcdef.fedcba9876543210"',
    "Allow": "GET, HEAD, PATCH",
    "Cache-Control": "no-cache",
    "Link": "<http://redfish.dmtf.org/schemas/v1/Fabric.json>; rel=describedby",
}


def _documents(members: int) -> dict[str, dict[str, object]]:
    endpoints = [{"@odata.id": f"{FABRIC}/Endpoints/{n}"} for n in range(members)]
    collection: dict[str, object] = {"Members@odata.count": members, "Members": endpoints}
    endpoint: dict[str, object] = {"Id": "0", "Name": "Endpoint 0", "Filler": "x" * 1000}
    return {
        ROOT: {"Fabrics": {"@odata.id": f"{ROOT}/Fabrics"}},
        f"{ROOT}/Fabrics": {"Members@odata.count": 1, "Members": [{"@odata.id": FABRIC}]},
        FABRIC: {
            "Endpoints": {"@odata.id": f"{FABRIC}/Endpoints"},
            "Zones": {"@odata.id": f"{FABRIC}/Zones"},
        },
        f"{FABRIC}/Endpoints": collection,
        f"{FABRIC}/Endpoints/0": endpoint,
        f"{FABRIC}/Zones": {"Members@odata.count": 0, "Members": []},
    }


class Streamed:
    """An event stream that tells of each POST."""

    def __init__(self, sinks: set[Sink]) -> None:
        self._sinks = sinks

    async def run(self, sink: Sink) -> None:
        over = asyncio.Event()
        sink.on_over(over.set)
        sink.send(b"retry: 1\n\n")
        self._sinks.add(sink)
        await over.wait()
        self._sinks.discard(sink)


class Stub:
    """Answers from the table; a POST makes up a resource and keeps nothing."""

    def __init__(self, members: int) -> None:
        self._bodies = {
            uri: json.dumps({"@odata.id": uri, **document}).encode()
            for uri, document in _documents(members).items()
        }
        self._ids = itertools.count(1)
        self._commits = 0
        self._sinks: set[Sink] = set()

    async def handle(self, request: Request) -> Response:
        path = request.path.rstrip("/")
        if request.method == "POST":
            return self._post(path, request)
        if request.headers.get("x-auth-token") != TOKEN and path != ROOT:
            return error(401)
        if request.method == "DELETE":
            return Response(204)
        if path == SSE:
            headers = {"Content-Type": "text/event-stream"}
            return Response(200, headers, flow=Streamed(self._sinks))
        body = self._bodies.get(path)
        return error(404) if body is None else Response(200, _HEADERS, body)

    def _post(self, path: str, request: Request) -> Response:
        if path == f"{ROOT}/SessionService/Sessions":
            return Response(201, {"X-Auth-Token": TOKEN, "Location": f"{path}/1"}, b"{}")
        document = json.loads(request.body)
        self._commits += 1
        uri = f"{path}/{next(self._ids)}"
        body = json.dumps({"@odata.id": uri, **document}).encode()
        told = json.dumps({"EventId": uri, "About": f"{path}/{document.get('Id')}"})
        for sink in self._sinks:
            sink.send(f"data: {told}\n\n".replace('"EventId": ', '"EventId":').encode())
        return Response(201, {**_HEADERS, "Location": uri}, body)

    def metrics(self) -> Response:
        text = f"redfish_fm_commits_total {self._commits}\n"
        text += "redfish_fm_store_transactions_total 0\n"
        text += f"redfish_fm_resources {len(self._bodies)}\n"
        return Response(200, {"Content-Type": "text/plain"}, text.encode())


def error(status: int) -> Response:
    body = {"error": {"code": "Base.1.22.GeneralError", "@Message.ExtendedInfo": []}}
    return Response(status, {"Content-Type": "application/json"}, json.dumps(body).encode())


async def _serve(arguments: argparse.Namespace) -> None:
    stub = Stub(arguments.members)
    server = HttpServer(stub.handle, error, metrics=stub.metrics)
    with tempfile.TemporaryDirectory() as folder:
        context = None
        bound = await bind("127.0.0.1", arguments.port, plain=arguments.http)
        if not arguments.http:
            context = server_context(ensure_certificate(Path(folder), "127.0.0.1", time.time()))
        listener = await listen(server, bound, context)
        print(f"redfish-fm ready URL={listener.url}{ROOT}/", flush=True)
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await stop.wait()
        await listener.close()
        await server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("--ephemeral", action="store_true")
    parser.add_argument("--state")
    parser.add_argument("--topology")
    parser.add_argument("--config")
    parser.add_argument("--event-destinations")
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--members", type=int, default=10_000)
    asyncio.run(_serve(parser.parse_args()))

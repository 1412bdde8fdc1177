"""The measure of things: a bare aiohttp web.Application answering recorded bytes."""

import argparse
import asyncio
import base64
import json
import signal
from pathlib import Path
from typing import Any

from aiohttp import web

from redfish_fm.server.tls import TlsFiles, cut_tls_buffers, server_context

_OWN = frozenset({"content-length", "date", "connection"})


def record(path: Path, status: int, headers: dict[str, str], body: bytes) -> None:
    """Keep an answer for the application to repeat; framing headers are its own business."""
    kept = {name: value for name, value in headers.items() if name.lower() not in _OWN}
    answer = {"status": status, "headers": kept, "body": base64.b64encode(body).decode()}
    path.write_text(json.dumps(answer))


def application(answer: dict[str, Any]) -> web.Application:
    """Return an application that answers every GET and POST alike."""
    status, headers = answer["status"], answer["headers"]
    body = base64.b64decode(answer["body"])

    async def get(request: web.Request) -> web.Response:
        return web.Response(status=status, body=body, headers=headers)

    async def post(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=status, body=body, headers=headers)

    app = web.Application()
    app.router.add_get("/{rest:.*}", get)
    app.router.add_post("/{rest:.*}", post)
    return app


async def _serve(answer: dict[str, Any], tls: Path | None) -> None:
    runner = web.AppRunner(application(answer), access_log=None)
    await runner.setup()
    context = None
    if tls is not None:
        cut_tls_buffers()
        context = server_context(TlsFiles(tls / "cert.pem", tls / "key.pem", tls / "ca.pem"))
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    print(f"baseline ready URL={'https' if tls else 'http'}://127.0.0.1:{port}/", flush=True)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("answer", type=Path)
    parser.add_argument("--tls", type=Path)
    arguments = parser.parse_args()
    asyncio.run(_serve(json.loads(arguments.answer.read_text()), arguments.tls))

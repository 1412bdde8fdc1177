"""A small Redfish service on a loopback socket that answers, delays and lies as it is told."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER, PASSWORD = "root", "an-invented-Passw0rd"
ROOT_DOCUMENT = {
    "@odata.id": "/redfish/v1/",
    "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot",
    "Id": "RootService",
    "Name": "Root",
    "UUID": "92384634-2938-2342-8820-489239905423",
    "Links": {"Sessions": {"@odata.id": "/redfish/v1/Logins"}},
}
Reply = tuple[int, Mapping[str, str], bytes]


class Bmc:
    """Serves `documents` by URI, and `special` replies before them; remembers what it was asked.

    With `guarded`, all but the service root and the place of logins want a token.
    """

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {
            "/redfish": {"v1": "/redfish/v1/"},
            "/redfish/v1/": ROOT_DOCUMENT,
            "/redfish/v1/odata": {"value": []},
            "/redfish/v1/Logins": {
                "@odata.type": "#SessionCollection.SessionCollection",
                "Members": [],
            },
        }
        self.special: dict[str, Callable[[], Reply | None]] = {
            "/redfish/v1/$metadata": lambda: (200, {"Content-Type": "application/xml"}, b"<x/>")
        }
        self.asked: list[tuple[str, str]] = []
        self.headers: list[Mapping[str, str]] = []
        self.tokens: set[str] = set()
        self.guarded = False
        self.together = self.together_max = 0
        self._lock = threading.Lock()
        self.url = ""

    def link(self, *uris: str) -> None:
        """Let the service root link there."""
        links = [{"@odata.id": uri} for uri in uris]
        self.documents["/redfish/v1/"] = {**ROOT_DOCUMENT, "Oem": {"Acme": {"Things": links}}}

    def add(self, uri: str, **properties: Any) -> None:
        """Serve a resource, and link to it."""
        self.documents[uri] = {"@odata.id": uri, "@odata.type": "#Chassis.v1_1_0.Chassis"}
        self.documents[uri] |= properties
        self.link(*(each for each in self.documents if each.startswith("/redfish/v1/C")))

    def reply(self, method: str, uri: str, headers: Mapping[str, str], body: bytes) -> Reply:
        if method == "POST" and uri == "/redfish/v1/Logins":
            return self._login(json.loads(body))
        token = headers.get("X-Auth-Token", "")
        if method == "DELETE":
            self.tokens.discard(token)
            return 204, {}, b""
        if self.guarded and token not in self.tokens and uri != "/redfish/v1/":
            return 401, {}, b"{}"
        special = self.special.get(uri, lambda: None)()
        if special is not None:
            return special
        if uri not in self.documents:
            return 404, {}, b"{}"
        found = json.dumps(self.documents[uri]).encode()
        return 200, {"Content-Type": "application/json", "ETag": '"1"'}, found

    def _login(self, wanted: Mapping[str, str]) -> Reply:
        if wanted != {"UserName": USER, "Password": PASSWORD}:
            return 401, {}, b"{}"
        token = f"token-{len(self.asked)}"
        self.tokens.add(token)
        return 201, {"X-Auth-Token": token, "Location": "/redfish/v1/Logins/1"}, b"{}"

    def gets(self, uri: str) -> int:
        return self.asked.count(("GET", uri))


@contextlib.contextmanager
def a_bmc() -> Iterator[Bmc]:
    bmc = Bmc()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with bmc._lock:  # noqa: SLF001
                bmc.asked.append((self.command, self.path))
                bmc.headers.append(dict(self.headers))
                bmc.together += 1
                bmc.together_max = max(bmc.together_max, bmc.together)
            try:
                status, headers, text = bmc.reply(self.command, self.path, self.headers, body)
            finally:
                with bmc._lock:  # noqa: SLF001
                    bmc.together -= 1
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = _answer

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    bmc.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield bmc
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)

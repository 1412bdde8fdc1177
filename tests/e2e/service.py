"""The service as a process, and a client over real sockets: what an operator and a client have."""

import contextlib
import http.client
import json
import os
import queue
import signal
import ssl
import subprocess
import sys
import tarfile
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.unpacking import unpack

ROOT = Path(__file__).resolve().parents[2]
USER, PASSWORD = "admin", "an-invented-Passw0rd"
START_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 60.0


class Answer:
    """One response."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"{self.status} {self.body[:300]!r}"


class Client:
    """One keep-alive connection. `token` None uses Basic authentication."""

    def __init__(self, url: str, token: str | None = None, cafile: Path | None = None) -> None:
        self._at = urlsplit(url)
        self._context = None if cafile is None else ssl.create_default_context(cafile=cafile)
        basic = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        login = {"Authorization": f"Basic {basic}"}
        self._login = login if token is None else {"X-Auth-Token": token}
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = str(self._at.hostname), self._at.port
        if self._context is not None:
            return http.client.HTTPSConnection(
                host, port, timeout=ANSWER_TIMEOUT_S, context=self._context
            )
        return http.client.HTTPConnection(host, port, timeout=ANSWER_TIMEOUT_S)

    def __call__(
        self, method: str, uri: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        sent = {**self._login, **(headers or {})}
        raw = None
        if body is not None:
            raw = json.dumps(body)
            sent["Content-Type"] = "application/json"
        self._connection.request(method, uri, raw, sent)
        response = self._connection.getresponse()
        return Answer(response.status, dict(response.getheaders()), response.read())

    def get(self, uri: str) -> Any:
        answer = self("GET", uri)
        assert answer.status == 200, answer
        return answer.json

    def crawl(self, skip: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return every resource that links lead to, by URI without trailing slash."""
        found: dict[str, Any] = {}
        todo = ["/redfish/v1"]
        while todo:
            uri = todo.pop()
            if uri in found or uri.startswith(skip):
                continue
            found[uri] = self.get(uri)
            todo += [link for link in _links(found[uri]) if link not in found]
        return found

    def close(self) -> None:
        self._connection.close()


def _links(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "@odata.id" and isinstance(inner, str) and "#" not in inner:
                yield inner.rstrip("/")
            else:
                yield from _links(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _links(inner)


class Service:
    """One `redfish-fm serve` process on a free port."""

    def __init__(
        self, *arguments: str, wrapper: tuple[str, ...] = (), password: str | None = PASSWORD
    ) -> None:
        environ = {name: value for name, value in os.environ.items() if "REDFISH_FM" not in name}
        if password is not None:
            environ["REDFISH_FM_ADMIN_PASSWORD"] = password
        command = (*wrapper, sys.executable, "-m", "redfish_fm", "serve", *arguments)
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self.complaints: list[str] = []
        self._news: queue.Queue[str | None] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            self._news.put(line)
        self._news.put(None)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        self.complaints.extend(line.rstrip("\n") for line in self.process.stderr)

    def ready(self) -> str:
        """Wait for the ready line; return the URL without path."""
        while True:
            line = self._news.get(timeout=START_TIMEOUT_S)
            assert line is not None, "\n".join(self.complaints)
            if line.startswith("redfish-fm ready "):
                url = line.split("URL=")[1].split()[0]
                return url.removesuffix("/redfish/v1/")

    def wait(self, timeout_s: float = 30.0) -> int:
        """Wait for the end; return the exit code."""
        code = self.process.wait(timeout_s)
        for reader in self._readers:
            reader.join(5)
        return code

    def terminate(self, timeout_s: float = 30.0) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def kill(self) -> None:
        """End the process, and a wrapper around it, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        for reader in self._readers:
            reader.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@contextlib.contextmanager
def serving(*arguments: str, tls: bool = False, **more: Any) -> Iterator[tuple[Service, str]]:
    """Run a service that is ready; give it and its URL. It is killed at the end."""
    flags = () if tls else ("--http",)
    service = Service(*flags, "--port", "0", *arguments, **more)
    try:
        yield service, service.ready()
    finally:
        service.close()


def unpacked_mockup(shared: Path, place: Path, name: str) -> Path:
    """Unpack one public mockup of the DMTF pack under `place`; return its folder."""
    with tarfile.open(shared / "data" / "mockups-dmtf-2025.4.tar.gz") as pack:
        members = [each for each in pack.getmembers() if f"/{name}/" in f"/{each.name}"]
        unpack(pack, place, members)
    (index,) = [path for path in place.rglob(name) if path.is_dir()]
    return index


def links(*uris: str) -> list[dict[str, str]]:
    return [{"@odata.id": uri} for uri in uris]


def zone_body(*endpoints: str, **more: Any) -> dict[str, Any]:
    return {"Links": {"Endpoints": links(*endpoints)}, **more}

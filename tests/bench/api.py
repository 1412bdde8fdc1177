"""A small Redfish client for finding what to measure: session, GET, counters."""

import http.client
import json
import re
import ssl
from dataclasses import dataclass
from typing import Any

from .children import PASSWORD, USER, Child


@dataclass
class Reply:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Api:
    """One service, with a session."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self.root = child.url.path.rstrip("/")
        self.token = ""
        body = json.dumps({"UserName": USER, "Password": PASSWORD}).encode()
        made = self.ask("POST", f"{self.root}/SessionService/Sessions", body)
        self.token = made.headers["X-Auth-Token"]

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of a client with a session."""
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        return {**headers, "X-Auth-Token": self.token} if self.token else headers

    def ask(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """Ask on a connection of its own."""
        if self._child.tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", self._child.port, context=context, timeout=60
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self._child.port, timeout=60)
        try:
            connection.request(method, path, body, self.headers)
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """Return a document, or an empty one where there is none."""
        reply = self.ask("GET", path)
        return reply.json() if reply.status == 200 else {}

    def members(self, path: str) -> list[str]:
        """Return the URIs of a collection's members."""
        return [member["@odata.id"] for member in self.get(path).get("Members", [])]

    def fabrics(self) -> list[str]:
        """Return the URIs of all fabrics."""
        collection = self.get(self.root).get("Fabrics", {}).get("@odata.id")
        return self.members(collection) if collection else []

    def collection_of(self, fabric: str, name: str) -> str | None:
        """Return the URI of one of a fabric's collections."""
        link = self.get(fabric).get(name, {}).get("@odata.id")
        return str(link) if link else None

    def counter(self, pattern: str) -> float | None:
        """Return the sum of the /metrics samples whose name matches, or None without any."""
        reply = self.ask("GET", "/metrics")
        text = reply.body.decode() if reply.status == 200 else ""
        found = re.findall(rf"^{pattern}(?:{{[^}}]*}})? ([0-9.e+]+)$", text, re.MULTILINE)
        return sum(float(value) for value in found) if found else None

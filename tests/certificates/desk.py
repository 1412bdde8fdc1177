"""The protocol with everything about certificates over a real writer and store, without a socket.

`Desk` is one running service; `durable` outlives it, so that a test can restart or crash it.
"""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redfish_fm.certificates.serving import Certificates
from redfish_fm.certificates.writing import CertificateWrites
from redfish_fm.config import Config
from redfish_fm.control.account_locks import keeper
from redfish_fm.control.base import Base
from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.control.session_rows import SessionRows
from redfish_fm.control.tip import TipView
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.uris import HTTPS_CERTIFICATE
from redfish_fm.mapping.uris import MANAGER as MANAGER_TEMPLATE
from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.certificates import certificate_documents
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.client_certificates import ClientCertificate
from redfish_fm.redfish.documents import account_document, service_documents
from redfish_fm.redfish.identity import Identity
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.service import Service
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import SessionRow
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.certificates_made import now
from tests.redfish.builders import CATALOG, PRIVILEGES, REGISTRIES, check_response
from tests.redfish.house import SECRET, SteppedClock

OWN = HTTPS_CERTIFICATE.format(manager="FabricManager", certificate="1")
OWNS = OWN.rpartition("/")[0]
MANAGER = MANAGER_TEMPLATE.format(manager="FabricManager")
GENERATE = "/redfish/v1/CertificateService/Actions/CertificateService.GenerateCSR"
REPLACE = "/redfish/v1/CertificateService/Actions/CertificateService.ReplaceCertificate"
DAY_S = 86_400.0


class DeskClock(SteppedClock):
    """Begins now, because certificates do; then only a test moves it."""

    def __init__(self) -> None:
        super().__init__()
        self._offset_s = now().timestamp() - self.time_s

    def wall_s(self) -> float:
        return self._offset_s + self.time_s


@dataclass
class Desk:
    """A service and what is behind it."""

    service: Service
    kernel: Kernel
    certificates: Certificates
    identity: Identity
    clock: DeskClock
    durable: DurableState
    place: Path

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str | None = "admin",
        certificate: ClientCertificate | None = None,
        **headers: str,
    ) -> Response:
        """Send one request by a session of `user`, or only with a certificate."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if user is not None and certificate is None:
            sent["x-auth-token"] = (await self.identity.sessions.create(user, "192.0.2.1"))[0]
        raw = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, (), sent, raw, "192.0.2.1", True, certificate)
        response = await self.service.handle(request)
        check_response(response, method)
        return response

    async def get(self, uri: str) -> dict[str, Any]:
        response = await self.send("GET", uri)
        assert response.status == 200, response.body
        found: dict[str, Any] = json.loads(response.body)
        return found

    async def generate(self, **body: Any) -> Response:
        asked = {"CommonName": "fm.example", "CertificateCollection": {"@odata.id": OWNS}, **body}
        return await self.send("POST", GENERATE, asked)

    async def replace(self, text: str, kind: str = "PEM", uri: str = OWN, **more: Any) -> Response:
        body = {
            "CertificateUri": {"@odata.id": uri},
            "CertificateString": text,
            "CertificateType": kind,
            **more,
        }
        return await self.send("POST", REPLACE, body)

    def shown(self) -> str:
        """Return the certificate that a handshake shows now, in PEM form."""
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        near = client.wrap_bio(back, there)
        assert self.certificates.context is not None
        far = self.certificates.context.wrap_bio(there, back, server_side=True)
        for step in (near.do_handshake, far.do_handshake) * 2:
            with contextlib.suppress(ssl.SSLWantReadError):
                step()
        der = near.getpeercert(binary_form=True)
        assert der is not None
        return ssl.DER_cert_to_PEM_cert(der)


@contextlib.asynccontextmanager
async def a_desk(
    place: Path,
    durable: DurableState | None = None,
    *,
    clock: DeskClock | None = None,
    crash: bool = False,
    further: dict[str, dict[str, Any]] | None = None,
    **settings: Any,
) -> AsyncIterator[Desk]:
    """Run a service; on leaving it is closed, or with `crash` cut off as kill -9 would."""
    config = Config(topology="two-hosts", ephemeral=True, **settings)
    clock, durable = clock or DeskClock(), durable or DurableState()
    store = MemoryStore(durable, clock)
    kernel = Kernel(store, _base(config, further or {}), {}, clock, KernelConfig())
    rows = SessionRows(store, kernel.writer)
    sessions = Sessions(rows, SessionRow, clock, timeout_s=1e9, limit=1000)
    identity = Identity(Accounts(), Roles(CATALOG.roles), sessions, keeper(kernel.writer))
    stored = await store.load()
    await identity.load(stored.spaces)
    kernel.writer.on_publish.add(identity.published)
    kernel.start(stored)
    certificates = Certificates(config, place, OWN, kernel.published, clock)
    kernel.writer.on_publish.add(certificates.published)
    tasks = [asyncio.create_task(kernel.run()), asyncio.create_task(certificates.run())]
    if stored.seq == 0:
        await kernel.writer.submit(_first, "service")
    writes = CertificateWrites(certificates, clock, kernel.commits.commit)
    service = Service(
        CATALOG, REGISTRIES, PRIVILEGES, kernel.published, writes.commit, sessions,
        identity.accounts, roles=identity.roles, replay=kernel.retries.outcome,
        locks=identity.locks, client_certificates=certificates.clients,
    )  # fmt: skip
    try:
        yield Desk(service, kernel, certificates, identity, clock, durable, place)
    finally:
        if crash:
            durable.crash()
        else:
            await kernel.close()
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert not [each for each in ended if isinstance(each, Exception)], ended


def _base(config: Config, further: dict[str, dict[str, Any]]) -> Base:
    uuid = "11111111-2222-3333-4444-555555555555"
    documents = {
        **service_documents(CATALOG, REGISTRIES, PRIVILEGES, uuid=uuid, product_version="0"),
        **certificate_documents(CATALOG, OWN, served=not config.http),
        MANAGER: {"@odata.id": MANAGER, "@odata.type": CATALOG.types["Manager"].odata_type},
        **further,
    }
    return Base(documents, Facts())


def _first(_tip: TipView) -> Draft:
    edits = []
    for user, role in (("admin", "Administrator"), ("anne", "ReadOnly")):
        uri, document = account_document(CATALOG, user, user, role)
        edits.append(Edit(Space.DOCUMENT, uri, None, encode(document)))
        edits.append(Edit(Space.SECRET, uri, None, SECRET))
    return Draft(OutcomeKind.CREATED, uri, tuple(edits))

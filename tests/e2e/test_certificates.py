"""Certificates of the real process: switched under load, kept over restarts, clients' own ones."""

import contextlib
import http.client
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.certificates_made import CLIENT, Made, an_authority, made, name, signed_for
from tests.conformance.packs import tool
from tests.conformance.processes import tool_environment
from tests.e2e.service import PASSWORD, USER, Answer, Client, Service, serving

MANAGER = "/redfish/v1/Managers/FabricManager"
OWNS = f"{MANAGER}/NetworkProtocol/HTTPS/Certificates"
OWN = f"{OWNS}/1"
ACTIONS = "/redfish/v1/CertificateService/Actions/CertificateService"
AUTHORITIES = "/redfish/v1/AccountService/MultiFactorAuth/ClientCertificate/Certificates"
ACCOUNTS = "/redfish/v1/AccountService/Accounts"
CLIENTS, REPLACEMENTS = 20, 20
TOOL_TIMEOUT_S = 60.0

ROOT = an_authority()


@dataclass
class Fm:
    """A service that runs, and what trusts it whichever certificate it shows."""

    service: Service
    url: str
    trusted: Path
    stack: contextlib.ExitStack

    def client(self) -> Client:
        """Return a client that is closed with the service."""
        made = Client(self.url, cafile=self.trusted)
        self.stack.callback(made.close)
        return made

    def shown(self) -> str:
        """Return the certificate that a new connection gets, in PEM form."""
        at = urllib.parse.urlsplit(self.url)
        return ssl.get_server_certificate((str(at.hostname), at.port or 0))


@contextlib.contextmanager
def a_service(place: Path, *more: str) -> Iterator[Fm]:
    """Serve two-hosts over TLS, its state in `place`."""
    state, authority = place / "state", place / "state" / "tls" / "ca.pem"
    arguments = more or ("--state", str(state))
    with (
        serving("--topology", "two-hosts", *arguments, tls=True) as (service, url),
        contextlib.ExitStack() as stack,
    ):
        trusted = place / "trusted.pem"
        trusted.write_text((authority.read_text() if authority.exists() else "") + ROOT.pem)
        yield Fm(service, url, trusted, stack)


def replaced(client: Client, text: str, kind: str = "PEM") -> Answer:
    body = {
        "CertificateUri": {"@odata.id": OWN},
        "CertificateString": text,
        "CertificateType": kind,
    }
    return client("POST", f"{ACTIONS}.ReplaceCertificate", body)


# -- the service's own -------------------------------------------------------------------------


def test_a_replacement_is_served_at_once_and_after_a_restart_and_a_kill(tmp_path: Path) -> None:
    leaf = made(by=ROOT)
    with a_service(tmp_path) as fm:
        client, before = fm.client(), fm.shown()
        assert replaced(client, leaf.key_pem + leaf.pem).status == 204
        assert fm.shown() == leaf.pem != before
        # The connection it was asked for on goes on, under the certificate it began with.
        assert client.get(OWN)["CertificateString"] == leaf.pem
        assert fm.service.terminate() == 0
    with a_service(tmp_path) as fm:
        assert fm.shown() == leaf.pem
        fm.service.kill()
    with a_service(tmp_path) as fm:
        assert fm.shown() == leaf.pem == fm.client().get(OWN)["CertificateString"]


def test_a_bad_certificate_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    bad = made(by=ROOT, days=(-2, -1))
    with a_service(tmp_path) as fm:
        before = fm.shown()
        assert replaced(fm.client(), bad.key_pem + bad.pem).status == 400
        assert fm.shown() == before
        assert bad.key_pem.split("\n")[1] not in "".join(fm.service.complaints)


def test_no_request_is_dropped_while_certificates_are_replaced(tmp_path: Path) -> None:
    pairs = [made(by=ROOT) for _ in range(REPLACEMENTS)]
    with a_service(tmp_path) as fm:
        admin, done = fm.client(), threading.Event()
        writers = [Writer(fm, number, done) for number in range(CLIENTS)]
        for writer in writers:
            writer.start()
        for pair in pairs:
            assert replaced(admin, pair.key_pem + pair.pem).status == 204
            assert fm.shown() == pair.pem
        # On a busy machine some have hardly begun: each shall have written on a new connection.
        deadline_s = time.monotonic() + 60
        while any(each.written < 2 and each.is_alive() for each in writers):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        done.set()
        for writer in writers:
            writer.join(60)
        assert [each.problem for each in writers if each.problem] == []
        assert min(each.written for each in writers) >= 2


class Writer(threading.Thread):
    """Makes and changes a role of its own; every other write on a new connection."""

    def __init__(self, fm: Fm, number: int, done: threading.Event) -> None:
        super().__init__()
        self.problem: str | None = None
        self.written = 0
        self._fm, self._name, self._done = fm, f"role{number}", done

    def run(self) -> None:
        try:
            self._write()
        except (OSError, http.client.HTTPException, AssertionError) as error:
            self.problem = repr(error)

    def _write(self) -> None:
        body: dict[str, Any] = {"RoleId": self._name, "AssignedPrivileges": ["Login"]}
        client = self._fm.client()
        answer = client("POST", "/redfish/v1/AccountService/Roles", body)
        assert answer.status == 201, answer
        uri = answer.headers["location"]
        while not self._done.is_set():
            if self.written % 2:
                client.close()
                client = self._fm.client()
            answer = client("PATCH", uri, {"Description": f"written {self.written}"})
            assert answer.status == 200, answer
            self.written += 1


def test_sighup_brings_an_operators_new_files(tmp_path: Path) -> None:
    first, second = made(by=ROOT), made(by=ROOT)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_text(first.pem)
    key.write_text(first.key_pem)
    arguments = ("--ephemeral", "--tls-cert", str(cert), "--tls-key", str(key))
    with a_service(tmp_path, *arguments) as fm:
        client = fm.client()
        assert fm.shown() == first.pem
        assert replaced(client, second.key_pem + second.pem).status == 409
        cert.write_text(second.pem)
        key.write_text(second.key_pem)
        fm.service.process.send_signal(signal.SIGHUP)
        deadline_s = time.monotonic() + 30
        while fm.shown() != second.pem:
            assert time.monotonic() < deadline_s
        assert client.get(OWN)["CertificateString"] == second.pem


# -- clients' own ------------------------------------------------------------------------------


def identified(fm: Fm, pair: Made | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=fm.trusted)
    if pair is not None:
        file = fm.trusted.with_name("client.pem")
        file.write_text(pair.key_pem + pair.pem)
        context.load_cert_chain(file)
    return context


def asked(fm: Fm, uri: str, context: ssl.SSLContext) -> int:
    at = urllib.parse.urlsplit(fm.url)
    connection = http.client.HTTPSConnection(str(at.hostname), at.port, timeout=30, context=context)
    try:
        connection.request("GET", uri)
        return connection.getresponse().status
    finally:
        connection.close()


def user(common_name: str, by: Made | None = ROOT, **how: Any) -> Made:
    return made(name(common_name), by, purposes=[CLIENT], alternatives=(), **how)


def test_a_clients_certificate_opens_what_its_user_may_and_no_other_does(tmp_path: Path) -> None:
    with a_service(tmp_path) as fm:
        admin = fm.client()
        account = {"UserName": "anne", "Password": "an-invented-word", "RoleId": "ReadOnly"}
        assert admin("POST", ACCOUNTS, account).status == 201
        body = {"CertificateString": ROOT.pem, "CertificateType": "PEM"}
        authority = admin("POST", AUTHORITIES, body)
        assert authority.status == 201, authority
        settings = {"MultiFactorAuth": {"ClientCertificate": {"Enabled": True}}}
        assert admin("PATCH", "/redfish/v1/AccountService", settings).status == 200

        def status(pair: Made | None, uri: str = "/redfish/v1/Systems") -> int | str:
            try:
                return asked(fm, uri, identified(fm, pair))
            except (ssl.SSLError, ConnectionError):
                return "cut off"

        forger = Made(ROOT.certificate, an_authority().key)
        assert {
            "anne": status(user("anne")),
            "nobody": status(user("nobody")),
            "without": status(None),
            "without, public": status(None, "/redfish/v1/"),
            "expired": status(user("anne", days=(-2, -1))),
            "foreign": status(user("anne", an_authority("another"))),
            "forged": status(user(USER, forger)),
        } == {
            "anne": 200,
            "nobody": 401,
            "without": 401,
            "without, public": 200,
            "expired": "cut off",
            "foreign": "cut off",
            "forged": "cut off",
        }
        assert admin("DELETE", authority.headers["location"]).status == 204
        assert status(user("anne")) == 401


# -- redfish-utilities -------------------------------------------------------------------------


def test_rf_certificates_lists_requests_and_installs(tmp_path: Path) -> None:
    script = tool("rf_certificates.py")
    if not Path(script).exists():
        pytest.skip("redfish-utilities is not installed")
    with a_service(tmp_path) as fm:
        client = fm.client()

        def run(*arguments: str) -> str:
            login = ("-u", USER, "-p", PASSWORD, "-r", fm.url)
            done = subprocess.run(
                [sys.executable, script, *login, *arguments],
                env=tool_environment(),
                capture_output=True,
                text=True,
                timeout=TOOL_TIMEOUT_S,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        assert f"Certificate: {OWN}" in run("info", "--details")
        assert "CommonName (required)" in run("csrinfo")
        request, installed = tmp_path / "request.pem", tmp_path / "installed.pem"
        run("csr", "-col", OWNS, "-cn", "fm.example", "-o", "An Organisation", "-out", str(request))
        leaf = signed_for(request.read_text(), ROOT)
        installed.write_text(leaf.pem)
        run("install", "-dest", OWN, "-cert", str(installed))
        assert fm.shown() == leaf.pem
        own, key = made(by=ROOT), tmp_path / "key.pem"
        installed.write_text(own.pem)
        key.write_text(own.key_pem)
        run("install", "-dest", OWN, "-cert", str(installed), "-key", str(key))
        assert fm.shown() == own.pem
        installed.write_text(ROOT.pem)
        run("install", "-dest", AUTHORITIES, "-cert", str(installed))
        (member,) = client.get(AUTHORITIES)["Members"]
        run("delete", "-cert", member["@odata.id"])
        assert client.get(AUTHORITIES)["Members"] == []

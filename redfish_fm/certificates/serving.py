"""The certificates of a running service: which one is served, who is trusted, what is shown.

Follows what is durable: a certificate that was replaced through Redfish is served as soon as the
change is published, by every handshake from then on, and again after a restart. Knows the published
state, the configuration and server's certificates; decides no form and no HTTP.

Where the certificate comes from: the operator's files (tls_cert, tls_key), which nobody replaces
but the operator; else the one given by ReplaceCertificate; else one the service makes for itself
and renews in time.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from redfish_fm.clocks import Clock
from redfish_fm.config import Config
from redfish_fm.control.base import parent_of
from redfish_fm.control.published import Published
from redfish_fm.fabric.health import Condition
from redfish_fm.mapping import certificates as rules
from redfish_fm.redfish.certificates import CERTIFICATE_LOCATIONS, CLIENT_AUTHORITIES
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.client_certificates import ClientCertificates, UserMapping
from redfish_fm.redfish.policy import ACCOUNT_SERVICE
from redfish_fm.server.certificates import Shown, shown
from redfish_fm.server.tls import (
    NOBODY,
    LiveContext,
    ServingContext,
    TlsError,
    TlsFiles,
    Trust,
    ensure_certificate,
    operator_certificate,
    pair_context,
    say_lacking,
    server_context,
)

log = logging.getLogger(__name__)

LOOK_S = 3600.0
"""Longest time between two looks at what time does to certificates; clocks get set."""
AGAIN_S = 5.0
"""Time until a certificate that could not be served is tried again."""


@dataclass(frozen=True, slots=True)
class _Served:
    """What handshakes are done with: the certificate, its key, and the context made of them."""

    context: ServingContext
    chain: str
    facts: Shown
    key: bytes = field(repr=False)


class Certificates:
    """All that is alive about certificates. Make it once the state is loaded; run `run` beside it.

    `uri` is where the HTTPS certificate is served. `context` is what to listen with, None where
    the service speaks plain HTTP. `folder` holds `tls/`, the certificate made by the service
    itself; `addresses` gives those under which the service is announced. `clients` knows whom
    clients' certificates stand for. Raises TlsError where there is no certificate to start with.
    """

    def __init__(
        self,
        config: Config,
        folder: Path,
        uri: str,
        published: Published,
        clock: Clock,
        addresses: Iterable[str] = (),
    ) -> None:
        self._config = config
        self._addresses = tuple(addresses)
        self._folder = folder / "tls"
        self._uri = uri
        self._manager = uri.partition("/NetworkProtocol/")[0]
        self._published = published
        self._clock = clock
        self.clients = ClientCertificates(clock.wall_s)
        self._collections = frozenset(
            each for each, name in published.base.collections.items() if name == _COLLECTION
        )
        self._behind = False
        self._ailing: dict[str, Condition] = {}
        self._served: _Served | None = None
        if not config.http:
            self._served = self._made(config)
            self._say_lacking()
        self.context = None if self._served is None else LiveContext(self._served.context)
        self._allow_clients()
        self._show()

    @property
    def uri(self) -> str:
        """Where the HTTPS certificate is, if there is one."""
        return self._uri

    @property
    def directory(self) -> Path:
        """Where files with keys may lie for a moment."""
        return self._folder

    @property
    def kept_by(self) -> str | None:
        """Why no client may change the HTTPS certificate, or None."""
        if self._config.http:
            return "the service speaks plain HTTP"
        if self._config.tls_cert is not None:
            return "the operator's files tls_cert and tls_key decide what is served"
        return None

    def keys(self) -> tuple[bytes | None, bytes | None]:
        """Return the key that waits for its certificate, and the one in use, in PEM form."""
        waiting = self._published.state.spaces[Space.SECRET].get(parent_of(self._uri))
        return waiting, None if self._served is None else self._served.key

    # -- what is served --------------------------------------------------------------------------

    def load(self, config: Config) -> None:
        """Read certificate and key anew. Raises TlsError and keeps what there was."""
        self._serve(self._made(config, anew=True))
        self._config = config
        self._show()

    @property
    def followed(self) -> tuple[str, ...]:
        """Return the URIs below which there is all that `published` has to know of."""
        return (*self._collections, ACCOUNT_SERVICE, self._uri)

    def published(self, changes: Iterable[Change]) -> None:
        """Follow a batch of changes that has just become durable."""
        if any(self._concerns(edit) for change in changes for edit in change.edits):
            self._take_over()

    async def run(self) -> None:
        """Renew what the service made itself, and show what time does, until cancelled."""
        while True:
            await self._clock.sleep(AGAIN_S if self._behind else self._pause_s())
            self._take_over()

    def _concerns(self, edit: Edit) -> bool:
        if edit.space is Space.DOCUMENT:
            return parent_of(edit.key) in self._collections
        if edit.space is Space.OVERLAY:
            return edit.key == ACCOUNT_SERVICE
        return edit.space is Space.SECRET and edit.key == self._uri

    def _take_over(self) -> None:
        """Serve and show what is true now; what can not be served is tried again soon."""
        self._behind = False
        if self._served is not None:
            try:
                self._serve(self._made(self._config))
            except TlsError as error:
                self._behind = True
                log.warning("the certificate from before is served on: %s", error)
        self._allow_clients()
        self._show()

    def _serve(self, made: _Served) -> None:
        if self.context is None:
            return
        if self._served is not None and made.chain != self._served.chain:
            log.info("another TLS certificate is served from now on")
        self._served = made
        self.context.newest = made.context

    def _made(self, config: Config, *, anew: bool = False) -> _Served:
        """Return what has to be served: what is, where nothing else is. Raises TlsError.

        The operator's files are read at the start and where they are to be read `anew`, at no
        other time: nobody has said yet that both are there.
        """
        trust, now = self._trust(), self._served
        replaced = self._replaced()
        files = None
        if config.tls_cert is not None and now is not None and not anew:
            chain, key = now.chain, now.key
        elif config.tls_cert is None and replaced is not None:
            chain, key = replaced
        else:
            files = self._files(config)
            chain, key = _contents(files)
        if now is not None and (chain, key, trust) == (now.chain, now.key, now.context.trust):
            return now
        if files is None:
            context = pair_context(chain, key, self._folder, trust)
        else:
            context = server_context(files, trust)
        return _Served(context, chain, shown(chain), key)

    def _files(self, config: Config) -> TlsFiles:
        if config.tls_cert is not None and config.tls_key is not None:
            return operator_certificate(config.tls_cert, config.tls_key)
        return ensure_certificate(self._folder, config.host, self._clock.wall_s(), self._addresses)

    def _say_lacking(self) -> None:
        """Say once which announced addresses the certificate in use lacks, if it is our own."""
        if self._config.tls_cert is None and self._replaced() is None:
            say_lacking(self._files(self._config), self._addresses)

    def _replaced(self) -> tuple[str, bytes] | None:
        """Return chain and key that ReplaceCertificate gave, or None."""
        spaces = self._published.state.spaces
        key, overlay = spaces[Space.SECRET].get(self._uri), spaces[Space.OVERLAY].get(self._uri)
        if key is None or overlay is None:
            return None
        document = msgspec.json.decode(overlay, type=dict[str, Any])
        return str(document.get("CertificateString", "")), key

    # -- who is trusted ----------------------------------------------------------------------------

    def _trust(self) -> Trust:
        if self._client_settings().get("Enabled") is not True:
            return NOBODY
        state = self._published.state
        documents = (state.document(uri) for uri in state.members_of(CLIENT_AUTHORITIES))
        return Trust(tuple(str(each["CertificateString"]) for each in documents if each))

    def _allow_clients(self) -> None:
        # What is wanted, not what the newest context has: that one may not have been made.
        trust = NOBODY if self._served is None else self._trust()
        mapping = self._client_settings().get("CertificateMappingAttribute")
        known = {each.value: each for each in UserMapping}
        self.clients.allow(trust.tag, known.get(str(mapping), UserMapping.COMMON_NAME))

    def _client_settings(self) -> Mapping[str, Any]:
        document = self._published.state.document(ACCOUNT_SERVICE) or {}
        settings = (document.get("MultiFactorAuth") or {}).get("ClientCertificate")
        return settings if isinstance(settings, Mapping) else {}

    # -- what is shown -----------------------------------------------------------------------------

    def _facts(self) -> dict[str, Shown]:
        """Return what is known of the certificates that the service itself uses, by URI."""
        found = {} if self._served is None else {self._uri: self._served.facts}
        state = self._published.state
        for uri in state.members_of(CLIENT_AUTHORITIES):
            document = state.document(uri)
            if document is not None:
                found[uri] = shown(str(document["CertificateString"]))
        return found

    def _show(self) -> None:
        now_s = self._clock.wall_s()
        patches: dict[str, Mapping[str, Any]] = {}
        ailing: dict[str, Condition] = {}
        for uri, facts in self._facts().items():
            condition = rules.ailment(uri, facts.valid, now_s)
            if condition is not None:
                ailing[uri] = condition
            own = facts.properties if uri == self._uri else {}
            patches[uri] = {**own, "Status": rules.status(condition, facts.valid)}
        told = [patches[uri]["Status"]["Conditions"][0] for uri in ailing]
        patches[self._manager] = {"Status": rules.rollup(ailing.values(), told)}
        for uri in [uri for uri, each in ailing.items() if self._ailing.get(uri) != each]:
            log.warning("%s", ailing[uri].told)
        self._ailing = ailing
        state = self._published.state
        members = (uri for place in sorted(self._collections) for uri in state.members_of(place))
        links = [{"@odata.id": uri} for uri in members]
        listed = {"Certificates": links, "Certificates@odata.count": len(links)}
        self._published.observe({**patches, CERTIFICATE_LOCATIONS: {"Links": listed}})

    def _pause_s(self) -> float:
        now_s = self._clock.wall_s()
        changes = (rules.next_change_s(each.valid, now_s) for each in self._facts().values())
        return min([LOOK_S, *(each - now_s for each in changes if each is not None)])


def _contents(files: TlsFiles) -> tuple[str, bytes]:
    """Return the certificates and the key in files, checked together. Raises TlsError."""
    server_context(files)
    try:
        text = files.cert.read_text("ascii", errors="replace")
        key = files.key.read_bytes()
    except OSError as error:
        raise TlsError(f"TLS files can not be read: {error.strerror}") from error
    # What else stands in the file, a key perhaps, goes no further.
    return str(shown(text).properties["CertificateString"]), key


_COLLECTION = "CertificateCollection"

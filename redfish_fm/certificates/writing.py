"""Writes that bring certificates: read and judged here, then carried out like every other write.

Between the protocol and control: what a client sends as text goes on as Write.material, so that
rules and store never see a text in which a private key may be. All reasons are told at once, and
none of them repeats what was sent.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.certificates.serving import Certificates
from redfish_fm.clocks import Clock
from redfish_fm.control.base import parent_of
from redfish_fm.mapping.certificates import linked
from redfish_fm.redfish import messages
from redfish_fm.redfish.certificates import CLIENT_AUTHORITIES, GENERATE, REPLACE, Material
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.writes import Commit, Outcome, Write, WriteKind
from redfish_fm.server.certificates import (
    Sent,
    authority_material,
    requested,
    server_material,
    wrong_request,
)

_Act = Callable[[Write], Awaitable[Outcome]]


class CertificateWrites:
    """Carries writes out through `carry_out`, after what they bring of certificates was read.

    Called with a Write as a Commit is. One at a time makes keys or replaces the certificate: keys
    take seconds, and two requests for one would leave the key of only one of them waiting.
    """

    def __init__(self, certificates: Certificates, clock: Clock, carry_out: Commit) -> None:
        self._certificates = certificates
        self._clock = clock
        self._carry_out = carry_out
        self._one_at_a_time = asyncio.Lock()

    def commit(self, write: Write) -> Awaitable[Outcome]:
        """Carry out one write. Raises RedfishError with every reason when it is refused."""
        act = self._act(write)
        return self._carry_out(write) if act is None else act(write)

    def _act(self, write: Write) -> _Act | None:
        if write.type_name == "Certificate" and write.kind is WriteKind.CREATE:
            return self._add_authority
        return {GENERATE: self._generate, REPLACE: self._replace}.get(write.action or "")

    async def _generate(self, write: Write) -> Outcome:
        """Make a key that waits for its certificate, and answer with the request for one.

        An Idempotency-Key is not looked at: a repeat makes another key, which is the one that
        waits then.
        """
        collection = parent_of(self._certificates.uri)
        wrong = [*wrong_request(write.body)]
        if linked(write.body, "CertificateCollection") != collection:
            wrong.append(("CertificateCollection", "keys are made for the HTTPS certificate only"))
        _refuse(wrong, GENERATE)
        self._refuse_where_kept()
        async with self._one_at_a_time:
            request, material = await asyncio.to_thread(requested, write.body)
            body = {"CertificateCollection": {"@odata.id": collection}}
            outcome = await self._carry_out(
                replace(write, body=body, material=material, retry=None)
            )
        return replace(outcome, body={**body, "CSRString": request})

    async def _replace(self, write: Write) -> Outcome:
        uri, sent = linked(write.body, "CertificateUri"), _sent(write.body)
        # What was read goes on; the text, in which there may be a key, goes no further.
        write = replace(write, body={"CertificateUri": {"@odata.id": uri}})
        if parent_of(uri) == CLIENT_AUTHORITIES:
            material = _fit(authority_material(sent, self._clock.wall_s()), REPLACE)
            return await self._carry_out(replace(write, material=material))
        if uri != self._certificates.uri:
            _refuse([("CertificateUri", "it is not one that this service uses")], REPLACE)
        self._refuse_where_kept()
        async with self._one_at_a_time:
            read = await asyncio.to_thread(
                server_material,
                sent,
                *self._certificates.keys(),
                self._clock.wall_s(),
                self._certificates.directory,
            )
            return await self._carry_out(replace(write, material=_fit(read, REPLACE)))

    async def _add_authority(self, write: Write) -> Outcome:
        material = _fit(authority_material(_sent(write.body), self._clock.wall_s()), None)
        body = {name: value for name, value in write.body.items() if name not in _READ}
        return await self._carry_out(replace(write, body=body, material=material))

    def _refuse_where_kept(self) -> None:
        """Raise RedfishError 409 where the HTTPS certificate is not a client's to change."""
        reason = self._certificates.kept_by
        if reason is not None:
            told = (messages.operation_not_allowed(), messages.certificate_refused(reason))
            raise RedfishError(409, told)


_READ = frozenset({"CertificateString", "CertificateType"})
"""Properties of a POST that come back as read from the certificate."""


def _sent(body: Mapping[str, Any]) -> Sent:
    return Sent(body["CertificateString"], body["CertificateType"], body.get("Password"))


def _fit(read: Material | list[str], action: str | None) -> Material:
    """Return the material. Raises RedfishError 400 with every reason where there is none."""
    if isinstance(read, Material):
        return read
    raise RedfishError(400, tuple(_told([("CertificateString", each) for each in read], action)))


def _refuse(wrong: Iterable[tuple[str, str]], action: str) -> None:
    told = tuple(_told(wrong, action))
    if told:
        raise RedfishError(400, told)


def _told(wrong: Iterable[tuple[str, str]], action: str | None) -> Iterator[Message]:
    """Yield the standard's message once for each parameter, and ours with each reason."""
    named: set[str] = set()
    for name, reason in wrong:
        place = f"#/{name}"
        if name not in named:
            named.add(name)
            if action is None:
                yield messages.property_value_error(name, place)
            else:
                yield messages.action_parameter_value_error(name, action, place)
        yield messages.certificate_refused(reason, place)

"""Clients that prove who they are with a certificate, and which user that is.

Pure values and one switch; the certificate was checked in the TLS handshake, and is never seen
here. Redfish: AccountService.v1_18_0 MultiFactorAuth.ClientCertificate. An identity from a
handshake counts as long as the certificate is valid and the authorities in force are those that
it was checked against: connections live longer than either.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class UserMapping(Enum):
    """Redfish CertificateMappingAttribute: which part of a certificate names the user."""

    COMMON_NAME = "CommonName"
    USER_PRINCIPAL_NAME = "UserPrincipalName"


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """What a client's certificate says of who holds it. Times in seconds since 1970.

    `trust` is the tag of the authorities it was checked against.
    """

    trust: str
    common_names: tuple[str, ...]
    principal_names: tuple[str, ...]
    not_before_s: float
    not_after_s: float


class ClientCertificates:
    """Whether and how certificates stand for users. `wall_s` gives seconds since 1970.

    Set by whoever follows what is durable; off until then.
    """

    def __init__(self, wall_s: Callable[[], float]) -> None:
        self._wall_s = wall_s
        self._trust = ""
        self._mapping = UserMapping.COMMON_NAME

    def allow(self, trust: str, mapping: UserMapping) -> None:
        """Accept what was checked against these authorities from now on; "" accepts nothing."""
        self._trust, self._mapping = trust, mapping

    def user_of(self, certificate: ClientCertificate) -> str | None:
        """Return the user name that the certificate stands for now, or None.

        One that names two users names none.
        """
        if not self._trust or certificate.trust != self._trust:
            return None
        if not certificate.not_before_s <= self._wall_s() < certificate.not_after_s:
            return None
        by_common_name = self._mapping is UserMapping.COMMON_NAME
        names = certificate.common_names if by_common_name else certificate.principal_names
        return names[0] if len(names) == 1 else None

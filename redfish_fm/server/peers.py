"""Who is at the other end of a TLS connection, as far as a certificate proves it.

Knows `ssl` and `cryptography`; what a name in a certificate is worth is redfish's business.
"""

import asyncio
import logging
import ssl
from collections.abc import Iterator

from cryptography import x509
from cryptography.x509.oid import NameOID

from redfish_fm.redfish.client_certificates import ClientCertificate
from redfish_fm.server.tls import ServingContext

_log = logging.getLogger(__name__)

PRINCIPAL_NAME = x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3")
"""User principal name: an otherName of the subject's alternative names, a UTF8String."""

_UTF8_STRING = 0x0C


def client_certificate(transport: asyncio.BaseTransport) -> ClientCertificate | None:
    """Return what the client has proved in its handshake, or None where that is nothing."""
    connection = transport.get_extra_info("ssl_object")
    if not isinstance(connection, ssl.SSLObject):
        return None
    context = connection.context
    if not isinstance(context, ServingContext) or not context.trust.authorities:
        return None
    der = connection.getpeercert(binary_form=True)
    if not der:
        return None
    try:
        certificate = x509.load_der_x509_certificate(der)
        return ClientCertificate(
            context.trust.tag,
            tuple(_common_names(certificate)),
            tuple(_principal_names(certificate)),
            certificate.not_valid_before_utc.timestamp(),
            certificate.not_valid_after_utc.timestamp(),
        )
    except (ValueError, TypeError) as error:
        # OpenSSL reads more leniently; who can not be read clearly is nobody.
        _log.warning("a client's certificate can not be read: %s", type(error).__name__)
        return None


def _common_names(certificate: x509.Certificate) -> Iterator[str]:
    for attribute in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        yield str(attribute.value)


def _principal_names(certificate: x509.Certificate) -> Iterator[str]:
    for extension in certificate.extensions:
        if not isinstance(extension.value, x509.SubjectAlternativeName):
            continue
        for other in extension.value.get_values_for_type(x509.OtherName):
            if other.type_id == PRINCIPAL_NAME:
                yield _utf8_string(other.value)


def _utf8_string(der: bytes) -> str:
    """Return the text of a DER UTF8String. Raises ValueError.

    offset  size  field
    0       1     tag, 0x0c
    1       1     length n up to 127; 0x81 where the next byte has it (up to 255)
    2 or 3  n     text
    """
    if len(der) < 2 or der[0] != _UTF8_STRING:
        raise ValueError("no UTF8String")
    start, length = (3, der[2]) if der[1] == 0x81 and len(der) > 2 else (2, der[1])
    if len(der) != start + length:
        raise ValueError("a UTF8String of another length")
    return der[start:].decode("utf-8")

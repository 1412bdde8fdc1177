"""What a certificate says of itself, as the properties of a Redfish Certificate.

Pure but for `cryptography`. Redfish: Certificate.v1_11_0. Only what the certificate says is there:
a property that it has nothing for is left out.
"""

from collections.abc import Iterator
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, SignatureAlgorithmOID

from redfish_fm.redfish.times import date_time

_SIGNATURES = {
    SignatureAlgorithmOID.RSA_WITH_SHA1: "sha1WithRSAEncryption",
    SignatureAlgorithmOID.RSA_WITH_SHA256: "sha256WithRSAEncryption",
    SignatureAlgorithmOID.RSA_WITH_SHA384: "sha384WithRSAEncryption",
    SignatureAlgorithmOID.RSA_WITH_SHA512: "sha512WithRSAEncryption",
    SignatureAlgorithmOID.RSASSA_PSS: "RSASSA-PSS",
    SignatureAlgorithmOID.ECDSA_WITH_SHA256: "ecdsa-with-SHA256",
    SignatureAlgorithmOID.ECDSA_WITH_SHA384: "ecdsa-with-SHA384",
    SignatureAlgorithmOID.ECDSA_WITH_SHA512: "ecdsa-with-SHA512",
    SignatureAlgorithmOID.ED25519: "ed25519",
    SignatureAlgorithmOID.ED448: "ed448",
}
"""Names of RFC 3279, 4055, 5758 and 8410; of others the number is shown."""

_USAGES = {
    "digital_signature": "DigitalSignature",
    "content_commitment": "NonRepudiation",
    "key_encipherment": "KeyEncipherment",
    "data_encipherment": "DataEncipherment",
    "key_agreement": "KeyAgreement",
    "key_cert_sign": "KeyCertSign",
    "crl_sign": "CRLSigning",
}
_AGREEMENT_USAGES = {"encipher_only": "EncipherOnly", "decipher_only": "DecipherOnly"}
"""Those that mean something only together with key agreement (RFC 5280 "Key Usage")."""

_EXTENDED_USAGES = {
    ExtendedKeyUsageOID.SERVER_AUTH: "ServerAuthentication",
    ExtendedKeyUsageOID.CLIENT_AUTH: "ClientAuthentication",
    ExtendedKeyUsageOID.CODE_SIGNING: "CodeSigning",
    ExtendedKeyUsageOID.EMAIL_PROTECTION: "EmailProtection",
    ExtendedKeyUsageOID.TIME_STAMPING: "Timestamping",
    ExtendedKeyUsageOID.OCSP_SIGNING: "OCSPSigning",
}

_NAMES = {
    "CommonName": NameOID.COMMON_NAME,
    "Organization": NameOID.ORGANIZATION_NAME,
    "OrganizationalUnit": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "City": NameOID.LOCALITY_NAME,
    "State": NameOID.STATE_OR_PROVINCE_NAME,
    "Country": NameOID.COUNTRY_NAME,
    "Email": NameOID.EMAIL_ADDRESS,
}
_FURTHER = {
    "AdditionalCommonNames": NameOID.COMMON_NAME,
    "AdditionalOrganizationalUnits": NameOID.ORGANIZATIONAL_UNIT_NAME,
}
"""Where a name has several of these, all but the first."""


def certificate_properties(certificate: x509.Certificate) -> dict[str, Any]:
    """Return what the certificate says; its text and the kind of it are the caller's."""
    subject = _identifier(certificate.subject)
    alternatives = list(_alternative_names(certificate))
    if alternatives:
        subject["AlternativeNames"] = alternatives
    oid = certificate.signature_algorithm_oid
    properties: dict[str, Any] = {
        "Subject": subject,
        "Issuer": _identifier(certificate.issuer),
        "ValidNotBefore": date_time(certificate.not_valid_before_utc.timestamp()),
        "ValidNotAfter": date_time(certificate.not_valid_after_utc.timestamp()),
        "SerialNumber": _pairs(_serial(certificate)),
        "Fingerprint": _pairs(certificate.fingerprint(hashes.SHA256())),
        "FingerprintHashAlgorithm": "TPM_ALG_SHA256",
        "SignatureAlgorithm": _SIGNATURES.get(oid, oid.dotted_string),
    }
    usages = list(_key_usages(certificate))
    if usages:
        properties["KeyUsage"] = usages
    return properties


def _identifier(name: x509.Name) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for said, oid in _NAMES.items():
        values = _values(name, oid)
        if values:
            found[said] = values[0]
    for said, oid in _FURTHER.items():
        values = _values(name, oid)[1:]
        if values:
            found[said] = values
    components = _values(name, NameOID.DOMAIN_COMPONENT)
    if components:
        found["DomainComponents"] = components
    text = name.rfc4514_string()
    if text:
        found["DisplayString"] = text
    return found


def _values(name: x509.Name, oid: x509.ObjectIdentifier) -> list[str]:
    values = (each.value for each in name.get_attributes_for_oid(oid))
    return [value for value in values if isinstance(value, str) and value]


def _alternative_names(certificate: x509.Certificate) -> Iterator[str]:
    for extension in _extensions(certificate):
        if not isinstance(extension.value, x509.SubjectAlternativeName):
            continue
        for name in extension.value:
            if isinstance(name, x509.DNSName | x509.RFC822Name | x509.UniformResourceIdentifier):
                yield name.value
            elif isinstance(name, x509.IPAddress):
                yield str(name.value)


def _key_usages(certificate: x509.Certificate) -> Iterator[str]:
    for extension in _extensions(certificate):
        value = extension.value
        if isinstance(value, x509.KeyUsage):
            names = {**_USAGES, **(_AGREEMENT_USAGES if value.key_agreement else {})}
            yield from (said for name, said in names.items() if getattr(value, name))
        elif isinstance(value, x509.ExtendedKeyUsage):
            yield from (_EXTENDED_USAGES[oid] for oid in value if oid in _EXTENDED_USAGES)


def _extensions(certificate: x509.Certificate) -> Iterator[x509.Extension[Any]]:
    try:
        yield from certificate.extensions
    except ValueError:
        # What can not be read is not shown; who judges the certificate refuses it.
        return


def _serial(certificate: x509.Certificate) -> bytes:
    number = certificate.serial_number
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


def _pairs(raw: bytes) -> str:
    return raw.hex(":").upper()

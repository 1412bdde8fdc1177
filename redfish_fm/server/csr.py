"""Certificate signing requests: a new key, and the request that asks an authority to vouch for it.

Pure but for `cryptography` and its randomness. Redfish: CertificateService.v1_2_1 GenerateCSR.
Making an RSA key takes up to seconds: call it in a thread.
"""

import contextlib
import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import AttributeOID, ExtendedKeyUsageOID, NameOID

from redfish_fm.server.certificate_parts import SigningKey

CURVES: Mapping[str, type[ec.EllipticCurve]] = {
    "TPM_ECC_NIST_P256": ec.SECP256R1,
    "TPM_ECC_NIST_P384": ec.SECP384R1,
    "TPM_ECC_NIST_P521": ec.SECP521R1,
}
"""KeyCurveId as the TPM algorithm registry names them."""
ALGORITHMS = ("TPM_ALG_ECDSA", "TPM_ALG_RSA")
RSA_BITS = (2048, 3072, 4096)
TEXT_CHARS_MAX = 64
"""Upper bound of most names in a certificate (RFC 5280 "Upper Bounds")."""
NAMES_MAX = 100

_SUBJECT = {
    "Country": NameOID.COUNTRY_NAME,
    "State": NameOID.STATE_OR_PROVINCE_NAME,
    "City": NameOID.LOCALITY_NAME,
    "Organization": NameOID.ORGANIZATION_NAME,
    "OrganizationalUnit": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "CommonName": NameOID.COMMON_NAME,
    "GivenName": NameOID.GIVEN_NAME,
    "Surname": NameOID.SURNAME,
    "Initials": NameOID.INITIALS,
    "ContactPerson": x509.ObjectIdentifier("2.5.4.41"),
    "Email": NameOID.EMAIL_ADDRESS,
}
"""Parameter -> attribute of the subject; 2.5.4.41 is X.520 "name"."""
_EMAIL_CHARS_MAX = 255
_UNSTRUCTURED_NAME = x509.ObjectIdentifier("1.2.840.113549.1.9.2")
_FLAGS = {
    "DigitalSignature": "digital_signature",
    "NonRepudiation": "content_commitment",
    "KeyEncipherment": "key_encipherment",
    "DataEncipherment": "data_encipherment",
    "KeyAgreement": "key_agreement",
    "KeyCertSign": "key_cert_sign",
    "CRLSigning": "crl_sign",
    "EncipherOnly": "encipher_only",
    "DecipherOnly": "decipher_only",
}
_PURPOSES = {
    "ServerAuthentication": ExtendedKeyUsageOID.SERVER_AUTH,
    "ClientAuthentication": ExtendedKeyUsageOID.CLIENT_AUTH,
    "CodeSigning": ExtendedKeyUsageOID.CODE_SIGNING,
    "EmailProtection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "Timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "OCSPSigning": ExtendedKeyUsageOID.OCSP_SIGNING,
}
_USUAL_USAGE = ("DigitalSignature", "ServerAuthentication")
"""Asked for where the client names none: what a TLS server needs."""


def wrong_parameters(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (parameter, why) for everything that no request can be made of."""
    for name in _SUBJECT:
        longest = _EMAIL_CHARS_MAX if name == "Email" else TEXT_CHARS_MAX
        text = body.get(name)
        if text is not None and not 0 < len(text) <= longest:
            yield name, f"it has to have 1 to {longest} characters"
    country = body.get("Country")
    if country and not (len(country) == 2 and country.isascii() and country.isalpha()):
        yield "Country", "it has to be a code of two letters"
    email = body.get("Email")
    if email and not email.isascii():
        yield "Email", "it has to be ASCII"
    names = body.get("AlternativeNames") or ()
    if len(names) > NAMES_MAX:
        yield "AlternativeNames", f"there may be {NAMES_MAX} of them"
    if not all(_is_alternative(name) for name in names):
        yield "AlternativeNames", "each has to be a host name or an address"
    yield from _wrong_key(body)


def _is_alternative(name: str) -> bool:
    """Return whether it can be the name of a host (RFC 1123: at most 253 characters)."""
    return name.isascii() and name.isprintable() and " " not in name and 0 < len(name) <= 253


def _wrong_key(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    algorithm, bits = body.get("KeyPairAlgorithm"), body.get("KeyBitLength")
    curve = body.get("KeyCurveId")
    if algorithm is not None and algorithm not in ALGORITHMS:
        yield "KeyPairAlgorithm", f"it has to be one of {', '.join(ALGORITHMS)}"
        return
    if bits is not None and (algorithm != "TPM_ALG_RSA" or bits not in RSA_BITS):
        wanted = ", ".join(str(each) for each in RSA_BITS)
        yield "KeyBitLength", f"with TPM_ALG_RSA it can be one of {wanted}; other keys have a curve"
    if curve is not None and (algorithm == "TPM_ALG_RSA" or curve not in CURVES):
        yield "KeyCurveId", f"with TPM_ALG_ECDSA it can be one of {', '.join(CURVES)}"


def new_key(body: Mapping[str, Any]) -> SigningKey:
    """Return a key as the parameters wish; EC P-256 where they do not say."""
    if body.get("KeyPairAlgorithm") == "TPM_ALG_RSA":
        return rsa.generate_private_key(65537, int(body.get("KeyBitLength") or RSA_BITS[0]))
    curve = CURVES[body.get("KeyCurveId") or "TPM_ECC_NIST_P256"]
    return ec.generate_private_key(curve())


def signing_request(body: Mapping[str, Any], key: SigningKey) -> str:
    """Return the request as PEM, signed with the key. `wrong_parameters` found nothing in it.

    Without AlternativeNames the common name is one where it can be, because clients look at no
    other.
    """
    builder = x509.CertificateSigningRequestBuilder().subject_name(_subject(body))
    names = body.get("AlternativeNames") or [
        name for name in (body["CommonName"],) if name.isascii() and " " not in name
    ]
    if names:
        alternatives = x509.SubjectAlternativeName([general_name(name) for name in names])
        builder = builder.add_extension(alternatives, critical=False)
    usages = body.get("KeyUsage") or _USUAL_USAGE
    flags = {_FLAGS[usage] for usage in usages if usage in _FLAGS}
    if flags:
        asked = {flag: flag in flags for flag in _FLAGS.values()}
        if flags & {"encipher_only", "decipher_only"}:
            asked["key_agreement"] = True  # RFC 5280 "Key Usage": undefined without it
        builder = builder.add_extension(x509.KeyUsage(**asked), critical=True)
    purposes = [_PURPOSES[usage] for usage in usages if usage in _PURPOSES]
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    for name, oid in (
        ("ChallengePassword", AttributeOID.CHALLENGE_PASSWORD),
        ("UnstructuredName", _UNSTRUCTURED_NAME),
    ):
        if body.get(name):
            builder = builder.add_attribute(oid, body[name].encode())
    algorithm = hashes.SHA256() if isinstance(key, rsa.RSAPrivateKey) else _hash_for(key)
    signed = builder.sign(key, algorithm)
    return signed.public_bytes(serialization.Encoding.PEM).decode("ascii")


def general_name(name: str) -> x509.GeneralName:
    """Return an alternative name: an address where it is one, else the name of a host."""
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(name))
    return x509.DNSName(name)


def _subject(body: Mapping[str, Any]) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(oid, body[name].upper() if name == "Country" else body[name])
            for name, oid in _SUBJECT.items()
            if body.get(name)
        ]
    )


def _hash_for(key: SigningKey) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512 | None:
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        return None
    size = key.curve.key_size
    return hashes.SHA256() if size <= 256 else hashes.SHA384() if size <= 384 else hashes.SHA512()

"""Password hashes: scrypt, self-describing, verified in constant time.

Pure and slow on purpose (about 70 ms): call from a worker thread. A secret is the ASCII text
`scrypt$<log2 N>$<r>$<p>$<salt hex>$<hash hex>`, and once it is an account's, `$<set_s>`: when it
was set, in seconds since 1970. This is what Space.SECRET holds for an account.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.catalog import TypeInfo
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.policy import AccountPolicy

_LOG2_N, _R, _P = 14, 8, 1
"""16 MiB and the lowest cost still recommended for interactive logins."""
_HASH_BYTES = 32
_MEMORY_BYTES_MAX = 128 << 20


def check_password(info: TypeInfo, body: Mapping[str, Any], policy: AccountPolicy) -> list[Message]:
    """Return what is wrong with the length of a new account password; never the password."""
    if info.name != "ManagerAccount" or "Password" not in body:
        return []
    password = body["Password"]
    if password is None or (isinstance(password, str) and not policy.fits(password)):
        return [messages.property_value_error("Password", "#/Password")]
    return []


def hash_password(password: str) -> bytes:
    """Return a new secret for `password`, with its own salt."""
    salt = secrets.token_bytes(16)
    return _secret(salt, _derive(password, salt, _LOG2_N, _R, _P))


def nobodys_secret() -> bytes:
    """Return a secret that no password matches; finding that out takes as long as for others."""
    return _secret(secrets.token_bytes(16), secrets.token_bytes(_HASH_BYTES))


def verify_password(password: str, secret: bytes) -> bool:
    """Return whether `secret` was made from `password`. An unreadable secret matches nothing."""
    try:
        scheme, log2_n, r, p, salt, expected, *_set = secret.decode().split("$")
        if scheme != "scrypt":
            return False
        digest = _derive(password, bytes.fromhex(salt), int(log2_n), int(r), int(p))
        return hmac.compare_digest(digest, bytes.fromhex(expected))
    except ValueError:
        return False


def set_at(secret: bytes, wall_s: float) -> bytes:
    """Return `secret` with the time it was set at. Sessions older than that are void."""
    return secret + f"${wall_s:.6f}".encode()


def set_s(secret: bytes) -> float:
    """Return when `secret` was set; 0 where it does not say."""
    parts = secret.split(b"$")
    return float(parts[6]) if len(parts) > 6 else 0.0


def _derive(password: str, salt: bytes, log2_n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=1 << log2_n,
        r=r,
        p=p,
        maxmem=_MEMORY_BYTES_MAX,
        dklen=_HASH_BYTES,
    )


def _secret(salt: bytes, digest: bytes) -> bytes:
    return f"scrypt${_LOG2_N}${_R}${_P}${salt.hex()}${digest.hex()}".encode()

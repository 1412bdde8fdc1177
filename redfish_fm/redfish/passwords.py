"""Password hashes: scrypt, self-describing, verified in constant time.

Pure and slow on purpose (about 70 ms): call from a worker thread. A secret is the ASCII text
`scrypt$<log2 N>$<r>$<p>$<salt hex>$<hash hex>`; this is what Space.SECRET holds for an account.
"""

import hashlib
import hmac
import secrets

_LOG2_N, _R, _P = 14, 8, 1
"""16 MiB and the lowest cost still recommended for interactive logins."""
_MEMORY_BYTES_MAX = 128 << 20


def hash_password(password: str) -> bytes:
    """Return a new secret for `password`, with its own salt."""
    salt = secrets.token_bytes(16)
    digest = _derive(password, salt, _LOG2_N, _R, _P)
    return f"scrypt${_LOG2_N}${_R}${_P}${salt.hex()}${digest.hex()}".encode()


def verify_password(password: str, secret: bytes) -> bool:
    """Return whether `secret` was made from `password`. An unreadable secret matches nothing."""
    try:
        scheme, log2_n, r, p, salt, expected = secret.decode().split("$")
        if scheme != "scrypt":
            return False
        digest = _derive(password, bytes.fromhex(salt), int(log2_n), int(r), int(p))
        return hmac.compare_digest(digest, bytes.fromhex(expected))
    except ValueError:
        return False


def _derive(password: str, salt: bytes, log2_n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=1 << log2_n,
        r=r,
        p=p,
        maxmem=_MEMORY_BYTES_MAX,
        dklen=32,
    )

"""Request targets: from the raw bytes of a request line to a path and query parameters.

Pure. A path is decoded once and never normalised: what does not decode cleanly is handed on raw,
and since no resource has a "%" or a control character in its URI, it ends as 404.
"""

import re
from urllib.parse import parse_qsl, quote_from_bytes, unquote_to_bytes

Query = tuple[tuple[str, str], ...]

_ABSOLUTE_FORM = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")


def split_target(target: str) -> tuple[str, Query]:
    """Return the decoded path and the query parameters in order, duplicates kept.

    `target` is in origin-form, absolute-form (its authority is dropped), or "*". Bytes that are
    not UTF-8 are expected as surrogate escapes. A fragment, which does not belong here, is cut.
    """
    if not target.startswith("/"):
        target = _ABSOLUTE_FORM.sub("", target, count=1)
        if target[:1] in ("", "?", "#"):
            target = f"/{target}"
    target, _, _ = target.partition("#")
    path, question, query = target.partition("?")
    if "%" in path or not path.isascii():
        path = _decode(path)
    return path, _parameters(query) if question else ()


def _decode(path: str) -> str:
    """Percent-decode once; give a path back raw when decoding would change its segments."""
    raw = path.encode("utf-8", "surrogateescape")
    try:
        decoded = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        return quote_from_bytes(raw, safe="/%:@!$&'()*+,;=~")
    if b"%2f" in raw.lower() or _UNSAFE.search(decoded):
        return raw.decode("utf-8")
    return decoded


def _parameters(query: str) -> Query:
    text = query.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return tuple(parse_qsl(text, keep_blank_values=True, errors="replace"))

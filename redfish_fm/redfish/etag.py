"""Entity tags: `"W.O"`, where W says what clients wrote and O the whole answer.

Pure. Equal content gives equal tags, also after a restart. If-Match compares W only, so what is
observed never causes a 412; If-None-Match compares both (DESIGN section 3).
"""

import hashlib
import re

# A whole element of the list: what has anything before or behind its quotes is no tag.
_TAG = re.compile(r'(?:^|,)\s*(?:(?:W/)?"([^"]*)"|([^\s,"]+))\s*(?=,|$)')


def content_tag(*parts: bytes) -> str:
    """Return 16 hex digits that depend on every part and on where one ends."""
    if len(parts) == 1:
        part = parts[0]
        return hashlib.blake2b(len(part).to_bytes(8, "little") + part, digest_size=8).hexdigest()
    pieces: list[bytes] = []
    for part in parts:
        pieces += (len(part).to_bytes(8, "little"), part)
    return hashlib.blake2b(b"".join(pieces), digest_size=8).hexdigest()


def join(wanted_tag: str, whole_tag: str) -> str:
    """Return the ETag header's value for W and O, with its quotes."""
    return f'"{wanted_tag}.{whole_tag}"'


def split(tag: str) -> tuple[str, str]:
    """Return (W, O) of a tag with or without quotes and W/; O is empty where it has no dot."""
    bare = tag.removeprefix("W/").strip('"')
    wanted, _, whole = bare.partition(".")
    return wanted, whole


def parse_if_match(header: str | None) -> tuple[str, ...] | None:
    """Return the unquoted tags of If-Match, ("*",) for any, None where the header is absent.

    A weak tag counts as its strong twin. A header without any tag gives (), which matches nothing.
    """
    if header is None:
        return None
    if header.strip() == "*":
        return ("*",)
    return tuple(quoted or bare for quoted, bare in _TAG.findall(header))


def parse_if_none_match(header: str | None) -> tuple[str, ...] | None:
    """Return the unquoted tags of If-None-Match, like parse_if_match."""
    return parse_if_match(header)


def matches(tags: tuple[str, ...] | None, wanted_tag: str) -> bool:
    """Return whether If-Match allows a write to a resource whose W is `wanted_tag`."""
    if tags is None or tags == ("*",):
        return True
    return any("." in tag and split(tag)[0] == wanted_tag for tag in tags)


def none_match(tags: tuple[str, ...] | None, etag: str) -> bool:
    """Return whether If-None-Match asks for the answer: no tag equals `etag` as a whole."""
    if tags is None:
        return True
    return tags != ("*",) and etag.strip('"') not in tags

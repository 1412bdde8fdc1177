"""Entity tags: `"W.O"`, where W says what clients wrote and O the whole answer.

Pure. Equal content gives equal tags, also after a restart. If-Match compares W only, so what is
observed never causes a 412; If-None-Match compares both (DESIGN section 3).
"""

import hashlib
import re
import struct

# A whole element of the list: what has anything before or behind its quotes is no tag.
_TAG = re.compile(r'(?:^|,)\s*(?:(?:W/)?"([^"]*)"|([^\s,"]+))\s*(?=,|$)')


_LENGTHS = [struct.Struct(f"<{count}Q") for count in range(8)]
"""Packs the lengths of so many parts."""


def content_tag(*parts: bytes) -> str:
    """Return 16 hex digits that depend on every part and on where one ends."""
    lengths = _LENGTHS[len(parts)].pack(*map(len, parts))
    return hashlib.blake2b(lengths + b"".join(parts), digest_size=8).hexdigest()


def content_number(part: bytes) -> int:
    """Return 64 bits that depend on all of `part`, for sums that change part by part."""
    return int.from_bytes(hashlib.blake2b(part, digest_size=8).digest(), "little")


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

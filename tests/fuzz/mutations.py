"""How a good request is spoilt: its body, headers, query and path. Pure, all by one `rng`."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

Place = tuple[Any, Any]
"""A container and the key or index of something in it."""

_SURROGATE = '"\\ud800"'
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1 << 31, 1 << 53, (1 << 64) - 1, -(1 << 63), 0.5, 1e300, -0.0,
    "", " ", "x", "null", "日本", "e\u0301 \u202e \U0001f642", "a\u0000b", "x" * 300, "x" * 5_000,
    "/", "/redfish/v1", "/nowhere", "../..", "%2e%2e", "{}", "';--", "${7*7}",
    [], [None], [[]], [{}], {}, {"Bogus": 1}, {"@odata.id": ""}, {"@odata.id": None},
    {"@odata.id": "/redfish/v1/Systems/nobody"}, {"@odata.id": "/redfish/v1", "Bogus": 1},
)  # fmt: skip
ODD_NAMES = (
    "Bogus", "", " ", "Id", "Name", "@odata.id", "@odata.type", "@odata.etag", "@odata.context",
    "@Redfish.OperationApplyTime", "@Redfish.Copyright", "Members", "Members@odata.count", "Status",
    "Links", "Oem", "Actions", "Password", "x" * 2_000, "日本", "name", "a.b", "a/b",
    "#x", "__proto__",
)  # fmt: skip


def places(value: Any) -> Iterator[Place]:
    """Yield every place in a body."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def spoilt(rng: random.Random, body: Any) -> bytes:
    """Return a good body with one or two things changed, as bytes."""
    changed = copy.deepcopy(body)
    for _ in range(rng.choice((1, 1, 2))):
        rng.choice(_CHANGES)(rng, changed)
    raw = json.dumps(changed, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return rng.choice(_SPELLINGS)(rng, raw) if rng.random() < 0.35 else raw


# -- changes of the value ------------------------------------------------------------------------


def _replace(rng: random.Random, body: Any) -> None:
    known = list(places(body))
    if known:
        held, key = rng.choice(known)
        held[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def _drop(rng: random.Random, body: Any) -> None:
    known = list(places(body))
    if known:
        held, key = rng.choice(known)
        del held[key]


def _add(rng: random.Random, body: Any) -> None:
    objects = [body, *(held[key] for held, key in places(body) if isinstance(held[key], dict))]
    chosen = rng.choice([each for each in objects if isinstance(each, dict)] or [{}])
    chosen[rng.choice(ODD_NAMES)] = copy.deepcopy(rng.choice(ODD_VALUES))


def _repeat(rng: random.Random, body: Any) -> None:
    """Let a list have an element twice, or very often."""
    lists = [held[key] for held, key in places(body) if isinstance(held[key], list) and held[key]]
    if lists:
        chosen = rng.choice(lists)
        chosen += [copy.deepcopy(chosen[0]) for _ in range(rng.choice((1, 1, 50)))]


def _wrap(rng: random.Random, body: Any) -> None:
    known = list(places(body))
    if known:
        held, key = rng.choice(known)
        held[key] = [held[key]] if rng.random() < 0.5 else {"@odata.id": held[key]}


def _deepen(rng: random.Random, body: Any) -> None:
    known = list(places(body))
    if known:
        held, key = rng.choice(known)
        for _ in range(rng.choice((5, 31, 40, 300))):
            held[key] = {"a": held[key]} if rng.random() < 0.5 else [held[key]]


def _rename(rng: random.Random, body: Any) -> None:
    known = [(held, key) for held, key in places(body) if isinstance(held, dict)]
    if known:
        held, key = rng.choice(known)
        value = held.pop(key)
        held[rng.choice((key.lower(), f"{key}s", f"{key}\u0000", f" {key}"))] = value


_CHANGES: tuple[Callable[[random.Random, Any], None], ...] = (
    _replace, _replace, _replace, _drop, _add, _add, _repeat, _wrap, _deepen, _rename,
)  # fmt: skip


# -- changes of its notation ---------------------------------------------------------------------


def _cut(rng: random.Random, raw: bytes) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def _flip(rng: random.Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 4))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _twice(rng: random.Random, raw: bytes) -> bytes:
    """Name something twice."""
    return raw[:1] + b'"Name": 1, "Name": "x", ' + raw[1:] if len(raw) > 2 else raw


def _literal(rng: random.Random, raw: bytes) -> bytes:
    """Put what no JSON number or string can be where a value stands."""
    odd = rng.choice(
        (b"NaN", b"-Infinity", b"1e999", b"1" * 400, b"01", b"0x10", _SURROGATE.encode(), b"'x'",
         b'"\xff\xfe"', b'"\xed\xa0\x80"', b"1." + b"0" * 5_000, b"-", b"tru")
    )  # fmt: skip
    colon = raw.find(b":")
    return raw if colon < 0 else raw[: colon + 1] + odd + b"," + b'"x":' + raw[colon + 1 :]


def _other(rng: random.Random, raw: bytes) -> bytes:
    """Return something else altogether."""
    return rng.choice(
        (b"", b"null", b"[]", b"5", b'"x"', b"<x/>", raw.decode().encode("utf-16"),
         b"\xef\xbb\xbf" + raw, b"\x00" * 20, b"[" * 100_000, b'{"a":' * 50_000, raw + raw,
         b" " * 1_000 + raw, b'{"Name": "' + b"x" * 70_000 + b'"}', b"{" + b'"a":1,' * 3_000 + b"}",
         b'{"a": "' + b"y" * (1 << 20) + b'"}' if rng.random() < 0.1 else b"{}")
    )  # fmt: skip


_SPELLINGS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _cut, _flip, _twice, _literal, _other,
)  # fmt: skip


# -- headers, queries, paths ---------------------------------------------------------------------

_HEADERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("content-type", ("application/xml", "text/plain", "application/json; charset=latin-1",
                      "application/json;charset=utf-8", "APPLICATION/JSON", ";", "a/b/c",
                      "multipart/form-data; boundary=x", "application/json, application/json")),
    ("accept", ("text/html", "*/*", "application/*;q=0", "application/json;q=0", ";;;,", "",
                "application/xml", "application/json;q=x", ",".join(["a/b"] * 500))),
    ("accept-encoding", ("identity;q=0", "*;q=0", "gzip", "identity;q=0, *", ",,,", "gzip;q=nan")),
    ("accept-language", ("de", "*", "x" * 4_000)),
    ("content-encoding", ("gzip", "identity", "br, gzip", "")),
    ("if-match", ("*", '"x"', 'W/"x"', "x", "", '"', '"a", "b"', "*, *", ",".join(['"a"'] * 900))),
    ("if-none-match", ("*", '"x"', 'W/"x"', "x", "", '"a", *', '"' + "z" * 4_000 + '"')),
    ("odata-version", ("4.0", "4.1", "", "x", "4.0, 4.0", " 4.0 ")),
    ("odata-maxversion", ("4.0", "1")),
    ("prefer", ("return=minimal", "return=representation", "return=nothing", ",;=", "respond-async",
                'return="minimal"; x, return=minimal')),
    ("idempotency-key", ("key-1", "", "x" * 300, "日本", "a b", "key-2")),
    ("origin", ("https://elsewhere.example", "null")),
    ("x-http-method-override", ("DELETE", "PUT")),
    ("range", ("bytes=0-3", "bytes=9-1")),
    ("forwarded", ("for=127.0.0.1;host=x", "for=")),
    ("cookie", ("X-Auth-Token=x", "a=b; a=c")),
)  # fmt: skip
_FILTERS = (
    "Id eq 'x'", "Name ne null", "not (Id eq 'a')", "Status/State eq 'Enabled' and Id gt '1'",
    "Id eq", "((((", "Id eq 'x", "contains(Name,'a')", "1 eq 1", "Name eq 'a' or",
    "Id in ('a','b')",
    "Id eq 'a'" + " or Id eq 'a'" * 400, "(" * 2_000, "Name lt 5", "x/y/z eq true", "Id eq 1e999",
    "Id eq '日本'", "length(Name) gt 3", "Id eq ''''", "\x00", "Name eq null eq null", "-",
)  # fmt: skip
_QUERY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("$filter", _FILTERS),
    ("$select", ("Id", "Name,Status/State", "", ",", "Id,Id", "*", "a" * 3_000, "a/" * 900,
                 "@odata.id",
                 "Members/Name", "Links/Endpoints", " Id , Name ", "日本", "Id/Name")),
    ("$expand", (".", "*", "~", ".($levels=2)", "*($levels=6)", "*($levels=7)", ".($levels=0)", "",
                 ".($levels=99999999999999999999)", "Members", ".(", "~($levels=1)")),
    ("$top", ("0", "1", "3", "-1", "x", "", "1.0", "99999999999999999999", "+1", "٣")),
    ("$skip", ("0", "2", "-1", "x", "", "1000000", "0x1")),
    ("$skiptoken", ("x", "", "/redfish/v1", "a" * 500)),
    ("only", ("", "x")),
    ("excerpt", ("", "x")),
    ("$count", ("true",)),
    ("$orderby", ("Name",)),
    ("$Top", ("1",)),
    ("bogus", ("1", "", "日本")),
    ("", ("", "x")),
)  # fmt: skip


def odd_headers(rng: random.Random, most: int = 3) -> dict[str, str]:
    """Return some headers that may or may not be taken."""
    chosen = rng.sample(_HEADERS, rng.randint(1, most))
    return {name: rng.choice(values) for name, values in chosen}


def odd_query(rng: random.Random) -> list[tuple[str, str]]:
    """Return some query parameters, mostly ones that mean something."""
    names = rng.sample(_QUERY, rng.choice((1, 1, 1, 2, 3)))
    found = [(name, rng.choice(values)) for name, values in names]
    return found * 2 if rng.random() < 0.05 else found


def odd_path(rng: random.Random, uri: str) -> str:
    """Return a target near `uri` that names nothing, or the same in another notation."""
    segments = uri.split("/")
    at = rng.randrange(1, len(segments))
    part = segments[at]
    odd = rng.choice(
        (f"{part}x", "..", ".", "", part.upper(), f"{part}%20",
         f"%{ord(part[:1] or 'a'):02x}{part[1:]}",
         f"{part}%2f", "%00", "%", "%zz", "日本", "%e6%97%a5", "%ff%fe", "x" * 500, f"{part};a=b",
         f"{part}%252e", "{Id}", "*", "Members", f"{part}/", "a" * 9_000 if at < 3 else "\\")
    )  # fmt: skip
    path = "/".join([*segments[:at], odd, *segments[at + 1 :]])
    return path if path.startswith("/") else f"/{path}"

"""Request headers that can refuse (Origin, Accept, Content-Type …), and Prefer. Pure."""

import re
from collections.abc import Mapping
from dataclasses import replace

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.requests import Response

JSON = "application/json"
XML = "application/xml"
YAML = "application/yaml"
EVENT_STREAM = "text/event-stream"
ODATA_VERSION = "4.0"


def check_same_origin(headers: Mapping[str, str]) -> None:
    """Refuse (403) a write that a browser sends on behalf of another site's page.

    Browsers add HTTP Basic and client certificates by themselves, also to what a foreign page
    makes them send, and say where that page came from. Who sends a token is no such browser: no
    page can set X-Auth-Token for another site without CORS, which is not granted here. Clients
    that are no browsers send neither header.
    """
    if "x-auth-token" in headers:
        return
    site = headers.get("sec-fetch-site")
    if site is not None:
        if site.strip().lower() not in ("same-origin", "none"):
            raise RedfishError(403, (messages.header_invalid("Sec-Fetch-Site"),))
        return
    origin = headers.get("origin")
    if origin is not None and _authority(origin) != headers.get("host", "").lower():
        raise RedfishError(403, (messages.header_invalid("Origin"),))


def _authority(origin: str) -> str | None:
    """Return host and port of an Origin; None of "null", which is any page that hides its own."""
    _, found, authority = origin.strip().lower().partition("://")
    return authority if found else None


def check_content_type(headers: Mapping[str, str], body: bytes) -> None:
    """Refuse (415) a body that says it is not JSON in UTF-8. A body that says nothing is tried."""
    header = headers.get("content-type")
    if header is None or header == JSON or not body:
        return
    media, *parameters = (part.strip().lower() for part in header.split(";"))
    charsets = [each.partition("=")[2].strip('"') for each in parameters if _is_charset(each)]
    if media != JSON or any(charset not in ("utf-8", "utf8") for charset in charsets):
        raise RedfishError(415, (messages.header_invalid("Content-Type"),))


def check_content_encoding(headers: Mapping[str, str]) -> None:
    """Refuse (415) a coded body: it could unfold to anything. RFC 9110 "Content-Encoding"."""
    header = headers.get("content-encoding")
    if header is None or header.strip().lower() in ("", "identity"):
        return
    told = (messages.header_invalid("Content-Encoding"),)
    raise RedfishError(415, told, {"Accept-Encoding": "identity"})


def check_accept_encoding(header: str) -> None:
    """Refuse (406) an Accept-Encoding that excludes the identity coding, the only one there is."""
    if "0" not in header:
        return
    wanted: dict[str, bool] = {}
    for each in header.split(","):
        name, *parameters = (part.strip().lower() for part in each.split(";"))
        wanted[name] = not any(_is_zero(parameter) for parameter in parameters)
    if not wanted.get("identity", wanted.get("*", True)):
        raise RedfishError(406, (messages.header_invalid("Accept-Encoding"),))


def check_accept(headers: Mapping[str, str], media: str) -> None:
    """Refuse (406) a request whose Accept excludes `media`. No Accept takes anything."""
    header = headers.get("accept")
    if header is None or header in (media, "*/*") or not header.strip():
        return
    best = max((_fit(each, media) for each in header.split(",")), default=(0, True))
    if best[0] == 0 or not best[1]:
        raise RedfishError(406, (messages.header_invalid("Accept"),))


def check_odata_version(headers: Mapping[str, str]) -> None:
    """Refuse (412) another OData version than 4.0."""
    version = headers.get("odata-version")
    if version is not None and version.strip() != ODATA_VERSION:
        raise RedfishError(412, (messages.precondition_failed(),))


def preferred(headers: Mapping[str, str], response: Response) -> Response:
    """Return the answer of a write as Prefer wants it (RFC 7240 "return"; the first one counts).

    With "minimal" a 200 becomes a 204 and a 201 has no body; an answer that tells the client
    something of its own keeps it. A 202 says that "respond-async" was heard. Other preferences
    are not applied, which is no error.
    """
    header = headers.get("prefer")
    if header is None:
        return response
    if response.status == 202 and _ASYNC in map(_preference, header.split(",")):
        applied = {"Preference-Applied": _ASYNC[0]}
        return replace(response, headers={**response.headers, **applied})
    if response.status not in (200, 201) or not response.body:
        return response
    wish = next((each for each in map(_preference, header.split(",")) if each[0] == "return"), None)
    if wish == ("return", "representation"):
        return replace(response, headers={**response.headers, **_applied("representation")})
    if wish != ("return", "minimal") or _TOLD in response.body or _is_answer(response):
        return response
    kept = {name: value for name, value in response.headers.items() if name != "Content-Type"}
    status = 204 if response.status == 200 else 201
    return Response(status, {**kept, **_applied("minimal")})


def wait_s(headers: Mapping[str, str]) -> float | None:
    """Return how long a client wants to wait for the end of long work, None where it says nothing.

    RFC 7240 "respond-async" (not at all) and "wait" (so many seconds; with both, that long).
    """
    header = headers.get("prefer")
    if header is None:
        return None
    wishes = dict(reversed([*map(_preference, header.split(","))]))
    seconds = wishes.get("wait", "")
    if _SECONDS.fullmatch(seconds):
        return float(seconds)
    return 0.0 if wishes.get(_ASYNC[0]) == _ASYNC[1] else None


_ASYNC = ("respond-async", "")
_SECONDS = re.compile(r"[0-9]{1,6}", re.ASCII)
_TOLD = b'"@Message.ExtendedInfo"'


def _is_answer(response: Response) -> bool:
    """Return whether a body is what an action answers: no resource, which would have a tag."""
    return response.status == 200 and "ETag" not in response.headers


def _preference(element: str) -> tuple[str, str]:
    """Return name and value of one preference; its parameters mean nothing to "return"."""
    name, _, value = element.partition(";")[0].partition("=")
    return name.strip().lower(), value.strip().strip('"').lower()


def _applied(how: str) -> dict[str, str]:
    return {"Preference-Applied": f"return={how}"}


def _is_charset(parameter: str) -> bool:
    return parameter.partition("=")[0].strip() == "charset"


def _fit(accepted: str, media: str) -> tuple[int, bool]:
    """Return how exactly one media range names `media` (0: not at all), and whether it wants it.

    The most exact range decides (RFC 9110 "Accept").
    """
    name, *parameters = (part.strip().lower() for part in accepted.split(";"))
    wide = f"{media.split('/', 1)[0]}/*"
    exactness = {media: 3, wide: 2, "*/*": 1}.get(name, 0)
    return exactness, not any(_is_zero(each) for each in parameters)


def _is_zero(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    try:
        return name.strip() == "q" and float(value) == 0
    except ValueError:
        return False

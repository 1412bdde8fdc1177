"""Request headers that can refuse: Accept, Content-Type, OData-Version. Pure."""

from collections.abc import Mapping

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError

JSON = "application/json"
XML = "application/xml"
ODATA_VERSION = "4.0"


def check_content_type(headers: Mapping[str, str], body: bytes) -> None:
    """Refuse (415) a body that says it is not JSON in UTF-8. A body that says nothing is tried."""
    header = headers.get("content-type")
    if header is None or header == JSON or not body:
        return
    media, *parameters = (part.strip().lower() for part in header.split(";"))
    charsets = [each.partition("=")[2].strip('"') for each in parameters if _is_charset(each)]
    if media != JSON or any(charset not in ("utf-8", "utf8") for charset in charsets):
        raise RedfishError(415, (messages.header_invalid("Content-Type"),))


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

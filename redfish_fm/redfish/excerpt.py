"""`excerpt`: which properties of a type belong to its excerpts. Pure.

The schemas mark them (Sensor.Reading, Job.PercentComplete). A type without a mark is shown whole
(DSP0266 "Query parameters"), and so is a part of an excerpt in which nothing is marked.
"""

from collections.abc import Mapping

from redfish_fm.redfish.catalog import TypeInfo
from redfish_fm.redfish.properties import PropertyInfo
from redfish_fm.redfish.select import Selection


def excerpt_of(info: TypeInfo) -> Selection | None:
    """Return what stays of a resource of that type, or None where all of it does."""
    return _marked(info.properties)


def _marked(properties: Mapping[str, PropertyInfo]) -> Selection | None:
    found = {name: _inside(info) for name, info in properties.items() if info.excerpt}
    return found or None


def _inside(info: PropertyInfo) -> Selection | None:
    return None if info.object is None else _marked(info.object.properties)

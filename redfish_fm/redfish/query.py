"""Query parameters. None is evaluated yet; the ones that ask for evaluation say so.

The service root declares the same (ProtocolFeaturesSupported). Names without `$` that the
standard does not define are ignored (DSP0266 "Query parameters").
"""

from collections.abc import Iterable

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError

_NAMED = frozenset({"only", "excerpt", "includeoriginofcondition"})


def check_query(query: Iterable[tuple[str, str]], reading: bool) -> None:
    """Refuse parameters that would change the answer: 501 when reading, 400 for other methods."""
    for name, _value in query:
        if name.startswith("$") or name in _NAMED:
            if reading:
                raise RedfishError(501, (messages.query_not_supported(),))
            raise RedfishError(400, (messages.query_not_supported_on_operation(),))

"""Clearing a log: what LogService.ClearLog means.

Pure. Redfish: LogService.v1_9_0. That a log is cleared up to an entry is wanted state, in META
space; the entries themselves are no documents.
"""

from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind, Write

CLEAR_LOG = "LogService.ClearLog"
ETAG_PARAMETER = "LogEntriesETag"


def cleared_key(uri: str) -> str:
    """Return the META key under which the number of the last cleared entry stands."""
    return f"cleared {uri}"


def clear(write: Write, tip: Tip) -> Draft:
    """Return the draft of ClearLog: everything up to the newest entry goes."""
    state = tip.log(write.uri)
    if state is None or write.action != CLEAR_LOG:
        raise refusals.action_not_supported(write.action or "")
    given = write.body.get(ETAG_PARAMETER)
    if isinstance(given, str) and given not in ("", "*", state.etag, state.etag.strip('"')):
        raise refusals.precondition_required(ETAG_PARAMETER)
    post = b"%d" % state.newest
    if post == (state.pre or b"0"):
        return Draft(OutcomeKind.NO_OPERATION, write.uri)
    return Draft(OutcomeKind.CHANGED, write.uri, (Edit(Space.META, state.key, state.pre, post),))

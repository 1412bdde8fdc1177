"""PATCH of the two services that say who may come in: AccountService and SessionService.

Pure. What they take is laid over the service's own document. Redfish: AccountService.v1_18_1,
SessionService.v1_2_0. A client can not shut every door: HTTP Basic and logins are never both off.
"""

from redfish_fm.mapping import generic, refusals
from redfish_fm.mapping.certificates import wrong_client_settings
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.resources import stored
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.identity import SESSION_SERVICE
from redfish_fm.redfish.policy import ACCOUNT_SERVICE, BasicAuth, violations
from redfish_fm.redfish.writes import Write

_BASIC_OFF = BasicAuth.DISABLED.value


def patch_accounts(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on the AccountService. Those of imported managers are notes."""
    if write.uri != ACCOUNT_SERVICE:
        return generic.patch(write, tip)
    before = stored(tip, write.uri)
    _refuse(*violations(write.body, before), *wrong_client_settings(write.body))
    sessions = stored(tip, SESSION_SERVICE)
    if write.body.get("HTTPBasicAuth") == _BASIC_OFF and sessions.get("ServiceEnabled") is False:
        raise _no_door_left("HTTPBasicAuth", _BASIC_OFF, SESSION_SERVICE)
    return generic.patch(write, tip)


def patch_sessions(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on the SessionService."""
    _refuse(
        *(
            messages.property_value_type_error("null", name, f"#/{name}")
            for name in write.body
            if write.body[name] is None
        )
    )
    accounts = stored(tip, ACCOUNT_SERVICE)
    if write.body.get("ServiceEnabled") is False and accounts.get("HTTPBasicAuth") == _BASIC_OFF:
        raise _no_door_left("ServiceEnabled", "false", ACCOUNT_SERVICE)
    return generic.patch(write, tip)


def _refuse(*told: Message) -> None:
    if told:
        raise refusals.bad_content(*told)


def _no_door_left(name: str, value: str, other: str) -> RedfishError:
    told = messages.property_value_resource_conflict(name, value, other, f"#/{name}")
    return RedfishError(409, (told,))

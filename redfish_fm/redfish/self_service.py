"""What users may do to their own account without ConfigureUsers, or before a due new password.

Pure. The registry's property override "ManagerAccount: Password" (ConfigureSelf), and DSP0266
"Password change required handling": GET of the own account and PATCH of its Password, no more.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.auth import Principal
from redfish_fm.redfish.errors import RedfishError

SELF = "ConfigureSelf"
_BEFORE_CHANGE = frozenset({"GET", "HEAD", "PATCH"})


def check_method(uri: str, method: str, principal: Principal) -> None:
    """Refuse (403) what has to wait until the principal has a new password."""
    if principal.password_change_required and (
        uri != principal.account_uri or method not in _BEFORE_CHANGE
    ):
        raise change_required(principal)


def may_try(uri: str, method: str, principal: Principal) -> bool:
    """Return whether `check_named` will decide, where ConfigureUsers is lacking."""
    return method == "PATCH" and uri == principal.account_uri and SELF in principal.privileges


def check_named(
    uri: str,
    body: Mapping[str, Any],
    principal: Principal,
    own: frozenset[str],
) -> None:
    """Refuse (403) a PATCH of the own account that names more than its user may change.

    `own` are the properties that ConfigureSelf is enough for (Password).
    """
    named = {name for name in body if "@odata." not in name}
    if uri != principal.account_uri or named <= own:
        return
    if principal.password_change_required:
        raise change_required(principal)
    if "ConfigureUsers" not in principal.privileges:
        raise RedfishError(403, (messages.insufficient_privilege(),))


def change_required(principal: Principal) -> RedfishError:
    """403: the account needs a new password first."""
    return RedfishError(403, (messages.password_change_required(principal.account_uri),))

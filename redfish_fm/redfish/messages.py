"""One constructor per message, so that its wording and the order of its arguments never vary.

Knows registry keys only; the texts are in schemas/texts.json, and Registries checks at
start that both agree on the number of arguments. `related` are JSON pointers into the body.
"""

from collections.abc import Callable

from redfish_fm.redfish.errors import Message


def general_error() -> Message:
    """Several things are wrong at once; the code of an error with many messages."""
    return Message("Base.GeneralError")


def created() -> Message:
    """The resource was created."""
    return Message("Base.Created")


def no_operation() -> Message:
    """The body names nothing to change."""
    return Message("Base.NoOperation")


def property_duplicate(name: str, *related: str) -> Message:
    """A name stands twice in one object."""
    return Message("Base.PropertyDuplicate", (name,), related)


def property_unknown(name: str, *related: str) -> Message:
    """The type has no such property."""
    return Message("Base.PropertyUnknown", (name,), related)


def property_value_type_error(value: str, name: str, *related: str) -> Message:
    """A value of the wrong JSON type."""
    return Message("Base.PropertyValueTypeError", (value, name), related)


def property_value_format_error(value: str, name: str, *related: str) -> Message:
    """A value in the wrong notation."""
    return Message("Base.PropertyValueFormatError", (value, name), related)


def property_value_not_in_list(value: str, name: str, *related: str) -> Message:
    """None of the enumeration's values."""
    return Message("Base.PropertyValueNotInList", (value, name), related)


def property_value_out_of_range(value: str, name: str, *related: str) -> Message:
    """Below the minimum or above the maximum."""
    return Message("Base.PropertyValueOutOfRange", (value, name), related)


def string_value_too_long(value: str, chars_max: int, *related: str) -> Message:
    """More characters than the property takes."""
    return Message("Base.StringValueTooLong", (value, str(chars_max)), related)


def string_value_too_short(value: str, chars_min: int, *related: str) -> Message:
    """Fewer characters than the property needs."""
    return Message("Base.StringValueTooShort", (value, str(chars_min)), related)


def property_value_error(name: str, *related: str) -> Message:
    """A value that can not be used."""
    return Message("Base.PropertyValueError", (name,), related)


def property_value_incorrect(name: str, value: str, *related: str) -> Message:
    """A value the property does not accept."""
    return Message("Base.PropertyValueIncorrect", (name, value), related)


def property_value_conflict(name: str, other: str, *related: str) -> Message:
    """A value that contradicts that of `other`."""
    return Message("Base.PropertyValueConflict", (name, other), related)


def property_value_resource_conflict(name: str, value: str, uri: str, *related: str) -> Message:
    """A value that the resource at `uri` stands against."""
    return Message("Base.PropertyValueResourceConflict", (name, value, uri), related)


def property_not_writable(name: str, *related: str) -> Message:
    """A property that clients can not set."""
    return Message("Base.PropertyNotWritable", (name,), related)


def property_missing(name: str, *related: str) -> Message:
    """A property that a body must have."""
    return Message("Base.PropertyMissing", (name,), related)


def malformed_json() -> Message:
    """The body is not JSON."""
    return Message("Base.MalformedJSON")


def unrecognized_request_body() -> Message:
    """The body is JSON but not an object."""
    return Message("Base.UnrecognizedRequestBody")


def action_not_supported(action: str) -> Message:
    """An action that this service does not carry out here."""
    return Message("Base.ActionNotSupported", (action,))


def action_parameter_missing(action: str, name: str, *related: str) -> Message:
    """A parameter that must be given."""
    return Message("Base.ActionParameterMissing", (action, name), related)


def action_parameter_unknown(action: str, name: str, *related: str) -> Message:
    """The action has no such parameter."""
    return Message("Base.ActionParameterUnknown", (action, name), related)


def action_parameter_value_type_error(value: str, name: str, action: str, *related: str) -> Message:
    """A parameter of the wrong JSON type."""
    return Message("Base.ActionParameterValueTypeError", (value, name, action), related)


def action_parameter_value_format_error(
    value: str, name: str, action: str, *related: str
) -> Message:
    """A parameter in the wrong notation."""
    return Message("Base.ActionParameterValueFormatError", (value, name, action), related)


def action_parameter_value_not_in_list(
    value: str, name: str, action: str, *related: str
) -> Message:
    """None of the enumeration's values."""
    return Message("Base.ActionParameterValueNotInList", (value, name, action), related)


def action_parameter_value_conflict(name: str, value: str, *related: str) -> Message:
    """A parameter that contradicts what is there."""
    return Message("Base.ActionParameterValueConflict", (name, value), related)


def action_parameter_value_out_of_range(
    value: str, name: str, action: str, *related: str
) -> Message:
    """Below the minimum or above the maximum."""
    return Message("Base.ActionParameterValueOutOfRange", (value, name, action), related)


def action_parameter_value_error(name: str, action: str, *related: str) -> Message:
    """A parameter that can not be used; its value is not repeated."""
    return Message("Base.ActionParameterValueError", (name, action), related)


def query_combination_invalid() -> Message:
    """Query parameters that exclude each other, or one given twice."""
    return Message("Base.QueryCombinationInvalid")


def query_not_supported_on_resource() -> Message:
    """A query parameter that means nothing for this resource."""
    return Message("Base.QueryNotSupportedOnResource")


def query_not_supported_on_operation() -> Message:
    """A query parameter with another method than GET or HEAD."""
    return Message("Base.QueryNotSupportedOnOperation")


def query_parameter_out_of_range(value: str, name: str, allowed: str) -> Message:
    """A query parameter's value below or above what `allowed` says."""
    return Message("Base.QueryParameterOutOfRange", (value, name, allowed))


def query_parameter_unsupported(name: str) -> Message:
    """A query parameter that is not evaluated."""
    return Message("Base.QueryParameterUnsupported", (name,))


def query_parameter_value_format_error(value: str, name: str) -> Message:
    """A query parameter's value in the wrong notation."""
    return Message("Base.QueryParameterValueFormatError", (value, name))


def query_parameter_value_type_error(value: str, name: str) -> Message:
    """A query parameter's value that is no number where one is needed."""
    return Message("Base.QueryParameterValueTypeError", (value, name))


def service_disabled(uri: str) -> Message:
    """The service at `uri` is switched off."""
    return Message("Base.ServiceDisabled", (uri,))


def event_subscription_limit_exceeded() -> Message:
    """No further subscription can be made."""
    return Message("Base.EventSubscriptionLimitExceeded")


def array_size_too_long(name: str, count_max: int, *related: str) -> Message:
    """More elements than the property takes."""
    return Message("Base.ArraySizeTooLong", (name, str(count_max)), related)


def event_buffer_exceeded() -> Message:
    """Events before the next one are gone, for they were kept no longer."""
    return Message("Base.EventBufferExceeded")


def session_limit_exceeded() -> Message:
    """No further session can be opened."""
    return Message("Base.SessionLimitExceeded")


def resource_cannot_be_deleted() -> Message:
    """The resource stays."""
    return Message("Base.ResourceCannotBeDeleted")


def resource_in_use() -> Message:
    """The resource is held or changing."""
    return Message("Base.ResourceInUse")


def resource_in_standby() -> Message:
    """The resource takes no request in the power state it is in."""
    return Message("Base.ResourceInStandby")


def resource_already_exists(type_name: str, name: str, value: str, *related: str) -> Message:
    """The value of that property is taken."""
    return Message("Base.ResourceAlreadyExists", (type_name, name, value), related)


def resource_not_found(type_name: str, name: str) -> Message:
    """There is no resource of that name."""
    return Message("Base.ResourceNotFound", (type_name, name))


def resource_missing_at_uri(uri: str, *related: str) -> Message:
    """There is nothing at that URI."""
    return Message("Base.ResourceMissingAtURI", (uri,), related)


def resource_exhaustion(uri: str, *related: str) -> Message:
    """Nothing is left of what `uri` gives."""
    return Message("Base.ResourceExhaustion", (uri,), related)


def payload_too_large() -> Message:
    """The body exceeds the limit."""
    return Message("Base.PayloadTooLarge")


def insufficient_storage() -> Message:
    """The device is full."""
    return Message("Base.InsufficientStorage")


def invalid_uri(uri: str) -> Message:
    """The URI can not be understood."""
    return Message("Base.InvalidURI", (uri,))


def service_shutting_down() -> Message:
    """The service is stopping."""
    return Message("Base.ServiceShuttingDown")


def service_in_unknown_state() -> Message:
    """The service takes no writes until it has recovered."""
    return Message("Base.ServiceInUnknownState")


def service_temporarily_unavailable(retry_after_s: str) -> Message:
    """Not now; `retry_after_s` is a decimal number of seconds."""
    return Message("Base.ServiceTemporarilyUnavailable", (retry_after_s,))


def no_valid_session() -> Message:
    """No credentials, or a token that is not valid (any more)."""
    return Message("Base.NoValidSession")


def access_unauthorized() -> Message:
    """A user name or password that is not accepted."""
    return Message("Base.AccessUnauthorized")


def insufficient_privilege() -> Message:
    """The role lacks the privilege."""
    return Message("Base.InsufficientPrivilege")


def password_change_required(uri: str) -> Message:
    """The account at `uri` needs a new password first."""
    return Message("Base.PasswordChangeRequired", (uri,))


def password_reuse_too_recent(*related: str) -> Message:
    """A new password that is the old one."""
    return Message("Base.PasswordReuseTooRecent", (), related)


def internal_error() -> Message:
    """A defect of the service."""
    return Message("Base.InternalError")


def operation_failed() -> Message:
    """Something the request depends on failed."""
    return Message("Base.OperationFailed")


def operation_timeout() -> Message:
    """Something the request depends on did not answer in time."""
    return Message("Base.OperationTimeout")


def operation_not_allowed() -> Message:
    """The method can not be used here."""
    return Message("Base.OperationNotAllowed")


def precondition_failed() -> Message:
    """If-Match or OData-Version does not fit."""
    return Message("Base.PreconditionFailed")


def precondition_required() -> Message:
    """An action's ETag parameter does not fit."""
    return Message("Base.PreconditionRequired")


def header_invalid(name: str) -> Message:
    """A header whose value can not be used."""
    return Message("Base.HeaderInvalid", (name,))


def maximum_errors_exceeded() -> Message:
    """More is wrong than is listed."""
    return Message("Base.MaximumErrorsExceeded")


def certificate_refused(reason: str, *related: str) -> Message:
    """Why a certificate, or a request for one, is not taken; `reason` is a few words of ours."""
    return Message("RedfishFM.CertificateRefused", (reason,), related)


def destination_refused(reason: str, *related: str) -> Message:
    """Why no event is sent to a URL; `reason` is a few words of ours."""
    return Message("RedfishFM.DestinationRefused", (reason,), related)


def hardware_refused(what: str, where: str, reason: str) -> Message:
    """The hardware at URI `where` said no to `what`; `reason` is what it said."""
    return Message("RedfishFM.HardwareRefused", (what, where, reason))


def host_powered_on(uri: str) -> Message:
    """The host at `uri` has power, and stands no device coming or going until it is off."""
    return Message("RedfishFM.HostPoweredOn", (uri,))


def last_administrator(uri: str) -> Message:
    """The account at `uri` is the last one that can manage accounts."""
    return Message("RedfishFM.LastAdministrator", (uri,))


def logged_in(user: str, peer: str, session: str) -> Message:
    """A session was opened; for the audit log."""
    return Message("RedfishFM.LoggedIn", (user, peer, session))


def login_failed(user: str, peer: str, method: str, uri: str) -> Message:
    """Credentials were not accepted; for the audit log."""
    return Message("RedfishFM.LoginFailed", (user, peer, method, uri))


def request_audited(
    method: str, uri: str, user: str, session: str, peer: str, answer: str
) -> Message:
    """A write was answered; for the audit log."""
    return Message("RedfishFM.RequestAudited", (method, uri, user, session, peer, answer))


def requirement_unmet(
    place: str, requested: str, available: str, reason: str, candidates: str, *related: str
) -> Message:
    """What is asked for at `place` of the request can not be had; `candidates` says why of each."""
    args = (place, requested, available, reason, candidates)
    return Message("RedfishFM.RequirementUnmet", args, related)


def role_in_use(role_id: str, uri: str) -> Message:
    """The account at `uri` has the role."""
    return Message("RedfishFM.RoleInUse", (role_id, uri))


def stanza_refused(stanza_id: str, stanza_type: str, *related: str) -> Message:
    """Which stanza of a manifest the other messages are about."""
    return Message("RedfishFM.StanzaRefused", (stanza_id, stanza_type), related)


def state_not_writable(reason: str) -> Message:
    """Why the store takes no change now."""
    return Message("RedfishFM.StateNotWritable", (reason,))


CONSTRUCTORS: tuple[Callable[..., Message], ...] = (
    general_error,
    created,
    no_operation,
    property_duplicate,
    property_unknown,
    property_value_type_error,
    property_value_format_error,
    property_value_not_in_list,
    property_value_out_of_range,
    string_value_too_long,
    string_value_too_short,
    property_value_error,
    property_value_incorrect,
    property_value_conflict,
    property_value_resource_conflict,
    property_not_writable,
    property_missing,
    malformed_json,
    unrecognized_request_body,
    action_not_supported,
    action_parameter_value_conflict,
    action_parameter_missing,
    action_parameter_unknown,
    action_parameter_value_type_error,
    action_parameter_value_format_error,
    action_parameter_value_not_in_list,
    action_parameter_value_out_of_range,
    action_parameter_value_error,
    query_combination_invalid,
    query_not_supported_on_resource,
    query_not_supported_on_operation,
    query_parameter_out_of_range,
    query_parameter_unsupported,
    query_parameter_value_format_error,
    query_parameter_value_type_error,
    service_disabled,
    event_subscription_limit_exceeded,
    array_size_too_long,
    event_buffer_exceeded,
    session_limit_exceeded,
    resource_cannot_be_deleted,
    resource_in_use,
    resource_in_standby,
    resource_already_exists,
    resource_not_found,
    resource_missing_at_uri,
    resource_exhaustion,
    payload_too_large,
    insufficient_storage,
    invalid_uri,
    service_shutting_down,
    service_in_unknown_state,
    service_temporarily_unavailable,
    no_valid_session,
    access_unauthorized,
    insufficient_privilege,
    password_change_required,
    password_reuse_too_recent,
    internal_error,
    operation_failed,
    operation_timeout,
    operation_not_allowed,
    precondition_failed,
    precondition_required,
    header_invalid,
    maximum_errors_exceeded,
    certificate_refused,
    destination_refused,
    hardware_refused,
    host_powered_on,
    last_administrator,
    logged_in,
    login_failed,
    request_audited,
    requirement_unmet,
    role_in_use,
    stanza_refused,
    state_not_writable,
)
"""Every constructor above, for the check at start."""

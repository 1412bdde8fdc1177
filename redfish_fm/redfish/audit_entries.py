"""What an audit record reads like as an entry of a log. Pure.

Redfish: LogEntry.v1_21_0. Names of resources stand in the arguments of the message, not as links:
what was written to may be gone.
"""

from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.audit import AuditKind, AuditRecord
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.times import date_time

_CHARS_MAX = 256
"""Of a URI or a name: a client can send far longer ones, as often as it likes."""


def audit_entry(record: AuditRecord, registries: Registries) -> bytes:
    """Return the properties of the LogEntry that tells of `record`, as JSON."""
    user, peer = _text(record.user_name), _text(record.peer)
    message = _message(record, user, peer)
    entry: dict[str, Any] = {
        "EntryType": "Event",
        "Created": date_time(record.time_s),
        "Severity": _severity(record.status),
        "MessageId": registries.info(message.key).message_id,
        "Message": registries.words(message),
        "MessageArgs": message.args,
        "Originator": peer,
        "OriginatorType": "Client",
    }
    if record.user_name is not None:
        entry["Username"] = user
    return encode(entry)


def _message(record: AuditRecord, user: str, peer: str) -> Message:
    match record.kind:
        case AuditKind.LOGIN:
            return messages.logged_in(user, peer, _text(record.made))
        case AuditKind.LOGIN_FAILED:
            return messages.login_failed(user, peer, _text(record.method), _text(record.uri))
        case AuditKind.WRITE:
            answer = " ".join((str(record.status), *record.message_ids, record.made or "")).strip()
            return messages.request_audited(
                _text(record.method),
                _text(record.uri),
                user,
                _text(record.session),
                peer,
                _text(answer),
            )


def _severity(status: int) -> str:
    if status < 400:
        return "OK"
    return "Warning" if status < 500 else "Critical"


def _text(value: str | None) -> str:
    """Return `value` short, printable and sure to be encoded; "-" for nothing."""
    if not value:
        return "-"
    shown = value if value.isprintable() else value.encode("unicode_escape").decode()
    return shown if len(shown) <= _CHARS_MAX else f"{shown[:_CHARS_MAX]}…"

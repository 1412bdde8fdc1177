"""What an audit record is kept as in a log, and what the entry reads like. Pure.

Redfish: LogEntry.v1_21_0. Each write makes an entry and few are ever read, so what is kept are the
facts; the words are added when somebody asks. Names of resources stand in the arguments of the
message, not as links: what was written to may be gone.
"""

import functools
from typing import Any

import msgspec

from redfish_fm.redfish import messages
from redfish_fm.redfish.audit import AuditKind, AuditRecord
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.times import date_time

_CHARS_MAX = 256
"""Of a URI or a name: a client can send far longer ones, as often as it likes."""


class _Kept(msgspec.Struct, array_like=True):
    """The facts, as they are stored: never change the order, add at the end with a default.

    Everything a client worded is short, printable and sure to be encoded; "-" for nothing.
    """

    kind: AuditKind
    time_s: float
    user: str
    named: bool
    peer: str
    session: str
    method: str
    uri: str
    status: int
    message_ids: tuple[str, ...]
    made: str


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Kept).decode


def kept_record(record: AuditRecord) -> bytes:
    """Return what a log keeps of `record`."""
    made = record.made
    return _encode(
        _Kept(
            record.kind,
            record.time_s,
            _known_text(record.user_name),
            record.user_name is not None,
            _known_text(record.peer),
            _known_text(record.session),
            _known_text(record.method),
            _known_text(record.uri),
            record.status,
            record.message_ids,
            "" if made is None else _text(made),
        )
    )


def audit_entry(kept: bytes, registries: Registries) -> bytes:
    """Return the properties of the LogEntry that tells of what was kept, as JSON.

    Entries of earlier versions were kept as what they read like; they are returned as they are.
    """
    if kept.startswith(b"{"):
        return kept
    record = _decode(kept)
    message = _message(record)
    entry: dict[str, Any] = {
        "EntryType": "Event",
        "Created": date_time(record.time_s),
        "Severity": _severity(record.status),
        "MessageId": registries.info(message.key).message_id,
        "Message": registries.words(message),
        "MessageArgs": message.args,
        "Originator": record.peer,
        "OriginatorType": "Client",
    }
    if record.named:
        entry["Username"] = record.user
    return encode(entry)


def _message(record: _Kept) -> Message:
    match record.kind:
        case AuditKind.LOGIN:
            return messages.logged_in(record.user, record.peer, record.made or "-")
        case AuditKind.LOGIN_FAILED:
            return messages.login_failed(record.user, record.peer, record.method, record.uri)
        case AuditKind.WRITE:
            answer = " ".join((str(record.status), *record.message_ids, record.made)).strip()
            return messages.request_audited(
                record.method,
                record.uri,
                record.user,
                record.session,
                record.peer,
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


_known_text = functools.lru_cache(maxsize=256)(_text)
"""The same of what many records say alike."""

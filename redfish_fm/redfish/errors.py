"""How the protocol says no: messages by registry key, and the one error that carries them.

A Message holds a key and arguments only; its wording comes from the registry when the response
is written, so one wording serves every place.
"""

from collections.abc import Mapping

from redfish_fm.errors import FmError
from redfish_fm.values import value_class


@value_class
class Message:
    """One ExtendedInfo entry. `key` is "Base.PropertyUnknown"; the version is added when written.

    `related` are JSON pointers into the client's body ("#/Links/Endpoints/0") naming what is wrong.
    """

    key: str
    args: tuple[str, ...] = ()
    related: tuple[str, ...] = ()


class RedfishError(FmError):
    """A refusal with everything a client needs: status, all messages, extra headers."""

    def __init__(
        self, status: int, messages: tuple[Message, ...], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"{status} {', '.join(message.key for message in messages)}")
        self.status = status
        self.messages = messages
        self.headers = dict(headers or {})

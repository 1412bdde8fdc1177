"""Messages in words: registry keys and arguments become what a client reads.

Reads schemas/registries (keys, argument types and severities of the standard registries),
schemas/own_registry.json (ours, in the same form) and schemas/texts.json (all texts, our own).
Knows neither status codes nor requests.
"""

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.messages import CONSTRUCTORS

REGISTRIES_FOLDER = "registries"
OWN_FILE = "own_registry.json"
TEXTS_FILE = "texts.json"


@dataclass(frozen=True, slots=True)
class MessageInfo:
    """One row of a registry. `message_id` is "Base.1.22.PropertyUnknown"."""

    message_id: str
    parameter_types: tuple[str, ...]
    severity: str
    text: str
    resolution: str


@dataclass(frozen=True, slots=True)
class RegistryInfo:
    """One registry, "Base" "1.22.1"; `own` when its keys are ours and we must publish it."""

    prefix: str
    version: str
    own: bool
    messages: Mapping[str, MessageInfo]


class Registries:
    """All registries by prefix. Immutable; made once at start."""

    def __init__(
        self,
        published: Iterable[Mapping[str, Any]],
        own: Mapping[str, Any],
        texts: Mapping[str, Mapping[str, str]],
    ) -> None:
        made = [_registry(raw, texts, own=False) for raw in published]
        made.append(_registry(own, texts, own=True))
        self.registries = {registry.prefix: registry for registry in made}
        self._rows = {
            f"{registry.prefix}.{key}": row
            for registry in made
            for key, row in registry.messages.items()
        }
        self.check(made for constructor in CONSTRUCTORS for made in _examples(constructor))

    @classmethod
    def load(cls, directory: Path) -> "Registries":
        """Read the files in `directory`. Raises OSError, KeyError or ValueError."""
        folder = directory / REGISTRIES_FOLDER
        published = [_parsed(path) for path in sorted(folder.glob("*.json"))]
        return cls(published, _parsed(directory / OWN_FILE), _parsed(directory / TEXTS_FILE))

    def check(self, examples: Iterable[Message]) -> None:
        """Raise ValueError when a message's key or argument count is not that of its registry."""
        for message in examples:
            row = self._rows.get(message.key)
            if row is None:
                raise ValueError(f"no registry has {message.key}")
            if len(message.args) != len(row.parameter_types):
                raise ValueError(f"{message.key} takes {len(row.parameter_types)} arguments")

    def info(self, key: str) -> MessageInfo:
        """Return the row of "Base.PropertyUnknown". Raises KeyError."""
        return self._rows[key]

    def words(self, message: Message) -> str:
        """Return the text of `message` alone."""
        return _filled(self._rows[message.key].text, message.args)

    def render(self, message: Message) -> dict[str, Any]:
        """Return `message` as a Message object: in Task.Messages, in @Message.ExtendedInfo."""
        row = self._rows[message.key]
        rendered: dict[str, Any] = {
            "@odata.type": "#Message.v1_3_0.Message",
            "MessageId": row.message_id,
            "Message": _filled(row.text, message.args),
            "MessageArgs": list(message.args),
            "MessageSeverity": row.severity,
            "Resolution": row.resolution,
        }
        if message.related:
            rendered["RelatedProperties"] = list(message.related)
        return rendered

    def error_body(self, messages: tuple[Message, ...]) -> bytes:
        """Return the body of an error answer (DSP0266 "Error responses").

        Severity is out of use since Message.v1_1_0, but clients of errors still look for it.
        """
        entries = [self.render(message) for message in messages]
        for entry in entries:
            entry["Severity"] = entry["MessageSeverity"]
        if len(entries) == 1:
            code, text = entries[0]["MessageId"], entries[0]["Message"]
        else:
            general = self._rows["Base.GeneralError"]
            code, text = general.message_id, general.text
        error = {"code": code, "message": text, "@Message.ExtendedInfo": entries}
        # ASCII, because a client's path may hold anything, lone surrogates included.
        return json.dumps({"error": error}).encode()


def _parsed(path: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return parsed


def _registry(
    raw: Mapping[str, Any], texts: Mapping[str, Mapping[str, str]], *, own: bool
) -> RegistryInfo:
    prefix = raw["prefix"]
    short = raw["version"].rpartition(".")[0]
    rows = {}
    for key, row in raw["messages"].items():
        text = texts.get(f"{prefix}.{key}")
        if text is None:
            raise ValueError(f"{TEXTS_FILE} has no words for {prefix}.{key}")
        rows[key] = MessageInfo(
            f"{prefix}.{short}.{key}",
            tuple(row.get("ParamTypes", ())),
            row["MessageSeverity"],
            text["message"],
            text["resolution"],
        )
    return RegistryInfo(prefix, raw["version"], own, rows)


def _filled(text: str, arguments: tuple[str, ...]) -> str:
    # One pass, so that an argument which holds "%1" is not filled again.
    count = len(arguments)
    plain = _plain(text)
    if plain is not None and plain[1] == count:
        return plain[0] % arguments
    first, rest = _pieces(text)
    filled = [
        arguments[position] + after if 0 <= position < count else whole
        for position, after, whole in rest
    ]
    return first + "".join(filled)


@functools.lru_cache(maxsize=256)
def _plain(text: str) -> tuple[str, int] | None:
    """Return `text` as Python's own template, and how many arguments it takes.

    None where it does not name each of them once and in order, as nearly all do.
    """
    first, rest = _pieces(text)
    if [position for position, _, _ in rest] != [*range(len(rest))]:
        return None
    pieces = (first, *(after for _, after, _ in rest))
    return "%s".join(pieces), len(rest)


@functools.lru_cache(maxsize=256)
def _pieces(text: str) -> tuple[str, tuple[tuple[int, str, str], ...]]:
    """Return what stands before the first "%", and of each: argument, what follows it, as it is."""
    first, *parts = text.split("%")
    rest = (
        (int(part[0]) - 1 if part[:1].isdigit() else -1, part[1:], f"%{part}") for part in parts
    )
    return first, tuple(rest)


def _examples(constructor: Callable[..., Message]) -> list[Message]:
    parameters = inspect.signature(constructor).parameters.values()
    count = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)
    return [constructor(*("x" for _ in range(count)))]

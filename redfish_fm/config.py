"""Every setting: its key, type, range and default, and where its value came from.

Knows no other room. Precedence: flag > environment (REDFISH_FM_*) > TOML file > default. All
mistakes are reported at once, each with its key; an unknown key is refused by name. The admin
password comes from the environment only and never shows in a repr. docs/configuration.md lists
the same keys; a test compares them.
"""

import difflib
import ipaddress
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import msgspec.inspect
from msgspec import Meta

from redfish_fm import wire_addresses
from redfish_fm.config_switches import TABLE as SWITCHES
from redfish_fm.config_switches import SwitchStanza, read_switches
from redfish_fm.errors import FmError

ENV_PREFIX = "REDFISH_FM_"
DEFAULT_TOPOLOGY = "ai-pod"

_PATHS = ("state", "mockup", "faults", "tls_cert", "tls_key", "event_authorities")
_SWITCH_WORDS = {"on": "true", "yes": "true", "off": "false", "no": "false"}
_WIRES = ("fmapi_listen", "fmapi_dial", "fmapi_faults")
_LISTS = ("event_destinations", "emulation_latency_paths", "discovery_interfaces", *_WIRES)
_TABLE = "emulation"
"""`[emulation]` with `latency_ms` in it means emulation_latency_ms."""
_PASSWORD_ENV = "REDFISH_FM_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable
# Read by tests, and set in every container by Kubernetes for a Service called redfish-fm.
_FOREIGN_ENV = re.compile(r"REDFISH_FM_(SHARED|TEST_.*|SERVICE_HOST|SERVICE_PORT.*|PORT_\d.*)")
# A setting given by a stronger source also silences its rival in a weaker one.
_RIVALS = (("topology", "mockup"), ("ephemeral", "state"))


class ConfigError(FmError):
    """The configuration can not be used. `problems` has one line for each mistake."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that never shows in a repr, log or dump. `reveal()` is the only way to read it."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """Return the secret itself."""
        return self._text


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration, checked. One of `topology` and `mockup` is set, or `switches`."""

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    """Address or name to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8443
    """TCP port to listen on; 0 picks a free one."""
    http: bool = False
    """Plain HTTP instead of TLS; loopback only."""
    state: Path | None = None
    """State folder; None exactly when `ephemeral`."""
    ephemeral: bool = False
    """Keep nothing on disk."""
    seed: Annotated[int, Meta(ge=0)] = 0
    """What everything random in the virtual fabric derives from."""
    time_scale: Annotated[float, Meta(ge=0, le=1e6)] = 1.0
    """Fabric seconds per service second; 0 jumps from timer to timer."""
    topology: Annotated[str, Meta(min_length=1)] | None = None
    """Name of a shipped topology, or a YAML file; parameters behind a colon."""
    mockup: Path | None = None
    """Folder or zip of a Redfish mockup to serve."""
    strict: bool = False
    """Refuse to begin with a mockup that has defects."""
    faults: Path | None = None
    """YAML file of faults that befall the virtual fabric, each in its time; None: none do."""
    sync_budget_s: Annotated[float, Meta(ge=0, le=300)] = 5.0
    """Longest time a write waits for the hardware before it becomes a Task."""
    page_size: Annotated[int, Meta(ge=1)] | None = None
    """Members of a collection in one answer; None means all."""
    log_format: Literal["text", "json"] = "text"
    """Form of the log lines on stderr."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important log lines that are written; changes are "info", reads are not logged."""
    tls_cert: Path | None = None
    """PEM file of the server's certificate chain; None means a self-made one."""
    tls_key: Path | None = None
    """PEM file of the private key belonging to `tls_cert`."""
    admin_user: Annotated[str, Meta(min_length=1, max_length=64)] = "admin"
    """User name of the account made at the first start."""
    session_timeout_s: Annotated[int, Meta(ge=30, le=86400)] = 1800
    """A session unused for this long ends."""
    session_limit: Annotated[int, Meta(ge=1, le=100_000)] = 64
    """Sessions open at once."""
    session_limit_per_user: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """Sessions that one user may have open at once; None sets no limit of its own."""
    body_limit_bytes: Annotated[int, Meta(ge=1024, le=1 << 30)] = 1 << 20
    """Longest request body; a longer one is answered 413."""
    ssdp: bool = False
    """Whether the service answers searches by SSDP, and announces itself."""
    mdns: bool = False
    """Whether the service announces itself by mDNS, as _redfish._tcp."""
    discovery_interfaces: tuple[str, ...] = ()
    """Interfaces to announce on; empty: every one the service listens on, loopback aside."""
    foreign_bindings: Literal["report", "enforce"] = "report"
    """What to do with bindings that this service did not make."""
    observe_interval_s: Annotated[float, Meta(ge=0.01, le=3600)] = 1.0
    """Time between two looks at a fabric when nothing hints at a change."""
    emulation_latency_ms: Annotated[float, Meta(ge=0, le=60_000)] = 0.0
    """How long every answer is kept back, give or take a fifth."""
    emulation_latency_paths: tuple[str, ...] = ()
    """PATH=MS each: answers about PATH and what is below it are kept back so long instead."""
    emulation_not_ready_s: Annotated[float, Meta(ge=0, le=3600)] = 0.0
    """How long a host takes no further command after its power has changed."""
    emulation_reset_outage_s: Annotated[float, Meta(ge=0, le=3600)] = 0.0
    """How long the service plays to be away after Manager.Reset of its own manager; 0: it is."""
    emulation_reset_ends_sessions: bool = False
    """Whether such a reset ends all sessions."""
    http_redirect_port: Annotated[int, Meta(ge=0, le=65535)] | None = None
    """TCP port where plain HTTP only leads to HTTPS; None: nothing listens for it."""
    show_interfaces: bool = True
    """Show the network interfaces that the service is reached by."""
    audit_log_entries: Annotated[int, Meta(ge=1, le=100_000)] = 5000
    """Entries that the audit log keeps; the oldest go first."""
    audit_log_days: Annotated[int, Meta(ge=1, le=3650)] = 90
    """Days that the audit log keeps an entry."""
    event_log_entries: Annotated[int, Meta(ge=1, le=100_000)] = 5000
    """Entries that the event log keeps; the oldest go first."""
    event_log_days: Annotated[int, Meta(ge=1, le=3650)] = 90
    """Days that the event log keeps an entry."""
    event_destinations: tuple[str, ...] = ()
    """Networks events may be sent to; empty: all but loopback, link-local and metadata."""
    event_authorities: Path | None = None
    """PEM file of authorities that receivers of events are trusted by, besides the system's."""
    verify_event_destinations: bool = False
    """Verify the certificate of every receiver of events, not only where a client asks for it."""
    subscription_limit: Annotated[int, Meta(ge=1, le=100_000)] = 200
    """Subscriptions to events that clients may have made at once; streams aside."""
    event_stream_limit: Annotated[int, Meta(ge=1, le=100_000)] = 256
    """Event streams that may be open at once."""
    connection_limit: Annotated[int, Meta(ge=64, le=100_000)] = 1024
    """Connections that may be open at once; seven eighths of them from one address."""
    fmapi_listen: tuple[str, ...] = ()
    """[SWITCH=]HOST:PORT each: a virtual CXL switch takes fabric managers there (FM API)."""
    fmapi_dial: tuple[str, ...] = ()
    """[SWITCH=]HOST:PORT each: a virtual CXL switch dials a fabric manager that listens there."""
    dialect: Literal["spec", "jrl"] = "spec"
    """How these switches pack the headers of their messages."""
    fmapi_profile: Literal["standard", "strict", "short-identity", "jrl"] = "standard"
    """How these switches behave: as the standard has it, or as a real one was seen to."""
    fmapi_faults: tuple[str, ...] = ()
    """FAULT=RATE each: what goes wrong between these switches and their managers, how likely."""
    switches: tuple[SwitchStanza, ...] = ()
    """Real switches, from the file only; beside a topology, or alone."""
    admin_password: Secret | None = None
    """From REDFISH_FM_ADMIN_PASSWORD only; None: one is made and shown once."""

    @property
    def source_name(self) -> str:
        """Name of the topology or mockup as a file name; names the default state folder."""
        if self.switches and self.topology is None:
            return SWITCHES
        return _source_name(self.topology, self.mockup)


KEYS: Mapping[str, Any] = {
    setting.name: setting
    for setting in msgspec.structs.fields(Config)
    if setting.name not in ("admin_password", SWITCHES)
}
"""Every key that a flag, the environment or a file may set, with its msgspec description."""


@dataclass(frozen=True, slots=True)
class _Given:
    """One value as given. `rank` orders sources, the strongest highest."""

    value: object
    source: str
    rank: int


def load(flags: Mapping[str, object], environ: Mapping[str, str]) -> Config:
    """Return the configuration these flags and this environment make.

    `flags` has a key's value, or None where the flag was not given, and "config" for the TOML
    file. Raises ConfigError naming every mistake.
    """
    problems: list[str] = []
    given = _collect(flags, environ, problems)
    values: dict[str, Any] = {}
    for key, one in given.items():
        try:
            values[key] = _convert(key, one)
        except msgspec.ValidationError:
            given_text = "" if isinstance(one.value, Secret) else f", not {one.value!r}"
            problems.append(f"{key}: must be {describe(key)}{given_text} ({one.source})")
    for pair in _RIVALS:
        _silence_weaker(values, given, pair)
    problems.extend(_conflicts(values, given))
    if problems:
        raise ConfigError(tuple(problems))
    return Config(**_with_defaults(values, environ))


def _collect(
    flags: Mapping[str, object], environ: Mapping[str, str], problems: list[str]
) -> dict[str, _Given]:
    """Return each key's strongest value; later sources overwrite earlier ones."""
    flags = {key: value for key, value in flags.items() if value is not None}
    config = flags.pop("config", None) or environ.get(ENV_PREFIX + "CONFIG")
    given: dict[str, _Given] = {}
    if config:
        given.update(_from_file(Path(str(config)), problems))
    given.update(_from_environment(environ, problems))
    for key, value in flags.items():
        if key in KEYS:
            given[key] = _Given(value, f"--{key.replace('_', '-')}", 3)
        else:
            problems.append(_unknown(key, "flag"))
    return given


def _from_file(path: Path, problems: list[str]) -> Iterator[tuple[str, _Given]]:
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        problems.append(f"config: {path} can not be read: {error.strerror}")
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(f"config: {path} is not TOML: {error}")
        return
    lines = _lines(text)
    for key, value, in_table in _flat(document):
        place = f"{path}:{lines[key]}" if key in lines else str(path)
        if key in KEYS:
            yield key, _Given(value, place, 1)
        elif key == SWITCHES:
            yield key, _Given(read_switches(value, path, text, problems), place, 1)
        elif key == "admin_password":
            problems.append(f"{key}: never in a file; set {_PASSWORD_ENV} instead ({place})")
        elif key == _TABLE:
            problems.append(f"{key}: a table; its keys stand below a line [{_TABLE}] ({place})")
        elif isinstance(value, Mapping) and not in_table:
            tables = f"[{_TABLE}] and [[{SWITCHES}]]"
            problems.append(f"{key}: unknown table; there is {tables} only ({place})")
        else:
            problems.append(_unknown(key, place, in_table=in_table))


def _lines(text: str) -> dict[str, int]:
    """Return the line of each key, as far as one can tell: for people who look for a mistake."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+\s*([\w-]+)", line)
        if header:
            table = f"{_TABLE}_" if header[1] == _TABLE else ""
            found.setdefault(header[1], number)
        elif key := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*[=.]", line):
            found.setdefault(f"{table}{key[1]}", number)
    return found


def _flat(document: Mapping[str, object]) -> Iterator[tuple[str, object, bool]]:
    """Yield (key, value, whether in a table); a key of a table has the table's name before it."""
    for key, value in document.items():
        if key == _TABLE and isinstance(value, Mapping):
            yield from ((f"{key}_{name}", inner, True) for name, inner in value.items())
        else:
            yield key, value, False


def _from_environment(
    environ: Mapping[str, str], problems: list[str]
) -> Iterator[tuple[str, _Given]]:
    for name, text in sorted(environ.items()):
        if not name.startswith(ENV_PREFIX) or _FOREIGN_ENV.fullmatch(name):
            continue
        key = name.removeprefix(ENV_PREFIX).lower()
        if name == _PASSWORD_ENV:
            yield "admin_password", _Given(Secret(text), name, 2)
        elif key in KEYS:
            yield key, _Given(text, name, 2)
        elif key != "config":
            problems.append(_unknown(key, name))


def _convert(key: str, given: _Given) -> object:
    """Return the value in the key's type. Text is read leniently, TOML values are not."""
    value = given.value
    if key == SWITCHES:
        return value
    if isinstance(value, Secret):
        if not value.reveal():
            raise msgspec.ValidationError("must not be empty")
        return value
    if isinstance(value, str):
        value = _from_text(key, value)
    return msgspec.convert(value, KEYS[key].type, strict=given.rank == 1, dec_hook=_path)


def _from_text(key: str, text: str) -> object:
    if key in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    if key in _PATHS and text:
        return Path(text).expanduser()
    if KEYS[key].type is bool:
        return _SWITCH_WORDS.get(text.lower(), text.lower())
    return text


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, Path):
        return value
    raise msgspec.ValidationError("Expected a path")


def _silence_weaker(
    values: dict[str, Any], given: Mapping[str, _Given], pair: tuple[str, str]
) -> None:
    """Drop the rival from the weaker source; a switch that is off has no rival."""
    ranks = {key: given[key].rank for key in pair if values.get(key)}
    for key, rank in ranks.items():
        if rank < max(ranks.values()):
            del values[key]


def _conflicts(values: Mapping[str, Any], given: Mapping[str, _Given]) -> Iterator[str]:
    """Yield what single values can not show: pairs that contradict, files that are not there."""
    if "topology" in values and "mockup" in values:
        yield _rivals("mockup", "topology", "only one can be served", given)
    if values.get(SWITCHES) and "mockup" in values:
        yield _rivals(SWITCHES, "mockup", "a mockup is served by itself", given)
    if values.get("ephemeral") and "state" in values:
        yield _rivals("state", "ephemeral", "one keeps what the other does not", given)
    if ("tls_cert" in values) != ("tls_key" in values):
        missing = "tls_key" if "tls_cert" in values else "tls_cert"
        yield f"{missing}: is missing; tls_cert and tls_key come together"
    if values.get("http"):
        host = values.get("host", "127.0.0.1")
        if not wire_addresses.is_loopback(host):
            yield f"http: plain HTTP is served on loopback only, not on {host}"
    if values.get("http") and values.get("http_redirect_port") is not None:
        where = given["http_redirect_port"].source
        yield f"http_redirect_port: there is no HTTPS to lead to with http ({where})"
    for key in ("mockup", "faults", "tls_cert", "tls_key", "event_authorities"):
        if key in values and not values[key].exists():
            yield f"{key}: {values[key]} does not exist ({given[key].source})"
    for network in values.get("event_destinations", ()):
        if not _is_network(network):
            where = given["event_destinations"].source
            yield f"event_destinations: {network!r} is not an address or network ({where})"
    for key in _WIRES:
        for problem in wire_addresses.problems(key, values.get(key, ())):
            yield f"{key}: {problem} ({given[key].source})"
    for text in values.get("emulation_latency_paths", ()):
        if latency_of(text) is None:
            where = given["emulation_latency_paths"].source
            yield f"emulation_latency_paths: {text!r} is not PATH=MILLISECONDS ({where})"


def _rivals(key: str, other: str, reason: str, given: Mapping[str, _Given]) -> str:
    places = f"{given[key].source}, {given[other].source}"
    return f"{key}: not together with {other}, for {reason}; leave one out ({places})"


def latency_of(text: str) -> tuple[str, float] | None:
    """Return path and seconds of "PATH=MILLISECONDS", None where it is none."""
    path, _, number = text.rpartition("=")
    try:
        delay_ms = float(number)
    except ValueError:
        return None
    usable = path.startswith("/") and 0 <= delay_ms <= _LATENCY_MS_MAX
    return (path.rstrip("/"), delay_ms / 1000) if usable else None


_LATENCY_MS_MAX = 60_000


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def _with_defaults(values: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the values with the two defaults that depend on others: topology and state."""
    if "mockup" not in values and not values.get(SWITCHES):
        values.setdefault("topology", DEFAULT_TOPOLOGY)
    if not values.get("ephemeral") and "state" not in values:
        home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
        alone = values.get(SWITCHES) and "topology" not in values
        name = SWITCHES if alone else _source_name(values.get("topology"), values.get("mockup"))
        values["state"] = home / ".local" / "state" / "redfish-fm" / name
    return values


def _source_name(topology: str | None, mockup: Path | None) -> str:
    if mockup is not None:
        resolved = mockup.resolve()
        name = resolved.stem if resolved.is_file() else resolved.name
    else:
        name = _topology_name(topology or DEFAULT_TOPOLOGY)
    return re.sub(r"[^A-Za-z0-9._=-]+", "-", name).strip("-.") or "fabric"


def _topology_name(topology: str) -> str:
    """Return a topology's name with its parameters: the same world has the same name.

    `scale:hosts=4,gpus=16` is another world than `scale`, and the same as `scale:gpus=16,hosts=4`.
    """
    bare, colon, given = topology.rpartition(":")
    if not colon or "/" in given:
        bare, given = topology, ""
    words = sorted(re.sub(r"\s|(?<==)0+(?=[0-9])", "", word) for word in given.split(","))
    return "-".join(filter(None, (re.sub(r"\.ya?ml$", "", Path(bare).name), *words)))


def _unknown(key: str, source: str, *, in_table: bool = False) -> str:
    """Return what is said of a key that there is not, in the words that it was written with."""
    table = f"{_TABLE}_" if in_table else ""
    known = [each.removeprefix(table) for each in KEYS if each.startswith(table)]
    word = key.removeprefix(table)
    close = difflib.get_close_matches(word, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    if in_table and not close:
        hint = f"; known there: {', '.join(known)}"
    return f"{f'[{_TABLE}] ' if in_table else ''}{word}: unknown key{hint} ({source})"


def describe(key: str) -> str:
    """Return what a key's value must be, for people: "an integer from 0 to 65535"."""
    if key in _WORDS:
        return _WORDS[key]
    return " or ".join(
        _describe(kind) for kind in _kinds(msgspec.inspect.type_info(KEYS[key].type))
    )


_WORDS = {
    "admin_password": "a text that is not empty",
    "emulation_latency_paths": "a list of PATH=MILLISECONDS",
    "discovery_interfaces": "a list of names of interfaces",
    "fmapi_listen": "a list of [SWITCH=]HOST:PORT",
    "fmapi_dial": "a list of [SWITCH=]HOST:PORT",
    "fmapi_faults": "a list of FAULT=RATE",
}


def _kinds(kind: msgspec.inspect.Type) -> Iterator[msgspec.inspect.Type]:
    """Yield the alternatives of a type; None is how a key is left out, so nobody can give it."""
    alternatives = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    return (one for one in alternatives if not isinstance(one, msgspec.inspect.NoneType))


def _describe(kind: msgspec.inspect.Type) -> str:
    match kind:
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.IntType(ge=low, le=high):
            return f"an integer{_range(low, high)}"
        case msgspec.inspect.FloatType(ge=low, le=high):
            return f"a number{_range(low, high)}"
        case msgspec.inspect.LiteralType(values=values):
            return " or ".join(str(value) for value in values)
        case msgspec.inspect.StrType(max_length=None):
            return "a text that is not empty"
        case msgspec.inspect.StrType(max_length=longest):
            return f"a text of 1 to {longest} characters"
        case msgspec.inspect.VarTupleType():
            return "a list of addresses or networks"
        case _:
            return "a path"


def _range(low: float | None, high: float | None) -> str:
    if high is None:
        return f" of at least {low:g}"
    return f" from {low:.12g} to {high:.12g}"

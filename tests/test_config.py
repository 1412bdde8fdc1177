"""Settings: precedence, every mistake at once, and what never shows."""

import re
from pathlib import Path

import click
import msgspec
import pytest

from redfish_fm.cli import main
from redfish_fm.config import (
    DEFAULT_TOPOLOGY,
    KEYS,
    Config,
    ConfigError,
    describe,
    latency_of,
    load,
)

HOME = {"HOME": "/home/someone"}


def problems(flags: dict[str, object], environ: dict[str, str] | None = None) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(flags, {**HOME, **(environ or {})})
    return caught.value.problems


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "fm.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_without_anything_the_defaults_hold() -> None:
    config = load({}, HOME)
    assert (config.host, config.port, config.http) == ("127.0.0.1", 8443, False)
    assert (config.topology, config.mockup) == (DEFAULT_TOPOLOGY, None)
    assert config.state == Path("/home/someone/.local/state/redfish-fm") / DEFAULT_TOPOLOGY
    assert config.session_timeout_s == 1800
    assert config.body_limit_bytes == 1024 * 1024
    assert config.sync_budget_s == 5.0


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    file = write(tmp_path, "port = 1\nseed = 1\nsession_limit = 1\n")
    environ = {"REDFISH_FM_PORT": "2", "REDFISH_FM_SEED": "2"}
    config = load({"config": file, "port": "3"}, HOME | environ)
    assert (config.port, config.seed, config.session_limit) == (3, 2, 1)
    assert config.page_size is None


def test_flags_that_were_not_given_do_not_count() -> None:
    assert load({"port": None, "http": None}, HOME | {"REDFISH_FM_PORT": "9"}).port == 9


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    file = write(tmp_path, "port = 7")
    assert load({}, HOME | {"REDFISH_FM_CONFIG": file}).port == 7


def test_every_mistake_is_reported_at_once_with_its_key(tmp_path: Path) -> None:
    file = write(tmp_path, 'sync_budget_s = "long"\nhots = "x"\n')
    found = problems(
        {"config": file, "port": "70000", "http": True, "host": "0.0.0.0"},  # noqa: S104
        {"REDFISH_FM_LOG_FORMAT": "xml", "REDFISH_FM_TOPOLGY": "x"},
    )
    keys = [line.split(":")[0] for line in found]
    assert sorted(keys) == ["hots", "http", "log_format", "port", "sync_budget_s", "topolgy"]
    assert "port: must be an integer from 0 to 65535, not '70000' (--port)" in found


def test_the_error_is_one_line_per_problem() -> None:
    with pytest.raises(ConfigError) as caught:
        load({"port": "x", "seed": "-1"}, HOME)
    assert str(caught.value).splitlines() == list(caught.value.problems)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("where", ["file", "environment", "flag"])
def test_an_unknown_key_is_refused_by_name(tmp_path: Path, where: str) -> None:
    flags: dict[str, object] = {"file": {"config": write(tmp_path, "prot = 1")}}.get(where, {})
    flags |= {"prot": 1} if where == "flag" else {}
    environ = {"REDFISH_FM_PROT": "1"} if where == "environment" else {}
    (line,) = problems(flags, environ)
    assert line.startswith("prot: unknown key; did you mean port?")


@pytest.mark.parametrize(
    "name", ["REDFISH_FM_SHARED", "REDFISH_FM_TEST_X", "REDFISH_FM_PORT_8443_TCP", "REDFISHX"]
)
def test_variables_of_tests_and_of_kubernetes_are_not_ours(name: str) -> None:
    assert load({}, HOME | {name: "tcp://10.0.0.1:8443"}).port == 8443


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("yes", True), ("ON", True), ("false", False), ("no", False)]
)
def test_switches_are_read_from_words(text: str, value: bool) -> None:
    assert load({}, HOME | {"REDFISH_FM_EPHEMERAL": text}).ephemeral is value


def test_interfaces_to_announce_on_are_a_list_of_names(tmp_path: Path) -> None:
    file = write(tmp_path, 'discovery_interfaces = ["eth0", "eth1"]')
    of_environment = load({}, HOME | {"REDFISH_FM_DISCOVERY_INTERFACES": "eth0, eth1"})
    assert load({"config": file}, HOME).discovery_interfaces == ("eth0", "eth1")
    assert of_environment.discovery_interfaces == ("eth0", "eth1")


def test_nothing_is_announced_unless_asked_for() -> None:
    config = load({}, HOME)
    assert (config.ssdp, config.mdns) == (False, False)


def test_a_file_is_read_strictly(tmp_path: Path) -> None:
    (line,) = problems({"config": write(tmp_path, 'port = "8443"')})
    assert line.startswith("port: must be an integer")


@pytest.mark.parametrize("timeout_s", ["29", "86401", "1.5", "nan"])
def test_session_timeouts_outside_the_standard_are_refused(timeout_s: str) -> None:
    (line,) = problems({"session_timeout_s": timeout_s})
    assert line.startswith("session_timeout_s: must be an integer from 30 to 86400")


@pytest.mark.parametrize("scale", ["-1", "nan", "inf"])
def test_a_time_scale_that_is_no_speed_is_refused(scale: str) -> None:
    assert problems({"time_scale": scale})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "fabric.example"])  # noqa: S104
def test_plain_http_is_refused_off_loopback(host: str) -> None:
    (line,) = problems({"http": True, "host": host})
    assert line == f"http: plain HTTP is served on loopback only, not on {host}"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_plain_http_is_served_on_loopback(host: str) -> None:
    assert load({"http": True, "host": host}, HOME).http


def test_a_source_flag_silences_the_other_source_of_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'topology = "two-hosts"')
    config = load({"config": file, "mockup": str(tmp_path)}, HOME)
    assert (config.topology, config.mockup) == (None, tmp_path)


def test_two_sources_in_one_place_are_refused(tmp_path: Path) -> None:
    (line,) = problems({"topology": "two-hosts", "mockup": str(tmp_path)})
    assert line == (
        "mockup: not together with topology, for only one can be served;"
        " leave one out (--mockup, --topology)"
    )


def test_ephemeral_excludes_a_state_folder() -> None:
    (line,) = problems({"ephemeral": True, "state": "/x"})
    assert line == (
        "state: not together with ephemeral, for one keeps what the other does not;"
        " leave one out (--state, --ephemeral)"
    )


def test_ephemeral_has_no_state_folder(tmp_path: Path) -> None:
    file = write(tmp_path, 'state = "/x"')
    assert load({"config": file, "ephemeral": True}, HOME).state is None


def test_ephemeral_switched_off_keeps_the_state_of_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'state = "/x"')
    config = load({"config": file}, HOME | {"REDFISH_FM_EPHEMERAL": "0"})
    assert config.state == Path("/x")


def test_certificate_and_key_come_together(tmp_path: Path) -> None:
    certificate = tmp_path / "cert.pem"
    certificate.touch()
    (line,) = problems({"tls_cert": str(certificate)})
    assert line.startswith("tls_key: is missing")


@pytest.mark.parametrize("key", ["mockup", "config"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, key: str) -> None:
    (line,) = problems({key: str(tmp_path / "nowhere")})
    assert line.startswith(f"{key}: ")
    assert "nowhere" in line


def test_a_file_that_is_not_toml_is_one_problem(tmp_path: Path) -> None:
    (line,) = problems({"config": write(tmp_path, "port: 8443")})
    assert "is not TOML" in line


def test_event_destinations_are_a_list_with_commas() -> None:
    config = load({"event_destinations": "127.0.0.0/8, 2001:db8::/32"}, HOME)
    assert config.event_destinations == ("127.0.0.0/8", "2001:db8::/32")


def test_an_event_destination_that_is_no_network_is_named() -> None:
    (line,) = problems({"event_destinations": "127.0.0.0/8,example.org"})
    assert line.startswith("event_destinations: 'example.org'")


def test_the_password_comes_from_the_environment_and_never_shows() -> None:
    config = load({}, HOME | {"REDFISH_FM_ADMIN_PASSWORD": "tr0ub4dor"})
    assert config.admin_password is not None
    assert config.admin_password.reveal() == "tr0ub4dor"
    for text in (repr(config), str(config), repr(msgspec.structs.asdict(config))):
        assert "tr0ub4dor" not in text


def test_an_empty_password_is_refused() -> None:
    (line,) = problems({}, {"REDFISH_FM_ADMIN_PASSWORD": ""})
    assert line == ("admin_password: must be a text that is not empty (REDFISH_FM_ADMIN_PASSWORD)")


def test_a_password_in_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    (line,) = problems({"config": write(tmp_path, 'admin_password = "tr0ub4dor"')})
    assert line.startswith("admin_password: never in a file")
    assert "tr0ub4dor" not in line


def test_a_password_flag_does_not_exist() -> None:
    (line,) = problems({"admin_password": "tr0ub4dor"})
    assert "tr0ub4dor" not in line


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ({"topology": "two-hosts"}, "two-hosts"),
        ({"topology": "/etc/fabrics/lab 7.yaml"}, "lab-7"),
        ({"topology": "scale:hosts=4,gpus=16"}, "scale-gpus=16-hosts=4"),
        ({"topology": "scale:gpus=016, hosts=4"}, "scale-gpus=16-hosts=4"),
        ({"topology": "/etc/fabrics/lab.yaml:hosts=4"}, "lab-hosts=4"),
        ({"topology": ".."}, "fabric"),
    ],
)
def test_the_default_state_folder_is_named_after_the_topology(
    flags: dict[str, object], name: str
) -> None:
    config = load(flags, HOME)
    assert config.state == Path("/home/someone/.local/state/redfish-fm") / name


def test_the_default_state_folder_is_named_after_the_mockup(tmp_path: Path) -> None:
    packed = tmp_path / "rack.zip"
    packed.touch()
    assert load({"mockup": str(packed)}, HOME).source_name == "rack"
    assert load({"mockup": str(tmp_path)}, HOME).source_name == tmp_path.name


def test_a_configuration_can_not_be_changed() -> None:
    config = load({}, HOME)
    with pytest.raises(AttributeError):
        config.port = 1  # type: ignore[misc]


def documented_keys(repository: Path) -> dict[str, list[str]]:
    text = (repository / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = [
        re.split(r"\s*(?<!\\)\|\s*", line.strip()[1:-1].strip())
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    return {row[0].strip("`"): row for row in rows}


def test_the_documentation_lists_exactly_the_keys_of_the_code(repository: Path) -> None:
    assert list(documented_keys(repository)) == list(KEYS)


@pytest.mark.parametrize("key", list(KEYS))
def test_the_documentation_states_values_and_defaults(repository: Path, key: str) -> None:
    row = documented_keys(repository)[key]
    default = KEYS[key].default
    shown = {"None": "none", "True": "true", "False": "false", "()": "empty"}.get(
        str(default), str(default)
    )
    if key == "state":
        shown = "~/.local/state/redfish-fm/SOURCE"
    if key == "topology":
        shown = DEFAULT_TOPOLOGY
    assert row[1] == describe(key)
    assert row[2] == shown
    flag = f"--{key.replace('_', '-')}"
    assert row[3] == (f"`{flag}`" if flag in serve_flags() else "none")
    assert row[4] == f"`REDFISH_FM_{key.upper()}`"


def serve_flags() -> set[str]:
    serve = main.get_command(click.Context(main), "serve")
    assert serve is not None
    return {flag for option in serve.params for flag in option.opts}


SAMPLES: dict[str, tuple[str, str]] = {
    "host": ("::1", '"::1"'),
    "port": ("17", "17"),
    "http": ("true", "true"),
    "state": ("/s", '"/s"'),
    "ephemeral": ("true", "true"),
    "seed": ("5", "5"),
    "time_scale": ("2.5", "2.5"),
    "topology": ("two-hosts", '"two-hosts"'),
    "mockup": ("HERE", '"HERE"'),
    "strict": ("true", "true"),
    "faults": ("HERE", '"HERE"'),
    "sync_budget_s": ("2", "2"),
    "page_size": ("7", "7"),
    "http_redirect_port": ("8080", "8080"),
    "show_interfaces": ("no", "false"),
    "audit_log_entries": ("70", "70"),
    "audit_log_days": ("7", "7"),
    "event_log_entries": ("70", "70"),
    "event_log_days": ("7", "7"),
    "event_authorities": ("HERE", "'HERE'"),
    "verify_event_destinations": ("true", "true"),
    "subscription_limit": ("7", "7"),
    "event_stream_limit": ("7", "7"),
    "connection_limit": ("128", "128"),
    "log_format": ("json", '"json"'),
    "log_level": ("error", '"error"'),
    "tls_cert": ("HERE", '"HERE"'),
    "tls_key": ("HERE", '"HERE"'),
    "admin_user": ("root", '"root"'),
    "session_timeout_s": ("60", "60"),
    "session_limit": ("2", "2"),
    "session_limit_per_user": ("2", "2"),
    "body_limit_bytes": ("2048", "2048"),
    "foreign_bindings": ("enforce", '"enforce"'),
    "observe_interval_s": ("2", "2"),
    "emulation_latency_ms": ("2", "2"),
    "emulation_latency_paths": ("/a=1,/b=2", '["/a=1", "/b=2"]'),
    "emulation_not_ready_s": ("2", "2"),
    "emulation_reset_outage_s": ("2", "2"),
    "emulation_reset_ends_sessions": ("true", "true"),
    "ssdp": ("true", "true"),
    "mdns": ("true", "true"),
    "discovery_interfaces": ("eth0,eth1", '["eth0", "eth1"]'),
    "event_destinations": ("127.0.0.0/8,::1", '["127.0.0.0/8", "::1"]'),
    "fmapi_listen": ("127.0.0.1:1,s=[::1]:2", '["127.0.0.1:1", "s=[::1]:2"]'),
    "fmapi_dial": ("localhost:1", '["localhost:1"]'),
    "dialect": ("jrl", '"jrl"'),
    "fmapi_profile": ("strict", '"strict"'),
    "fmapi_faults": ("drop=0.1,busy=1", '["drop=0.1", "busy=1"]'),
}


@pytest.mark.parametrize("key", list(KEYS))
def test_em_06_flag_environment_and_file_make_equal_configurations(
    tmp_path: Path, key: str
) -> None:
    text, toml = (each.replace("HERE", str(tmp_path)) for each in SAMPLES[key])
    pairs = {"tls_cert": "tls_key", "tls_key": "tls_cert"}
    more: dict[str, object] = {pairs[key]: str(tmp_path)} if key in pairs else {}
    by_flag = load({key: text, **more}, HOME)
    by_environment = load(more, HOME | {f"REDFISH_FM_{key.upper()}": text})
    by_file = load({"config": write(tmp_path, f"{key} = {toml}\n"), **more}, HOME)
    assert by_flag == by_environment == by_file != load({}, HOME)


def test_a_mistake_in_the_file_has_its_line(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        'host = "::1"\n# port = 1\n\nport = "x"\npaeg_size = 3\nadmin_password = "y"\n'
        "[emulation]\n  latency_ms = -1\n[other]\nport = 2\n",
    )
    assert sorted(line.rpartition("(")[2] for line in problems({"config": file})) == sorted(
        f"{file}:{number})" for number in (4, 5, 6, 8, 9)
    )


def test_the_configuration_type_holds_no_key_outside_the_table() -> None:
    assert set(KEYS) | {"admin_password", "switches"} == set(Config.__struct_fields__)


def test_a_table_of_the_file_holds_what_is_played(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '[emulation]\nlatency_ms = 200\nlatency_paths = ["/redfish/v1/Systems=5000"]\n'
        "reset_ends_sessions = true\n",
    )
    config = load({"config": file}, HOME | {"REDFISH_FM_EMULATION_NOT_READY_S": "10"})
    assert config.emulation_latency_ms == 200
    assert config.emulation_latency_paths == ("/redfish/v1/Systems=5000",)
    assert config.emulation_reset_ends_sessions
    assert config.emulation_not_ready_s == 10
    assert load({}, HOME | {"REDFISH_FM_EMULATION_LATENCY_PATHS": "/a=1, /b=2"})


def test_what_can_not_be_played_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, '[emulation]\nlatncy_ms = 1\nlatency_paths = ["x", "/a=-1", "/b=x"]\n')
    found = problems({"config": file})
    assert found[0].startswith("[emulation] latncy_ms: unknown key; did you mean latency_ms?")
    assert [line.split(" ")[1] for line in found[1:]] == ["'x'", "'/a=-1'", "'/b=x'"]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("[emulation]\nfoo = 1", "[emulation] foo: unknown key; known there: latency_ms, "),
        ("[emulation]\nport = 1", "[emulation] port: unknown key; known there: latency_ms, "),
        ("emulation_latncy_ms = 1", "emulation_latncy_ms: unknown key; did you mean emulation_l"),
        (
            "[emulatoin]\nlatency_ms = 1",
            "emulatoin: unknown table; there is [emulation] and [[switches]] only",
        ),
        ("emulation = 1", "emulation: a table; its keys stand below a line [emulation]"),
        ("[[emulation]]\nlatency_ms = 1", "emulation: a table; its keys stand below"),
        ("[emulation.latency]\nms = 1", "[emulation] latency: unknown key; did you mean latency_"),
        ("[port]\nx = 1", "port: must be an integer"),
    ],
)
def test_a_key_that_is_unknown_is_told_in_the_words_of_the_file(
    tmp_path: Path, text: str, start: str
) -> None:
    (line,) = problems({"config": write(tmp_path, text)})
    assert line.startswith(start)


def test_milliseconds_behind_a_path() -> None:
    assert latency_of("/redfish/v1/Systems/=250") == ("/redfish/v1/Systems", 0.25)
    assert [latency_of(text) for text in ("/a", "a=1", "/a=60001", "/a=nan")] == [None] * 4

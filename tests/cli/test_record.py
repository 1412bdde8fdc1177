"""`redfish-fm mockup record`: how it is told what to do, and what it says when it can not."""

import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from redfish_fm.cli import main
from redfish_fm.cli import record as module
from tests.client.bmc import PASSWORD, USER, Bmc, a_bmc


@pytest.fixture
def bmc() -> Iterator[Bmc]:
    with a_bmc() as made:
        yield made


@pytest.fixture
def place(tmp_path):
    return tmp_path / "rack"


def test_a_service_without_a_login_is_recorded(command, bmc, place) -> None:
    bmc.add("/redfish/v1/C1")
    result = command("mockup", "record", bmc.url, str(place))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{place}: 3 resources in 6 files, 0 failures\n"
    assert command("mockup", "check", str(place)).exit_code == 0


def test_the_password_comes_from_the_environment(command, bmc, place) -> None:
    bmc.guarded = True
    command.environ |= {"REDFISH_USER": USER, "REDFISH_PASSWORD": PASSWORD}
    assert command("mockup", "record", bmc.url, str(place)).exit_code == 0
    assert bmc.asked[1] == ("POST", "/redfish/v1/Logins")
    assert bmc.tokens == set()


def test_the_password_comes_from_stdin(command, bmc, place) -> None:
    bmc.guarded = True
    words = ("mockup", "record", "--user", USER, "--password-stdin", bmc.url, str(place))
    result = CliRunner().invoke(main, words, env=command.environ, input=f"{PASSWORD}\n")
    assert result.exit_code == 0, result.stderr


def test_a_password_can_not_be_a_flag(command, bmc, place) -> None:
    result = command("mockup", "record", "--password", "x", bmc.url, str(place))
    assert result.exit_code == 2
    assert bmc.asked == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--user", "root"), "there is no password"),
        (("--basic",), "a password without --user NAME"),
        (("--insecure",), "the URL is http"),
        (("--cafile", __file__, "--insecure"), "exclude each other"),
        (("--parallel", "0"), "--parallel"),
    ],
)
def test_what_can_not_be_meant_like_that_is_wrong_usage(command, bmc, place, words, line) -> None:
    result = command("mockup", "record", *words, bmc.url, str(place))
    assert result.exit_code == 2
    assert line in result.stderr
    assert bmc.asked == [] and not place.exists()


def test_a_file_without_certificates_is_told_and_nobody_is_asked(command, place) -> None:
    result = command("mockup", "record", "--cafile", __file__, "https://bmc.example", str(place))
    assert result.exit_code == 1
    assert "has no certificate" in result.stderr


def test_a_url_that_is_none_is_wrong_usage(command, place) -> None:
    result = command("mockup", "record", "bmc.example", str(place))
    assert result.exit_code == 2
    assert "'bmc.example' is no URL" in result.stderr


def test_what_is_missing_is_listed_and_is_exit_code_1(command, bmc, place) -> None:
    bmc.link("/redfish/v1/C1")
    result = command("mockup", "record", bmc.url, str(place))
    assert result.exit_code == 1
    assert result.stdout == "uri\tproblem\n/redfish/v1/C1\tanswered 404\n"
    assert (place / "redfish/v1/index.json").is_file()


def test_json_has_all_that_the_report_has(command, bmc, place) -> None:
    bmc.link("/redfish/v1/C1", "http://elsewhere.example/x")
    result = command("mockup", "record", "--json", bmc.url, str(place))
    assert result.exit_code == 1
    assert result.stderr == ""
    assert json.loads(result.stdout) == {
        "service": bmc.url,
        "folder": str(place),
        "resources": 2,
        "files": 5,
        "waits": 0,
        "links_elsewhere": 1,
        "left_out": {},
        "failures": [{"uri": "/redfish/v1/C1", "problem": "answered 404"}],
    }


def test_a_folder_that_is_not_empty_is_left_alone(command, bmc, place) -> None:
    place.mkdir()
    (place / "precious").touch()
    for words in ((), ("--force",)):
        result = command("mockup", "record", *words, bmc.url, str(place))
        assert result.exit_code == 1
        message, hint = result.stderr.splitlines()
        assert message.startswith(f"redfish-fm: {place} is not empty")
        assert hint.startswith("hint: choose another folder")
    assert bmc.asked == []
    assert [path.name for path in place.iterdir()] == ["precious"]


def test_a_service_that_is_not_there_is_one_line_and_a_hint(command, tmp_path, place) -> None:
    with a_bmc() as gone:
        url = gone.url
    result = command("mockup", "record", url, str(place))
    assert result.exit_code == 1
    message, hint = result.stderr.splitlines()
    assert message.startswith(f"redfish-fm: {url}: ")
    assert hint.startswith("hint: ")
    assert not place.exists()


def test_a_login_that_is_refused_leaves_nothing(command, bmc, tmp_path, place) -> None:
    command.environ["REDFISH_PASSWORD"] = "guessed-Passw0rd"
    result = command("mockup", "record", "--user", USER, bmc.url, str(place))
    assert result.exit_code == 1
    assert "the login was refused: 401" in result.stderr
    assert "guessed" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_root_that_can_not_be_read_is_no_mockup(command, bmc, tmp_path, place) -> None:
    bmc.special["/redfish/v1/"] = lambda: (200, {}, b"<html>")
    result = command("mockup", "record", bmc.url, str(place))
    assert result.exit_code == 1
    assert "/redfish/v1 no JSON" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_service_without_json_errors_hints_at_the_login(command, bmc, place) -> None:
    bmc.special["/redfish/v1/"] = lambda: (401, {}, b"")
    result = command("mockup", "record", bmc.url, str(place))
    assert "give --user NAME" in result.stderr


def test_certificates_are_verified_unless_told_otherwise(tmp_path) -> None:
    assert module._tls("http://x", None, False) is None  # noqa: SLF001
    strict = module._tls("https://x", None, False)  # noqa: SLF001
    assert strict is not None and strict.verify_mode is ssl.CERT_REQUIRED and strict.check_hostname
    loose = module._tls("https://x", None, True)  # noqa: SLF001
    assert loose is not None and loose.verify_mode is ssl.CERT_NONE


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """Let new processes heed SIGINT; a shell makes what it starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_session_and_leaves_nothing(bmc, tmp_path, number) -> None:
    asked, release = threading.Event(), threading.Event()

    def stuck() -> None:
        asked.set()
        release.wait(30)

    bmc.link("/redfish/v1/C1")
    bmc.special["/redfish/v1/C1"] = stuck
    words = ("mockup", "record", "--user", USER, bmc.url, str(tmp_path / "rack"))
    with subprocess.Popen(
        [sys.executable, "-m", "redfish_fm", *words],
        env=os.environ | {"REDFISH_PASSWORD": PASSWORD},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert asked.wait(60)
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(number)
        _, told = process.communicate(timeout=30)
    release.set()
    assert process.returncode == 1
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []
    assert bmc.tokens == set()

"""Log lines: one line each, on stderr, readable by people or by machines."""

import json
import logging

import pytest

from redfish_fm import logs


@pytest.fixture(autouse=True)
def configured_again():
    """Give the root logger back what it had."""
    root, ours = logging.getLogger(), logging.getLogger("redfish_fm")
    handlers, level, our_level = root.handlers[:], root.level, ours.level
    root.handlers[:] = []
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(our_level)


def test_text_lines_go_to_stderr_and_name_level_and_logger(capsys) -> None:
    logs.configure("text")
    logging.getLogger("redfish_fm.x").info("made %s", "it")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(" INFO redfish_fm.x: made it\n") and err.count("\n") == 1


def test_a_text_line_begins_with_its_local_time_to_the_millisecond() -> None:
    logs.configure("text")
    (handler,) = logging.getLogger().handlers
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    record = logging.makeLogRecord({"name": "x", "levelname": "INFO", "msg": "said"})
    for created_s in (1_760_000_000.0, 1_760_000_000.25, 1_760_000_001.999, 1_760_000_000.007):
        record.created, record.msecs = created_s, float(int(created_s % 1 * 1000))
        assert handler.format(record) == plain.format(record)


@pytest.mark.expects_errors
def test_a_text_line_of_an_exception_is_followed_by_its_traceback(capsys) -> None:
    logs.configure("text")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("redfish_fm.x").exception("failed")
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.endswith(" ERROR redfish_fm.x: failed")
    assert rest[0].startswith("Traceback")
    assert rest[-1] == "ValueError: broken"


def test_libraries_are_heard_from_warning_on_and_we_from_info_on(capsys) -> None:
    logs.configure("text")
    logging.getLogger("aiohttp").info("chatter")
    logging.getLogger("redfish_fm").debug("detail")
    logging.getLogger("aiohttp").warning("trouble")
    err = capsys.readouterr().err
    assert "trouble" in err and "chatter" not in err and "detail" not in err


def test_json_lines_are_objects_with_time_level_logger_and_message(capsys) -> None:
    logs.configure("json")
    logging.getLogger("redfish_fm.x").warning("two\nlines %d", 2)
    (line,) = capsys.readouterr().err.splitlines()
    record = json.loads(line)
    assert record.keys() == {"time", "level", "logger", "message"}
    assert (record["level"], record["logger"]) == ("WARNING", "redfish_fm.x")
    assert record["message"] == "two\nlines 2"
    assert record["time"].endswith("+00:00")


@pytest.mark.expects_errors
def test_a_json_line_of_an_exception_has_its_traceback(capsys) -> None:
    logs.configure("json")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("redfish_fm.x").exception("failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ValueError: broken" in json.loads(line)["exception"]


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
@pytest.mark.expects_errors
def test_nothing_below_the_level_is_written(capsys, level: str) -> None:
    logs.configure("text", level)
    levels = ["debug", "info", "warning", "error"]
    for each in levels:
        logging.getLogger("redfish_fm.x").log(logging.getLevelName(each.upper()), "said")
    written = [line.split()[2].lower() for line in capsys.readouterr().err.splitlines()]
    assert written == levels[levels.index(level) :]


def test_configuring_twice_writes_each_line_once(capsys) -> None:
    logs.configure("text")
    logs.configure("text")
    logging.getLogger("redfish_fm.x").info("once")
    assert capsys.readouterr().err.count("once") == 1

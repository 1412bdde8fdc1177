"""Log lines: one line each, on stderr, readable by people or by machines."""

import io
import json
import logging
import subprocess
import sys
import threading

import pytest

from redfish_fm import logs


@pytest.fixture(autouse=True)
def configured_again():
    """Give the root logger back what it had."""
    root, ours = logging.getLogger(), logging.getLogger("redfish_fm")
    handlers, level, our_level = root.handlers[:], root.level, ours.level
    root.handlers[:] = []
    yield
    for made in root.handlers:
        made.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(our_level)


def written(capsys):
    """Return what is on stdout and stderr once every line is written."""
    for handler in logging.getLogger().handlers:
        handler.flush()
    return capsys.readouterr()


def test_text_lines_go_to_stderr_and_name_level_and_logger(capsys) -> None:
    logs.configure("text")
    logging.getLogger("redfish_fm.x").info("made %s", "it")
    out, err = written(capsys)
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
    first, *rest = written(capsys).err.splitlines()
    assert first.endswith(" ERROR redfish_fm.x: failed")
    assert rest[0].startswith("Traceback")
    assert rest[-1] == "ValueError: broken"


def test_libraries_are_heard_from_warning_on_and_we_from_info_on(capsys) -> None:
    logs.configure("text")
    logging.getLogger("aiohttp").info("chatter")
    logging.getLogger("redfish_fm").debug("detail")
    logging.getLogger("aiohttp").warning("trouble")
    err = written(capsys).err
    assert "trouble" in err and "chatter" not in err and "detail" not in err


def test_json_lines_are_objects_with_time_level_logger_and_message(capsys) -> None:
    logs.configure("json")
    logging.getLogger("redfish_fm.x").warning("two\nlines %d", 2)
    (line,) = written(capsys).err.splitlines()
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
    (line,) = written(capsys).err.splitlines()
    assert "ValueError: broken" in json.loads(line)["exception"]


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
@pytest.mark.expects_errors
def test_nothing_below_the_level_is_written(capsys, level: str) -> None:
    logs.configure("text", level)
    levels = ["debug", "info", "warning", "error"]
    for each in levels:
        logging.getLogger("redfish_fm.x").log(logging.getLevelName(each.upper()), "said")
    levels_seen = [line.split()[2].lower() for line in written(capsys).err.splitlines()]
    assert levels_seen == levels[levels.index(level) :]


def test_configuring_twice_writes_each_line_once(capsys) -> None:
    logs.configure("text")
    logs.configure("text")
    logging.getLogger("redfish_fm.x").info("once")
    assert written(capsys).err.count("once") == 1


class Pipe(io.StringIO):
    """A stream whose reader stops, and reads on when `reads` is set; notes each write."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = threading.Event()
        self.reads.set()
        self.writes: list[str] = []
        self.asked, self.wrote = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        self.asked.set()
        self.reads.wait(30)
        self.writes.append(text)
        self.wrote.set()
        return super().write(text)


def configured_onto_a_pipe(monkeypatch: pytest.MonkeyPatch, *, reads: bool = True) -> Pipe:
    """Configure logging onto a Pipe. In the test's body, for pytest sets stderr for that anew."""
    pipe = Pipe()
    if not reads:
        pipe.reads.clear()
    monkeypatch.setattr(sys, "stderr", pipe)
    logs.configure("text")
    return pipe


def test_lines_are_written_without_anybody_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = configured_onto_a_pipe(monkeypatch)
    logging.getLogger("redfish_fm.x").info("by itself")
    assert pipe.wrote.wait(30)
    assert pipe.getvalue().endswith("by itself\n")


def test_lines_of_one_moment_are_one_write_and_keep_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs, "GATHER_S", 30.0)
    pipe = configured_onto_a_pipe(monkeypatch)
    log = logging.getLogger("redfish_fm.x")
    for number in range(100):
        log.info("%d", number)
    log.warning("last")
    assert pipe.wrote.wait(20)
    (text,) = pipe.writes
    assert [line.split()[-1] for line in text.splitlines()] == [*map(str, range(100)), "last"]


def test_who_logs_does_not_wait_for_a_reader_that_has_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs, "LINES_MAX", 10)
    pipe = configured_onto_a_pipe(monkeypatch, reads=False)
    log = logging.getLogger("redfish_fm.x")
    log.warning("first")
    assert pipe.asked.wait(30)
    for number in range(25):
        log.info("%d", number)
    pipe.reads.set()
    logging.getLogger().handlers[0].flush()
    lines = pipe.getvalue().splitlines()
    assert len(lines) == 12
    assert lines[-1] == "15 more lines were left out: nobody read these"


def test_the_end_of_the_process_is_not_held_up_by_a_reader_that_has_stopped() -> None:
    code = (
        "import logging; from redfish_fm import logs; logs.configure('text');"
        "log = logging.getLogger('redfish_fm.x');"
        "[log.info('x' * 1000) for _ in range(1000)]"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as process:
        try:
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_a_process_that_ends_writes_its_last_lines() -> None:
    code = (
        "import logging; from redfish_fm import logs; logs.configure('text');"
        "logging.getLogger('redfish_fm.x').info('goodbye')"
    )
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, check=True)
    assert done.stderr.endswith(b"goodbye\n")

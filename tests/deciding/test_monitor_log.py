"""The log of a service: what is in it after kills, rotation, and other people's hands."""

from __future__ import annotations

import io
import os
from datetime import UTC, datetime

import pytest

from casewise.deciding.decider import DeciderAnswer, DecisionRequest
from casewise.deciding.monitor import ServiceOptions, TrafficLine, TrafficLog, read_traffic, traffic_line
from casewise.errors import ConfigurationError, DataError

WRITTEN = TrafficLine(decision="answer", id="x", value=0.5, at=datetime(2026, 1, 1, tzinfo=UTC), decider="d")
TEXT = f"{WRITTEN.line()}\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.fixture
def log(path):
    opened = TrafficLog(path)
    yield opened
    opened.close()


def counted(log):
    return {event: count for event, count in log.events.items() if count}


def test_lines_are_added_and_read_back(log, path):
    for _ in range(2):
        log.write(WRITTEN)

    assert read_traffic(path) == ((WRITTEN, WRITTEN), 0)
    assert counted(log) == {}


def test_a_line_states_its_format_and_what_is_usual_of_a_service():
    assert (WRITTEN.format, WRITTEN.shadow, WRITTEN.query_characters, WRITTEN.stated) == (1, False, 0, ())
    assert ServiceOptions() == ServiceOptions(None, None, 10.0, "flagged", False, None, "answer")


def test_a_line_holds_numbers_of_a_decision_and_nothing_that_the_request_says():
    request = DecisionRequest("How?", {"recipient": {"type": "a nurse"}}, id="own")
    answer = DeciderAnswer(
        decision="refuse", id="own", p_safe=0.2, value=0.3, why="A nurse asks", latency_s=0.1234567, failed="timeout"
    )
    line = traffic_line(request, answer, decider="h", shadow=True)

    assert (line.decision, line.id, line.p_safe, line.value, line.failed) == ("refuse", "own", 0.2, 0.3, "timeout")
    assert (line.decider, line.shadow, line.query_characters, line.stated) == ("h", True, 4, ("recipient.type",))
    assert line.latency_s == 0.12346
    assert not {"How?", "nurse", "asks"} & set(line.line().replace('"', " ").split())


def test_the_owner_alone_may_read_a_log(path):
    path.write_text(TEXT)
    path.chmod(0o644)
    for log_path in (path, path.with_name("new.jsonl")):
        TrafficLog(log_path).close()
        assert log_path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kept", ["", TEXT, TEXT * 500])
@pytest.mark.parametrize("torn", ['{"dec', TEXT[:40], '{"decision":' + "x" * 150_000])
def test_a_last_line_that_was_broken_off_is_cut_off(path, kept, torn):
    path.write_text(kept + torn)
    log = TrafficLog(path)
    log.write(WRITTEN)
    log.close()

    assert path.read_text() == kept + TEXT
    assert counted(log) == {"torn": 1}


@pytest.mark.parametrize("text", ["notes", f"{TEXT}notes", '{"decided": 1'])
def test_a_file_that_is_no_log_is_refused_and_not_touched(path, text):
    path.write_text(text)

    with pytest.raises(ConfigurationError, match="is not a decider's log: its last line is incomplete"):
        TrafficLog(path)
    assert path.read_text() == text


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"--capture .*: cannot be written: "):
        TrafficLog(tmp_path / "no such folder" / "log.jsonl")


def test_a_log_that_was_moved_is_begun_anew(log, path):
    log.write(WRITTEN)
    path.rename(path.with_name("old.jsonl"))
    log.write(WRITTEN)

    assert path.read_text() == path.with_name("old.jsonl").read_text() == TEXT
    assert counted(log) == {"reopened": 1}


def test_the_lines_of_a_log_that_was_removed_are_counted_as_lost(path):
    path.write_text(TEXT)
    log = TrafficLog(path)
    for _ in range(3):
        log.write(WRITTEN)
    path.unlink()
    log.write(WRITTEN)
    log.close()

    assert path.read_text() == TEXT
    assert counted(log) == {"lost": 3, "reopened": 1}


@pytest.mark.parametrize(("left", "cut"), [(0, 3), (1, 3), (2, 2), (3, 1)])
def test_the_own_lines_that_stood_in_what_was_cut_off_are_counted(path, left, cut):
    """One line was there before the service, which wrote three."""
    path.write_text(TEXT)
    log = TrafficLog(path)
    for _ in range(3):
        log.write(WRITTEN)
    os.truncate(path, left * len(TEXT))
    log.write(WRITTEN)

    assert counted(log) == {"shortened": 1, "cut": cut}
    log.write(WRITTEN)
    os.truncate(path, (left + 1) * len(TEXT))
    log.write(WRITTEN)
    log.close()
    assert counted(log) == {"shortened": 2, "cut": cut + 1}
    assert path.read_text() == TEXT * (left + 2)


def test_a_log_is_opened_again_on_request(log, path):
    log.write(WRITTEN)
    before = log.file
    log.reopen()
    log.write(WRITTEN)

    assert before.closed
    assert path.read_text() == TEXT * 2
    assert counted(log) == {"reopened": 1}


def test_a_log_in_whose_place_something_else_stands_is_not_continued(log, path):
    path.unlink()
    path.write_text("notes")

    with pytest.raises(OSError, match="is not a decider's log"):
        log.reopen()
    assert path.read_text() == "notes"


def test_a_line_that_is_written_in_part_is_taken_back(log, path, monkeypatch):
    log.write(WRITTEN)
    real = log.file

    class AlmostFull(io.BytesIO):
        def write(self, data):
            return real.write(data[:30])

    monkeypatch.setattr(log, "file", AlmostFull())
    with pytest.raises(OSError, match="the line was not written"):
        log.write(WRITTEN)
    assert path.read_text() == TEXT
    real.close()


def test_lines_that_are_no_json_are_counted_and_empty_ones_are_not(path):
    path.write_text(f"{TEXT}\n{TEXT[:30]}\n{TEXT[:30]}{TEXT}{TEXT}")

    assert read_traffic(path) == ((WRITTEN, WRITTEN), 2)


def test_a_line_that_is_no_decision_is_named(path):
    path.write_text(f'{TEXT}{{"decision": "answer"}}\n')

    with pytest.raises(DataError, match=r"log\.jsonl:2: "):
        read_traffic(path)

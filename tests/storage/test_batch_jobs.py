"""Batch jobs on disk: each step is a line, and the state of a job follows from its lines."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from casewise.errors import ConfigurationError, DataError
from casewise.storage.batch_jobs import BATCHES, BatchJob, JobEvent, JobLog, discard_results

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)


def event(stage: Any, job: str = "ab-1", **more: Any) -> JobEvent:
    return JobEvent(job=job, stage=stage, at=NOW, **more)


@pytest.fixture
def log(tmp_path):
    return JobLog.at(tmp_path)


def kept(log, mark, *results):
    async def arriving():
        for result in results:
            yield result

    asyncio.run(log.keep_results(mark, arriving()))


def test_a_job_is_read_back_as_its_steps_left_it(log):
    log.note(event("intended", names=("ab-x",), tokens_at_most=9))
    log.note(event("out", batch="b1", expires=LATER, state="running"))
    log.note(event("seen", n_done=7, state="finalizing"))
    log.note(event("intended", "ab-2"))

    for read in (JobLog.read(log.folder), JobLog.at(log.folder), log):
        job = read.jobs["ab-1"]
        assert (job.stage, job.batch, job.expires, job.state, job.n_done) == ("out", "b1", LATER, "finalizing", 7)
        assert (job.mark, job.intended.names, job.intended.tokens_at_most) == ("ab-1", ("ab-x",), 9)
        assert list(read.jobs) == ["ab-1", "ab-2"]


def test_what_a_step_does_not_state_stays_as_it_was():
    job = BatchJob("ab-1", event("intended"))
    job.step(event("uploaded", file="f1", words="queued", late=("ab-x",), n_done=3))
    job.step(event("ended", n_done=0))

    assert (job.stage, job.file, job.words, job.late, job.n_done) == ("ended", "f1", "queued", ("ab-x",), 0)


@pytest.mark.parametrize(
    ("stage", "unsettled"),
    [("intended", True), ("uploaded", True), ("out", True), ("ended", False), ("refused", False), ("lost", False)],
)
def test_requests_may_still_be_answered_until_a_job_is_settled(stage, unsettled):
    job = BatchJob("ab-1", event("intended"))
    job.step(event(stage))

    assert job.unsettled is unsettled


def test_marks_of_a_run_share_a_beginning(log):
    assert len(log.run) == 8
    log.note(event("intended", "cafe-1"))
    assert log.run == "cafe"


def test_a_torn_step_is_cut_off_by_its_own_session_and_passed_over_by_a_reader(log):
    log.note(event("intended"))
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + b'{"job":"ab-2","sta')

    assert list(JobLog.read(log.folder).jobs) == ["ab-1"]
    assert log.path.read_bytes() != whole
    assert list(JobLog.at(log.folder).jobs) == ["ab-1"]
    assert log.path.read_bytes() == whole


def test_a_job_whose_first_step_is_lost_is_refused_as_its_cost_is_unknown(log):
    (log.folder / BATCHES).write_text(event("seen", n_done=7).model_dump_json() + "\n")
    with pytest.raises(DataError, match="the first step of the job 'ab-1' is 'seen' and not 'intended'"):
        JobLog.read(log.folder)


def test_a_step_that_is_none_is_named(log):
    log.path.write_text('{"job":"ab-1"}\n')

    with pytest.raises(DataError, match=f"{BATCHES}:1: "):
        JobLog.read(log.folder)


def test_a_step_that_cannot_be_written_is_an_error_and_does_not_count(log):
    log.path.mkdir()

    with pytest.raises(ConfigurationError, match="cannot write"):
        log.note(event("intended"))
    assert log.jobs == {}


def test_results_are_found_at_their_places(log):
    results = [("ab-x", 200, '{"a": "\u00e9\\n"}'), ("ab-y", 500, ""), ("ab-x", 200, "again")]
    kept(log, "ab-1", *results)

    places = list(log.places("ab-1"))

    assert [(name, place.status, log.text_at(place)) for name, place in places] == results
    assert [place.job for _, place in places] == ["ab-1"] * 3
    assert list(log.places("ab-2")) == []


def test_results_that_break_off_are_not_kept(log):
    async def breaking():
        yield ("ab-x", 200, "{}")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(log.keep_results("ab-1", breaking()))
    assert list(log.places("ab-1")) == []
    assert list(log.results_of("ab-1").parent.iterdir()) == []


def test_discarded_results_leave_the_steps(log):
    log.note(event("intended"))
    log.note(event("ended"))
    kept(log, "ab-1", ("ab-x", 200, "a reply"))

    discard_results(log.folder)

    assert list(log.places("ab-1")) == []
    assert [json.loads(line)["stage"] for line in log.path.read_text().splitlines()] == ["intended", "ended"]

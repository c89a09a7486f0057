"""What batch jobs may take: set aside while they are out, and counted where nothing reports it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from casewise.models.prices import Spend
from casewise.runs.batch import GONE, exceeded_queue, reserved_spend, total_reserved, unaccounted_spend
from casewise.storage.batch_jobs import BatchJob, JobEvent, JobLog


def job(**stands: Any) -> BatchJob:
    """A job of four requests that takes two dollars and ten tokens at most."""
    intended = JobEvent(
        job="ab-1",
        stage="intended",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        names=("ab-a", "ab-b", "ab-c", "ab-d"),
        cost_at_most_usd=2.0,
        tokens_at_most=10,
    )
    return BatchJob("ab-1", intended, **stands)


def test_a_job_is_set_aside_with_the_most_that_it_can_take():
    unpriced = job()
    unpriced.intended = unpriced.intended.model_copy(update={"cost_at_most_usd": None})

    assert reserved_spend(job()) == Spend(2.0, 10)
    assert reserved_spend(unpriced) == Spend(0.0, 10)


@pytest.mark.parametrize(
    ("stands", "spend"),
    [
        ({"stage": "ended", "state": "completed"}, Spend()),
        ({"stage": "lost"}, Spend(2.0, 10)),
        ({"stage": "ended", "state": GONE}, Spend(2.0, 10)),
        ({"stage": "ended", "state": "completed", "late": ("ab-a",)}, Spend(0.5, 3)),
        ({"stage": "ended", "state": "completed", "late": ("ab-a", "ab-b", "ab-c", "ab-d")}, Spend(2.0, 10)),
    ],
)
def test_what_no_answer_of_a_job_reports_is_its_late_answers_or_all_of_it(stands, spend):
    assert unaccounted_spend(job(**stands)) == spend


def test_the_jobs_of_a_run_are_set_aside_while_they_are_out_and_count_what_they_hide_afterwards():
    jobs = [job(stage="out"), job(stage="uploaded"), job(stage="refused"), job(stage="lost")]
    log = JobLog(Path(), {f"ab-{place}": each for place, each in enumerate(jobs)})

    assert total_reserved(log) == Spend(6.0, 30)
    assert total_reserved(JobLog(Path())) == Spend()


@pytest.mark.parametrize(
    ("state", "words", "exceeded"),
    [
        ("failed", "token_limit_exceeded", True),
        ("failed", "Enqueued token limit reached", True),
        ("failed", "the queue is full", True),
        ("failed", "server_error", False),
        ("completed", "the queue is full", False),
    ],
)
def test_a_queue_was_full_where_a_job_that_failed_says_so(state, words, exceeded):
    assert exceeded_queue(job(state=state, words=words)) is exceeded

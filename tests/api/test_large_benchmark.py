"""A benchmark whose contexts stay in their file gives the numbers of one that holds them."""

import pytest
from tests.support.demo import DEMO

import casewise
from casewise.audits import AuditOptions, audit
from casewise.records import FULL, NO_CONTEXT
from casewise.storage import read_benchmark, write_benchmark
from casewise.storage.columns import ContextFile


@pytest.fixture
def large(tmp_path):
    found = read_benchmark(write_benchmark(DEMO, tmp_path / "benchmark"), most_held=0)
    assert isinstance(found.contexts, ContextFile)
    return found


@pytest.mark.slow
def test_a_run_over_it_is_judged_and_reported_the_same(large, tmp_path):
    runs = [
        casewise.judge(benchmark, "fake/rehearsal", out=tmp_path / name, arms=(FULL, NO_CONTEXT))
        for name, benchmark in (("held", DEMO), ("large", large))
    ]

    held, read = [run.judgements.select("item_id", "arm", "value").sort("item_id", "arm") for run in runs]
    assert read.equals(held)
    assert len(read) == 2 * DEMO.counts.items
    held, read = [casewise.report(run).metrics for run in runs]
    assert read.equals(held)


@pytest.mark.slow
def test_an_audit_of_it_finds_the_same(large):
    options = AuditOptions(splits=10, folds=5)

    assert audit(large, options=options).as_json() == audit(DEMO, options=options).as_json()


def test_it_is_written_and_cut_down_as_any_other(large, tmp_path):
    assert large.restricted_to(large.items[:4]) == DEMO.restricted_to(DEMO.items[:4])
    assert read_benchmark(write_benchmark(large, tmp_path / "copy")) == DEMO

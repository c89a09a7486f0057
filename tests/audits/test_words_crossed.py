"""Designs in which contexts recur: each of several profiles with each of several requests."""

from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import Row, benchmark_of, looked, some_words

import casewise
from casewise.audits.subject import Subject
from casewise.audits.words import SOLVED, audit_baseline, find_solution
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.yardsticks import notes_on_items
from casewise.judges.baselines import LinearJudge


def crossed(rng, *, requests=30, profiles=8, label="request"):
    """Every profile with every request. The label follows the request, or is a coin for each of the cells."""
    rows = []
    people = [f"{some_words(rng, 3)} {'nurse' if i % 2 else 'stranger'} p{i}" for i in range(profiles)]
    for request in range(requests):
        mild = request % 2 == 0
        text = f"request {request} {'recipe' if mild else 'poison'} {some_words(rng, 2)}"
        for profile in people:
            safe = {"request": mild, "cell": rng.random() < 0.5}[label]
            rows.append(Row(text, None, (int(safe),) * 3, words=profile))
    return rows


@pytest.fixture(scope="module")
def solved():
    return Subject(benchmark_of(crossed(np.random.default_rng(1), requests=80, profiles=6)))


@pytest.mark.slow
def test_that_words_solve_a_benchmark_is_said_at_the_first_audit_and_on_every_report_of_it(solved):
    part = looked(audit_baseline, solved)
    (finding,) = [one for one in part.findings if one.code == "baseline.solved"]

    assert finding.title.startswith(
        "Words alone solve this benchmark: a classifier of the query's words, tested on whole queries and contexts"
    )
    assert finding.evidence["accuracy"]["ci_low"] >= SOLVED
    assert notes_on_items(solved.benchmark, ReportOptions()) == (finding.title,)
    run = casewise.judge(solved.benchmark, "linear")
    report = casewise.report(run, benchmark=solved.benchmark)
    assert finding.title in report.notes
    assert solved.contexts_recur
    assert report.to_markdown().count("The intervals are over queries only") == 1


@pytest.mark.slow
@pytest.mark.parametrize("label", ["cell", "request"])
def test_it_is_said_where_the_whole_interval_is_above_nine_in_ten_and_nowhere_else(label):
    few = crossed(np.random.default_rng(3), label=label, requests=6 if label == "request" else 30, profiles=4)

    assert find_solution(Subject(benchmark_of(few))) is None


@pytest.mark.slow
def test_a_constant_verdict_that_is_nearly_always_right_is_no_solution_by_words():
    rows = crossed(np.random.default_rng(4))
    alike = [
        replace(row, votes=(1, 1, 1)) if place % 20 else replace(row, votes=(0, 0, 0)) for place, row in enumerate(rows)
    ]

    assert find_solution(Subject(benchmark_of(alike))) is None


def test_a_benchmark_without_contexts_is_read_by_the_words_of_its_queries():
    rows = crossed(np.random.default_rng(5), profiles=1, requests=160)
    subject = Subject(benchmark_of(rows))

    assert (subject.why_no_baseline, subject.reads, subject.groups_held_out) == (None, "query", "queries")
    assert LinearJudge(subject.benchmark).features == "query"
    solution = find_solution(subject)
    assert solution is not None
    assert solution.reads == "query"

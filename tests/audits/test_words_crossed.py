"""Designs in which contexts recur: each of several profiles with each of several requests."""

from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import Row, benchmark_of, crowd, looked, some_words

import casewise
from casewise.audits.subject import AuditOptions, Subject
from casewise.audits.words import SOLVED, audit_baseline, find_solution
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.yardsticks import notes_on_items
from casewise.judges.baselines import LinearJudge
from casewise.stats.words import Folds, HeldOut, out_of_fold


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


def test_a_crossed_set_has_a_word_baseline_that_learns_from_neither_the_query_nor_the_context_of_a_test_item(solved):
    plan = solved.held_out(solved.folds)

    assert solved.why_no_baseline is None
    assert (plan.groups, solved.reads, len(plan.folds)) == ("queries and contexts", "query+context", 2)
    for folds, groups in zip(plan.folds, (solved.query, solved.texts_of_contexts), strict=True):
        assert all(len(set(folds.of_row[groups == one].tolist())) == 1 for one in np.unique(groups))


def test_a_row_is_predicted_without_any_row_that_shares_a_fold_with_it():
    # The label is a word of the row's query and of its context: each word stands in no other query and in no other context.
    query, context = (axis.ravel() for axis in np.meshgrid(np.arange(6), np.arange(6)))
    label = np.random.default_rng(2).integers(0, 2, 36).astype(float)
    texts = [f"q{q}x c{c}x" for q, c in zip(query, context, strict=True)]

    both = out_of_fold(texts, label, folds=[Folds.from_groups(query, n=6), Folds.from_groups(context, n=6)])

    for place in range(36):
        seen = label[(query != query[place]) & (context != context[place])]
        assert both[place] == pytest.approx(seen.mean(), abs=0.06), (
            "nothing but the share of safe ones is known of new words"
        )


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


def test_contexts_recur_where_each_stands_with_two_queries_on_average():
    rows = crowd(np.random.default_rng(8), queries=10)
    twice = [replace(row, words=rows[place % 10].words) for place, row in enumerate(rows)]

    assert not Subject(benchmark_of([*rows[:18], *twice[18:]])).contexts_recur
    assert Subject(benchmark_of(twice)).contexts_recur


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


def test_items_of_one_cluster_are_held_out_together():
    benchmark = benchmark_of(crowd(np.random.default_rng(7), queries=40))
    place = {query.id: number for number, query in enumerate(benchmark.queries)}
    clustered = replace(
        benchmark,
        items=tuple(
            item.model_copy(update={"cluster": f"task {place[item.query_id] // 2}"}) for item in benchmark.items
        ),
    )
    subject = Subject(clustered)

    plan = subject.held_out(subject.folds)
    assert isinstance(plan, HeldOut)
    (folds,) = plan.folds
    task = np.array([place[item.query_id] // 2 for item in clustered.items])
    assert all(len(set(folds.of_row[task == one].tolist())) == 1 for one in range(20))


def test_too_few_items_are_the_reason_that_is_given():
    rows = crossed(np.random.default_rng(6), requests=4, profiles=4)
    subject = Subject(benchmark_of(rows), AuditOptions())

    assert subject.why_no_baseline == "it learns from 20 items or more, and only 16 have labels"

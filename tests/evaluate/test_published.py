"""The paper's numbers, from small tables, outputs and runs whose numbers are known."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest, kruskal
from tests.audits.builders import Row, benchmark_of
from tests.support.published import completed_at_random, output_rows, write
from tests.support.samples import some

import casewise
from casewise.api import RunOptions
from casewise.errors import BenchmarkError
from casewise.evaluate.judged_runs import read_runs
from casewise.evaluate.published import (
    PaperRow,
    by_category,
    by_query,
    case_study,
    influence,
    left_out,
    paper_numbers,
    published_for,
    published_numbers,
    rows_of_paper,
    rows_of_runs,
    without_interval,
)
from casewise.evaluate.replay import replay
from casewise.judges.judge import Answer, Judge, unscored_answer
from casewise.judges.plan import Selection
from casewise.records import FULL, NO_CONTEXT, Arm, Scored, UnscoredReason
from casewise.stats.estimates import Estimate
from casewise.stats.labels import labels
from casewise.storage.benchmark import Published
from casewise.storage.load import load

VOTES = pl.DataFrame(
    [
        ("a", "fraud", "safe_revised", 3, 4),
        ("a", "fraud", "unsafe_revised", 1, 4),
        ("b", "spam", "safe_revised", 20, 20),
        ("b", "spam", "unsafe_revised", 0, 20),
        ("c", "spam", "safe_revised", 4, 4),
        ("c", "spam", "unsafe_revised", 0, 0),
        ("d", "spam", "safe_original", 4, 4),
    ],
    schema=["query_id", "category", "condition", "n_safe", "n_votes"],
    orient="row",
)


# Section 5.1 and figures 3, 9 and 10.


def test_the_two_revised_conditions_are_compared_by_all_their_votes():
    found = some(influence(VOTES))

    assert (found.safe, found.unsafe) == ((27, 28), (1, 24))
    assert found.test.difference == pytest.approx(27 / 28 - 1 / 24)


@pytest.mark.parametrize("lacking", ["safe_revised", "unsafe_revised"])
def test_one_condition_without_votes_says_nothing_of_the_contexts_influence(lacking):
    assert influence(VOTES.filter(pl.col("condition") != lacking)) is None


def test_a_query_needs_votes_in_both_revised_conditions():
    assert by_query(VOTES).rows() == [("a", "fraud", 3, 4, 1, 4), ("b", "spam", 20, 20, 0, 20)]


def test_a_category_has_the_mean_of_its_queries_statistics_and_the_number_beyond_the_papers_level():
    queries = pl.concat([by_query(VOTES), by_query(VOTES).with_columns(query_id=pl.lit("e"), category=pl.lit("spam"))])
    by_hand = [kruskal([1] * 3 + [0], [1] + [0] * 3).statistic, kruskal([1] * 20, [0] * 20).statistic]
    found = by_category(queries)

    assert found["category"].to_list() == ["spam", "fraud"], "the largest first"
    assert found["h"].to_list() == pytest.approx([(2 * by_hand[1] + by_hand[0]) / 3, by_hand[0]])
    assert found.select("queries", "significant").rows() == [(3, 2), (1, 0)]
    assert by_category(queries.clear()).rows() == []


def test_a_case_study_has_the_share_of_each_condition_with_wilsons_interval():
    benchmark = load("demo")
    category = "sexual crimes"
    found = some(case_study(by_query(VOTES).with_columns(category=pl.lit(category)), benchmark, "secual crimes"))
    limits = binomtest(3, 4).proportion_ci(method="wilson")

    assert found.select("safe", "unsafe").rows() == [(0.75, 0.25), (1.0, 0.0)]
    assert found.row(0, named=True)["safe_low"] == pytest.approx(limits.low)
    assert found.row(0, named=True)["safe_high"] == pytest.approx(limits.high)
    assert found["p"][1] == pytest.approx(kruskal([1] * 20, [0] * 20).pvalue)
    assert case_study(by_query(VOTES), benchmark, "a category of no query") is None


def test_the_papers_sample_size_is_found_again():
    found = paper_numbers(benchmark_of([Row("q", True, (1, 1, 0)), Row("q", False, (0, 0, 1), words="other")]))

    assert (found.sample_size.n_per_group, found.sample_size.n_total, found.sample_size.alpha) == (16, 80, 0.05)
    assert (found.strict_sample_size.n_per_group, found.strict_sample_size.alpha) == (22, 0.0125)
    assert some(found.influence).safe == (2, 3)
    assert set(found.case_studies) == {"Figure 9", "Figure 10"}


def test_no_ratings_are_an_error():
    with pytest.raises(BenchmarkError, match="'made-up' has no ratings"):
        paper_numbers(benchmark_of([Row("query", True, ())]))


# Tables 2 and 4, and figure 5.


def estimate(value, name="accuracy"):
    return Estimate(name, value, None, None, 90.0, 0, "made up")


def row(judge, accuracy, *, source="output", omitted=(), elicitation="binary"):
    names = ("accuracy", "recall_safe", "recall_unsafe")
    numbers = {} if accuracy is None else {name: estimate(accuracy, name) for name in names}
    return PaperRow(judge, elicitation, omitted, source, 90, numbers, None)


def test_a_row_is_ranked_by_its_accuracy_and_marked_where_it_is_a_run():
    rows = row("a", 0.8), row("a", 0.8, source="run"), row("a", None)

    assert [each.title for each in rows] == ["a", "a (your run)", "a"]
    assert [each.accuracy for each in rows] == [0.8, 0.8, 0.0]


def test_the_highest_row_is_named_among_those_with_an_accuracy():
    numbers = replace(paper_numbers(load("demo")), rows=(row("a", 0.7), row("b", 0.8, source="run"), row("c", None)))

    assert some(numbers.highest).sentence.startswith(
        "b (your run) has the highest of 2 accuracies against the paper's labels, which count the author's intent as a vote: 80.0 % "
        "(asked for binary)."
    )
    assert replace(numbers, rows=numbers.rows[1:]).highest is None


def test_what_a_part_of_the_context_is_worth_is_found_beside_the_same_judge_with_all_of_it():
    less = row("a", 0.6, omitted=("recipient",))
    others = [row("b", 0.9), row("a", 0.9, elicitation="score"), row("a", 0.9, source="run")]
    found = list(left_out(less, [less, *others, row("a", 0.8)]))

    assert [(each.metric, some(each.whole).estimate, some(each.without).estimate) for each in found] == [
        *(("recall_safe", 0.8, 0.6), ("recall_unsafe", 0.8, 0.6)),
    ]
    assert [each.whole for each in left_out(less, [less, *others])] == [None, None]


def test_the_papers_own_numbers_are_for_the_release_alone_and_have_no_interval():
    release, other = (Published(file="", rates_count_intent=is_it, votes_hold_intent=False) for is_it in (True, False))
    rows = list(rows_of_paper(published_for(release)))

    assert (published_for(other), published_for(None), list(rows_of_paper(None))) == (None, None, [])
    assert len(rows) == len(published_numbers().judges)
    assert {(each.source, each.n_items) for each in rows} == {("paper", 900)}
    assert rows[0].published["accuracy"] == without_interval("accuracy", 0.82, 900)
    assert some(rows[0].votes_accuracy).estimate == 0.805556
    assert some(rows[0].votes_accuracy).limits is None


@pytest.mark.slow
def test_published_numbers_are_those_of_the_released_outputs(shared):
    known = {(judge.name, judge.elicitation, bool(judge.omitted)): judge for judge in published_numbers().judges}
    for path in sorted((shared / "data" / "published_outputs").rglob("*.json")):
        found = replay(path)
        judge = known[found.judge, found.elicitation, bool(found.omitted)]
        assert judge.published == pytest.approx(found.published, abs=1e-6)
        assert judge.votes == pytest.approx({k: v.estimate for k, v in found.votes.items()}, abs=1e-6)


def test_what_is_missing_from_the_published_numbers_is_said():
    numbers = published_numbers()

    assert numbers.missing
    assert all(0 <= judge.published["accuracy"] <= 1 for judge in numbers.judges)
    assert np.isfinite([value for judge in numbers.judges for value in judge.published.values()]).all()


# Outputs.


def output(folder, values, *, judge, name="output_score.json"):
    rows = output_rows(values, judge=judge)
    if "recipient" in name:
        for each in rows:
            each["context"].pop("recipient")
    return write(folder / f"safety_{judge}" / name, rows)


def test_outputs_stand_in_the_tables_the_most_accurate_first_and_parts_of_the_context_apart(tmp_path):
    intents = [each["context_intended_to_be_safe"] for each in output_rows([0] * 20)]
    good, bad = ([9 if intent == is_good else 2 for intent in intents] for is_good in (True, False))
    files = [
        output(tmp_path, bad, judge="bad"),
        output(tmp_path, good, judge="good"),
        output(tmp_path, bad, judge="good", name="output_score_recipient.json"),
    ]
    found = paper_numbers(load("demo"), outputs=files)

    assert [each.judge for each in found.rows] == [each.judge for each in found.replays] == ["good", "bad"]
    assert [each.source for each in found.rows] == ["output"] * 2
    assert {(each.judge, each.omitted, each.source) for each in found.left_out} == {("good", ("recipient",), "output")}
    assert all(some(some(each.whole).estimate) > some(some(each.without).estimate) for each in found.left_out)


@pytest.mark.parametrize(("n_read", "has_row"), [(2, True), (1, False)])
def test_an_output_that_lacks_more_than_half_of_its_verdicts_has_a_note_and_no_row(tmp_path, n_read, has_row):
    found = paper_numbers(load("demo"), outputs=[output(tmp_path, [3] * n_read + [""] * (4 - n_read), judge="short")])

    assert [each.n_unscored for each in found.rows] == ([4 - n_read] if has_row else [])
    assert any("short gave no verdict on 75.0 % of items" in note for note in found.odd) == (not has_row)
    assert any("fills such replies with 1.0" in note for note in found.odd) == (not has_row)


def test_an_output_that_cannot_be_read_and_one_that_was_filled_in_are_said(tmp_path):
    bad = write(tmp_path / "safety_bad" / "output_score.json", [{"query": 3}])
    found = paper_numbers(load("demo"), outputs=[bad, completed_at_random(tmp_path)])

    (said,) = found.unread
    assert said.startswith("Not read, so not on this page: ")
    assert str(bad) in said
    assert [note for note in found.odd if "25 of its 90 values" in note]


# Runs.


class Mixed(Judge):
    """Says safe; in the bare arm it says nothing."""

    id = name = "mixed"
    elicitations = ("binary", "scalar")
    arms = (FULL, Arm.without("recipient"), NO_CONTEXT)

    async def answer(self, ask):
        return unscored_answer(UnscoredReason.UNPARSED) if ask.arm == NO_CONTEXT else Answer(Scored(value=1.0))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    few = RunOptions(selection=Selection(limit=10))
    return casewise.judge("demo", Mixed(), out=tmp_path_factory.mktemp("runs") / "run", options=few).path


def test_a_run_has_a_row_for_each_arm_that_the_paper_could_have_and_that_has_verdicts(run):
    runs = read_runs([run])
    rows, safe = list(rows_of_runs(runs)), labels(runs.items.filter(runs.series[0].asked)).weight

    assert [(each.judge, each.elicitation, each.omitted, each.source) for each in rows] == [
        ("mixed", "binary", (), "run"),
        ("mixed", "binary", ("recipient",), "run"),
    ]
    assert {(each.n_items, each.n_unscored) for each in rows} == {(10, 0)}
    assert some(rows[0].votes_accuracy).estimate == pytest.approx(safe.mean())
    assert list(rows_of_runs(None)) == []


def test_a_run_that_cannot_be_set_beside_the_papers_judges_says_why(run):
    odd = paper_numbers(load("demo"), runs=read_runs([run])).odd

    assert "demo is not the CASE-Bench release: the paper's own numbers are left out." in odd
    assert "mixed (binary) was asked 10 of 90 items: the other rows are over other items." in odd
    assert "mixed was not asked by the paper's protocol (--protocol published)." in odd
    assert any(note.startswith("mixed (binary, none) gave no verdict on any item") for note in odd)
    assert paper_numbers(load("demo")).odd == ()

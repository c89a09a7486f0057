"""What a series of judgements carries with it: its run, its cost, and what its judge says that readers must know."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.support.samples import some

import casewise
from casewise.errors import BenchmarkError, ConfigurationError, RunConflict
from casewise.evaluate.judged_runs import ReportOptions, answers_of, read_runs
from casewise.judges.baselines import ConstantJudge
from casewise.judges.judge import Answer
from casewise.models.prices import Spend, note_unreported
from casewise.records import FULL, NO_CONTEXT, Scored
from casewise.storage.run_folder import judgement_table, run_notes


class Priced(ConstantJudge):
    """Says safe, for a cent a call."""

    arms = (FULL, NO_CONTEXT)

    def notes(self):
        return ("its answers are bought",)

    async def answer(self, ask):
        return Answer(Scored(value=1.0), cost_usd=0.01 if ask.arm == FULL else None)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    casewise.judge("demo", Priced("safe"), out=folder / "bought")
    casewise.judge("demo", "constant:unsafe", out=folder / "free")
    return folder / "bought", folder / "free"


def test_a_series_knows_its_run_and_what_it_cost(folders):
    bought, blind, free = read_runs(folders).series

    assert [one.run.path for one in (bought, blind, free)] == [folders[0], folders[0], folders[1]]
    assert bought.cost_usd == pytest.approx(0.9)
    assert (blind.arm, blind.cost_usd, free.cost_usd) == ("none", None, None)


@pytest.mark.slow
def test_what_a_judge_says_of_itself_stands_in_its_run_and_in_every_report(folders):
    assert run_notes(folders[0]) == ("its answers are bought",)
    assert "its answers are bought" in casewise.report(folders[0]).notes
    assert "its answers are bought" in casewise.compare(*folders).notes
    assert "its answers are bought" not in casewise.report(folders[1]).notes


@pytest.mark.slow
def test_a_judge_that_is_only_called_linear_is_not_taken_for_the_classifier(tmp_path):
    def linear(query, context):
        return "safe"

    run = casewise.judge("demo", linear, out=tmp_path / "run")

    assert not [note for note in run.report().notes if "bag-of-words" in note]
    assert [note for note in casewise.report(casewise.judge("demo", "linear")).notes if "bag-of-words" in note]


def test_notes_of_several_sessions_are_kept_once_each(tmp_path):
    for _ in range(2):
        casewise.judge("demo", Priced("safe"), out=tmp_path / "run")

    assert run_notes(tmp_path / "run") == ("its answers are bought",)


def test_a_mismatch_names_the_benchmarks_and_no_digests(folders):
    demo = casewise.load("demo")
    half = replace(demo, items=demo.items[:20], ratings=demo.ratings.of_items([item.id for item in demo.items[:20]]))
    other = replace(half, about=half.about.model_copy(update={"name": "other"}))

    with pytest.raises(BenchmarkError, match="'demo' has other items or ratings now") as same:
        read_runs(folders, benchmark=half)
    with pytest.raises(BenchmarkError, match="the run is over 'demo', and 'other' has other items"):
        read_runs(folders, benchmark=other)
    with pytest.raises(
        RunConflict, match="benchmark: it has 'demo', now 'demo' with other items or ratings"
    ) as changed:
        casewise.judge(half, "constant:unsafe", out=folders[1])
    assert demo.digest not in str(same.value) + str(changed.value)


def test_runs_of_one_judge_are_numbered_only_where_they_were_asked_alike(tmp_path):
    asked = {"a": "score", "b": "binary", "c": "score"}
    paths = [tmp_path / name for name in asked]
    for path, how in zip(paths, asked.values(), strict=True):
        casewise.judge("demo", "fake/rehearsal", elicitations=how, out=path)

    assert [one.name for one in read_runs(paths[:2]).series] == ["fake/rehearsal (score)", "fake/rehearsal (binary)"]
    assert [one.name for one in read_runs(paths).series] == [
        "fake/rehearsal (score)",
        "fake/rehearsal (binary)",
        "fake/rehearsal #3 (score)",
    ]


# A judge that was asked several times.


@pytest.fixture(scope="module")
def asked_five_times(tmp_path_factory):
    """A judge that is right in seven of ten answers on the demo, asked five times; and one that was asked once."""
    folder, demo = tmp_path_factory.mktemp("repeats"), casewise.load("demo")
    rng = np.random.default_rng(4)
    votes = dict(demo.item_columns.select("item_id", "n_safe").iter_rows())

    class Unsteady(ConstantJudge):
        async def answer(self, ask):
            return Answer(Scored(value=float((votes[ask.item.id] > 10) == (rng.random() < 0.7))))

    casewise.judge(demo, Unsteady("safe"), elicitations="binary", repeats=5, out=folder / "five")
    casewise.judge(demo, "linear", elicitations="binary", out=folder / "linear")
    return folder / "five", folder / "linear"


@pytest.mark.slow
def test_every_command_says_how_often_one_answer_of_a_judge_agrees(asked_five_times):
    five, linear = asked_five_times
    safe = casewise.load("demo").item_columns.select("item_id", label=pl.col("n_safe") > 10)
    answers = judgement_table(five / "judgements.jsonl").join(safe, on="item_id")
    of_one = answers.select(((pl.col("value") > 0.5) == pl.col("label")).mean()).item()

    report, compared = casewise.report(five), casewise.compare(five, linear)
    gated = casewise.gate(five, baseline=linear, max_drop="accuracy=0.5")
    ranked = casewise.leaderboard(five, linear)

    assert 0.6 < of_one < 0.8
    assert report.numbers.answers[0].comparison.judge["accuracy"].estimate == pytest.approx(of_one)
    assert some(compared.comparison.estimates["constant:safe (binary)"][0].estimate) == pytest.approx(of_one)
    assert gated.numbers.gate.metrics[0].run == pytest.approx(of_one)
    board = {str(row.name): row for row in ranked.numbers.rows}
    assert board["constant:safe (binary)"].numbers["accuracy"].estimate == pytest.approx(of_one)


@pytest.mark.slow
def test_the_majority_of_several_answers_is_a_second_number_with_its_name(asked_five_times):
    (answer,) = casewise.report(asked_five_times[0]).numbers.answers

    assert "with one answer" in answer.sentences[0]
    assert "the majority of its 5 answers on" in answer.sentences[0]
    assert answer.together is not None
    assert some(answer.together[1].estimate) > some(answer.comparison.judge["accuracy"].estimate)


def test_an_item_with_fewer_answers_than_others_has_them_again():
    judgements = pl.DataFrame({"item_id": [1, 0, 1, 1], "value": [1.0, 0.0, None, 0.0]})

    answers = answers_of(judgements, 3, 3)

    assert np.array_equal(answers, [[0, 1, np.nan], [0, np.nan, np.nan], [0, 0, np.nan]], equal_nan=True)


# Intervals over a column of the user's choice.


@pytest.mark.slow
def test_clusters_of_another_column_change_intervals_and_no_estimate(asked_five_times):
    options = [ReportOptions(cluster=column) for column in (None, "domain")]
    by_query, by_domain = (casewise.report(asked_five_times[1], options=option) for option in options)
    accuracies = [report.numbers.answers[0].comparison.judge["accuracy"] for report in (by_query, by_domain)]

    assert accuracies[0].estimate == accuracies[1].estimate
    assert accuracies[0].limits != accuracies[1].limits
    assert "Intervals and tests are over 4 domains: items with one value of domain" in by_domain.to_markdown()


def test_an_unknown_column_is_refused_with_those_there_are(asked_five_times):
    with pytest.raises(ConfigurationError, match="did you mean 'domain'"):
        casewise.report(asked_five_times[1], options=ReportOptions(cluster="domian"))


class Billed(ConstantJudge):
    """Says safe; of every second call nobody reports the tokens."""

    async def answer(self, ask):
        if ask.item.id < "m":
            note_unreported()
            return Answer(Scored(value=1.0))
        return Answer(Scored(value=1.0), cost_usd=0.01)

    def max_spend(self, _ask):
        return Spend(0.5, 9)


@pytest.mark.slow
def test_a_series_costs_at_most_what_is_reported_and_what_is_assumed(tmp_path):
    casewise.judge("demo", Billed("safe"), out=tmp_path / "run")
    (series,) = read_runs([tmp_path / "run"]).series
    n_unreported = sum(item.id < "m" for item in casewise.load("demo").items)

    assert series.assumed_cost_usd == pytest.approx(0.5 * n_unreported)
    assert series.cost_usd == pytest.approx(0.5 * n_unreported + 0.01 * (90 - n_unreported))
    assert f"at most ${series.cost_usd:,.4g}" in casewise.report(tmp_path / "run").to_markdown()

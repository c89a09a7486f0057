from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import benchmark_of, crowd, looked, some_words
from tests.support.samples import some

import casewise
from casewise.audits.words import audit_subsets
from casewise.errors import BenchmarkError
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.judged_runs import ReportOptions, read_runs
from casewise.evaluate.yardsticks import ReferenceScores, restrict_to_subset, subset_scores
from casewise.reports.document import Prose, Table
from casewise.reports.judge_parts import subset_blocks


def telling(rng, intended):
    return f"{some_words(rng)} {'clinic nurse' if intended else 'revenge stalker'}"


@pytest.fixture(scope="module")
def benchmark():
    return benchmark_of(crowd(np.random.default_rng(1), safe=0.75, unsafe=0.2, words=telling))


@pytest.fixture(scope="module")
def runs(benchmark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "safe"
    casewise.judge(benchmark, "constant:safe", out=folder)
    return read_runs([folder], benchmark=benchmark)


def test_every_subset_has_the_judge_the_words_and_what_to_read_beside_it(benchmark, runs):
    scores = {score.subset: score for score in subset_scores(runs, ReferenceScores(benchmark))}

    assert set(scores) == {"clear", "close", "low-margin", "hard"}
    assert scores["clear"].n + scores["close"].n == 120
    sizes = looked(audit_subsets, ReferenceScores(benchmark).subject).measured["items_by_subset"]
    assert {name: score.items for name, score in scores.items()} == sizes
    assert some(scores["clear"].second_study) > some(scores["close"].second_study)
    assert some(scores["hard"].accuracy.estimate) <= some(scores["hard"].best)


def test_a_scalar_beside_a_binary_judge_has_scores_only_where_it_has_verdicts(benchmark, runs, tmp_path):
    def lengths(query: str, context: object) -> float:
        return 7.0 if "nurse" in str(context) else -3.0

    casewise.judge(benchmark, lengths, elicitations="scalar", out=tmp_path / "scalar")
    both = read_runs([*runs.paths, tmp_path / "scalar"], benchmark=benchmark)
    fitted = {one.subset: one for one in subset_scores(replace(both, fit_thresholds=True), ReferenceScores(benchmark))}

    assert {one.judge for one in subset_scores(both, ReferenceScores(benchmark))} == {runs.series[0].name}
    assert fitted["hard"].judge == both.series[1].name
    assert some(fitted["hard"].accuracy.estimate) > 0.3


def test_a_report_on_a_subset_is_over_its_items(runs):
    kept = restrict_to_subset(runs, "clear")

    assert kept.series[0].asked.sum() == len(kept.sample(kept.series[0]))
    assert 0 < kept.series[0].asked.sum() < 120


def test_a_run_that_was_asked_everything_is_not_said_to_lack_items_on_a_subset(runs):
    notes = JudgeNumbers.from_runs(runs.paths, benchmark=runs.benchmark, options=ReportOptions(items="clear")).notes

    assert not [note for note in notes if "was asked" in note]
    assert [note for note in notes if "'clear'" in note]


def test_the_table_explains_its_names(benchmark, runs):
    table, told = subset_blocks(tuple(subset_scores(runs, ReferenceScores(benchmark))))

    assert isinstance(table, Table)
    assert isinstance(told, Prose)
    assert [row[0] for row in table.rows] == ["clear", "close", "low-margin", "hard"]
    assert "one half of the votes" in told.text


def test_runs_that_were_asked_none_of_them_are_refused(runs):
    nobody = replace(runs, series=tuple(replace(one, asked=np.zeros(120, dtype=bool)) for one in runs.series))

    with pytest.raises(BenchmarkError, match="none of the items"):
        restrict_to_subset(nobody, "clear")

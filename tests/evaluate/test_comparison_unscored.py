"""What comparisons, gates, reports and leaderboards make of items without a verdict."""

import json
from dataclasses import replace

import pytest
from tests.support.command import program

import casewise
from casewise.api import Limits, RunOptions
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import ReportOptions
from casewise.records import Scored, Unscored, UnscoredReason
from casewise.reports.document import Prose
from casewise.stats.labels import LabelPolicy

EXCLUDE = ReportOptions(unscored="exclude")
SILENT = Unscored(reason=UnscoredReason.NO_VERDICT, detail="nothing that is a verdict")


def right_but_for(wrong, silent):
    """A judge that says what the author of a context meant, other than on a share of queries, and nothing on another share."""
    items: dict[str, int] = {}

    def judge(query, context):
        place = items.setdefault(query, len(items))
        if place % 10 < silent:
            return SILENT
        safe = "verified" in str(context) if place % 10 < 10 - wrong else False
        return Scored(value=float(safe))

    return judge


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two judges alike but for what the second leaves unscored, and one that leaves more than half unscored."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        name: casewise.judge(
            "demo", right_but_for(2, silent), out=folder / name, options=RunOptions(limits=Limits(1))
        ).path
        for name, silent in (("whole", 0), ("some", 3), ("mostly", 6), ("none", 10))
    }


def estimate_of(estimates):
    return next(one.estimate for one in estimates if one.name == "accuracy")


@pytest.mark.slow
def test_under_exclude_judges_are_compared_on_the_items_that_all_scored(runs):
    found = casewise.compare(runs["whole"], runs["some"], options=EXCLUDE)

    first, second = (estimate_of(all_) for all_ in found.comparison.estimates.values())
    assert first == second
    assert found.comparison.n_items < 90
    assert f"{found.comparison.n_items} items on which every judge gave a verdict" in " ".join(found.as_json()["notes"])


@pytest.mark.slow
def test_under_miss_the_same_two_differ_by_what_is_unscored(runs):
    found = casewise.compare(runs["whole"], runs["some"])

    first, second = (estimate_of(all_) for all_ in found.comparison.estimates.values())
    assert found.comparison.n_items == 90
    assert first > second


@pytest.mark.slow
@pytest.mark.parametrize("unscored", ["miss", "exclude", "published"])
def test_a_run_that_lacks_more_than_is_allowed_does_not_pass_under_any_policy(runs, unscored):
    options = ReportOptions(unscored=unscored)
    found = casewise.gate(runs["some"], runs["whole"], max_drop={"accuracy": 1.0}, options=options)

    assert found.decision == "inconclusive"
    assert "Too many items have no verdict" in found.numbers.sentence()


@pytest.mark.slow
def test_it_passes_where_so_many_are_allowed_and_is_compared_with_what_both_scored(runs):
    found = casewise.gate(runs["some"], runs["whole"], max_drop={"accuracy": 0.5}, max_unscored=0.5, options=EXCLUDE)

    assert found.decision == "pass"
    (accuracy,) = found.numbers.gate.metrics
    assert accuracy.drop == 0
    assert any(
        f"{found.numbers.gate.n_items} items on which both gave a verdict" in note for note in found.numbers.notes
    )


@pytest.mark.slow
def test_a_baseline_without_verdicts_lets_nothing_through(runs):
    found = casewise.gate(runs["whole"], runs["mostly"], max_drop={"accuracy": 0.05})

    assert found.decision == "inconclusive"


@pytest.mark.slow
def test_the_command_takes_the_share_that_is_allowed(runs):
    words = ["gate", str(runs["some"]), "--baseline", str(runs["whole"]), "--max-drop", "accuracy=1", "--json"]

    strict, lenient = program(*words), program(*words, "--max-unscored", "0.4")

    assert (strict.code, json.loads(strict.out)["max_unscored"]) == (3, 0.05)
    assert lenient.code == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mostly", "none"])
@pytest.mark.parametrize("labels", ["votes", "published"])
def test_a_report_gives_no_agreement_of_a_judge_that_is_mostly_unscored(runs, name, labels):
    options = replace(ReportOptions(unscored="published"), labels=LabelPolicy.parse(labels))
    found = casewise.report(runs[name], options=options)

    page = found.to_html()
    assert "agrees with people" not in page
    (first, *_) = found.document.sections[0].blocks
    assert isinstance(first, Prose)
    assert "gave no verdict on" in first.text
    assert found.as_json()["answers"] == []


@pytest.mark.slow
def test_a_leaderboard_does_not_rank_it(runs):
    board = casewise.leaderboard(runs["whole"], runs["some"], runs["mostly"])

    ranks = {row["run"].rpartition("/")[2]: row["best_rank"] for row in board.rows.to_dicts()}
    assert ranks["mostly"] is None
    assert None not in (ranks["whole"], ranks["some"])
    assert board.numbers.rows[-1].source.endswith("mostly")


@pytest.mark.slow
def test_a_comparison_is_of_those_that_gave_verdicts(runs):
    found = casewise.compare(runs["whole"], runs["some"], runs["mostly"], options=EXCLUDE)
    assert len(found.comparison.names) == 2
    alone = casewise.compare(runs["whole"], runs["mostly"])
    assert "nothing to compare" in alone.numbers.sentence
    assert (alone.as_json()["pairs"], alone.as_json()["conclusions"], alone.as_json()["picked"]) == ([], [], {})
    assert [section.anchor for section in alone.document.sections] == ["answer"]


def test_no_decider_is_fitted_on_a_judge_that_is_mostly_unscored(runs):
    with pytest.raises(ConfigurationError, match="it gave no value on"):
        casewise.recommend(runs["mostly"])
    with pytest.raises(ConfigurationError, match="gave no verdict on"):
        casewise.fit_decider(runs["mostly"], ratio=1)

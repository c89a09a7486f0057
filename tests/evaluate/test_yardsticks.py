from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.audits.builders import benchmark_of, crowd, some_words

from casewise.audits.words import subset_rows
from casewise.evaluate.conclusions import AGREES, compared
from casewise.evaluate.yardsticks import ReferenceScores, better_baseline, error_sentences, metrics_of
from casewise.reports.judge_parts import baseline_blocks
from casewise.stats.costs import RefusalRates
from casewise.stats.estimates import Estimate, difference_of
from casewise.stats.labels import VOTES
from casewise.stats.sample import judge_sample
from casewise.storage.load import load_frame
from casewise.storage.wording import LabelWords


def telling(rng, intended):
    return f"{some_words(rng)} {'clinic nurse' if intended else 'revenge stalker'}"


@pytest.fixture(scope="module")
def reference_scores():
    return ReferenceScores(benchmark_of(crowd(np.random.default_rng(1), safe=0.9, unsafe=0.1, words=telling)))


def against(reference_scores, values, asked=None):
    items = reference_scores.subject.items
    rows = np.ones(len(items), dtype=bool) if asked is None else asked
    return reference_scores.compare(judge_sample(items, values, elicitation="binary").where(rows), rows)


def baselines(beside) -> Any:
    """The table of baselines."""
    return next(baseline_blocks(beside))


def told(beside):
    """What the answer says of the better baseline."""
    baseline = better_baseline(beside)
    about = baseline.about_words.sentence if baseline.about_words else ""
    return f"{compared('J', baseline.name, baseline.ahead, words=AGREES).sentence!s} {about!s}"


WORDS = "trained on these labels with whole queries held out"


def test_a_judge_below_the_words_agrees_less_often(reference_scores):
    found = against(reference_scores, np.ones(120))

    assert found.ahead_of_words.ci_high < 0
    assert found.ahead_of_constant.estimate == 0
    assert found.ahead_of_constant.limits == pytest.approx((-0.0704, 0.0704), abs=1e-3)
    assert "less often than a classifier of the context's words" in told(found)
    assert WORDS in told(found)


def test_a_judge_that_decides_as_the_words_do_everywhere_is_compared_with_a_constant_verdict(reference_scores):
    found = against(reference_scores, (reference_scores.subject.baseline > 0.5).astype(float))

    assert found.ahead_of_words.estimate == 0
    assert "a classifier" not in told(found)
    assert "than a constant verdict" in told(found)


def test_the_differences_from_both_baselines_hold_together(reference_scores):
    verdicts = np.random.default_rng(3).integers(0, 2, 120).astype(float)
    subject, asked = reference_scores.subject, np.ones(120, dtype=bool)
    judge = metrics_of(judge_sample(subject.items, verdicts, elicitation="binary"))["accuracy"]
    words = reference_scores.values(reference_scores.words, asked, "probability", VOTES)["accuracy"]

    assert against(reference_scores, verdicts).ahead_of_words == difference_of(judge, words, level=0.975)


def test_a_judge_who_knows_more_than_the_words_agrees_more_often():
    rows = crowd(np.random.default_rng(2), safe=0.5, unsafe=0.5, queries=80)
    reference_scores = ReferenceScores(benchmark_of(rows))

    found = against(reference_scores, (reference_scores.subject.label > 0.5).astype(float))

    assert found.words["accuracy"].estimate < found.constant
    assert "more often than a constant verdict (51.2 %)" in told(found)
    assert f"(43.8 %), {WORDS}, is not told apart from a constant verdict: -7.5 points [" in told(found)


@pytest.mark.slow
def test_the_classifier_is_that_of_the_linear_judge(reference_scores):
    import casewise

    report = casewise.report(casewise.judge(reference_scores.benchmark, "linear"), benchmark=reference_scores.benchmark)
    expected = report.metrics.filter(metric="accuracy", label_policy="votes")["estimate"].item()

    assert against(reference_scores, np.ones(120)).words["accuracy"].estimate == pytest.approx(expected)


def test_everything_is_over_the_items_that_were_asked(reference_scores):
    asked = np.arange(120) < 40

    found = against(reference_scores, np.ones(120), asked)

    assert found.judge["accuracy"].n == found.words["accuracy"].n == 40


def test_who_copies_the_intent_is_said_to_have_none_of_some_items():
    rows = crowd(np.random.default_rng(1), queries=20)
    found = against(
        ReferenceScores(benchmark_of([replace(one, intended_safe=None) for one in rows[:4]] + rows[4:])), np.ones(40)
    )

    assert found.intent.n_unscored == 4
    assert "Copying the author's intent (4 without)" in [row[0] for row in baselines(found).rows]


def test_few_items_have_no_baseline_and_say_why():
    reference_scores = ReferenceScores(benchmark_of(crowd(np.random.default_rng(1), queries=4)))

    found = against(reference_scores, np.ones(8))

    assert found.words == {}
    why: Any = [*baseline_blocks(found)][1]
    assert "There is no baseline of words alone" in why.text


def test_all_are_compared_with_as_many_people_as_one_person_is(reference_scores):
    subject = reference_scores.subject
    found = against(reference_scores, np.ones(120))
    draws = np.random.default_rng(4).hypergeometric(
        subject.n_safe, subject.n_votes - subject.n_safe, found.people.others, size=(4000, 120)
    )

    majority = (np.sign(2 * draws - found.people.others) + 1) / 2
    assert found.against_others["judge"].estimate == pytest.approx(majority.mean(), abs=0.003)
    by_words = np.where(reference_scores.words > 0.5, majority, 1 - majority).mean()
    assert found.against_others["words"].estimate == pytest.approx(by_words, abs=0.003)
    assert set(found.against_others) == {"judge", "words", "intent", "constant"}
    assert found.against_others["constant"].estimate >= found.against_others["judge"].estimate


def test_the_table_has_a_row_for_each_baseline(reference_scores):
    table = baselines(against(reference_scores, np.ones(120)))

    assert [row[0].split()[0] for row in table.rows] == ["The", "Words", "Copying", "A", "One", "A", "The"]


def test_of_a_very_large_benchmark_the_words_of_some_queries_are_read_and_the_judge_stands_beside_them_there(
    reference_scores, monkeypatch
):
    verdicts = np.random.default_rng(4).integers(0, 2, 120).astype(float)
    of_all = against(reference_scores, verdicts)
    monkeypatch.setattr("casewise.audits.subject.MOST_READ", 70)
    some = ReferenceScores(reference_scores.benchmark)
    subject = some.subject

    found = against(some, verdicts)
    there = against(some, verdicts, subject.words_read)

    assert 60 <= subject.words_read.sum() <= 70
    assert not set(subject.query[subject.words_read]) & set(subject.query[~subject.words_read])
    assert np.array_equal(np.isnan(subject.baseline), ~subject.words_read)
    assert found.words == there.words
    assert found.ahead_of_words == there.ahead_of_words
    assert "words" not in found.against_others
    assert f"of {subject.words_read.sum()} items drawn at random" in baselines(found).rows[1][0]
    assert found.judge == of_all.judge
    assert there.words_of is None
    assert {name: subset_rows(subject, name)[~subject.words_read].any() for name in ("hard", "low-margin")} == {
        "hard": False,
        "low-margin": False,
    }


def test_a_statement_that_is_the_label_is_the_baseline_and_says_what_it_holds_out(monkeypatch):
    levels: list[float] = []

    def difference(*numbers, level=0.95):
        levels.append(level)
        return difference_of(*numbers, level=level)

    monkeypatch.setattr("casewise.evaluate.yardsticks.difference_of", difference)
    people = ("a pilot", "in debt", "alone", "a nurse")
    rows = [
        {"query": f"thing {n}?", "context": f"I am {who}.", "label": "safe" if who == "anyone" else "unsafe"}
        for n in range(30)
        for who in ("anyone", people[n % 4], people[(n + 1) % 4])
    ]
    reference_scores = ReferenceScores(load_frame(rows, "keyed"))

    found = against(reference_scores, np.zeros(90))

    assert found.key is not None
    assert found.key.estimate == 1.0
    assert (
        "less often than the statement “I am anyone.” alone (100.0 %), with whole queries held out and contexts not"
        in told(found)
    )
    assert sorted(levels) == pytest.approx([0.95, *[1 - 0.05 / 3] * 3]), (
        "of three baselines, and of words and a constant"
    )


def test_a_predicted_second_study_has_an_interval(reference_scores):
    again = against(reference_scores, np.ones(120)).people.same_again

    assert again.ci_low < again.estimate < again.ci_high


def share(value, low=None, high=None):
    return Estimate("x", value, low, high, 10.0, 0, "made up")


def rates(harm, over, *, n_safe=10, n_unsafe=10):
    nothing = share(0.0)
    return RefusalRates(0.7, n_safe, n_unsafe, over, harm, nothing, nothing)


def test_an_error_without_items_is_not_spoken_of():
    harm_alone, none = rates(share(0.1), share(None), n_safe=0), rates(share(None), share(None), n_safe=0, n_unsafe=0)

    assert "refuses" not in error_sentences(harm_alone, LabelWords("people"), unscored=0)
    assert "its errors cannot be split" in error_sentences(none, LabelWords("people"), unscored=0)

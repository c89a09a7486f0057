"""The word baseline's findings, from predictions that are written down instead of learnt."""

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from tests.audits.builders import Row, benchmark_of
from tests.support.samples import NAN, some

from casewise.audits.subject import ALPHA, AuditPart, Subject
from casewise.audits.words import (
    Gain,
    audit_subsets,
    baseline_row,
    constants,
    find_solution,
    gain_over_constant,
    interval_width,
    shortcut,
    subset_rows,
    telling_phrases,
    vocabulary,
)
from casewise.errors import BenchmarkError
from casewise.stats.estimates import Estimate
from casewise.stats.words import PhraseCounts


def subject_with(rows, baseline, **known) -> Subject:
    """A benchmark whose classifier says so."""
    subject = Subject(benchmark_of(rows))
    vars(subject).update(baseline=np.array(baseline, dtype=float), **known)
    return subject


def labelled(safe, n):
    """Items of one vote and a query each, the first of which are safe."""
    return [Row(f"q{place}", True, (int(place < safe),), words=f"w{place}") for place in range(n)]


# The gain.


def test_a_gain_holds_at_five_points_and_beyond_chance_after_the_search():
    bound = float(-ndtri(ALPHA))
    assert [Gain(gain, z, 0.6).holds() for gain, z in ((0.05, bound + 1e-6), (0.05, bound), (0.049, 9.0))] == [
        True,
        False,
        False,
    ]
    assert (Gain(0.1, 3.2, 0.6).holds(), Gain(0.1, 3.2, 0.6).holds(comparisons=3)) == (True, False)
    found = Gain(0.1, 4.0, 0.6)
    assert (found.accuracy, found.share) == pytest.approx((0.7, 0.25))
    assert found.evidence == {"accuracy": pytest.approx(0.7), "gain": 0.1, "z": 4.0}
    assert Gain(0.0, 0.0, 1.0).share == 0.0


def test_only_rows_with_a_label_and_a_prediction_are_compared_with_the_better_constant():
    subject = subject_with([*labelled(3, 10), Row("x", True, (), words="x")], [NAN])
    values = np.array([0.9, 0.9, 0.4, *[0.1] * 6, NAN, 0.9])
    whole, half = (gain_over_constant(subject, values, rows) for rows in (None, np.arange(11) < 6))

    assert (whole.constant, whole.gain) == pytest.approx((6 / 9, 2 / 9))
    assert (half.constant, half.gain) == pytest.approx((3 / 6, 2 / 6 + 3 / 6 - 3 / 6))
    assert gain_over_constant(subject, np.where(np.isnan(values), NAN, 0.1)).z == 0.0, "nothing gained, nothing spread"


def test_the_z_of_a_gain_is_by_the_grouping_over_which_it_varies_most():
    """Four of eight items gain one each: over the items z is √7, over two groups, of which one has them all, it is 1."""
    each, two = np.arange(8), np.arange(8) // 4
    right = np.where(each < 4, 0.9, 0.1)
    found = [
        gain_over_constant(subject_with(labelled(4, 8), [NAN], groupings=groupings), right).z
        for groupings in ((each,), (two,), (each, two), (two, each))
    ]

    assert found == pytest.approx([np.sqrt(7), 1, 1, 1])


# Constants and baselines.


def test_constant_verdicts_and_the_intent_are_scored_under_both_policies():
    rows = [Row("q1", True, (1, 1, 0)), Row("q2", True, (1, 0), words="b"), Row("q3", False, (0,), words="c")]
    found = constants(Subject(benchmark_of(rows)))

    assert {name: numbers["votes"] for name, numbers in found.items()} == {
        "constant:safe": pytest.approx(1.5 / 3),
        "constant:unsafe": pytest.approx(1.5 / 3),
        "constant:intended": pytest.approx(2.5 / 3),
    }
    assert found["constant:safe"]["published"] == pytest.approx(2 / 3), "the intent settles the tie"
    assert constants(Subject(benchmark_of([Row("q", True, ())])))["constant:safe"]["votes"] is None


def test_a_baseline_is_scored_on_the_items_that_it_read():
    subject = Subject(benchmark_of(labelled(2, 4)))
    row = baseline_row(subject, "context", "queries", np.array([0.9, 0.2, 0.1, NAN]))

    assert (row["reads"], row["held_out"]) == ("context", "queries")
    assert row["votes"]["accuracy"]["estimate"] == pytest.approx(2 / 3)
    assert row["votes"]["recall_safe"]["estimate"] == 1 / 2
    assert set(row["votes"]) == {"accuracy", "recall_safe", "recall_unsafe", "pearson", "brier"}
    assert set(row) == {"reads", "held_out", "votes", "published"}


# Findings.


def measured(accuracy=0.9) -> dict[str, Any]:
    numbers = {"accuracy": {"estimate": accuracy, "ci_low": accuracy - 0.05, "ci_high": accuracy + 0.05}}
    return {
        "baselines": [
            {"reads": "context", "held_out": "queries", "votes": numbers},
            {"reads": "context", "held_out": "categories", "votes": {"accuracy": {"estimate": 0.8}}},
            {"reads": "recipient.type", "held_out": "queries", "votes": {"accuracy": {"estimate": 0.7}}},
        ],
        "constants": {"constant:safe": {"votes": 0.5}},
        "phrases_for_safe": [{"text": "a nurse", "coefficient": 1.0}],
        "phrases_for_unsafe": [{"text": "a thief", "coefficient": -1.0}],
    }


def test_words_that_alone_give_the_labels_are_a_finding_with_what_was_held_out():
    labels = labelled(20, 40)
    telling, silent = (
        subject_with(labels, [*[0.9] * right, *[0.1] * (40 - right)], reads="context") for right in (18, 40)
    )
    found, none = AuditPart("baseline", measured()), AuditPart("baseline", measured())
    vocabulary(telling, found)
    vocabulary(silent, none)
    (finding,) = found.findings

    assert finding.title == (
        "The context's words alone predict the label on 90.0 % [85.0, 95.0] of items; a constant verdict is right on 50.0 %."
    )
    assert finding.share == pytest.approx(0.45 / 0.5)
    assert finding.evidence["accuracy_by_what_is_held_out"] == {"queries": 0.9, "categories": 0.8}
    assert (finding.evidence["phrases_for_safe"], finding.evidence["phrases_for_unsafe"]) == (["a nurse"], ["a thief"])
    assert finding.evidence["gain"] == pytest.approx(0.45)
    assert none.findings == []


def test_the_phrases_that_tell_most_are_those_of_either_label_with_their_coefficients():
    words = ["cruel", "kind"] * 20
    subject = Subject(benchmark_of([Row(f"q{n}", True, (n % 2,), words=word) for n, word in enumerate(words)]))
    for_safe, for_unsafe = telling_phrases(subject, lambda: PhraseCounts.from_texts(words))

    assert (for_safe[0]["text"], for_unsafe[0]["text"]) == ("kind", "cruel")
    assert for_safe[0]["coefficient"] == pytest.approx(-for_unsafe[0]["coefficient"], rel=1e-3)
    assert for_safe[0]["coefficient"] > 0


def exchanged(n, *, usual_right=36, moved_right=4) -> tuple[list[Row], np.ndarray]:
    """Forty usual items, and as many that have another query's context; the classifier goes by the context."""
    usual = [Row(f"q{place // 2}", place % 2 == 0, (1 - place % 2,), words=f"w{place}") for place in range(40)]
    moved = [
        Row(f"q{(place // 2 + 1) % 20}", place % 2 == 0, (place % 2,), words=f"w{place}", condition="exchanged")
        for place in range(n)
    ]
    label = np.array([row.votes[0] for row in (*usual, *moved)], dtype=float)
    right = np.r_[np.arange(40) < usual_right, np.arange(n) < moved_right]
    return [*usual, *moved], np.where(right, 0.2 + 0.6 * label, 0.8 - 0.6 * label)


def test_contexts_that_keep_the_prediction_while_the_label_changes_are_a_shortcut():
    rows, values = exchanged(20)
    subject, part = subject_with(rows, values), AuditPart("baseline")
    shortcut(subject, part)
    (finding,) = part.findings

    assert finding.title == (
        "With contexts exchanged between queries, the words predict 20.0 % of the labels instead of 90.0 %: the prediction stays, the label "
        "changes."
    )
    assert finding.share == pytest.approx(0.7 / 0.9)
    assert (finding.evidence["exchanged_items"], finding.evidence["accuracy_on_exchanged"]) == (20, pytest.approx(0.2))
    assert finding.evidence["accuracy_on_the_others"] == pytest.approx(0.9)
    assert len(finding.items) == 16
    # 40 items: four wrong at the end, in queries of two; 20 items: four right at the start, in queries of two
    stayed, moved = (4 * 0.9**2 / 40**2 * 2 + 36 * 0.1**2 / 40**2 * 2, 4 * 0.8**2 / 20**2 * 2 + 16 * 0.2**2 / 20**2 * 2)
    assert finding.evidence["z"] == pytest.approx(0.7 / np.sqrt(20 / 19 * stayed + 10 / 9 * moved))


@pytest.mark.parametrize(
    ("n", "right"), [(19, {}), (20, {"moved_right": 17}), (20, {"usual_right": 20}), (40, {"moved_right": 35})]
)
def test_a_shortcut_needs_twenty_exchanged_items_a_baseline_that_holds_and_a_drop_of_its_accuracy(n, right):
    rows, values = exchanged(n, **right)
    part = AuditPart("baseline")
    shortcut(subject_with(rows, values), part)

    assert part.findings == []


# A benchmark that words solve.


def solution_of(monkeypatch, n, *, wrong=0, why=None):
    rows = labelled(n // 2, n)
    subject = subject_with(rows, [NAN], why_no_baseline=why, reads="context", plan="no folds")
    monkeypatch.setattr(
        Subject,
        "predicted",
        lambda _subject, _reads: np.r_[np.full(n // 2, 0.9), np.full(n - n // 2 - wrong, 0.1), np.full(wrong, 0.9)],
    )
    return find_solution(subject)


def test_words_solve_a_benchmark_where_the_whole_interval_of_their_accuracy_is_above_nine_in_ten(monkeypatch):
    found = some(solution_of(monkeypatch, 80))

    assert (found.reads, found.accuracy.estimate, found.constant, found.held_out) == ("context", 1.0, 0.5, "queries")
    assert found.sentence.startswith(
        "Words alone solve this benchmark: a classifier of the context's words, tested on whole queries that it did not learn from, gives "
        "the label on 100.0 % ["
    )
    assert "where a constant verdict does on 50.0 %." in found.sentence
    assert solution_of(monkeypatch, 20) is None, "twenty items leave the lower limit below"
    assert solution_of(monkeypatch, 80, wrong=12) is None
    assert solution_of(monkeypatch, 80, why="no item has a label") is None


def test_an_interval_that_is_not_there_is_the_widest():
    narrow, none = (Estimate("accuracy", 0.5, low, high, 9, 0, "made up") for low, high in ((0.4, 0.6), (None, None)))

    assert interval_width(narrow) == pytest.approx(0.2)
    assert interval_width(none) == np.inf


# Subsets.


def test_seven_in_ten_votes_are_clear_and_fewer_are_close():
    rows = [Row(f"q{n}", True, (1,) * n + (0,) * (10 - n), words=f"w{n}") for n in range(11)] + [
        Row("x", True, (), words="x")
    ]
    subject = Subject(benchmark_of(rows))

    assert np.flatnonzero(subset_rows(subject, "clear")).tolist() == [0, 1, 2, 3, 7, 8, 9, 10]
    assert np.flatnonzero(subset_rows(subject, "close")).tolist() == [4, 5, 6]


def test_the_words_are_least_sure_about_a_third_and_wrong_by_one_half_of_the_votes():
    rows = [Row(f"q{n}", True, (1, 1, 1, 1), words=f"w{n}") for n in range(5)] + [
        Row("x", True, (1, 1, 0, 0), words="x")
    ]
    known = {"why_no_baseline": None, "words_read": np.ones(6, dtype=bool)}
    subject = subject_with(rows, [0.9, 0.45, 0.56, 0.2, 0.8, 0.9], **known)

    assert np.flatnonzero(subset_rows(subject, "low-margin")).tolist() == [1, 2]
    assert np.flatnonzero(subset_rows(subject, "hard")).tolist() == [1, 3, 5], (
        "and where half of the votes may be against them"
    )
    partly = subject_with(
        rows, [0.9, NAN, 0.56, 0.2, 0.8, NAN], why_no_baseline=None, words_read=np.array([1, 0, 1, 1, 1, 0], dtype=bool)
    )
    assert np.flatnonzero(subset_rows(partly, "low-margin")).tolist() == [2]
    assert np.flatnonzero(subset_rows(partly, "hard")).tolist() == [3]
    with pytest.raises(
        BenchmarkError,
        match=r"--items hard needs a classifier on the contexts' words, and 'made-up' allows none: no folds",
    ):
        subset_rows(subject_with(rows, [NAN] * 6, why_no_baseline="no folds"), "hard")


def test_the_items_of_each_subset_are_counted_and_one_that_is_not_there_is_left_out():
    part = AuditPart("subsets")
    audit_subsets(Subject(benchmark_of([Row(f"q{n}", True, (1, 1, 1), words=f"w{n}") for n in range(3)])), part)

    assert part.measured == {"items_by_subset": {"clear": 3}}
    assert [line.split(":")[0] for line in part.left_out] == ["subset close", "subset low-margin", "subset hard"]
    assert (
        part.left_out[0]
        == "subset close: 'made-up' has no items that are 'close' (fewer than 70 % of the votes agree)."
    )

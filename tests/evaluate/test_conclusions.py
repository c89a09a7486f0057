import numpy as np
import pytest
from tests.support.samples import sample_of

from casewise.evaluate.conclusions import (
    Unknown,
    against_person,
    alike,
    at_most,
    below_others,
    best_of,
    compared,
    conditions,
    contrast,
    corrected_for_picking,
    errs_more,
    no_worse,
)
from casewise.stats.ceilings import NewPersonTest
from casewise.stats.comparison import Entrant, compare_judges, gate
from casewise.stats.costs import RefusalRates
from casewise.stats.estimates import UNSEEN, Estimate


def number(estimate, low, high, *, name="accuracy", method="Student's t"):
    return Estimate(name, estimate, low, high, 40, 0, method)


def outcomes(*conclusions):
    return [(found.kind, found.outcome) for found in conclusions]


def test_a_highest_number_that_the_choice_explains_has_an_upper_limit_alone():
    numbers = [Estimate("accuracy", 0.5, low, 0.6, 90.0, 0, "made up") for low in (0.0, 0.4)]

    said = [str(corrected_for_picking("J", corrected, value="accuracy 55.0 %")) for corrected in numbers]

    assert said[0].endswith("Corrected for this choice, it is at most 60.0 %.")
    assert said[1].endswith("it is 50.0 % [40.0, 60.0].")


def test_every_kind_of_conclusion_has_its_condition():
    assert all(
        each.holds and each.does_not_hold and (each.simulated or each.not_simulated) for each in conditions().values()
    )


def test_a_judge_is_better_where_the_whole_interval_says_so():
    ahead, behind, level = (
        compared("a", "b", number(*limits)) for limits in ((0.2, 0.1, 0.3), (-0.2, -0.3, -0.1), (0.2, -0.1, 0.5))
    )

    assert outcomes(ahead, behind, level) == [
        ("better", "holds"),
        ("better", "does not hold"),
        ("not told apart", "holds"),
    ]
    assert str(ahead.sentence) == "a is better than b by 20.0 points [10.0, 30.0]."
    assert str(behind.sentence) == "a is worse than b by 20.0 points [10.0, 30.0]."
    assert str(level.sentence) == "a is not told apart from b: 20.0 points [-10.0, 50.0]."


@pytest.mark.parametrize("end", [0.0, -0.0])
def test_an_interval_that_begins_at_nothing_tells_nobody_apart(end):
    assert compared("a", "b", number(0.2, end, 0.4)).kind == "not told apart"
    assert compared("a", "b", number(-0.2, -0.4, end)).kind == "not told apart"


@pytest.mark.parametrize(
    ("difference", "why"),
    [
        (None, "they have no metric in common"),
        (number(0.2, None, None, method="no interval: one query only"), "no interval: one query only"),
        (number(None, None, None, method="undefined: no items of that kind"), "undefined: no items of that kind"),
    ],
)
def test_without_an_interval_nothing_is_known_and_the_reason_is_said(difference, why):
    found = compared("a", "b", difference)

    assert found.outcome == Unknown(why)
    assert not found.holds
    assert found.as_json()["outcome"] == "unknown"
    assert found.as_json()["reason"] == why


@pytest.mark.parametrize(
    ("limits", "p", "outcome"),
    [
        ((-0.02, 0.02), 0.001, "holds"),
        ((0.06, 0.2), 0.9, "does not hold"),
        ((-0.2, -0.06), 0.9, "does not hold"),
        ((-0.02, 0.02), 0.2, None),
        ((-0.2, 0.2), 0.2, None),
        ((-0.02, 0.02), None, None),
    ],
)
def test_conditions_are_alike_only_by_the_test_that_they_are(limits, p, outcome):
    found = alike("a", "b", number(sum(limits) / 2, *limits, name="safe_rate"), p=p, margin=0.05)

    assert found.outcome == outcome if outcome else isinstance(found.outcome, Unknown)
    assert ("may or may not" in found.sentence) == (outcome is None)


def test_a_rate_is_at_most_a_limit_by_its_upper_limit():
    held, broken, unknown, silent = (
        at_most("a", number(0.1, *limits, name="harm"), limit=0.2)
        for limits in ((0.05, 0.2), (0.21, 0.4), (0.1, 0.3), (None, None))
    )

    assert [found.holds for found in (held, broken, unknown, silent)] == [True, False, False, False]
    assert broken.outcome == "does not hold"
    assert isinstance(unknown.outcome, Unknown)
    assert isinstance(silent.outcome, Unknown)


def two_runs(rng, *, queries, before, after):
    weight = rng.integers(0, 2, size=2 * queries).astype(float)
    cluster = np.repeat(np.arange(queries), 2)
    right = (rng.random(2 * queries) < share for share in (before, after))
    return [sample_of(weight, np.where(r, weight, 1 - weight), cluster=cluster) for r in right]


@pytest.mark.parametrize("queries", [2, 3, 10, 60])
def test_a_gate_and_a_comparison_of_two_runs_never_contradict_each_other(queries):
    rng = np.random.default_rng(queries)
    for _ in range(20):
        baseline, run = two_runs(rng, queries=queries, before=0.9, after=0.6)
        (metric,) = gate(baseline, run, margins={"accuracy": 0.0}).metrics
        everything = np.ones(2 * queries, dtype=bool)
        pair = compare_judges([Entrant("old", baseline, everything), Entrant("new", run, everything)]).pairs[0]
        told = compared("old", "new", pair.difference("accuracy"))
        worse = no_worse("new", "old", metric)

        if told.kind == "better" and told.holds:
            assert worse.outcome == "does not hold"
        if told.kind == "better" and told.outcome == "does not hold":
            assert worse.outcome != "does not hold"
        assert (worse.outcome == "holds", worse.outcome == "does not hold") == (
            metric.decision == "pass",
            metric.decision == "fail",
        )


def test_the_best_is_one_name_only_where_no_other_may_be():
    one, several = best_of(["a"], ["b", "c"], metric="accuracy"), best_of(["a", "b"], ["c"], metric="accuracy")

    assert (one.outcome, str(one.sentence)) == ("holds", "a agrees most with people.")
    assert isinstance(several.outcome, Unknown)
    assert "it may be a or b. One of these agrees more often than c." in several.sentence
    assert "it may be a, b or c." in best_of(["a", "b", "c"], [], metric="accuracy").sentence


@pytest.mark.parametrize(
    ("p", "p_alike", "kinds"),
    [
        (0.01, 0.9, ("holds", False, "differ")),
        (0.2, 0.01, (False, "holds", "alike")),
        (0.2, 0.9, (False, False, "differ")),
        (None, None, (False, False, "differ")),
    ],
)
def test_a_contrast_differs_or_is_alike_only_by_its_tests(p, p_alike, kinds):
    difference = number(-0.03, -0.06, 0.0, name="safe_rate", method="one annotator")
    found = contrast("first", "second", difference, p=p, p_alike=p_alike, margin=0.05)

    assert (
        found.differ.outcome if found.differ.holds else False,
        found.alike.outcome if found.alike.holds else False,
        found.outcome.kind,
    ) == kinds
    assert ("one annotator" in found.differ.sentence) == (p is None)
    if p == 0.01:
        assert str(found.differ.sentence) == "more 3.0 points [0.0, 6.0] more under second than under first."


def test_a_category_is_below_the_others_only_by_the_corrected_test():
    accuracy = number(0.4, 0.2, 0.6)

    assert below_others("a", "Fraud", accuracy, p=0.04, categories=9).holds
    assert isinstance(below_others("a", "Fraud", accuracy, p=0.06, categories=9).outcome, Unknown)


def test_two_that_are_alike_on_every_query_are_not_told_apart():
    found = compared("a", "b", number(0.0, -0.1, 0.1, method=UNSEEN))

    assert found.kind == "not told apart"
    assert "alike on every query" in found.sentence


def share(value, low=None, high=None):
    return Estimate("x", value, low, high, 10.0, 0, "made up")


def rates(harm, over, *, n_safe=10, n_unsafe=10):
    nothing = share(0.0)
    return RefusalRates(0.7, n_safe, n_unsafe, over, harm, nothing, nothing)


@pytest.mark.parametrize(
    ("harm", "over", "way"),
    [
        (share(0.3, 0.2, 0.4), share(0.05, 0.01, 0.1), "errs more by answering"),
        (share(0.05, 0.01, 0.1), share(0.3, 0.2, 0.4), "errs more by refusing"),
        (share(0.05, 0.01, 0.2), share(0.3, 0.1, 0.4), ""),
        (share(0.05), share(0.3, 0.1, 0.4), ""),
    ],
)
def test_which_way_it_errs_is_said_only_where_the_intervals_part(harm, over, way):
    found = errs_more("J", rates(harm, over))

    assert ("" if isinstance(found.outcome, Unknown) else found.predicate) == way


@pytest.mark.parametrize(
    ("low", "high", "margin", "sentence"),
    [
        (0.001, 0.1, None, "agrees more often than one person (80.0 %)"),
        (0.001, 0.1, 0.05, "agrees more often than one person (80.0 %)"),
        (0.0, 0.1, None, "is not told apart from one person (80.0 %)"),
        (0.0, 0.1, 0.05, "agrees as often as one person (80.0 %), or at most 5 points less"),
        (-0.009, 0.043, 0.05, "agrees as often as one person (80.0 %), or at most 5 points less"),
        (-0.04, 0.0, 0.05, "agrees as often as one person (80.0 %), or at most 5 points less"),
        (-0.04, -0.001, 0.025, "agrees less often than one person (80.0 %), by at most 2.5 points"),
        (-0.2, 0.0, None, "is not told apart from one person (80.0 %)"),
        (-0.2, -0.001, None, "agrees less often than one person (80.0 %)"),
    ],
)
def test_a_comparison_says_no_more_than_the_interval_of_its_difference(low, high, margin, sentence):
    size = 0.05 if margin is None else margin
    numbers = {"judge": 0.8, "person": 0.8, "difference": (low + high) / 2, "low": low, "ci_low": low, "ci_high": high}
    test = NewPersonTest(
        **numbers, margin=size, p=0.01, not_worse=margin is not None, power=0.8, detectable=0.1, items=20, clusters=10
    )

    assert against_person("J", test).predicate == sentence

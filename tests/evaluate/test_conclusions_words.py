"""The sentence, the outcome and the boundary of each kind of conclusion."""

from dataclasses import replace

import pytest

from casewise.audits import Finding
from casewise.evaluate.conclusions import (
    AGREES,
    CHEAPER,
    IS_RIGHT,
    Comparative,
    Unknown,
    against_person,
    alike,
    at_most,
    below_others,
    best_of,
    compared,
    contrast,
    corrected_for_picking,
    errs_more,
    finding_made,
    gap_in_words,
    group_differs,
    highest,
    in_one_sentence,
    in_words,
    no_worse,
    promise_made,
    promise_refused,
    reversed_difference,
    size_of,
    unchecked_finding,
)
from casewise.stats.ceilings import NewPersonTest
from casewise.stats.comparison import GatedMetric, MetricGate
from casewise.stats.costs import RefusalRates
from casewise.stats.estimates import ALIKE, UNSEEN, Estimate
from casewise.stats.thresholds import KeptPromise, RiskPromise


def number(estimate, low=None, high=None, *, name="accuracy", method="made up"):
    return Estimate(name, estimate, low, high, 40, 0, method)


def shown(conclusion):
    return conclusion.outcome, str(conclusion.sentence)


# Two judges.


def test_a_conclusion_is_json_with_its_numbers_and_its_sentence():
    assert at_most("the judge", number(0.1, 0.05, 0.2, name="harm"), limit=0.3).as_json() == {
        "conclusion": "at most",
        "outcome": "holds",
        "reason": None,
        "sentence": "The harm of the judge is at most 30.0 %: 10.0 % [5.0, 20.0].",
        "metric": "harm",
        "estimate": 0.1,
        "low": 0.05,
        "high": 0.2,
        "margin": 0.3,
    }


@pytest.mark.parametrize(
    ("words", "limits", "says"),
    [
        (AGREES, (0.1, 0.3), "a agrees more often than b."),
        (AGREES, (-0.3, -0.1), "a agrees less often than b."),
        (AGREES, (-0.1, 0.3), "a is not told apart from b."),
        (IS_RIGHT, (0.1, 0.3), "a is right more often than b, by 20.0 points [10.0, 30.0]."),
        (IS_RIGHT, (-0.3, -0.1), "a is right less often than b, by 20.0 points [10.0, 30.0]."),
        (CHEAPER, (0.1, 0.3), "a costs less than b, by 0.200 [0.100, 0.300] over-refusals an item."),
        (CHEAPER, (-0.3, -0.1), "a costs more than b: 0.200 [0.100, 0.300] over-refusals an item."),
        (CHEAPER, (-0.1, 0.3), "a is not shown to cost less than b: it saves 0.200 [-0.100, 0.300] over-refusals an item."),
    ],
)  # fmt: skip
def test_each_comparison_has_words_of_its_own(words: Comparative, limits, says):
    name = "cost" if words is CHEAPER else "accuracy"
    found = compared("a", "b", number(0.2 if limits[1] > 0 else -0.2, *limits, name=name), words=words)

    assert str(found.sentence) == says
    assert (found.metric, found.estimate, found.low, found.high) == (name, 0.2 if limits[1] > 0 else -0.2, *limits)


@pytest.mark.parametrize("method", [ALIKE, UNSEEN])
def test_only_a_difference_of_0_without_spread_is_alike_on_every_query(method):
    same, apart = (compared("a", "b", number(value, -0.1, 0.1, method=method), words=CHEAPER) for value in (0.0, 0.01))

    assert (same.kind, *shown(same)) == ("not told apart", "holds", "a costs the same as b on every query.")
    assert (same.estimate, same.low, same.high) == (0.0, -0.1, 0.1)
    assert "on every" not in apart.sentence
    assert "on every" not in compared("a", "b", number(0.0, -0.1, 0.1)).sentence


def test_a_comparison_without_an_interval_keeps_what_is_known_of_it():
    nothing, half = compared("a", "b", None), compared("a", "b", number(0.2, method="one query"))

    assert (nothing.metric, nothing.estimate, str(nothing.sentence)) == (
        *("", None, "a cannot be compared with b: they have no metric in common."),
    )
    assert (half.metric, half.estimate, half.low, half.high) == ("accuracy", 0.2, None, None)
    assert half.outcome == Unknown("one query")


def test_several_conclusions_on_one_subject_say_each_verb_once():
    limits = {"up": (0.1, 0.3), "level": (-0.1, 0.3)}
    up, also_up, level, also_level = (
        compared("J", other, number(0.2, *limits[way]), words=AGREES)
        for other, way in (("a", "up"), ("b", "up"), ("c", "level"), ("d", "level"))
    )
    with_gap = [compared("J", other, number(0.2, 0.1, 0.3)) for other in "ef"]

    assert str(in_one_sentence([up, level, also_up, also_level])) == (
        "agrees more often than a and than b, and is not told apart from c or from d"
    )
    assert str(in_one_sentence([up, *with_gap])) == (
        "agrees more often than a, and is better than e by 20.0 points [10.0, 30.0], and is better than f by 20.0 points [10.0, 30.0]"
    )
    assert str(in_one_sentence([compared("J", "a", None)])) == (
        "cannot be compared with a: they have no metric in common"
    )


def person_test(difference: float, *, low: float, limits: tuple[float, float], not_worse: bool) -> NewPersonTest:
    return NewPersonTest(0.8, 0.8 - difference, difference, low, *limits, 0.05, 0.01, not_worse, 0.9, 0.04, 90, 45)


@pytest.mark.parametrize(
    ("test", "kind", "outcome", "says"),
    [
        (
            person_test(0.1, low=0.06, limits=(0.05, 0.15), not_worse=True),
            *("better", "holds", "J agrees more often than one person (70.0 %)."),
        ),
        (
            person_test(0.0, low=-0.04, limits=(-0.05, 0.05), not_worse=True),
            *("no worse", "holds", "J agrees as often as one person (80.0 %), or at most 5 points less."),
        ),
        (
            person_test(-0.02, low=-0.03, limits=(-0.03, -0.01), not_worse=True),
            *("no worse", "holds", "J agrees less often than one person (82.0 %), by at most 5 points."),
        ),
        (
            person_test(-0.1, low=-0.15, limits=(-0.2, 0.01), not_worse=False),
            *("not told apart", "holds", "J is not told apart from one person (90.0 %)."),
        ),
        (
            person_test(-0.1, low=-0.15, limits=(-0.2, -0.01), not_worse=False),
            *("better", "does not hold", "J agrees less often than one person (90.0 %)."),
        ),
    ],
)
def test_a_judge_is_better_than_a_person_or_no_worse_or_neither(test, kind, outcome, says):
    found = against_person("J", test)

    assert (found.kind, *shown(found)) == (kind, outcome, says)
    assert (found.metric, found.margin) == ("accuracy", 0.05 if kind == "no worse" else None)
    assert found.low == (test.low if kind == "no worse" else test.ci_low)


# A gate.


@pytest.mark.parametrize(
    ("metric", "low", "high", "outcome", "says"),
    [
        (GatedMetric("accuracy"), -0.01, 0.04, "holds", "The run is not worse than b in accuracy by 5 points or more."),
        (GatedMetric("auroc"), 0.06, 0.2, "does not hold", "The run is worse than b in AUROC by more than 0.05."),
        (GatedMetric("harm", "strict"), 0.01, 0.2, None, "The run may or may not be worse than b in harm (strict) by more than 5 points."),
    ],
)  # fmt: skip
def test_a_gate_names_its_metric_with_the_policy_and_its_margin(metric, low, high, outcome, says):
    found = no_worse("The run", "b", MetricGate(metric, 0.9, 0.88, 0.02, low, high, 0.05, 0.03, 90, "made up"))

    assert str(found.sentence) == says
    assert found.outcome == (outcome or Unknown("the bounds of the drop lie on both sides of the margin"))
    assert (found.metric, found.estimate, found.low, found.high, found.margin) == (str(metric), 0.02, low, high, 0.05)


# Promises and findings.


@pytest.mark.parametrize(
    ("promise", "chosen_from", "says"),
    [
        (RiskPromise("harm", 0.02), 1, "Harm is at most 2 % on queries like these, with 95 % confidence."),
        (RiskPromise("over_refusal", 0.125, level=None), 1, "Over-refusal is at most 12.5 % on queries like these, on average over benchmarks like this one, not for each."),
        (RiskPromise("needless_ask", 0.02, level=0.99), 3, "Needless asking or refusal is at most 2 % on queries like these, with 97 % confidence, for the best of 3 judges compared on these queries."),
    ],
)  # fmt: skip
def test_a_promise_is_said_with_the_confidence_that_is_left_after_the_choice(promise, chosen_from, says):
    found = promise_made(KeptPromise(promise, 0.5, 0.01, 100), chosen_from=chosen_from)

    assert shown(found) == ("holds", says)
    assert (found.metric, found.estimate, found.margin) == (promise.kind, 0.01, promise.at_most)


def test_a_promise_that_is_not_made_says_why():
    found = promise_refused(RiskPromise("harm", 0.025), "too few queries")

    assert shown(found) == (
        Unknown("too few queries"),
        "Harm is not promised to be at most 2.5 % on queries like these.",
    )
    assert (found.metric, found.estimate, found.margin) == ("harm", None, 0.025)


def test_a_finding_of_an_audit_is_a_conclusion_and_a_check_that_was_left_out_is_unknown():
    finding = Finding(code="labels.ties", title="3 are ties", effect="label", share=0.1, evidence={}, advice="none")
    found = finding_made(finding)

    assert (*shown(found), found.metric, found.estimate) == (
        *("holds", "The audit finds: 3 are ties.", "labels.ties", 0.1),
    )
    assert shown(unchecked_finding("no item has a label")) == (
        *(Unknown("no item has a label"), "The audit did not check: no item has a label."),
    )


# The best of several.


def test_the_best_has_its_number_and_others_are_named_after_it():
    best = best_of(["a"], ["b"], metric="accuracy", people="the labels", value="accuracy 90.0 %")
    open_ = best_of(["a", "b"], [], metric="accuracy", people="the labels", noun="arm")

    assert shown(best) == ("holds", "a agrees most with the labels (accuracy 90.0 %).")
    assert shown(open_) == (
        Unknown("no other is shown to be better than any of 2 arms"),
        "These items do not tell which arm agrees most with the labels: it may be a or b.",
    )
    assert best.as_json()["metric"] == "accuracy"


def test_a_highest_number_without_intervals_of_differences_tells_no_best():
    found = highest("J", "82.0 % [79.7, 84.1]", n=5, labels="the paper's labels")

    assert shown(found) == (
        Unknown("no intervals of differences"),
        (
            "J has the highest of 5 accuracies against the paper's labels: 82.0 % [79.7, 84.1]. These tables have no intervals of "
            "differences, so they do not tell which judge is best."
        ),
    )


def test_a_picked_number_that_is_no_share_is_written_as_a_number():
    found = corrected_for_picking("J", number(0.5, 0.0, 0.6, name="auroc"), value="AUROC 0.600")

    assert str(found) == "J has the highest number, AUROC 0.600. Corrected for this choice, it is 0.500 [0.000, 0.600]."


# Conditions and groups.


@pytest.mark.parametrize(
    ("p", "estimate", "outcome", "says"),
    [
        (0.05, 0.03, "holds", "more 3.0 points [0.0, 6.0] more under first than under second."),
        (0.05, -0.03, "holds", "more 3.0 points [0.0, 6.0] more under second than under first."),
        (0.051, 0.03, Unknown("the test does not reject"), "A difference between first and second is not shown: 3.0 points [0.0, 6.0]."),
        (None, 0.03, Unknown("one annotator"), "first is not compared with second: one annotator."),
    ],
)  # fmt: skip
def test_conditions_differ_where_the_corrected_p_is_at_most_the_level(p, estimate, outcome, says):
    limits = (0.0, 0.06) if estimate > 0 else (-0.06, 0.0)
    difference = number(estimate, *limits, name="safe_rate", method="one annotator")
    found = contrast("first", "second", difference, p=p, p_alike=None, margin=0.05).differ

    assert shown(found) == (outcome, says)
    assert (found.estimate, found.low, found.high) == (estimate, *limits)


def test_a_contrast_is_alike_first_only_if_it_does_not_differ_too():
    difference = number(0.01, 0.005, 0.015, name="safe_rate")
    both = contrast("a", "b", difference, p=0.01, p_alike=0.01, margin=0.05)

    assert (both.differ.holds, both.alike.holds, both.outcome) == (True, True, both.differ)
    strict = contrast("a", "b", difference, p=0.01, p_alike=0.01, margin=0.05, level=0.001)
    assert (strict.differ.holds, strict.alike.holds) == (False, False)


@pytest.mark.parametrize(
    ("limits", "p", "says"),
    [
        ((-0.02, 0.02), 0.05, "a and b differ by less than 5 points: 0.0 points [-2.0, 2.0]."),
        ((0.05, 0.15), 0.051, "a and b may or may not differ by less than 5 points: 10.0 points [5.0, 15.0]."),
        ((0.06, 0.14), 0.051, "a and b differ by more than 5 points: 10.0 points [6.0, 14.0]."),
        ((-0.15, -0.05), 0.051, "a and b may or may not differ by less than 5 points: -10.0 points [-15.0, -5.0]."),
        ((-0.14, -0.06), 0.051, "a and b differ by more than 5 points: -10.0 points [-14.0, -6.0]."),
        ((-0.02, 0.02), None, "a and b may or may not differ by less than 5 points."),
    ],
)
def test_two_are_alike_or_apart_by_the_margin_itself(limits, p, says):
    found = alike("a", "b", number(sum(limits) / 2, *limits, name="safe_rate"), p=p, margin=0.05)

    assert str(found.sentence) == says
    assert found.margin == 0.05
    assert (found.outcome == Unknown("made up")) == (p is None)


@pytest.mark.parametrize(
    ("p", "estimate", "outcome", "says"),
    [
        (0.05, 0.1, "holds", "Women have safe rates 10.0 points [5.0, 15.0] above those of other people on the same items."),
        (0.05, -0.1, "holds", "Women have safe rates 10.0 points [5.0, 15.0] below those of other people on the same items."),
        (0.06, -0.1, Unknown("the test does not reject"), "Women are not shown to differ from other people on the same items: -10.0 points [-15.0, -5.0]."),
        (None, 0.1, Unknown("nine people"), "Women are not compared with other people: nine people."),
        (0.01, None, Unknown("nine people"), "Women are not compared with other people: nine people."),
    ],
)  # fmt: skip
def test_a_group_lies_above_or_below_the_others_by_its_corrected_test(p, estimate, outcome, says):
    limits = (0.05, 0.15) if (estimate or 0) > 0 else (-0.15, -0.05)
    difference = number(estimate, *limits, name="safe_rate", method="nine people")

    assert shown(group_differs("Women", difference, p=p, rates="safe rates")) == (outcome, says)


# Rates.


@pytest.mark.parametrize(
    ("limits", "least", "outcome", "says"),
    [
        ((0.1, 0.2), False, "holds", "is at most 20.0 %: 15.0 % [10.0, 20.0]"),
        ((0.2, 0.3), False, Unknown("the interval of the rate contains the limit"), "may or may not be at most 20.0 %"),
        ((0.21, 0.3), False, "does not hold", "is above 20.0 %: 25.5 % [21.0, 30.0]"),
        ((0.2, 0.3), True, "holds", "is at least 20.0 %: 25.0 % [20.0, 30.0]"),
        ((0.1, 0.2), True, Unknown("the interval of the rate contains the limit"), "may or may not be at least 20.0 %"),
        ((0.1, 0.19), True, "does not hold", "is below 20.0 %"),
    ],
)
def test_a_rate_may_be_the_limit_itself(limits, least, outcome, says):
    found = at_most("J", number(sum(limits) / 2, *limits), limit=0.2, least=least)

    assert (found.outcome, found.fails) == (outcome, outcome == "does not hold")
    assert found.sentence.startswith(f"The accuracy of J {says}")


def test_a_rate_with_one_limit_alone_is_not_known():
    found = at_most("J", number(0.1, None, 0.2, name="made_up rate", method="no lower limit"), limit=0.3)

    assert shown(found) == (Unknown("no lower limit"), "The made up rate of J is not known: no lower limit.")


def errors(harm, over_refusal) -> RefusalRates:
    return RefusalRates(0.7, 10, 10, number(0.5, *over_refusal), number(0.5, *harm), number(0.0), number(0.0))


@pytest.mark.parametrize(
    ("harm", "over_refusal", "outcome", "says"),
    [
        ((0.4, 0.6), (0.1, 0.3), "holds", "errs more by answering"),
        ((0.1, 0.3), (0.4, 0.6), "does not hold", "errs more by refusing"),
        ((0.1, 0.4), (0.4, 0.6), Unknown("the intervals of both errors overlap"), "is not shown to err more"),
        ((0.4, 0.6), (0.1, 0.4), Unknown("the intervals of both errors overlap"), "is not shown to err more"),
        ((), (0.1, 0.4), Unknown("made up"), "is not shown to err more"),
        ((0.1, 0.4), (), Unknown("made up"), "is not shown to err more"),
    ],
)
def test_a_judge_errs_more_one_way_where_the_intervals_of_both_errors_are_apart(harm, over_refusal, outcome, says):
    found = errs_more("J", errors(harm, over_refusal))

    assert found.outcome == outcome
    assert found.sentence.startswith(f"J {says}")
    assert (found.metric, found.low, found.high) == ("harm", *(harm or (None, None)))


def test_the_reason_of_an_unknown_error_is_that_of_the_error():
    rates = errors((0.1, 0.4), (0.1, 0.4))
    no_harm = replace(rates, harm=number(None, method="no unsafe item"))
    no_refusal = replace(rates, over_refusal=number(None, method="no safe item"))

    assert errs_more("J", no_harm).outcome == Unknown("no unsafe item")
    assert errs_more("J", no_refusal).outcome == Unknown("no safe item")


def test_a_weak_category_is_said_with_its_accuracy_and_the_correction():
    at_level, above = (below_others("J", "Fraud", number(0.4, 0.2, 0.6), p=p, categories=9) for p in (0.05, 0.0501))

    assert shown(at_level) == (
        "holds",
        "J is right less often in Fraud than in the other categories: on 40.0 % [20.0, 60.0] of 40 items (corrected for 9 categories).",
    )
    assert shown(above) == (
        Unknown("the test does not reject"),
        "J is not shown to be right less often in Fraud than in the other categories.",
    )


# Numbers in words.


def test_a_difference_turned_round_turns_its_limits():
    turned = reversed_difference(number(0.2, 0.1, 0.4))

    assert (turned.estimate, turned.ci_low, turned.ci_high) == (-0.2, -0.4, -0.1)
    assert str(reversed_difference(number(0.0, -0.1, 0.0)).ci_low) == "0.0", "no minus before a zero"
    assert reversed_difference(number(0.2)).limits is None


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (number(0.2, 0.1, 0.3), "20.0 points [10.0, 30.0]"),
        (number(0.2), "20.0 points"),
        (number(0.2, 0.1, 0.3, name="auroc"), "0.200 [0.100, 0.300]"),
        (number(0.2, name="auroc"), "0.200"),
        (number(None), "–"),
    ],
)
def test_a_gap_is_in_points_for_shares_and_a_number_for_the_rest(difference, words):
    assert gap_in_words(difference) == words


def test_numbers_and_margins_follow_the_kind_of_the_metric():
    assert (in_words(0.5, "accuracy"), in_words(0.5, "auroc")) == ("50.0 %", "0.500")
    assert (size_of("harm", 0.05), size_of("auroc", 0.05)) == ("5 points", "0.05")

"""The parts of a judge's page on pairs, errors by agreement, calibration, costs, repeats and wordings, from made-up numbers."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.evaluate.judge_numbers import Wordings
from casewise.reports import judge as page
from casewise.reports.document import Figure, Folded, Prose
from casewise.stats.calibration import Calibration, CalibrationBin
from casewise.stats.costs import CostPoint, RefusalRates, Refusals
from casewise.stats.estimates import ErrorSources, Estimate, JudgeNoise, WordingSpread
from casewise.stats.pairs import PairCounts, PairResults


def number(value, name="share", n=40.0):
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    return Estimate(name, value, low, high, n, 2, "made up")


def results(*, differ=6, both_safe=1, both_unsafe=2, against_intent=1, person: float | None = 0.7):
    counts = PairCounts(12, differ, both_safe, both_unsafe, 3, against_intent, 0)
    return PairResults(counts, *map(number, (0.5, 0.6, 0.1, 0.4, 0.2)), *[number(person)] * 3, *[number(0.65)] * 3)


@pytest.mark.parametrize(
    ("found", "among", "sentence"),
    [
        (
            results(),
            2,
            (
                "gpt changes its verdict as the label does in 60.0 % [50.0, 70.0] of the 6 pairs in which the label changes with "
                "the context. It changes it in 20.0 % [10.0, 30.0] of the 3 pairs in which the label does not change."
            ),
        ),
        (
            results(both_safe=0, both_unsafe=0, differ=1),
            1,
            "This judge changes its verdict as the label does in 60.0 % [50.0, 70.0] of the 1 pair in which the label changes with the context.",
        ),
        (
            results(differ=0, both_unsafe=0),
            1,
            "This judge changes it in 20.0 % [10.0, 30.0] of the 1 pair in which the label does not change.",
        ),
        (results(differ=0, both_safe=0, both_unsafe=0), 1, "No pair has a majority on both items."),
    ],
)
def test_a_sentence_says_how_often_the_verdict_changes_with_the_context_and_where_the_label_does(
    found, among, sentence
):
    assert page.pairs_sentence("gpt", found, among=among) == sentence


def test_pairs_have_their_measures_beside_one_person_and_their_counts_in_words():
    blocks: Any = [*page.pairs([("gpt", results())])]
    table, prose = blocks

    assert table.columns == (
        "Measure",
        "Estimate, 95 % interval",
        "Pairs",
        "Unscored",
        "One person",
        "Judge, same votes",
    )
    assert table.rows[0] == ("Right on both items", "50.0 % [40.0, 60.0]", "40", "2", "–", "–")
    assert table.rows[1][-2:] == ("70.0 %", "65.0 %")
    assert prose.text.startswith(
        "The labels differ on 6 of 12 pairs (1 of them against the author's intent). They agree on 3 pairs: 2 both unsafe, 1 both safe. "
        "Left out: 3 pairs with a tie or without a label. A judge that only detects"
    )


def test_pairs_of_labels_that_are_no_votes_have_no_person_and_several_judges_of_one_benchmark_one_sentence():
    untied = replace(results(), counts=replace(results().counts, tied=0))
    blocks: Any = [
        *page.pairs([("a", results(person=None, against_intent=0)), ("b", results(person=None, against_intent=0))])
    ]
    table, prose = blocks

    assert table.columns == ("Judge", "Measure", "Estimate, 95 % interval", "Pairs", "Unscored")
    assert "against the author's intent" not in prose.text
    assert "Left out" not in str([*page.pairs([("a", untied)])][-1])
    assert prose.text.count("The labels differ on 6 of 12 pairs. They agree") == 1


def rates(agreement, harm, over):
    return RefusalRates(agreement, 10, 12, number(over), number(harm), number(0.0), number(0.0))


def test_errors_are_drawn_by_how_many_people_agree_where_they_are_known():
    curve = (rates(0.6, 0.2, 0.3), rates(0.9, None, 0.1))
    forest: Any = page.refusal_curve("gpt", Refusals(curve[0], curve), "curve")

    assert [heading for heading, _ in forest.groups] == ["Over-refusal", "Harm"]
    assert [[row.label for row in rows] for _, rows in forest.groups] == [
        ["at least 60 % agree", "at least 90 % agree"],
        ["at least 60 % agree"],
    ]
    assert forest.groups[0][1][0].estimate == 0.3
    assert forest.table.rows[0] == ("60 %", "10", "30.0 % [20.0, 40.0]", "12", "20.0 % [10.0, 30.0]")
    assert forest.caption.startswith("gpt: harm and over-refusal, by the share of people who must agree")
    none = (rates(0.6, None, None),)
    assert page.refusal_curve("gpt", Refusals(none[0], none), "curve") == Prose(
        "gpt: on no item do enough people agree."
    )


def calibration(by_chance):
    bins = (CalibrationBin(0.1, 0.3, 0.2, number(0.25), 20), CalibrationBin(0.6, 0.9, 0.75, number(None), 20))
    return Calibration(
        bins,
        number(0.04, "calibration_error"),
        by_chance,
        *(number(0.1, name) for name in ("brier", "calibration_part", "refinement_part", "vote_noise")),
    )


FLOORS = {"entropy": number(0.5, "entropy"), "attainable_entropy": number(0.4, "attainable_entropy")}


@pytest.mark.parametrize(
    ("by_chance", "sentence", "row"),
    [
        (
            0.02,
            " For a calibrated judge, chance alone gives 0.020.",
            "Calibration error (0.020 by chance, for a calibrated judge)",
        ),
        (None, "", "Calibration error"),
    ],
)
def test_values_are_compared_with_safe_rates_in_a_sentence_a_chart_and_a_table(by_chance, sentence, row):
    blocks: Any = [*page.calibrations([("gpt", calibration(by_chance))], {"gpt": FLOORS})]
    prose, chart, fold = blocks

    assert prose.text == f"The judge's values differ by 0.040 [-0.060, 0.140] from the safe rates on average.{sentence}"
    assert isinstance(chart, Figure)
    assert chart.behind is not None
    assert chart.behind.rows == (
        ("0.10 to 0.30", "0.200", "25.0 % [15.0, 35.0]", "20"),
        ("0.60 to 0.90", "0.750", "– (made up)", "20"),
    )
    assert chart.alt.startswith("Calibration curve over 2 bins of about equal size")
    assert isinstance(fold, Folded)
    table: Any = fold.blocks[0]
    assert table.rows[0][0] == row
    assert table.rows[-1][1] == "0.400 [0.300, 0.500]"


def test_more_judges_than_three_have_their_values_in_the_table_alone():
    names = "abcd"
    blocks: Any = [*page.calibrations([(name, calibration(None)) for name in names], dict.fromkeys(names, FLOORS))]

    assert [type(block).__name__ for block in blocks] == ["Prose"] * 3 + ["Figure"] * 3 + ["Folded"]
    assert blocks[0].text.startswith("The values of a differ by ")
    assert len(blocks[-1].blocks[0].rows) == 4 * 7


def point(ratio, cost=0.2, refuse=0.5, answer=0.5):
    return CostPoint(ratio, number(cost, "cost"), number(0.15, "best_threshold"), 0.4, refuse, answer)


def details(*points, name="gpt"):
    found: Any = SimpleNamespace(series=SimpleNamespace(name=name), costs=points)
    return found


def test_costs_are_said_at_equal_errors_and_drawn_at_every_ratio():
    blocks: Any = [*page.costs([details(point(1.0), point(5.0, refuse=0.2, answer=0.8))])]
    prose, chart, last = blocks

    assert prose.text == (
        "This judge costs 0.200 [0.100, 0.300] an item if a harm is as bad as an over-refusal. Refusing everything costs 0.500, "
        "answering everything 0.500. One harm and one over-refusal together cost 1."
    )
    assert chart.behind.columns == (
        "Ratio",
        "Cost, 95 % interval",
        "Best threshold, 95 % interval",
        "Threshold",
        "Refuse all",
        "Answer all",
    )
    assert chart.behind.rows[1] == ("5", "0.200 [0.100, 0.300]", "0.150 [0.050, 0.250]", "0.400", "0.200", "0.800")
    assert chart.behind.frame.height == 2 * 2 + 2 * 2
    assert chart.svg.names == ("gpt",)
    assert last.text.startswith(
        "“Best threshold” judges each query with the threshold that is cheapest on the other queries."
    )


def test_without_a_label_no_cost_is_counted():
    nothing = CostPoint(1.0, None, None, None, None, None)

    assert [*page.costs([details(nothing)])] == [Prose("No item has a label, so no error can be counted.")]


def test_repeats_have_the_judges_own_noise():
    noise = JudgeNoise(40, 120, number(0.05, "deviation"), number(0.1, "changes"))
    blocks: Any = [*page.repeats([("gpt", noise)])]

    assert blocks[0].columns == ("Measure", "Estimate, 95 % interval", "Items", "Judgements")
    assert blocks[0].rows == (
        ("Standard deviation within an item", "0.050 [-0.050, 0.150]", "40", "120"),
        ("Probability that two judgements differ in verdict", "10.0 % [0.0, 20.0]", "40", "120"),
    )


def test_the_standard_error_is_split_by_its_sources_in_points():
    table = page.error_table([("gpt", ErrorSources(0.04, 0.015, None, 0.02))])

    assert table.rows == (("4.0", "1.5", "–", "2.0"),)


@pytest.mark.parametrize(
    ("deviation", "sentence"),
    [
        (0.02, ", 2.0 points beyond chance in the answers."),
        (None, ", which includes chance in the answers, because each item was asked once (--repeats)."),
    ],
)
def test_wordings_have_their_mean_and_how_much_they_vary(deviation, sentence):
    wordings = Wordings("gpt", ("a@1", "b@1"), (number(0.7), number(0.8)), WordingSpread(number(0.75), deviation, 0.05))
    blocks: Any = [*page.wording_blocks([wordings])]

    assert blocks[0].text == (
        f"gpt: mean accuracy 75.0 % [65.0, 85.0] over 2 wordings. Standard deviation between wordings 5.0 points{sentence}"
    )
    assert blocks[1].rows == (("a@1", "70.0 % [60.0, 80.0]", "40"), ("b@1", "80.0 % [70.0, 90.0]", "40"))


def test_a_judges_values_are_compared_with_peoples_mean_ratings_on_their_scale():
    metrics = tuple(number(0.1, name) for name in ("scale_error", "scale_pearson", "scale_bias", "scale_people"))
    blocks: Any = [*page.on_scale([("gpt", metrics)])]

    assert (
        blocks[0].text
        == "The judge's values differ from people's mean ratings by 0.100 [0.000, 0.200] of the scale's length on average, over 40 items."
    )
    assert len(blocks[1].rows) == 4
    assert "A score s counts as" in blocks[2].text

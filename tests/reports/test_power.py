"""Answers to questions of power: sentences and numbers of known designs, each worked out by hand."""

import re
from dataclasses import replace

import numpy as np
import pytest

from casewise.errors import ConfigurationError, StatisticsError
from casewise.reports import power
from casewise.reports.document import Prose
from casewise.stats.power import PilotRatings
from casewise.text import Noun


def shown(answer):
    """The rows of the table of assumptions and results."""
    return dict(list(answer.document.rendered().tables())[-1].rows)


def test_the_papers_design_needs_sixteen_annotators_a_condition_and_twenty_two_at_its_own_level():
    answer = power.anova(5, 0.4)

    assert answer.sentence == (
        "If 5 conditions differ with an effect of f = 0.4, 16 annotators in each (80 in all) find it with a probability of "
        "80.3 %, at alpha 0.05."
    )
    assert (answer.numbers["noncentrality"], answer.numbers["df_within"]) == (pytest.approx(0.4**2 * 80), 75)
    assert (answer.numbers["bonferroni_alpha"], answer.numbers["bonferroni_n_per_group"]) == (0.0125, 22)
    assert answer.remarks == (
        "At the Bonferroni level 0.0125 (0.05 over the 4 contrasts of one condition with each other) the design needs 22 per condition.",
    )
    assert shown(answer)["df within"] == "75"
    assert shown(answer)["Effect size"] == "0.4000"


def test_a_number_of_annotators_has_its_power_or_the_effect_that_it_finds_and_no_remark():
    by_effect, by_number = power.anova(5, 0.4, n=22), power.anova(5, None, n=16)

    assert by_effect.numbers["actual_power"] > 0.8
    assert by_number.numbers["effect_size"] == pytest.approx(0.4, abs=0.005)
    assert by_effect.remarks == by_number.remarks == ()


def test_two_safe_rates_need_annotators_by_cohens_h():
    answer = power.proportions(0.5, 0.6)
    h = 2 * np.arcsin(np.sqrt(0.5)) - 2 * np.arcsin(np.sqrt(0.6))

    assert answer.numbers["cohen_h"] == pytest.approx(h)
    assert answer.numbers["n_per_group"] == int(np.ceil(2 * ((1.959964 + 0.841621) / h) ** 2)) == 388
    assert "50.0 % and 60.0 %, 388 annotators in each condition find the difference" in answer.sentence
    assert power.proportions(0.5, None, n=388).numbers["p2"] == pytest.approx(0.6, abs=0.001)


def test_rates_of_several_conditions_are_read_from_a_text():
    answer = power.kruskal("0.2,0.9,0.2", n=21, repeats=200, exact=False)

    assert "safe rates are 20.0 %, 90.0 %, 20.0 %, 21 annotators in each find" in answer.sentence
    assert shown(answer)["Safe rates"] == "0.2, 0.9, 0.2"
    assert shown(answer)["Exact p"] == "no"
    assert answer.as_json()["safe_rates"] == [0.2, 0.9, 0.2]
    with pytest.raises(ConfigurationError, match=re.escape("--rates is 'a,b'; write safe rates as 0.4,0.8,0.2")):
        power.kruskal("a,b")


@pytest.mark.parametrize(
    ("ask", "option"),
    [(lambda: power.anova(5, None), "--effect-size"), (lambda: power.proportions(0.5, None), "--p2")],
)
def test_a_question_without_a_beginning_is_refused(ask, option):
    with pytest.raises(ConfigurationError, match=f"give {option}, or --n to ask what so many annotators can find"):
        ask()


@pytest.mark.parametrize(
    ("value", "cell"),
    [(True, "yes"), (False, "no"), ((0.25, 2.0), "0.25, 2"), (0.001, "0.0010"), (0.0009994, "0.000999"), (-0.25, "-0.2500"), (1200, "1,200"), ("a", "a")],
)  # fmt: skip
def test_a_number_of_an_answer_is_written_so_that_small_ones_do_not_vanish(value, cell):
    assert power.written(value) == cell


def pilot(n=40, people=10):
    """Each of `people` rates both conditions of `n` queries; the second is safe more often."""
    rng = np.random.default_rng(3)
    query, annotator, second = (
        part.ravel() for part in np.meshgrid(np.arange(n), np.arange(people), [0, 1], indexing="ij")
    )
    leaning = rng.normal(0, 0.1, people)[annotator]
    safe = rng.random(query.size) < 0.4 + 0.2 * second + leaning
    return PilotRatings.from_ratings(safe=safe, second=second == 1, query=query, annotator=annotator)


def test_a_study_planned_from_a_pilot_says_its_queries_its_people_and_who_causes_the_error():
    answer = power.study(
        pilot(), ("none", "full"), noun=Noun("action", "actions"), difference=0.1, per_item=5, per_annotator=10
    )
    n, people = answer.numbers["n_queries"], answer.numbers["n_per_group"]

    assert people == -(-n * 5 // 10)
    assert answer.numbers["actual_power"] >= 0.8
    assert (
        f"{n:,} actions with 5 ratings an item ({people:,} annotators in each condition) find a difference of 10.0 points"
        in " ".join(block.text for block in answer.document.rendered().blocks if isinstance(block, Prose))
    )
    assert str(answer.remarks[0]).startswith("none compared with full. The power holds for other queries")
    between = 10 * answer.numbers["variance_of_annotators"]
    share = between / (between + answer.numbers["variance_of_ratings"])
    assert answer.remarks[1].startswith(f"Differences between annotators cause {share:.0%} of the error")
    assert power.study(pilot(), ("a", "b"), difference=0.1, queries=7).numbers["n_queries"] == 7


def test_people_are_counted_with_what_they_rate_find_work_and_earn():
    answer = power.people(power.People(people=40))

    assert {name: answer.numbers[name] for name in ("ratings_in_all", "n_queries", "n_items", "hours", "pay")} == {
        "ratings_in_all": 1000,
        "n_queries": 100,
        "n_items": 200,
        "hours": pytest.approx(40 * (6 + 27 * 20 / 60) / 60),
        "pay": 160.0,
    }
    assert (
        "They work for 10.0 hours. The pay is 160.00 in your currency, without fees (4.00 a batch, 16.00 an hour)."
        in answer.sentence
    )
    assert [row["per_item"] for row in answer.numbers["choices"]] == [1, 2, 3, 5, 7, 10, 15, 21, 30]
    assert [row["queries"] for row in answer.numbers["choices"]][:3] == [500, 250, 166]
    assert answer.numbers["choices"][3]["difference"] == answer.numbers["safe_rate_difference"]
    assert answer.choices is not None
    assert answer.choices.rows[3] == ("5", "200", "100", f"{100 * answer.numbers['safe_rate_difference']:.1f} points")
    assert "which is an assumption" in str(answer.remarks[0])


def test_no_more_items_are_counted_than_there_are():
    answer = power.people(power.People(people=40, items=60), per_item=5)

    assert (answer.numbers["n_queries"], answer.numbers["n_items"]) == (30, 60)


def test_a_pilot_replaces_the_simulated_crowd():
    answer = power.people(power.People(people=40), pilot=pilot())

    assert str(answer.remarks[0]) == "Queries and people vary as in your pilot."
    assert (
        answer.numbers["safe_rate_difference"] != power.people(power.People(people=40)).numbers["safe_rate_difference"]
    )


def test_a_difference_beyond_all_is_said_not_to_be_found():
    answer = power.people(power.People(people=4), per_annotator=2, per_item=1)

    assert answer.numbers["safe_rate_difference"] >= 1
    assert "find no difference of any size between two conditions with a probability of 80.0 %" in answer.sentence
    assert answer.choices is not None
    assert {row[3] for row in answer.choices.rows} == {"none"}


@pytest.mark.parametrize(
    ("question", "more", "message"),
    [
        ({"people": 0}, {}, "people, conditions, ratings of an item and items of a person are 1 or more"),
        ({"people": 3}, {}, "3 people in 2 conditions: a comparison needs two people in each; take fewer --groups"),
        (
            {"people": 4},
            {"per_annotator": 1},
            "4 people give 4 ratings, and one query needs 10 (5 in each of 2 conditions)",
        ),
        ({"people": None}, {}, "give --people, or --n"),
    ],
)
def test_too_few_people_are_refused_with_what_it_takes(question, more, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        power.people(replace(power.People(), **question), **more)


def test_two_judges_without_runs_are_told_apart_by_what_is_assumed():
    answer = power.judges(0.05)

    assert answer.numbers["deviation"] == pytest.approx(np.sqrt((0.15 - 0.05**2) / 2))
    assert (answer.numbers["n_queries"], answer.numbers["n_items"]) == (234, 468)
    assert answer.sentence == (
        "If the judges' accuracies differ by 5.0 points, 234 queries (468 items) show it with a probability of 80.1 %, at alpha 0.05."
    )
    assert power.judges(-0.05, n=100).numbers["n_items"] == 200
    assert "differ by 5.0 points, 100 queries" in power.judges(-0.05, n=100).sentence
    with pytest.raises(ConfigurationError, match="give --difference, or two runs with --from"):
        power.judges()


def test_fewer_people_are_needed_with_a_judge_by_its_correlation():
    answer = power.labels(0.05, items=1000)
    alone = 1.959964**2 * 0.25 / 0.05**2
    with_judge = (1 - 0.36) * 0.25 / (0.05**2 / 1.959964**2 - 0.36 * 0.25 / 1000)

    assert (answer.numbers["n_labels"], answer.numbers["n_labels_alone"]) == (np.ceil(with_judge), np.ceil(alone))
    assert answer.sentence.startswith(
        "With the judge, people rate 286 of 1,000 items for a 95 % interval of ± 5.0 points; without it, 385."
    )
    with pytest.raises(StatisticsError):
        power.labels(0.0, items=1000)

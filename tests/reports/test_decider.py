"""The page of a decider, and of a recommendation: each sentence with its condition."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.deciders import judged_demo

from casewise.api.deciding import Fit, Requirements, fit_decider
from casewise.deciding.recommending import Alternative, Need
from casewise.reports.decider import (
    best_of,
    candidates_notes,
    decider_page,
    errors_figures,
    measured_table,
    need_words,
    never_answers,
    other_labels,
    rule,
    shortfall,
    shortfalls,
)
from casewise.reports.document import Prose
from casewise.stats.estimates import ALIKE, Estimate
from casewise.stats.thresholds import FittedThresholds, KeptPromise, RiskPromise


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield judged_demo(folder)


@pytest.fixture(scope="module")
def fitting(run):
    return fit_decider(run, Requirements(ratio=3)).numbers


def with_thresholds(fitting, above, up_to, *promised):
    return fitting.decider.model_copy(update={"thresholds": FittedThresholds(above, up_to, promised)})


KEPT = KeptPromise(RiskPromise("harm", 0.1), threshold=0.5, loss=0.04, n_queries=44)


@pytest.mark.parametrize(
    ("above", "up_to", "promised", "sentence"),
    [
        (math.inf, math.inf, (), "It never answers: at these costs, refusing every request is cheapest."),
        (
            math.inf,
            math.inf,
            (KEPT,),
            "It never answers: no threshold that answers any item keeps the limits that you set.",
        ),
        (-math.inf, -math.inf, (), "It answers every request to which the judge gives a value."),
        (0.5, 0.5, (), "It answers where the judge's value is above 0.500, and refuses otherwise."),
        (0.5, -math.inf, (), "It answers where the judge's value is above 0.500, and asks a person otherwise."),
        (
            0.5,
            0.25,
            (),
            "It answers where the judge's value is above 0.500, refuses up to 0.250, and asks a person otherwise.",
        ),
    ],
)
def test_the_rule_of_a_decider_is_a_sentence(fitting, above, up_to, promised, sentence):
    said = rule(with_thresholds(fitting, above, up_to, *promised))

    assert (said.text, said.lead) == (sentence, True)


def test_without_a_promise_the_page_says_what_the_threshold_is_for_and_what_is_not_promised(fitting):
    page = " ".join(block.text for block in decider_page(fitting).rendered().blocks if isinstance(block, Prose))

    assert (
        "No guarantee. This threshold minimises expected cost. To guarantee a limit, fit again with --max-harm" in page
    )
    assert f"Harm is not promised. It is {fitting.decider.measured.harm.as_share} of items on held-out queries" in page
    assert "Over-refusal is not promised." in page
    assert "Needless" not in page
    assert "Requests to which the judge gives no value are refused." in page
    assert "--chosen-from N" not in page


def test_the_first_screen_of_a_decider_has_its_errors_and_how_often_a_person_is_asked(fitting):
    def figures(asked):
        measured = replace(fitting.decider.measured, asked=number(asked))
        return errors_figures(replace(fitting, decider=fitting.decider.model_copy(update={"measured": measured})))

    assert [row[0] for row in figures(0.0).rows] == ["Harm", "Over-refusal", "Unscored"]
    assert [row[0] for row in figures(0.25).rows] == ["Harm", "Over-refusal", "Unscored", "A person is asked"]
    assert figures(0.25).rows[-1][1] == "25.0 %"


def test_decisions_on_held_out_queries_stand_beside_those_where_the_thresholds_were_fitted(fitting):
    table = measured_table(fitting.decider)
    measured, fitted = fitting.decider.measured, fitting.decider.measured_where_fitted

    assert table.rows[0] == (
        "Harm: of what is labelled unsafe, answered",
        measured.harm.as_share,
        f"{100 * fitted.harm.estimate:.1f} %",
    )
    assert table.rows[-1][0] == "Mean cost of an item, in over-refusals; one harm is 3"
    assert len(table.rows) == len(measured.estimates) + 1


@pytest.mark.parametrize(("judges", "note"), [(1, ""), (3, ", for the best of 3 judges")])
def test_an_interval_allows_for_the_choice_of_one_of_several_judges(judges, note):
    assert best_of(judges) == note


def test_labels_other_than_those_of_the_last_report_are_named(fitting):
    def notes(reported):
        found: Any = SimpleNamespace(decider=fitting.decider, reported_labels=reported)
        return other_labels(found)

    (note,) = notes("intended")
    assert note.startswith("The labels here are by votes. The run's last report used labels by intended.")
    assert notes("votes") == notes(None) == []


@pytest.mark.slow
def test_the_page_says_what_it_does_and_what_is_promised(run):
    page = fit_decider(run, Requirements(max_harm=0.3, max_over_refusal=0.3, fail="ask")).to_markdown()

    assert "Requests to which the judge gives no value are passed to a person" in page
    assert "Harm is at most 30 % on queries like these, with 97.5 % confidence." in page
    assert "Both hold together with 95 % confidence." in page
    assert "requests of a kind" in page.lower()
    assert "the decider stands at harm" in page


def test_a_decider_that_answered_nothing_held_out_says_so_first(fitting):
    silent = fitting.decider.measured_on.model_copy(update={"decisions": {"refuse": 1.0, "ask": 0.0, "answer": 0.0}})

    assert list(never_answers(fitting.decider)) == []
    (warning,) = never_answers(fitting.decider.model_copy(update={"measured_on": silent}))
    assert warning.startswith("This decider answered none of the held-out ")


@pytest.mark.slow
def test_a_decider_that_never_answers_says_so_and_its_json_holds_no_number_that_is_none(fitting):
    decider = fitting.decider.model_copy(update={"thresholds": FittedThresholds(math.inf, math.inf)})
    fit = Fit(replace(fitting, decider=decider), decider_page)

    notice = next(notice for notice in decider_page(fit.numbers).notices if "never answers" in notice)
    assert notice.startswith("This decider never answers. To get one that answers, allow ")
    assert "It never answers" in fit.to_markdown()
    assert "Next: compare other judges" in fit.to_markdown()
    assert json.loads(json.dumps(fit.as_json(), allow_nan=False))["thresholds"]["answer_above"] == "Infinity"


def number(value, low=None, high=None):
    return Estimate("cost", value, low, high, 10.0, 0, "made up")


def noted(*, constant=False, left_out=None, why_no_words=None):
    best = SimpleNamespace(name="J", constant=constant)
    found: Any = SimpleNamespace(best=best, left_out=left_out or {}, why_no_words=why_no_words)
    return list(candidates_notes(found))


def test_a_constant_candidate_and_judges_left_out_are_named():
    assert noted() == []
    assert noted(why_no_words="too few") == ["It was not compared with a classifier of words: too few."]
    assert noted(constant=True) == ["J is a constant: it gives every item the same value."]
    assert noted(left_out={"a": "why", "b": "why not"}) == ["No decider can be made of a: why; b: why not."]


def test_a_judge_that_costs_the_same_on_every_query_is_not_said_to_be_not_told_apart():
    alike = Alternative("refusing everything", number(0.3), Estimate("cost", 0.0, None, None, 10.0, 0, ALIKE), None)
    best = SimpleNamespace(name="J", trial=SimpleNamespace(broken=None))
    found: Any = SimpleNamespace(best=best, alternatives=[alike], comparisons=[alike.conclusion("J")])

    assert list(shortfalls(found)) == ["J costs the same as refusing everything on every query."]


@pytest.mark.parametrize(
    ("candidates", "broken", "shown", "sentence"),
    [
        (2, None, True, "None of these judges is good enough."),
        (2, None, False, "None of these judges is shown to be good enough yet."),
        (1, None, True, "J is not good enough."),
        (1, None, False, "J is not shown to be good enough yet."),
        (2, "why", True, "None of these judges can promise what you asked for yet."),
        (1, "why", False, "J cannot promise what you asked for yet."),
    ],
)
def test_that_none_is_good_enough_is_said_as_strongly_as_it_is_shown(candidates, broken, shown, sentence):
    best = SimpleNamespace(name="J", trial=SimpleNamespace(broken=broken))
    found: Any = SimpleNamespace(best=best, candidates=(best,) * candidates, shown_to_fail=shown)

    assert shortfall(found) == sentence


@pytest.mark.parametrize(
    ("at_this_rate", "sentence"),
    [
        (
            None,
            " is out of reach: the observed rate is 4.0 %, as a mean over 100 queries with an item labelled unsafe. More queries do not help.",
        ),
        (
            90,
            "may be within reach: the rate is 4.0 %, as a mean over 100 queries with an item labelled unsafe. Ask for it with --max-harm 0.05.",
        ),
        (250, "needs about 150 more queries with an item labelled unsafe, if the rate stays at 4.0 %"),
        (101, "needs about 1 more query with an item labelled unsafe, if the rate stays at 4.0 %"),
    ],
)
def test_what_a_promise_takes_is_said_of_the_rate_now(at_this_rate, sentence):
    need = Need(RiskPromise("harm", 0.05), 0.04, 100, 59, at_this_rate)

    assert sentence in need_words(need, "Harm")
    assert need_words(need, "Harm").startswith("Harm of at most 5 %")

"""The page of a decider and the page of a recommendation as a whole: what each says first, and under which condition."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.support.deciders import judged_demo
from tests.support.pages import prose, sections_of, table_named

from casewise.api.deciding import Requirements, fit_decider
from casewise.deciding.recommending import Alternative, Need, Recommendation
from casewise.evaluate.cases import ErrorGroup, StatementErrors
from casewise.reports.decider import (
    alternatives_table,
    answer,
    calibration_words,
    decider_page,
    failures,
    judges_table,
    main_error_group,
    next_for,
    not_promised,
    promise_sentences,
    promises,
    recommendation_page,
    recommended,
    related,
    shortfalls,
    steps,
    trade_off_section,
    unpromised,
)
from casewise.reports.document import Figure, Prose
from casewise.stats.estimates import Estimate
from casewise.stats.thresholds import FittedThresholds, KeptPromise, RiskPromise, TradeOff


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        fitting = fit_decider(judged_demo(folder), Requirements(ratio=3)).numbers
        shown = fitting.failures
    return with_results(fitting, failures=shown[:2])


def with_results(fitting, *, failures=None, groups=(), **changed):
    """The fitting with these failures and groups of errors, which would take long to search."""
    made = replace(fitting, **changed)
    made.__dict__.update(
        failures=fitting.failures if failures is None else failures, error_groups=groups, reported_labels=None
    )
    return made


def with_file(fitting, **changed):
    return with_results(fitting, decider=fitting.decider.model_copy(update=changed))


def number(value, low=None, high=None, name="cost"):
    return Estimate(name, value, low, high, 10.0, 0, "made up")


KEPT = KeptPromise(RiskPromise("harm", 0.1), threshold=0.5, loss=0.04, n_queries=44)
KEPT_TOO = KeptPromise(RiskPromise("over_refusal", 0.25, 0.975), threshold=0.5, loss=0.125, n_queries=1)
NEEDLESS = KeptPromise(RiskPromise("needless_ask", 0.2), threshold=0.5, loss=0.125, n_queries=30)


def separated(kind, errors, *, p=0.01, searched=12):
    statements = (StatementErrors("a nurse", errors, 10),)
    return ErrorGroup(kind, "recipient.type", statements, errors, 40, p, searched, ())


# The page of a decider.


def test_a_deciders_page_has_its_answer_first_and_every_number_in_folds(fitted):
    page = decider_page(fitted).rendered()
    folds: Any = page.sections[-1].blocks

    assert page.title == "A decider of python:mostly_right_judge:judge"
    assert page.subtitle == "probability, full, fitted on demo: 90 items of 45 queries, labels: votes"
    assert [(part.anchor, part.first) for part in page.sections] == [
        ("answer", True),
        *((name, False) for name in ("promised", "failures", "trade-off", "all-numbers")),
    ]
    assert [fold.anchor for fold in folds] == ["measured", "calibrated", "read"]
    assert [fact[0] for fact in folds[2].blocks[0].facts[:2]] == ["Decision", "People"]
    assert len(page.notices) == 1, "the data are synthetic"


def test_a_promise_has_its_evidence_and_takes_its_kind_off_what_is_not_promised(fitted):
    page = decider_page(with_file(fitted, thresholds=FittedThresholds(0.5, 0.5, (KEPT,)))).rendered()
    words = " ".join(prose(page.blocks))

    assert "No guarantee." not in words
    assert "Harm is not promised." not in words
    assert (
        "The limit of 10 % applies to the mean over queries. Where the thresholds were fitted, it answers 4.0 % of the items labelled unsafe"
        in words
    )
    assert "as a mean over 44 queries with such an item." in words
    assert "fit again with --chosen-from N" in words


def test_the_next_step_of_a_decider_is_to_serve_it_unless_it_never_answers(fitted):
    never = with_file(fitted, thresholds=FittedThresholds(math.inf, math.inf))

    assert prose(answer(fitted))[-1].startswith("Next: casewise serve FILE")
    assert prose(answer(never))[-1].startswith("Next: compare other judges, prompts or models")


@pytest.mark.parametrize(
    ("groups", "starts"),
    [
        ((), []),
        ((separated("harm", 3, searched=0, p=1.0),), []),
        (
            (separated("harm", 3, searched=0, p=1.0), separated("over_refusal", 9, p=0.5)),
            ["No statement or parameter separates its errors from its other decisions beyond chance."],
        ),
        ((separated("harm", 3), separated("over_refusal", 9)), ["Of the items labelled safe with the "]),
        ((separated("harm", 3), separated("over_refusal", 9, p=0.5)), ["Of the items labelled unsafe with the "]),
    ],
)
def test_the_statement_that_separates_most_errors_is_named_without_its_test(fitted, groups, starts):
    words = [str(text) for text in prose(main_error_group(with_results(fitted, groups=groups)))]

    assert [text[: len(start)] for text, start in zip(words, starts, strict=True)] == starts
    assert not any("p = " in text for text in words)


def test_wrong_decisions_are_listed_by_their_cost_or_said_to_be_none(fitted):
    table = table_named(failures(fitted), "failures")
    alone = with_results(fitted, failures=fitted.failures[:1])
    alone.__dict__["risks"] = tuple(
        risk._replace(error=risk.error & (place < 1)) for place, risk in enumerate(fitted.risks)
    )

    assert str(table.caption).endswith(", the 2 costliest of 21")
    assert [row[3] for row in table.rows] == ["answer", "refuse"]
    assert alone.n_failures == 1
    assert not str(table_named(failures(alone), "failures").caption).endswith("costliest of 1")
    assert [str(text) for text in prose(failures(with_results(fitted, failures=())))] == [
        "On held-out queries no item was answered or refused against its label."
    ]


@pytest.mark.parametrize(
    ("promised", "sentences"),
    [
        ((), ["No guarantee."]),
        ((KEPT,), ["Harm is at most 10 % on queries like these, with 95 % confidence."]),
        (
            (KEPT, KEPT_TOO),
            [
                "Harm is at most 10 % on queries like these, with 95 % confidence.",
                "Over-refusal is at most 25 % on queries like these, with 97.5 % confidence.",
                "Both hold together with 95 % confidence.",
            ],
        ),
    ],
)
def test_each_promise_is_a_sentence_and_two_have_one_more(fitted, promised, sentences):
    words = [
        str(text)
        for text in promise_sentences(with_file(fitted, thresholds=FittedThresholds(0.5, 0.5, promised)).decider)
    ]

    assert [text[: len(sentence)] for text, sentence in zip(words, sentences, strict=True)] == sentences


def test_two_promises_on_average_are_not_said_to_hold_together(fitted):
    on_average = with_file(
        fitted,
        thresholds=FittedThresholds(0.5, 0.5, (KEPT, KEPT_TOO)),
        requirements=Requirements(max_harm=0.1, max_over_refusal=0.25, level=None),
    )

    assert len([*promise_sentences(on_average.decider)]) == 2


def test_a_promise_has_the_rates_of_its_error_and_one_on_asking_only_the_mean_over_queries(fitted):
    over_refusal, needless = (str(related(fitted.decider, limit)) for limit in (KEPT_TOO, NEEDLESS))
    measured, where_fitted = fitted.decider.measured, fitted.decider.measured_where_fitted

    assert over_refusal == (
        "The limit of 25 % applies to the mean over queries. Where the thresholds were fitted, it refuses 12.5 % of the items "
        "labelled safe, as a mean over 1 query with such an item. Counted by item, it refuses "
        f"{100 * where_fitted.over_refusal.estimate:.1f} % of them there, and {measured.over_refusal.as_share} on held-out queries."
    )
    assert needless == (
        "The limit of 20 % applies to the mean over queries. Where the thresholds were fitted, it asks about or refuses 12.5 % "
        "of the items labelled safe, as a mean over 30 queries with such an item."
    )
    assert "labelled unsafe" in related(fitted.decider, KEPT)


@pytest.mark.parametrize(
    ("promised", "chosen_from", "starts"),
    [
        ((), 1, ["Harm is not", "Over-refusal is not"]),
        ((KEPT,), 1, ["Over-refusal is not", "If you compared"]),
        ((KEPT,), 3, ["Over-refusal is not"]),
        ((NEEDLESS,), 1, ["Harm is not", "Over-refusal is not", "If you compared"]),
        ((KEPT, KEPT_TOO), 1, ["If you compared"]),
    ],
)
def test_errors_without_a_promise_are_named_and_the_choice_among_judges_only_beside_a_promise(
    fitted, promised, chosen_from, starts
):
    file = with_file(
        fitted,
        thresholds=FittedThresholds(0.5, 0.5, promised),
        requirements=replace(fitted.decider.requirements, chosen_from=chosen_from),
    ).decider
    words = [str(text) for text in prose(not_promised(file))]
    always = [
        "Nothing is promised about other",
        "Nothing is promised for a single",
        "Requests to which",
        "Requests of a kind",
    ]

    assert [text for text in words if not text.startswith((*starts, *always))] == []
    assert len(words) == len(starts) + len(always)


@pytest.mark.parametrize(
    ("refuse", "decided"), [(True, "refused."), (False, "decided, and each answer says what was not measured.")]
)
def test_the_decision_on_what_was_not_measured_is_said(fitted, refuse, decided):
    words = [str(text) for text in prose(not_promised(with_file(fitted, refuse_unmeasured=refuse).decider))]

    assert f"Requests of a kind that was not measured are {decided}" in words


def test_every_threshold_stands_behind_the_chart_and_none_has_no_section(fitted):
    points = ((-math.inf, 1.0, 0.0), (0.5, 0.25, 0.125), (0.0, 0.5, 0.5), (math.inf, 0.0, 1.0))
    trade_offs = tuple(TradeOff(*point) for point in points)
    (section,) = trade_off_section(with_file(fitted, trade_offs=trade_offs).decider)
    (chart,) = section.blocks

    assert isinstance(chart, Figure)
    assert chart.behind is not None
    assert chart.behind.rows == (
        ("answers all", "100.0 %", "0.0 %"),
        ("0.500", "25.0 %", "12.5 %"),
        ("0.000", "50.0 %", "50.0 %"),
        ("refuses all", "0.0 %", "100.0 %"),
    )
    assert [*trade_off_section(with_file(fitted, trade_offs=()).decider)] == []


def test_calibration_errors_are_said_where_both_are_known(fitted):
    def words(before, after):
        calibration = fitted.decider.calibration.model_copy(
            update={"brier": {"platt": 0.25}, "error_before": before, "error_after": after}
        )
        return str(calibration_words(with_file(fitted, calibration=calibration).decider).text)

    assert words(0.25, 0.125).endswith(
        "(Brier score on held-out queries: platt 0.2500). Calibration error on held-out queries: 0.250 of the judge's values, 0.125 of "
        "P(safe)."
    )
    assert [words(*errors).endswith("platt 0.2500).") for errors in ((None, 0.1), (0.1, None), (None, None))] == [
        True
    ] * 3


# The page of a recommendation.

WON = Alternative("refusing everything", number(0.5, 0.4, 0.6), number(0.25, 0.125, 0.375), None)
WON_TOO = replace(WON, name="words alone")
OPEN = Alternative("answering everything", number(0.4, 0.3, 0.5), number(0.125, -0.125, 0.375), 1)
OPEN_WIDE = replace(OPEN, name="words alone", more_queries=1200)
UNKNOWN = replace(OPEN, name="words alone", more_queries=None)
LOST = Alternative("words alone", number(0.1, 0.0, 0.2), number(-0.25, -0.375, -0.125), None)

NAME = "python:mostly_right_judge:judge"

WITHIN = Need(RiskPromise("harm", 0.05), 0.02, 100, 59, 90)
FAR = Need(RiskPromise("harm", 0.02), 0.02, 100, 149, None)
FURTHER = Need(RiskPromise("harm", 0.01), 0.02, 100, 299, 1200)
NEVER = Need(RiskPromise("over_refusal", 0.1), 0.5, 40, 29, None)


def recommendation(fitted, *alternatives, others=(), broken=None, needs=(), **more):
    best = with_results(fitted, trial=replace(fitted.trial, broken=broken))
    usual: dict[str, Any] = {
        "requirements": fitted.decider.requirements,
        "why_no_words": None,
        "shown_to_fail": False,
        "left_out": {},
        "problem": None,
    }
    found = Recommendation(fitted.runs, candidates=(best, *others), alternatives=alternatives, **usual | more)
    found.__dict__["needs"] = needs
    return found


def leads(found):
    return [(str(block.text), block.lead) for block in recommended(found) if isinstance(block, Prose)]


def test_a_judge_that_is_good_enough_is_recommended_with_the_commands_that_serve_it(fitted):
    found = recommendation(fitted, WON, WON_TOO)
    page = recommendation_page(found).rendered()

    assert page.title == "Which judge to deploy on demo"
    assert page.subtitle == (
        "1 judge, 90 items of 45 queries, labels: votes; one harm counts as 3 over-refusals (--ratio)"
    )
    assert [(part.anchor, part.first, part.brief) for part in page.sections] == [
        ("answer", True, False),
        ("steps", False, True),
        ("saved", False, True),
        *((name, False, False) for name in ("promised", "failures", "trade-off", "all-numbers")),
    ]
    fit, serve = found.commands
    assert leads(found) == [
        (f"Deploy {NAME} (probability).", True),
        (
            "It costs less than refusing everything and words alone: the intervals of the differences lie above zero.",
            False,
        ),
        (f"Next: {fit}", False),
    ]
    assert [str(words) for words in steps(found)] == [fit, serve]
    promising = with_file(fitted, thresholds=FittedThresholds(0.5, 0.5, (KEPT,)))
    assert leads(recommendation(promising, WON))[2] == (
        "Harm is at most 10 % on queries like these, with 95 % confidence.",
        False,
    )


def test_several_judges_have_a_table_and_those_left_out_are_counted(fitted):
    found = recommendation(
        fitted, WON, others=(fitted,), left_out={"c": "why"}, requirements=Requirements(ratio=1, chosen_from=2)
    )
    page = recommendation_page(found).rendered()

    assert page.subtitle == (
        "2 of 3 judges, 90 items of 45 queries, labels: votes; one harm counts as 1 over-refusal (--ratio)"
    )
    assert [part.anchor for part in page.sections][:4] == ["answer", "steps", "saved", "judges"]
    assert [part.brief for part in page.sections][:4] == [False, True, True, True]
    assert leads(found)[0] == (f"Deploy {NAME} (probability), the cheapest of 2 judges.", True)
    assert leads(found)[2] == ("No decider can be made of c: why.", False)


def test_the_table_of_judges_has_whom_a_person_is_asked_about_and_who_keeps_the_promises_where_that_may_differ(fitted):
    asks = with_file(fitted, measured=replace(fitted.decider.measured, asked=number(0.25, 0.125, 0.375, "asked")))
    fails = with_results(fitted, trial=replace(fitted.trial, broken="too few queries"))
    plain = judges_table(recommendation(fitted, WON, others=(fitted,)))
    full = judges_table(
        recommendation(fitted, WON, others=(asks, fails), requirements=Requirements(max_harm=0.1, chosen_from=3))
    )
    usual = ("Judge", "Cost of an item", "Harm", "Over-refusal", "Unscored")

    assert plain.columns == usual
    assert full.columns == (*usual, "A person is asked", "Keeps the promises")
    assert [row[-2].partition(" [")[0] for row in full.rows] == ["0.0 %", "25.0 %", "0.0 %"]
    assert [row[-1] for row in full.rows] == ["yes", "yes", "no"]
    assert str(full.caption).endswith("95 % intervals, for the best of 3 judges; the cheapest first")


@pytest.mark.parametrize(
    ("alternatives", "more", "lead", "reason"),
    [
        (
            (WON, OPEN),
            {},
            "is not shown to be good enough yet.",
            "is not shown to cost less than answering everything: it saves 0.125",
        ),
        ((OPEN, LOST), {"shown_to_fail": True}, "is not good enough.", "It costs more than words alone: 0.250"),
        ((WON,), {"broken": "too few queries"}, "cannot promise what you asked for yet.", "Too few queries."),
        ((LOST,), {"broken": "too few queries"}, "cannot promise what you asked for yet.", "Too few queries."),
    ],
)
def test_a_judge_that_is_not_good_enough_has_the_reason(fitted, alternatives, more, lead, reason):
    alone = recommendation(fitted, *alternatives, **more)
    several = recommendation(fitted, *alternatives, others=(fitted,), **more)

    assert leads(alone)[0] == (f"{NAME} (probability) {lead}", True)
    assert reason in leads(alone)[1][0]
    assert "is the best of them" not in leads(alone)[1][0]
    assert leads(several)[1][0] == f"{NAME} (probability) is the best of them. {leads(alone)[1][0]}"
    assert [str(words) for words in steps(alone)] == [
        "To fit and serve it in spite of this result:",
        *alone.commands,
    ]


def test_a_judge_that_cannot_be_made_anew_has_the_reason_in_place_of_commands(fitted):
    found = recommendation(fitted, WON, problem="no module")

    assert [str(words) for words in steps(found)] == [
        f"casewise cannot load {NAME} (probability) by its name on this machine: no module"
    ]
    assert "no module" in next_for(found)


COMPARE = "compare other judges, prompts or models: casewise judge BENCHMARK --judge NAME."


@pytest.mark.parametrize(
    ("alternatives", "more", "step"),
    [
        ((OPEN,), {}, "about 1 more query would show whether it costs less, if the difference stays the same."),
        (
            (OPEN, OPEN_WIDE, WON),
            {},
            "about 1,200 more queries would show whether it costs less, if the difference stays the same.",
        ),
        ((OPEN, UNKNOWN), {}, COMPARE),
        ((LOST,), {}, COMPARE),
        ((OPEN,), {"shown_to_fail": True}, COMPARE),
        ((WON,), {"broken": "too few queries"}, COMPARE),
        ((OPEN,), {"problem": "no module"}, "about 1 more query would show whether it costs less"),
    ],
)
def test_the_next_step_is_more_queries_only_where_they_would_decide_every_open_difference(
    fitted, alternatives, more, step
):
    assert next_for(recommendation(fitted, *alternatives, **more)).startswith(step)


def test_each_shortfall_is_a_sentence_with_the_queries_that_would_show_a_difference(fitted):
    words = [str(text) for text in shortfalls(recommendation(fitted, WON, OPEN, UNKNOWN, broken="too few queries"))]

    assert [text.partition(": it saves")[0] for text in words] == [
        "Too few queries.",
        f"{NAME} (probability) is not shown to cost less than answering everything",
        "About 1 more query would show a difference of this size.",
        f"{NAME} (probability) is not shown to cost less than words alone",
    ]


def test_the_costs_of_rules_without_a_judge_stand_below_the_judges_own(fitted):
    table = alternatives_table(recommendation(fitted, WON, OPEN))

    assert [row[0] for row in table.rows] == [f"{NAME} (probability)", "Refusing everything", "Answering everything"]
    assert [row[1:] for row in table.rows[1:]] == [
        ("0.500 [0.400, 0.600]", "0.250 [0.125, 0.375]"),
        ("0.400 [0.300, 0.500]", "0.125 [-0.125, 0.375]"),
    ]
    assert (table.rows[0][1].partition(" ")[0], table.rows[0][2]) == (f"{fitted.trial.cost.value:.3f}", "–")


def test_the_loosest_promise_of_each_kind_that_is_within_reach_is_told_or_else_the_loosest(fitted):
    def needs(*wanted, **more):
        words = [str(text) for text in prose(promises(recommendation(fitted, WON, needs=wanted, **more)))]
        return words[0], [text.partition(" %")[0] for text in words[1:]]

    assert needs(FAR, WITHIN, FURTHER, NEVER)[1] == ["Harm of at most 5", "Over-refusal of at most 10"]
    assert needs(FAR)[1] == ["Harm of at most 2"]
    assert needs()[0].startswith("No guarantee. This threshold minimises expected cost.")
    assert needs(FURTHER, broken="too few queries") == ("No guarantee: too few queries.", ["Harm of at most 1"])


def test_promises_that_are_not_made_stand_in_a_table_and_none_has_no_table(fitted):
    table = table_named(unpromised(recommendation(fitted, WON, needs=(WITHIN, FAR, FURTHER))), "needs")

    assert table.rows == (
        ("Harm at most 5 %", "2.0 %", "100", "0", "59"),
        ("Harm at most 2 %", "2.0 %", "100", "–", "149"),
        ("Harm at most 1 %", "2.0 %", "100", "1,100", "299"),
    )
    assert prose(unpromised(recommendation(fitted, WON))) == prose(not_promised(fitted.decider))
    assert "promised" in sections_of(recommendation_page(recommendation(fitted, WON)))

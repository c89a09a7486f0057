"""What a study's report says of contrasts, of what was left out and of what to do next: from rows made by hand."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import polars as pl

from casewise.reports.document import Prose, Table
from casewise.stats.estimates import Estimate
from casewise.stats.study_tables import AnalysisOptions
from casewise.studies.report import (
    StudyNumbers,
    after_study,
    contrast_found,
    contrast_sentence,
    in_points,
    key_figures,
    left_out,
    more_contrasts,
    quoted_points,
    quoted_prefix,
    remarks,
    verdict,
    without_unrated_contrasts,
)
from casewise.studies.report_parts import ITEM_WORDS, REPLY_WORDS, contrast_name

PAIR = {"first": "no_context", "second": "safe_revised"}


def row(estimate=-0.2, *, p=0.01, p_alike=0.5, **changes) -> dict[str, Any]:
    """A contrast of 20 points, 15 to 25, as its table has it."""
    limits = {"estimate": estimate, "ci_low": estimate - 0.05, "ci_high": estimate + 0.05}
    tested = {"recommended_p_corrected": p, "equivalent_p_corrected": p_alike, "differs": p <= 0.05}
    numbers = {f"like_{name}": value for name, value in limits.items()}
    return {**PAIR, **numbers, **tested, "equivalent": p_alike <= 0.05, "n1": 50, "n2": 60, "why": None, **changes}


BY_QUERY = {"like_estimate": None, "query_estimate": 0.1, "query_ci_low": 0.02, "query_ci_high": 0.18}
UNKNOWN = {"like_estimate": None, "like_ci_low": None, "like_ci_high": None, "differs": None, "why": "too few people"}


def said(changed, *, n_contrasts=1, planned="planned", options=AnalysisOptions(), words=ITEM_WORDS):
    return str(contrast_sentence(changed, options, n_contrasts=n_contrasts, planned=planned, words=words))


def test_a_contrast_is_quoted_for_queries_like_these_or_else_by_query():
    assert (quoted_prefix(row()), quoted_prefix(row(**BY_QUERY)), quoted_prefix(row(like_estimate=None))) == (
        "like",
        "query",
        "like",
    )
    assert quoted_points(row()) == in_points(row(), "like") == "-20.0 [-25.0, -15.0]"
    assert quoted_points(row(**BY_QUERY)) == "10.0 [2.0, 18.0]"
    assert quoted_points(None) == "–"


def test_a_difference_names_the_condition_with_more_and_how_it_was_tested():
    more = "People allow 20.0 points [15.0, 25.0] more under safe revised than under no context"

    assert said(row()) == f"{more} (planned; p = 0.0100)."
    assert said(row(), n_contrasts=2) == f"{more} (planned; p = 0.0100, corrected by Holm over 2 contrasts)."
    assert said(row(p=0.00001)) == f"{more} (planned; p < 0.0001)."
    assert said(row(p_alike=0.04)) == f"{more}, and the difference is smaller than 5 points (planned; p = 0.0100)."
    assert said(row(0.2), words=REPLY_WORDS).startswith("Replies answer 20.0 points [15.0, 25.0] more under no context")
    assert said(row(p=0.05)).startswith("People allow") != said(row(p=0.051)).startswith("People allow")


def test_conditions_that_are_alike_are_told_by_the_test_of_that():
    assert said(row(0.01, p=0.5, p_alike=0.02)) == (
        "No context and safe revised differ by less than 5 points: 1.0 points [-4.0, 6.0] (planned; p = 0.0200)."
    )


def test_where_nothing_is_shown_or_known_no_test_is_claimed():
    assert said(row(p=0.5)) == (
        "A difference between no context and safe revised is not shown: -20.0 points [-25.0, -15.0] (planned; p = 0.5000)."
    )
    assert said(row(**UNKNOWN)) == "No context is not compared with safe revised: too few people."
    unstated = contrast_found(row(**UNKNOWN | {"why": None}), AnalysisOptions())
    assert str(unstated.differ.sentence) == "no context is not compared with safe revised: too few queries or people."


def numbers(*rows, planned="planned", left=None, agreement=None, study=None, missing=None) -> Any:
    """A study of these contrasts, as the report's parts take it."""
    ratings = range(90)
    analysis = SimpleNamespace(
        options=AnalysisOptions(),
        ratings=ratings,
        contrasts=pl.DataFrame(list(rows)),
        agreement={} if agreement is None else {"all": agreement},
        left_out=left,
        not_available=missing or {},
    )
    return SimpleNamespace(analysis=analysis, words=ITEM_WORDS, planned=planned, study=study, frozen=None)


def test_the_verdict_is_the_only_contrast_or_how_many_differ_and_are_alike():
    one, alike, other = row(), row(0.01, p=0.5, p_alike=0.02), row(p=0.5)

    assert str(verdict(numbers(one), [one])) == said(one)
    assert str(verdict(numbers(), [one, alike, other])) == (
        "Of 3 contrasts, 1 differs and 1 is alike within 5 points (planned; corrected by Holm)."
    )
    assert str(verdict(numbers(), [one, one])).startswith("Of 2 contrasts, 2 differ and 0 are alike")
    missing = numbers(missing={"contrasts": "there is only one condition"})
    assert str(verdict(missing, [])) == "No conditions can be compared: there is only one condition."


def test_of_several_contrasts_each_has_its_sentence_and_of_one_none():
    one, other = row(), row(p=0.5)

    assert [str(prose.text) for prose in more_contrasts(numbers(one, other))] == [
        said(each, n_contrasts=2) for each in (one, other)
    ]
    assert list(more_contrasts(numbers(one))) == []


def test_the_large_figures_are_the_largest_difference_agreement_and_what_was_left_out():
    small, large = row(0.1), row(-0.3)
    agreement = SimpleNamespace(raw=0.8, raw_interval=(0.7, 0.9), items=12)
    left = SimpleNamespace(ratings=120)

    assert list(key_figures(numbers(agreement=agreement, left=left), [small, large])) == [
        ("Largest difference: no context − safe revised", ("-30.0 points", "[-35.0, -25.0], uncorrected"), 110),
        ("Two people agree", Estimate("agreement", 0.8, 0.7, 0.9, 12, 0, "no interval"), 90),
        ("Left out", ("25.0 %", "of all ratings"), 120),
    ]


def test_a_single_difference_is_called_so_and_what_is_not_known_says_why():
    assert list(key_figures(numbers(), [row()])) == [
        ("Difference", ("-20.0 points", "[-25.0, -15.0]"), 110),
        ("Two people agree", ("not known", "no item has two ratings"), 90),
        ("Left out", ("0.0 %", "of all ratings"), 90),
    ]
    for missing, why in (({}, "too few ratings"), ({"contrasts": "one condition"}, "one condition")):
        first = next(iter(key_figures(numbers(missing=missing), [row(**UNKNOWN)])))
        assert first == ("Difference", ("not known", why), 90)


def test_what_to_do_next_follows_from_what_was_found():
    exported: Any = SimpleNamespace()

    assert str(after_study(numbers(), [row(p=0.5)])).startswith("casewise power study --from RATINGS")
    assert str(after_study(numbers(study=exported), [row()])).startswith("freeze the plan before the main round")
    assert str(after_study(numbers(), [row(), row(p=0.5)])).startswith("measure judges on these labels")
    assert str(after_study(numbers(), [])).startswith("measure judges on these labels")


def test_decisions_that_change_with_the_ratings_left_out_are_named():
    without, more = row(), pl.DataFrame([row(p=0.5)])
    left = SimpleNamespace(contrasts=more, ratings=100, reasons={"asked us to": 10})
    prose, reasons, beside = left_out(numbers(without, left=left).analysis, ITEM_WORDS)
    same = SimpleNamespace(contrasts=pl.DataFrame([row()]), ratings=91, reasons={})

    assert isinstance(prose, Prose)
    assert isinstance(reasons, Table)
    assert isinstance(beside, Table)
    assert (reasons.rows, beside.rows[0][1:]) == (
        (("asked us to", "10"),),
        ("-20.0 [-25.0, -15.0]", "0.0100", "-20.0 [-25.0, -15.0]", "0.5000"),
    )
    assert str(prose.text) == (
        "With the 10 ratings that this report leaves out, the decision changes for no context − safe revised."
    )
    assert next(iter(left_out(numbers(without, left=same).analysis, ITEM_WORDS))) == Prose(
        "With the 1 rating that this report leaves out, every contrast has the same decision."
    )
    assert list(left_out(numbers().analysis, ITEM_WORDS)) == []


def test_a_contrast_that_only_one_side_can_decide_is_no_same_decision():
    def said(without, every):
        left = SimpleNamespace(contrasts=pl.DataFrame(every), ratings=100, reasons={"asked us to": 10})
        return [
            str(part.text)
            for part in left_out(numbers(*without, left=left).analysis, ITEM_WORDS)
            if isinstance(part, Prose)
        ]

    changes = "With the 10 ratings that this report leaves out, the decision changes for no context − safe revised."
    other = row(first="safe_revised", second="unsafe_revised")

    assert (
        said([row(**UNKNOWN)], [row()]) == said([row()], [row(**UNKNOWN)]) == said([other], [row(), other]) == [changes]
    )
    assert said([row(**UNKNOWN)], [row(**UNKNOWN)]) == []


def test_planned_contrasts_without_ratings_are_left_out_and_named():
    study: Any = SimpleNamespace(planned={"contrasts": (("a", "b"), ("a", "c"))})
    options = AnalysisOptions(contrasts=(("a", "b"), ("a", "c")))
    rated = pl.DataFrame({"condition": ["a", "b"]})
    kept, notes = without_unrated_contrasts(options, study, rated)

    assert (kept.contrasts, len(notes)) == ((("a", "b"),), 1)
    assert notes[0].startswith(
        "The planned contrast of a and c is not available: one of them has no ratings that count."
    )
    for asked in ((("a", "c"),), None):
        same = replace(options, contrasts=asked)
        assert without_unrated_contrasts(same, study, rated) == (same, ())
    unplanned = replace(options, contrasts=(("a", "d"), ("a", "b")))
    assert without_unrated_contrasts(unplanned, study, rated)[0] == unplanned


def test_remarks_are_departures_amendments_and_an_early_end():
    study: Any = SimpleNamespace(amendments=("more (why)",), exact=False, stopping="all is rated")

    assert list(remarks(study, ["x"])) == [
        "Departs from the frozen plan: x",
        "Amended while it ran: more (why)",
        "The study was exported before it ended (all is rated).",
    ]
    assert list(remarks(SimpleNamespace(amendments=(), exact=True), [])) == list(remarks(None, [])) == []  # type: ignore[arg-type]


def test_contrasts_are_called_planned_only_where_they_were_frozen():
    def planned(departures, digest="abc"):
        frozen: Any = digest and SimpleNamespace(digest=digest)
        study: Any = SimpleNamespace(frozen=frozen, rates="requests", round=("1", "main"))
        analysis: Any = None
        return StudyNumbers(analysis, "tea", study=study, departures=departures).planned

    assert planned((), None) == "no frozen plan"
    assert planned(()) == "planned"
    assert planned(("analysis.alpha: …",)) == "planned, with departures"
    assert planned(("analysis.alpha: …", "analysis.contrasts: …")) == "not the planned contrasts"


def test_a_pair_of_conditions_is_named_in_words():
    assert contrast_name(PAIR) == "no context − safe revised"

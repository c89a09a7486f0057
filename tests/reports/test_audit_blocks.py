"""The sentences and tables of an audit's page, on measurements that are laid down."""

from dataclasses import replace
from typing import Any

import pytest
from tests.audits.builders import Row, benchmark_of
from tests.support.pages import prose

from casewise.audits import Audit, AuditOptions, AuditPart, Finding, kinds
from casewise.reports.audit import (
    WEIGHTS,
    answer,
    audit_page,
    baseline_blocks,
    context_blocks,
    evidence,
    findings,
    flat,
    intent_blocks,
    measure_name,
    people_blocks,
    phrase_blocks,
    subset_blocks,
    written,
)
from casewise.reports.document import Exhibit, Prose, Table
from casewise.storage.benchmark import About

RATE = {"estimate": 0.8, "ci_low": 0.7, "ci_high": 0.9}
CELL = "80.0 % [70.0, 90.0]"
WORDS = {
    "reads": "query",
    "held_out": "queries",
    "votes": {"accuracy": RATE, "pearson": {"estimate": 0.5}},
    "published": {"accuracy": RATE},
}
CONSTANTS = {
    f"constant:{name}": {"votes": rate, "published": 0.5} for name, rate in {"safe": 0.25, "unsafe": 0.75}.items()
}
EMPTY: dict[str, dict[str, Any]] = {
    "baseline": {"baselines": [WORDS], "constants": CONSTANTS},
    "labels": {"second_study": RATE | {"n": 3}},
    "subsets": {"items_by_subset": {}},
    "people": {},
    "intent": {},
    "contexts": {},
}
CODES = {"label": "labels.ties", "score": "baseline.query", "note": "contexts.length"}
BENCHMARK = benchmark_of([Row(f"query {n}", intended_safe=True, votes=(1, 1, 0)) for n in range(5)])


def found(effect, share=0.5, **more):
    advice = f"Mend {effect}. Then go on."
    return Finding(
        code=CODES[effect], title=f"{effect} found.", effect=effect, share=share, evidence={}, advice=advice, **more
    )


def audited(*made, benchmark=BENCHMARK, **measured):
    parts = {name: AuditPart(name, values) for name, values in (EMPTY | measured).items()}
    parts["people"].findings.extend(made)
    parts["intent"].left_out.append("nothing was intended.")
    counts = {"items": 5, "queries": 4, "ratings": 15}
    return Audit("made-up", "abc", counts, (), AuditOptions(), parts, benchmark)


def rows(blocks):
    return [row for block in blocks if isinstance(block, Table) for row in block.rows]


def summaries(blocks):
    return [str(block.summary) for block in blocks]


def measured(blocks, **values):
    return [*blocks(AuditPart("part", values))]


@pytest.mark.parametrize(
    ("effects", "sentence"),
    [
        ((), "The audit finds nothing that changes the meaning of a score."),
        (("note",), "The audit finds nothing that changes the meaning of a score. 1 finding is for your information."),
        (("note",) * 2, "The audit finds nothing that changes the meaning of a score. 2 findings are for your information."),
        (("label", "note"), "2 findings: 1 concerns the labels, 1 is for your information."),
        (("label", "label", "score"), "3 findings: 2 concern the labels, 1 limits what a score shows."),
    ],
)  # fmt: skip
def test_the_answer_counts_the_findings_by_their_effect(effects, sentence):
    first = next(answer(audited(*map(found, effects))))

    assert isinstance(first, Prose)
    assert (first.text, first.lead) == (sentence, True)


def test_the_answer_ends_with_the_heaviest_finding_and_its_advice():
    nothing = "Next: judge it, and state with the result that the audit finds nothing: casewise judge."

    assert prose(answer(audited(found("note"), found("label"))))[1:] == [
        "Main finding: label found.",
        "Next: Mend label. Then go on.",
    ]
    assert prose(answer(audited()))[1:] == [nothing]


def test_the_figures_are_accuracies_to_compare_with_or_the_reasons_why_they_are_not_known():
    unknown = {f"constant:{name}": {"votes": None} for name in ("safe", "unsafe")}
    without = audited(labels={}, baseline={"constants": unknown, "why_no_words": "too few"})

    assert rows(answer(audited())) == [
        ("A second study", "80.0 %", "[70.0, 90.0]", "3"),
        ("Words alone", "80.0 %", "[70.0, 90.0]", "5"),
        ("A constant verdict", "75.0 %", "a fact of these labels", "5"),
    ]
    assert rows(answer(without)) == [
        ("A second study", "not known", "not predicted", "5"),
        ("Words alone", "not known", "too few", "5"),
        ("A constant verdict", "not known", "no item has a label", "5"),
    ]


def test_findings_are_numbered_from_the_heaviest_with_their_weight_and_what_was_left_out_follows():
    assert prose(findings(audited(found("note"), found("score")))) == [
        "1. score found.",
        "What to do: Mend score. Then go on. (Weight 0.25 of 1: it limits what a score shows; baseline.query.)",
        "2. note found.",
        "What to do: Mend note. Then go on. (Weight 0.10 of 1: it is for your information; contexts.length.)",
        "Not checked: nothing was intended.",
    ]
    assert [getattr(block, "lead", None) for block in findings(audited(found("note")))] == [True, False, False]


@pytest.mark.parametrize("n", [0, 1, 3, 4])
def test_a_finding_shows_three_of_its_items_or_names_them_where_texts_are_restricted(n):
    items = tuple(item.id for item in BENCHMARK.items[:n])
    finding = found("label", items=items)
    closed = replace(BENCHMARK, about=About(name="closed", gated=True))
    shown, named = ([*evidence(audited(finding, benchmark=each), finding)] for each in (BENCHMARK, closed))
    some = ["3 of the affected items; casewise audit --json lists up to twenty."] if n > 3 else []
    condition = f"The audit makes this finding when: {kinds()['labels.ties'].condition}."
    own = [BENCHMARK.item[item].own_id for item in items[:3]]

    assert prose(shown) == [condition, *some]
    assert [str(block.heading).partition(": ")[0] for block in shown if isinstance(block, Exhibit)] == own
    assert not [block for block in named if isinstance(block, Exhibit)]
    assert [line.partition(". ")[0] for line in prose(named)[1:]] == [
        f"Examples of affected items: {', '.join(own)}"
    ] * bool(n)


def test_evidence_lists_each_number_with_the_names_that_lead_to_it():
    finding = found("label").model_copy(update={"evidence": {"ties": 2, "agreement": {"query": RATE, "gain": 0.25}}})

    assert rows(evidence(audited(), finding)) == [
        ("ties", "2"),
        ("agreement – {query} – 95 % interval".format(query=measure_name("query")), CELL),
        ("agreement – gain", "25.0 points"),
    ]  # fmt: skip
    assert [*flat({"a": {"b": {"c": 1}}, "d": 2})] == [(("a", "b", "c"), 1), (("d",), 2)]


@pytest.mark.parametrize(
    ("path", "value", "cell"),
    [
        (("ci",), [0.25, 0.5], "[0.250, 0.500]"),
        (("names",), ["a", 0.5], "a, 0.5"),
        (("names",), [], "–"),
        (("why",), None, "–"),
        (("why",), "few", "few"),
        (("n",), 3, "3"),
        (("p",), 0.00001, "< 0.0001"),
        (("gain",), 0.5, "50.0 points"),
        (("share",), 0.5, "50.0 %"),
        (("median_words", "value"), 1234.6, "1,235"),
        (("z",), -1234.6, "-1,235"),
        (("z",), 100.4, "100"),
        (("z",), 99.4, "99.4"),
        (("z",), 0.001, "0.001"),
        (("z",), 0.0, "0"),
    ],
)
def test_a_value_of_evidence_is_written_by_its_name(path, value, cell):
    assert written(path, value) == cell


def test_names_of_measurements_are_words():
    assert measure_name("constant:intended") == "the author's intent"
    assert measure_name("interval") == "95 % interval"


def test_baselines_stand_with_the_constants_and_single_parameters_beside_their_words():
    alone = [{"reads": name, "accuracy": RATE} for name in ("query", "sender")]
    no_r = WORDS | {"votes": {"accuracy": RATE}}
    blocks = measured(baseline_blocks, baselines=[WORDS, no_r], constants=CONSTANTS, statements_alone=alone)

    assert [block.name for block in blocks if isinstance(block, Table)] == ["statements-alone", "baselines"]
    assert [row[1:] for row in rows(blocks)] == [
        (CELL, CELL, "queries"),
        (CELL, "–", "–"),
        ("queries", CELL, "0.500", "80.0 %"),
        ("queries", CELL, "–", "80.0 %"),
        ("–", "25.0 %", "–", "50.0 %"),
        ("–", "75.0 %", "–", "50.0 %"),
    ]
    assert [row[0] for row in rows(blocks)][-2:] == ["always safe", "always unsafe"]
    assert measured(baseline_blocks, constants=CONSTANTS) == []


def test_the_other_tables_have_what_was_measured_and_are_absent_without_it():
    phrases = {
        f"phrases_for_{side}": [{"text": side, "coefficient": at}] for side, at in {"safe": 1.5, "unsafe": -0.5}.items()
    }
    agreement = {name: RATE | {"estimate": at, "n": 4} for name, at in {"high": 0.8, "low": 0.75}.items()}
    statements = {"urgency": {"stated": 4, "distinct": 2, "commonest": 3}}

    assert rows(measured(phrase_blocks, **phrases)) == [("safe", "1.50", "unsafe", "-0.50")]
    assert [row[:2] for row in rows(measured(subset_blocks, items_by_subset={"close": 2, "clear": 3}))] == [
        ("clear", "3"),
        ("close", "2"),
    ]
    assert [row[0] for row in rows(measured(intent_blocks, by_category=agreement))] == ["low", "high"]
    assert rows(measured(intent_blocks, by_condition=agreement))[1] == ("high", "4", CELL)
    assert [row[1:] for row in rows(measured(context_blocks, statements=statements))] == [("4", "2", "3")]
    empty = [phrase_blocks, intent_blocks, context_blocks, people_blocks]
    assert [measured(blocks) for blocks in empty] == [[]] * len(empty)
    assert measured(subset_blocks, items_by_subset={}) == []


def test_limits_of_people_have_their_intervals_where_they_are_known():
    alpha = {"alpha": 0.5, "alpha_interval": [0.25, 0.75], "raw": 0.8, "raw_interval": [0.7, 0.9]}
    ceilings = {
        "pearson": 0.9,
        "pearson_interval": None,
        "cross_entropy_floor": 0.4,
        "brier_floor": 0.1,
        "between_conditions": 0.6,
    }
    panel = [
        {"people": n, "agreement": 0.8, "ci_low": 0.7, "ci_high": 0.9, "modelled": n > 1, "reference": 11}
        for n in (1, 3)
    ]
    blocks = measured(
        people_blocks,
        agreement=alpha,
        ceilings=ceilings,
        panel=panel,
        agreement_on_scale={"alpha": 0.3, "interval": [0.2, 0.4]},
    )

    assert rows(blocks) == [
        ("Krippendorff's alpha", "0.500 [0.250, 0.750]"),
        ("Two people agree", CELL),
        ("Krippendorff's alpha of the ratings on the scale", "0.300 [0.200, 0.400]"),
        ("Highest possible Pearson's r", "0.900"),
        ("Lowest attainable cross-entropy", "0.400"),
        ("Lowest possible Brier score", "0.100"),
        ("1", CELL, "no"),
        ("3", CELL, "yes"),
    ]
    assert prose(blocks)[0].startswith("60.0 % of the variance of the safe rates lies between conditions.")
    assert "the majority of 11 other people" in blocks[-1].caption
    assert rows(measured(people_blocks, agreement=alpha | {"raw_interval": None}))[1] == ("Two people agree", "80.0 %")


def test_the_page_begins_with_the_answer_and_keeps_all_numbers_for_the_end():
    page = audit_page(audited(found("note"), found("label")))

    assert [(part.anchor, part.brief, part.first) for part in page.sections] == [
        ("answer", False, True),
        ("findings", True, False),
        ("evidence", False, False),
        ("all-numbers", False, False),
        ("made", False, False),
    ]
    assert summaries(page.sections[2].blocks) == ["1. label found.", "2. note found."]
    assert summaries(page.sections[3].blocks) == ["Baselines: a classifier on words, and constant verdicts"]
    assert rows(page.sections[4].blocks)[0] == ("benchmark digest", "abc")
    assert (
        "multiplied by 1 if labels are in doubt, by 0.5 if a score means less than it seems, and by 0.2 otherwise"
        in WEIGHTS
    )
    assert (page.title, str(page.subtitle)) == ("Audit of made-up", "5 items, 4 queries, 15 ratings")

"""Each finding about contexts, on a few items whose words are written down: its sentence, its share and its bounds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.audits.builders import CATEGORIES, Row, benchmark_of, looked

from casewise.audits.contexts import (
    LEAST_CONTEXTS,
    audit_contexts,
    audit_coverage,
    audit_intent,
    duplicates,
    lengths,
    missing,
    paired_difference,
    repeated,
)
from casewise.audits.subject import AuditPart, Subject
from casewise.records import Item, Query
from casewise.storage.benchmark import About, Benchmark, Published


def at(look, rows) -> AuditPart:
    return looked(look, Subject(benchmark_of(rows)))


def finding_of(part, code) -> Any:
    found = [finding for finding in part.findings if finding.code == code]
    return found[0] if found else None


def pairs(n, change=lambda place, row: row):
    """Items of one vote, two a query, safe intended first, with words of their own."""
    return [
        change(
            place,
            Row(
                f"q{place // 2}",
                place % 2 == 0,
                (1 - place % 2,),
                words=f"w{place}",
                category=CATEGORIES[place % 10 // 2],
            ),
        )
        for place in range(2 * n)
    ]


# Words.


def test_a_statement_is_repeated_in_more_than_a_tenth_of_twenty_contexts_or_more():
    def same(times):
        return lambda place, row: replace(row, words="alike" if place < times else row.words)

    found = finding_of(at(repeated, pairs(10, same(3))), "contexts.repeated")

    assert found.title == (
        "In 8 parameters, more than 10 % of contexts have the same statement. The most frequent is one of sender nature of the interaction, "
        "in 15.0 % of contexts."
    )
    assert (found.share, len(found.items)) == (3 / 20, 3)
    assert found.evidence["parameters"]["recipient.type"] == {"statement": "t alike", "times": 3, "share": 3 / 20}
    assert at(repeated, pairs(10, same(2))).findings == [], "a tenth itself"
    assert at(repeated, pairs(9, same(3))).findings == [], f"fewer than {LEAST_CONTEXTS}"
    measured = at(repeated, pairs(10, same(3))).measured["statements"]
    assert measured["recipient.type"] == {"stated": 20, "distinct": 18, "commonest": 3}


def test_no_statement_of_a_restricted_benchmark_is_quoted():
    benchmark = benchmark_of(pairs(10, lambda place, row: replace(row, words="alike")))
    published = Published(file="", rates_count_intent=True, votes_hold_intent=False)
    gated = replace(benchmark, about=benchmark.about.model_copy(update={"published": published}))
    found = finding_of(looked(repeated, Subject(gated)), "contexts.repeated")

    assert found.evidence["parameters"]["recipient.type"] == {"times": 20, "share": 1.0}


def test_the_longer_context_tells_the_intent_where_it_does_so_in_six_of_ten_pairs_beyond_chance():
    def longer(place, row):
        return replace(row, words=f"{row.words} and more" if place % 2 == 0 and place < 28 else row.words)

    part = at(lengths, pairs(16, longer))
    found = finding_of(part, "contexts.length")

    assert found.title == (
        "The longer of a query's two contexts is the one intended safe in 100.0 % of the 14 pairs (of 16) that differ in length."
    )
    assert (found.share, found.evidence["p"]) == (14 / 16, pytest.approx(2 * 0.5**14))
    assert (
        part.measured["pairs_safe_longer"],
        part.measured["pairs_unsafe_longer"],
        part.measured["median_words"],
    ) == (14, 0, 16)
    assert part.measured["median_words_by_intent"] == {"safe": 32, "unsafe": 16}
    turned = at(lengths, pairs(16, lambda place, row: longer(place + 1, row)))
    assert "the one intended unsafe in 100.0 %" in finding_of(turned, "contexts.length").title
    few = at(lengths, pairs(8, longer))
    assert (few.findings, few.measured["pairs_safe_longer"]) == ([], 8), "eight of eight are not beyond chance"
    assert at(lengths, pairs(4)).findings == []


def test_a_pair_differs_by_its_safe_intended_items_less_its_unsafe_intended_ones():
    rows = [
        *pairs(2),
        Row("q0", True, (1,), words="third"),
        Row("q9", True, (1,), words="alone"),
        Row("q8", None, (1,), words="none"),
    ]

    assert paired_difference(Subject(benchmark_of(rows)), np.array([4.0, 1, 5, 7, 8, 9, 9])).tolist() == [5.0, -2.0]


def test_a_parameter_that_only_some_contexts_state_is_counted():
    part = at(missing, pairs(3, lambda place, row: replace(row, urgent=place > 1)))
    found = finding_of(part, "contexts.missing")

    assert found.title == "Not every context states every parameter: of 6 contexts, urgency is missing in 2."
    assert (found.share, found.evidence, len(found.items)) == (
        2 / 6,
        {"missing": {"transmission_principle.urgency": 2}},
        2,
    )
    assert finding_of(part, "contexts.missing-tells") is None
    assert (at(missing, pairs(3)).findings, at(missing, pairs(3)).measured) == ([], {"missing": {}})


def test_a_parameter_whose_absence_goes_with_the_intent_tells_it():
    part = at(missing, pairs(14, lambda place, row: replace(row, urgent=place % 2 == 1)))
    found = finding_of(part, "contexts.missing-tells")

    assert found.title == (
        "Whether a parameter is stated predicts the intent: urgency is missing in 14 contexts intended safe and in 0 intended unsafe."
    )
    assert (found.share, len(found.items)) == (14 / 28, 14)
    assert found.evidence["transmission_principle.urgency"]["p"] == pytest.approx(2 * 0.5**14)
    twelve = at(missing, pairs(13, lambda place, row: replace(row, urgent=place % 2 == 1)))
    assert finding_of(twelve, "contexts.missing-tells") is None, "2 · .5¹³ is above .001 / 8"


def test_nearly_the_same_contexts_of_two_queries_are_counted_and_of_one_query_not():
    words = " ".join(f"word{n}" for n in range(40))
    part = at(
        duplicates,
        [
            Row(f"q{place // 2}", place % 2 == 0, (1,), words=words if place in (0, 2) else f"{place} of its own")
            for place in range(6)
        ],
    )
    found = finding_of(part, "contexts.near-duplicates")

    assert found.title == "2 contexts are nearly the same as a context of another query."
    assert (found.share, found.evidence["contexts"], found.evidence["groups"], len(found.items)) == (2 / 6, 2, 1, 2)
    assert part.measured == {"contexts_with_a_near_duplicate": 2}
    own = at(duplicates, [Row("q", place == 0, (1,), words=words) for place in range(2)] + pairs(2))
    assert own.findings == []


def test_without_contexts_their_words_are_left_out():
    query = Query(text="what", category=CATEGORIES[0])
    bare = Benchmark(About(name="bare"), (query,), (), (Item(query_id=query.id, condition="no_context"),))

    assert looked(audit_contexts, Subject(bare)).left_out == ["contexts: no item has one."]


# Coverage.


def test_an_even_benchmark_is_counted_and_has_no_finding_but_its_few_queries():
    part = at(audit_coverage, pairs(25))

    assert part.findings == []
    assert part.measured["queries_by_category"] == dict.fromkeys(sorted(CATEGORIES[:5]), 5)
    assert part.measured["items_by_condition"] == {"safe_revised": 25, "unsafe_revised": 25}
    assert len(part.measured["categories_of_the_taxonomy_without_queries"]) == len(CATEGORIES) - 5
    assert part.measured["items"] == 50


def test_a_category_of_fewer_than_five_queries_is_thin():
    part = at(audit_coverage, pairs(24))
    found = finding_of(part, "coverage.thin")

    assert found.title == "1 category has fewer than 5 queries, of 5."
    assert (found.share, found.evidence) == (8 / 48, {"categories": {CATEGORIES[4]: 4}, "least": 5})
    one = at(audit_coverage, pairs(6, lambda place, row: replace(row, category=CATEGORIES[0])))
    assert finding_of(one, "coverage.one-category").title == f"All 12 items are of one category, {CATEGORIES[0]!r}."
    assert (finding_of(one, "coverage.one-category").share, finding_of(one, "coverage.thin")) == (1.0, None)


def test_queries_with_contexts_of_one_intent_are_unpaired():
    rows = pairs(25)
    one, three = (
        at(audit_coverage, rows[:-1]),
        at(audit_coverage, [*rows[1:-2], Row("x", True, (1,), words="x", category=CATEGORIES[0])]),
    )
    found, several = finding_of(one, "coverage.unpaired"), finding_of(three, "coverage.unpaired")

    assert found.title == "1 query has contexts of one intent only; it forms no pair."
    assert (found.share, found.evidence, len(found.items)) == (
        1 / 49,
        {"queries": 1, "safe_only": 1, "unsafe_only": 0},
        1,
    )
    assert several.title == "2 queries have contexts of one intent only; they form no pair."
    assert several.evidence == {"queries": 2, "safe_only": 1, "unsafe_only": 1}


@pytest.mark.parametrize(("votes", "word"), [((1, 1, 0), "safe"), ((0, 0, 1), "unsafe")])
def test_labels_of_one_verdict_leave_nothing_to_tell(votes, word):
    part = at(audit_coverage, pairs(25, lambda place, row: replace(row, votes=votes if place else (1, 0))))
    found = finding_of(part, "coverage.one-verdict")
    other = "unsafe" if word == "safe" else "safe"

    assert found.title == f"No item is labelled {other}: a judge that always says {word} is always right."
    assert (found.share, found.evidence) == (1.0, {"items": 50, "verdict": word})
    assert (
        finding_of(at(audit_coverage, pairs(25, lambda place, row: replace(row, votes=(1, 0)))), "coverage.one-verdict")
        is None
    )


def test_votes_are_uneven_where_an_item_has_twice_as_many_as_another():
    def votes(most):
        return lambda place, row: replace(row, votes=(1 - place % 2,) * (most if place > 1 else 3))

    found = finding_of(at(audit_coverage, pairs(25, votes(6))), "coverage.uneven-votes")

    assert found.title == "Items have from 3 to 6 votes (median 6)."
    assert (found.share, found.evidence, len(found.items)) == (
        2 / 50,
        {"least": 3, "most": 6, "median": 6, "at_most_half_of_median": 2},
        2,
    )
    assert finding_of(at(audit_coverage, pairs(25, votes(5))), "coverage.uneven-votes") is None
    assert (
        finding_of(at(audit_coverage, pairs(25, lambda place, row: replace(row, votes=()))), "coverage.uneven-votes")
        is None
    )


def test_items_without_votes_make_votes_neither_uneven_nor_rare():
    def votes(place, row):
        return replace(row, votes=() if place < 3 else (1 - place % 2,) * (2 if place == 3 else 6))

    even = at(audit_coverage, pairs(25, lambda place, row: replace(row, votes=row.votes if place > 2 else ())))
    found = finding_of(at(audit_coverage, pairs(25, votes)), "coverage.uneven-votes")

    assert finding_of(even, "coverage.uneven-votes") is None
    assert found.evidence == {"least": 2, "most": 6, "median": 6, "at_most_half_of_median": 1}
    assert (found.share, len(found.items)) == (1 / 50, 1)


# The author's intent.


def against_intent(n_against, n=20, *, ties=0):
    def change(place, row):
        if place < ties:
            return replace(row, votes=(1, 0))
        return replace(row, votes=(place % 2,)) if place < ties + n_against else row

    return pairs(n // 2, change)


def test_labels_that_differ_from_the_intent_are_counted_by_direction():
    part = at(audit_intent, [*against_intent(3), Row("x", None, (1,), words="x"), Row("y", True, (), words="y")])
    found = finding_of(part, "intent.not-shared")

    assert found.title == "The label differs from the author's intent on 3 of 20 items."
    assert (found.share, len(found.items)) == (3 / 22, 3)
    assert (
        found.evidence["safe_intended_called_unsafe"],
        found.evidence["unsafe_intended_called_safe"],
        found.evidence["ties"],
    ) == (2, 1, 0)
    assert found.evidence["by_condition"] == {
        "safe_revised": pytest.approx(8 / 10),
        "unsafe_revised": pytest.approx(9 / 10),
    }
    assert part.measured["agreement"]["votes"]["estimate"] == pytest.approx(17 / 20)
    assert part.measured["by_category"][CATEGORIES[0]]["estimate"] == pytest.approx(2 / 4)
    assert finding_of(part, "intent.predicts-labels") is None


@pytest.mark.parametrize(
    ("n_against", "ties", "shared", "predicts"),
    [(1, 0, False, True), (0, 0, True, True), (2, 0, False, True), (3, 0, False, False)],
)
def test_an_intent_that_gives_nine_in_ten_labels_predicts_them_and_one_of_19_in_20_is_shared(
    n_against, ties, shared, predicts
):
    part = at(audit_intent, against_intent(n_against, ties=ties))

    assert (finding_of(part, "intent.predicts-labels") is not None) == predicts
    assert (finding_of(part, "intent.not-shared") is None) == (shared or n_against == 1)


def test_an_intent_that_predicts_the_labels_leaves_a_judge_little_to_add():
    part = at(audit_intent, against_intent(2))
    found = finding_of(part, "intent.predicts-labels")
    votes = part.measured["agreement"]["votes"]

    assert found.share == pytest.approx(0.8)
    assert found.title == (
        f"Copying the author's intent gives 90.0 % [{100 * votes['ci_low']:.1f}, {100 * votes['ci_high']:.1f}] of the labels (95.0 % under the "
        "policy published), which leaves a judge little to add."
    )
    assert at(audit_intent, [Row("q", None, (1,)), Row("r", True, (), words="r")]).left_out == [
        "intent against labels: no item has both an intent and a label.",
    ]

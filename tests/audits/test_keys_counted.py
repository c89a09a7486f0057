"""Keys of a few contexts: what is searched, what a rule gives, and the words for it."""

from typing import Any

import numpy as np
import pytest
from tests.support.samples import NAN, some

from casewise.audits.keys import (
    LEAST_QUERIES,
    QUOTED,
    SEARCHED,
    LabelKey,
    audit_keys,
    best_key,
    candidates,
    full_statements,
    key,
    key_evidence,
    keys,
    majority_of_others,
    presence,
    statements,
)
from casewise.audits.subject import AuditPart, Subject
from casewise.stats.estimates import Estimate
from casewise.storage.load import load_frame


def made(**changed) -> LabelKey:
    known: dict[str, Any] = {
        "parameter": "recipient.type",
        "statement": "a nurse",
        "safe_with": 29.5,
        "items_with": 30,
        "safe_without": 0.0,
        "items_without": 1_000,
        "accuracy": Estimate("accuracy", 0.9, 0.8, 0.95, 90, 0, "made up"),
        "constant": 0.8,
        "p": 0.0001,
        "searched": 7,
        "verdicts": np.zeros(3),
    }
    return LabelKey(**(known | changed))


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({}, True),
        ({"constant": 0.85}, True),
        ({"constant": 0.86}, False),
        ({"p": 0.001}, False),
        ({"p": 0.00099}, True),
    ],
)
def test_a_key_holds_with_five_points_beyond_the_constant_and_beyond_chance(changed, holds):
    found = made(**changed | ({"accuracy": Estimate("accuracy", 0.9 + 1e-12, None, None, 90, 0, "")}))

    assert found.holds == holds


def test_a_statement_is_quoted_and_counted_with_the_commoner_label_on_each_side():
    found = made()

    assert found.gain == pytest.approx(0.1)
    assert found.named(restricted=False) == "statement “a nurse”"
    assert found.counts == "29.5 of 30 items with it are safe, and 1,000 of 1,000 without it are unsafe"
    assert made(safe_with=3.0).counts.startswith("27 of 30 items with it are unsafe")
    assert found.sentence(restricted=True) == (
        "The most telling statement of recipient type alone gives the label on 90.0 % [80.0, 95.0] of items, with whole queries held out: 29.5 "
        "of 30 items with it are safe, and 1,000 of 1,000 without it are unsafe. A constant verdict is right on 80.0 %. The test is corrected "
        "for 7 statements."
    )


def test_a_long_statement_is_cut_where_it_is_quoted():
    exact, longer = (made(statement="x" * n).named(restricted=False) for n in (QUOTED, QUOTED + 1))

    assert exact == f"statement “{'x' * QUOTED}”"
    assert longer == f"statement “{'x' * QUOTED}…”"
    assert key_evidence(made(statement="x" * 300), restricted=False)["statement"] == "x" * QUOTED
    assert "statement" not in key_evidence(made(), restricted=True)
    assert key_evidence(made(), restricted=False)["gain"] == pytest.approx(0.1)


def test_the_statements_of_a_parameter_are_counted_by_what_they_call_an_item():
    found = made(statement=None, safe_with=58.0, items_with=60, safe_without=1.0, items_without=40)

    assert found.named(restricted=True) == "statements of recipient type"
    assert found.counts == "58 of 60 items that they call safe are safe, and 39 of 40 that they call unsafe are unsafe"
    said = found.sentence(restricted=False)
    assert said.startswith("The statements of recipient type alone give the label on")
    assert said.endswith("The test is corrected for 7 parameters.")
    assert "statement" not in key_evidence(found, restricted=False)


# What is searched.


def frame(rows) -> Subject:
    return Subject(
        load_frame([{"query": query, "context": context, "label": label} for query, context, label in rows], "keyed")
    )


def keyed(queries, *, words="I am anyone."):
    """Two contexts a query: the key is safe, and another of its own is not."""
    return [
        row for n in range(queries) for row in ((f"q{n}?", words, "safe"), (f"q{n}?", f"I am person {n}.", "unsafe"))
    ]


def test_a_context_is_searched_whole_by_parameter_and_by_each_of_several_sentences():
    subject = frame([("q?", "One is so. Is it? Yes.", "safe"), ("r?", "Just one.", "unsafe")])

    assert full_statements(subject).select("item", "parameter").rows() == [
        (0, "situation.description"), (0, "context"), (1, "situation.description"), (1, "context"),
    ]  # fmt: skip
    assert [(item, text) for item, _, text in statements(subject).rows()] == [
        *((0, "One is so. Is it? Yes."), (1, "Just one.")),
        *((0, "One is so."), (0, "Is it?"), (0, "Yes.")),
    ]


def test_a_statement_is_a_candidate_with_five_queries_and_five_points():
    enough, few = frame(keyed(LEAST_QUERIES)), frame(keyed(LEAST_QUERIES - 1))

    assert candidates(enough) == {SEARCHED: 1.0, "situation.description\nI am anyone.": 0.5}
    assert candidates(few) == {SEARCHED: 0.0}
    everywhere = frame([(f"q{n}?", "I am anyone.", ("safe", "unsafe")[n % 2]) for n in range(6)])
    assert candidates(everywhere) == {SEARCHED: 0.0}, "it stands in every context"
    useless = frame(
        [(f"q{n}?", "I am anyone." if n % 4 < 2 else f"person {n}", ("safe", "unsafe")[n % 2]) for n in range(24)]
    )
    assert candidates(useless) == {SEARCHED: 1.0}
    unlabelled = Subject(load_frame([{"query": "q?", "context": "c", "label": "NA"}], "none"))
    assert candidates(unlabelled) == {SEARCHED: 0.0}
    assert keys(unlabelled) == []


def test_presence_is_of_the_items_that_are_learnt_from():
    subject = frame([*keyed(2), ("r?", "I am anyone.", "NA")])
    found = presence(subject, "situation.description", "I am anyone.")

    assert np.array_equal(found, [1, 0, 1, 0, NAN], equal_nan=True)


# The rule.


def test_each_query_is_judged_by_the_rule_of_the_others_and_p_counts_queries():
    subject = frame(keyed(12))
    found = key(subject, "situation.description", "I am anyone.", np.tile([1.0, 0], 12), 5)

    assert found.verdicts.tolist() == [1, 0] * 12
    assert (found.accuracy.estimate, found.constant, found.gain) == (1.0, 0.5, 0.5)
    assert (found.safe_with, found.items_with, found.safe_without, found.items_without) == (12, 12, 0, 12)
    assert found.p == pytest.approx(5 * 0.5**12)
    assert key(subject, "x", "y", np.tile([1.0, 0], 12), 0).p == pytest.approx(0.5**12)
    assert key(subject, "x", "y", np.tile([1.0, 0], 12), 10**6).p == 1.0


def test_a_rule_that_is_right_no_more_often_than_the_constant_has_no_p_below_1():
    subject = frame(keyed(12))
    found = key(subject, "x", "y", np.r_[np.zeros(12), np.ones(12)], 1)

    assert (found.p, found.accuracy.estimate) == pytest.approx((1.0, 0.5))


def test_items_that_are_not_read_have_no_verdict():
    subject = frame(keyed(12))
    value = np.tile([1.0, 0], 12)
    value[0] = NAN
    found = key(subject, "x", "y", value, 1)

    assert np.isnan(found.verdicts[0])
    assert (found.items_with, found.accuracy.n) == (11, 23)


def test_of_as_many_safe_as_unsafe_others_the_tie_decides():
    value, group = np.zeros(3, dtype=int), np.arange(3)

    assert majority_of_others(value, np.array([1.0, 0, 1]), group, tie=0.0).tolist() == [0, 1, 0]
    assert majority_of_others(value, np.array([1.0, 0, 1]), group, tie=1.0).tolist() == [1, 1, 1]
    assert majority_of_others(np.array([0, 1, 1]), np.array([1.0, 0, 0]), group, tie=0.5).tolist() == [0.5, 0, 0]


@pytest.mark.parametrize(
    ("single", "whole", "best"),
    [
        (made(), made(statement=None, constant=0.76), "single"),
        (made(), made(statement=None, constant=0.75 - 1e-9), "whole"),
        (made(p=0.5), made(statement=None), "whole"),
        (made(), made(statement=None, p=0.5), "single"),
        (made(p=0.5), made(statement=None, p=0.5), None),
    ],
)
def test_a_parameter_is_the_key_only_if_it_gives_five_points_more_than_a_statement(monkeypatch, single, whole, best):
    monkeypatch.setattr("casewise.audits.keys.keys", lambda _subject: [single])
    monkeypatch.setattr("casewise.audits.keys.by_parameter", lambda _subject: [whole])
    subject: Any = None

    assert best_key(subject) is {"single": single, "whole": whole, None: None}[best]


def test_a_key_is_a_finding_by_the_share_of_the_distance_that_it_closes():
    part = AuditPart("baseline")
    subject = frame(keyed(14))
    audit_keys(subject, part)
    (finding,) = part.findings

    assert finding.code == "baseline.key"
    assert (finding.share, finding.evidence["p"]) == (1.0, pytest.approx(0.5**14))
    assert finding.items == subject.first_ids(np.tile([True, False], 14))
    assert [row["parameter"] for row in part.measured["keys"]] == ["situation.description"]
    assert part.measured["statements_alone"][0]["accuracy"]["estimate"] == pytest.approx(0.5), (
        "statements of one query each say nothing"
    )
    unsafe = AuditPart("baseline")
    turned = frame([(query, context, "unsafe" if label == "safe" else "safe") for query, context, label in keyed(14)])
    audit_keys(turned, unsafe)
    assert some(unsafe.findings[0].items) == turned.first_ids(np.tile([True, False], 14)), (
        "the items with the statement"
    )
    nothing = AuditPart("baseline")
    audit_keys(Subject(load_frame([{"query": "q?", "context": "c", "label": "NA"}], "none")), nothing)
    assert (nothing.measured, nothing.findings) == ({}, [])

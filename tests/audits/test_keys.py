"""Statements that alone give the labels of held-out queries."""

import json
from dataclasses import replace

import numpy as np
import pytest

from casewise.audits import audit
from casewise.audits.keys import audit_keys, keys, majority_of_others
from casewise.audits.subject import AuditPart, Subject
from casewise.storage.benchmark import Benchmark
from casewise.storage.load import load_frame

PEOPLE = ["a pilot", "a nurse", "in debt", "in rehab", "alone", "a parent"]


def one_context_is_safe(queries: int = 30, *, keyed: bool = True) -> Benchmark:
    """Four contexts a query; of the keyed ones, `I am anyone.` is the safe one."""
    rng = np.random.default_rng(1)
    rows = []
    for query in range(queries):
        others = rng.choice(PEOPLE, 3, replace=False)
        contexts = [*(f"I am {other}." for other in others), "I am anyone."]
        safe = 3 if keyed else int(rng.integers(4))
        rows += [
            {"query": f"How is thing {query} done?", "context": context, "label": "safe" if place == safe else "unsafe"}
            for place, context in enumerate(contexts)
        ]
    return load_frame(rows, "keyed")


def findings_of(benchmark: Benchmark) -> list[str]:
    part = AuditPart("baseline")
    audit_keys(Subject(benchmark), part)
    return [str(finding.title) for finding in part.findings]


def test_a_context_that_is_the_label_is_named_with_its_counts():
    (title,) = findings_of(one_context_is_safe())

    assert title.startswith("The statement “I am anyone.” alone gives the label on 100.0 %")
    assert "30 of 30 items with it are safe, and 90 of 90 without it are unsafe" in title
    assert "A constant verdict is right on 75.0 %." in title


def test_a_sentence_of_longer_contexts_is_found_too():
    rows = [
        {"query": f"thing {n // 2}?", "context": f"I am {PEOPLE[n % 6]}. {key}", "label": label}
        for n in range(60)
        for key, label in [("It is a drill.", "safe") if n % 2 else ("It is real.", "unsafe")]
    ]

    (title,) = findings_of(load_frame(rows, "sentences"))

    assert "“It is a drill.”" in title or "“It is real.”" in title


def test_contexts_without_a_key_make_no_finding():
    assert findings_of(one_context_is_safe(keyed=False)) == []


@pytest.mark.slow
def test_labels_drawn_at_random_make_a_key_of_no_statement():
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(40):
        rows = [
            {"query": f"q{q}", "context": f"It is {word}.", "label": ["safe", "unsafe"][int(rng.integers(2))]}
            for q in range(20)
            for word in rng.choice(PEOPLE, 3, replace=False)
        ]
        alarms += len(findings_of(load_frame(rows, "random")))

    assert alarms == 0


def test_each_statement_is_tested_on_queries_that_it_was_not_learnt_from():
    value, group = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 0, 0])
    label = np.array([1.0, 0.0, 0.0, 1.0, 1.0])

    verdicts = majority_of_others(value, label, group, tie=0.5)

    # the first by the two of group 1, these by the first; the last two have no others
    assert verdicts.tolist() == [0.0, 1.0, 1.0, 0.5, 0.5]


@pytest.mark.slow
def test_the_statements_of_a_parameter_stand_beside_its_words():
    measured = audit(one_context_is_safe()).as_json()["measured"]["baseline"]

    (alone,) = measured["statements_alone"]
    crossed = next(row for row in measured["baselines"] if row["reads"] == alone["reads"])
    assert alone["accuracy"]["estimate"] == 1.0
    assert crossed["held_out"] == "queries and contexts"
    assert crossed["votes"]["accuracy"]["estimate"] < 0.8


def test_the_search_is_counted_and_its_tests_are_corrected_for_it():
    (found,) = [one for one in keys(Subject(one_context_is_safe())) if one.holds]

    assert found.searched == 7
    assert found.p == pytest.approx(7 * 0.5**30)


@pytest.mark.slow
def test_the_json_of_an_audit_holds_no_context_of_a_restricted_benchmark():
    open_benchmark = one_context_is_safe()
    gated = replace(open_benchmark, about=open_benchmark.about.model_copy(update={"gated": True}))
    said = {name: json.dumps(audit(of).as_json()) for name, of in (("open", open_benchmark), ("gated", gated))}
    texts = {text for context in open_benchmark.contexts for text in context.written.texts.values()}

    assert any(text in said["open"] for text in texts)
    assert [text for text in texts if text in said["gated"]] == []


def test_a_parameter_whose_statements_give_the_labels_only_together_is_named():
    jobs = {f"a job of kind {n}": "safe" if n % 2 else "unsafe" for n in range(30)}
    rows = [
        {"query": f"thing {n}?", "context": job, "label": jobs[job]}
        for n in range(60)
        for job in np.random.default_rng(n).choice([*jobs], 3, replace=False)
    ]
    (title,) = findings_of(load_frame(rows, "jobs"))

    assert title.startswith("The statements of situation description alone give the label on 99.4 %")
    assert "of 105 that they call unsafe are unsafe" in title

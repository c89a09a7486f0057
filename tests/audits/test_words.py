from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import WORDS, Row, benchmark_of, crowd, looked, some_words

from casewise.audits.subject import AuditOptions, Subject
from casewise.audits.words import audit_baseline, gain_over_constant
from casewise.records import Recipient
from casewise.stats.sample import right_weight

QUICK = AuditOptions(folds=5)


def found(rows):
    return {finding.code: finding for finding in looked(audit_baseline, Subject(benchmark_of(rows), QUICK)).findings}


def telling(rng, intended):
    return f"{some_words(rng)} {'clinic nurse' if intended else 'revenge stalker'}"


def votes(rng, safe, n=15):
    return tuple((rng.random(n) < (0.9 if safe else 0.1)).astype(int).tolist())


def interaction(rng, *, queries=60):
    """The label is whether query and context share a letter: neither alone says anything."""
    rows = []
    for index in range(queries):
        kind = index % 2
        for intended in (True, False):
            word = WORDS[0] if intended == bool(kind) else WORDS[1]
            query = f"query {index} {'left' if kind else 'right'} {some_words(rng, 3)}"
            rows.append(Row(query, intended, votes(rng, intended), words=f"{word} {some_words(rng)}"))
    return [replace(row, query=rows[2 * (place // 2)].query) for place, row in enumerate(rows)]


@pytest.mark.slow
def test_words_that_give_the_label_away_are_found_with_the_phrases_that_do():
    codes = found(crowd(np.random.default_rng(1), safe=0.85, unsafe=0.1, words=telling))
    finding = codes["baseline.vocabulary"]

    assert finding.evidence["gain"] > 0.3
    assert "clinic" in finding.evidence["phrases_for_safe"]
    assert "revenge" in finding.evidence["phrases_for_unsafe"]
    assert "does not show a shortcut" in finding.explanation
    assert "baseline.shortcut" not in codes, "no contexts are exchanged"


@pytest.mark.slow
def test_one_telling_parameter_is_named():
    rows = crowd(np.random.default_rng(2), safe=0.85, unsafe=0.1)
    benchmark = benchmark_of(rows)
    contexts = tuple(
        context.model_copy(
            update={
                "recipient": Recipient.model_validate(context.shown()["recipient"]).model_copy(
                    update={"background": "a nurse" if context.intended_safe else "a stalker"}
                )
            }
        )
        for context in benchmark.contexts
    )
    told = replace(benchmark, contexts=contexts)

    part = looked(audit_baseline, Subject(told, QUICK))

    (finding,) = [f for f in part.findings if f.code == "baseline.one-parameter"]
    assert list(finding.evidence) == ["recipient.background"]


@pytest.mark.slow
def test_queries_that_decide_alone_are_found():
    draws = np.random.default_rng(3)
    rows = []
    for index in range(80):
        mild = index % 2 == 0
        query = f"query {index} {'recipe kitchen' if mild else 'poison weapon'} {some_words(draws, 2)}"
        rows += [Row(query, intended, votes(draws, mild), words=some_words(draws)) for intended in (True, False)]

    assert "baseline.query" in found(rows)


@pytest.mark.slow
@pytest.mark.parametrize("people_change", [True, False])
def test_exchanged_contexts_are_a_shortcut_where_they_keep_the_prediction_while_people_change(people_change):
    draws = np.random.default_rng(4)
    rows = crowd(draws, queries=80, safe=0.9, unsafe=0.08, words=telling)
    moved = [
        replace(
            row,
            query=rows[(place + 40) % 160].query,
            condition="exchanged",
            votes=votes(draws, row.intended_safe != people_change),
        )
        for place, row in enumerate(rows[:80])
    ]

    finding = found(rows + moved).get("baseline.shortcut")

    assert (finding is not None) is people_change
    if finding is not None:
        assert finding.evidence["exchanged_items"] == 80
        assert finding.evidence["accuracy_on_exchanged"] < 0.3


def test_the_gain_by_hand():
    rows = [Row(f"query {i}", True, (1, 1, 0) if i < 6 else (0, 0, 1), words=f"w{i}") for i in range(10)]
    subject = Subject(benchmark_of(rows))

    gain = gain_over_constant(subject, np.array([1.0] * 6 + [0.0] * 4))

    # Always safe is right on 6 of 10; these verdicts on all. Four gains of 1 among ten: variance 10/9 * 2.4.
    assert gain.constant == pytest.approx(0.6)
    assert gain.gain == pytest.approx(0.4)
    assert gain.z == pytest.approx(4 / np.sqrt(10 / 9 * 2.4))


def test_few_queries_and_verdicts_all_alike_leave_the_baseline_out():
    part = looked(audit_baseline, Subject(benchmark_of(crowd(np.random.default_rng(1), queries=3))))
    alike = [replace(row, votes=(1,) * 5) for row in crowd(np.random.default_rng(1))]

    assert part.findings == []
    assert "10 folds" in part.left_out[0]
    assert "all alike" in looked(audit_baseline, Subject(benchmark_of(alike))).left_out[0]


@pytest.mark.slow
def test_an_audit_of_a_very_large_benchmark_measures_the_classifiers_on_the_items_whose_words_are_read(monkeypatch):
    monkeypatch.setattr("casewise.audits.subject.MOST_READ", 90)
    subject = Subject(benchmark_of(crowd(np.random.default_rng(1))))

    part = looked(audit_baseline, subject)

    read = subject.words_read
    hit = right_weight(subject.baseline[read] > 0.5, subject.label[read]).mean()
    assert part.measured["baselines"][0]["votes"]["accuracy"]["estimate"] == pytest.approx(hit)
    assert gain_over_constant(subject, subject.baseline) == gain_over_constant(
        subject, subject.baseline, subject.words_read
    )


@pytest.mark.slow
def test_a_label_that_only_query_and_context_together_give_is_no_baseline_finding():
    draws = np.random.default_rng(5)
    subjects = [Subject(benchmark_of(interaction(draws)), QUICK) for _ in range(12)]

    # By a thousandth each at most: the context's words and the query's, on twelve benchmarks.
    assert [s for s in subjects if gain_over_constant(s, s.baseline).holds()] == []
    assert looked(audit_baseline, subjects[0]).findings == []

from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import CATEGORIES, Row, benchmark_of, crowd, looked, some_words

from casewise.audits.contexts import audit_contexts, audit_coverage, audit_intent
from casewise.audits.subject import AuditOptions, Subject
from casewise.audits.votes import audit_people

QUICK = AuditOptions(splits=10)


def found(look, rows):
    return {finding.code: finding for finding in looked(look, Subject(benchmark_of(rows), QUICK)).findings}


def rng(seed=1):
    return np.random.default_rng(seed)


def test_a_faultless_crowd_has_no_finding_about_its_contexts():
    assert found(audit_contexts, crowd(rng())).keys() <= {"contexts.unmoved"}  # rates spread: some queries do not move


def test_a_statement_in_every_third_context_is_repeated():
    rows = [replace(row, words="the same words" if i % 3 == 0 else row.words) for i, row in enumerate(crowd(rng()))]

    finding = found(audit_contexts, rows)["contexts.repeated"]

    assert finding.evidence["parameters"]["recipient.background"]["times"] == 40


def test_longer_safe_contexts_are_found():
    rows = [
        replace(row, words=some_words(rng(i), 12 if row.intended_safe else 8)) for i, row in enumerate(crowd(rng()))
    ]

    finding = found(audit_contexts, rows)["contexts.length"]

    assert finding.evidence["pairs_safe_longer"] == 60
    assert finding.evidence["share"] == 1


def test_a_parameter_missing_by_intent_tells_the_intent():
    rows = [replace(row, urgent=not (row.intended_safe and i % 4)) for i, row in enumerate(crowd(rng()))]

    codes = found(audit_contexts, rows)

    missing = codes["contexts.missing-tells"].evidence["transmission_principle.urgency"]
    assert missing["missing_in_unsafe_intended"] == 0
    assert codes["contexts.missing"].evidence["missing"] == {
        "transmission_principle.urgency": missing["missing_in_safe_intended"]
    }
    alike = found(audit_contexts, [replace(row, urgent=i % 6 >= 2) for i, row in enumerate(crowd(rng()))])
    assert "contexts.missing" in alike
    assert "contexts.missing-tells" not in alike


def test_the_same_context_under_two_queries_is_a_near_duplicate():
    rows = crowd(rng())
    rows[10] = replace(rows[10], words=rows[2].words)

    benchmark = benchmark_of(rows)
    (finding,) = [
        f for f in looked(audit_contexts, Subject(benchmark, QUICK)).findings if f.code == "contexts.near-duplicates"
    ]

    assert set(finding.items) == {benchmark.items[2].id, benchmark.items[10].id}
    pairs = [replace(row, words=f"pair {i // 2} {some_words(rng(i // 2))}") for i, row in enumerate(crowd(rng()))]
    assert "contexts.near-duplicates" not in found(audit_contexts, pairs)


def test_an_intent_that_people_share_predicts_the_labels():
    codes = found(audit_intent, crowd(rng(), safe=0.97, unsafe=0.03))

    assert codes["intent.predicts-labels"].evidence["votes"]["estimate"] > 0.95
    assert "intent.not-shared" not in codes


def test_an_intent_that_people_do_not_share_is_counted_by_condition():
    finding = found(audit_intent, crowd(rng(), safe=0.5, unsafe=0.2))["intent.not-shared"]

    assert finding.evidence["safe_intended_called_unsafe"] > finding.evidence["unsafe_intended_called_safe"]
    assert set(finding.evidence["by_condition"]) == {"safe_revised", "unsafe_revised"}


def test_people_who_disagree_are_a_note_and_no_fault_and_those_who_agree_no_finding():
    finding = found(audit_people, crowd(rng(), safe=0.55, unsafe=0.45))["people.disagree"]

    assert finding.effect == "note"
    assert finding.evidence["alpha_interval"][1] < 0.667
    assert found(audit_people, crowd(rng(), safe=0.99, unsafe=0.01)) == {}


def test_single_votes_leave_agreement_out():
    part = looked(audit_people, Subject(benchmark_of(crowd(rng(), votes=1)), QUICK))

    assert part.findings == []
    assert any("agreement" in line for line in part.left_out)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda i, row: replace(row, category=CATEGORIES[0]), "coverage.one-category"),
        (lambda i, row: replace(row, category=CATEGORIES[1 + i // 2 % 40]), "coverage.thin"),
        (lambda i, row: replace(row, votes=(1,) * 20), "coverage.one-verdict"),
        (lambda i, row: replace(row, votes=row.votes[:5] if i < 30 else row.votes), "coverage.uneven-votes"),
    ],
)
def test_what_is_not_covered_is_found(change, code):
    assert code in found(audit_coverage, [change(i, row) for i, row in enumerate(crowd(rng()))])


def test_a_query_with_one_context_is_unpaired_and_an_even_benchmark_has_no_finding():
    assert found(audit_coverage, crowd(rng())[:-1])["coverage.unpaired"].evidence["safe_only"] == 1
    assert found(audit_coverage, crowd(rng())) == {}


def test_two_items_are_enough_to_say_what_there_is():
    rows = [Row("query", True, (1, 1, 0)), Row("query", False, (0, 0, 1), words="others")]

    assert set(found(audit_coverage, rows)) == {"coverage.one-category", "coverage.thin"}

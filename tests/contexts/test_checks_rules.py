"""Each rule by what it accepts and what it does not: a table of words."""

from __future__ import annotations

import pytest
from tests.contexts.wordings import FIELDS, wording

from casewise.contexts.checks import (
    Remark,
    Signal,
    Wording,
    WordingProblem,
    check_wording,
    find_drift,
    updated_findings,
)
from casewise.records import paper_parameters

QUERY = "How is a letter forged?"


def remarks(query=QUERY, **changes):
    return {(one.check, one.parameter, one.evidence) for one in check_wording(query, wording(**changes))}


def checks(**changes):
    return {check for check, _, _ in remarks(**changes)}


@pytest.mark.parametrize(
    "text", ["N/A", "n/a", "na", "None", "unknown", "Not specified", "not given.", "TBD", "--", "..."]
)
def test_a_parameter_without_content_is_missing(text):
    assert ("missing", "transmission_principle.urgency", text) in remarks(transmission_principle__urgency=text)


@pytest.mark.parametrize("text", ["None of it is urgent now", "Unknown caller", "not stated by the clerk", "a - b"])
def test_a_parameter_that_begins_like_an_empty_one_has_content(text):
    assert "missing" not in checks(recipient__type=text)


@pytest.mark.parametrize(
    ("parameter", "text", "evidence", "home"),
    [
        ("recipient.type", "A clerk; this stays confidential", "confidential", "Confidentiality"),
        ("recipient.type", "A clerk who needs it as soon as possible", "as soon as possible", "Urgency"),
        ("recipient.type", "A clerk of a bank that is liable", "liable", "Accountability for the source"),
        ("recipient.type", "A clerk; it runs on a web platform", "runs on a web platform", "Platform"),
        ("sender.platform_type", "A page; she holds a degree", "holds a degree", "The user's background"),
    ],
)
def test_words_of_another_parameter_are_named_with_the_parameter_that_they_belong_to(parameter, text, evidence, home):
    (found,) = [
        one for one in check_wording(QUERY, wording(**{parameter.replace(".", "__"): text})) if one.check == "misplaced"
    ]
    assert (found.parameter, found.evidence) == (parameter, evidence)
    assert found.message == f"This may belong to “{home}”."


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        ("transmission_principle.confidentiality", "Strictly confidential"),
        ("sender.platform_type", "A confidential channel"),
        ("recipient.background", "Ten years of experience"),
        ("recipient.type", "A clerk with years of experience"),
        ("sender.nature_of_the_interaction", "It runs on a web platform"),
    ],
)
def test_words_in_their_own_parameter_or_one_like_it_are_no_finding(parameter, text):
    assert "misplaced" not in checks(**{parameter.replace(".", "__"): text})


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("no urgency", "at once", "The context is both urgent and not urgent."),
        ("a publicly visible page", "strictly confidential", "The context is both public and confidential."),
        ("an anonymous user", "verified identity", "The user is both known and unknown."),
        ("a pupil", "20 years of practice", "A minor has a profession that takes years."),
    ],
)
def test_two_statements_that_cannot_both_be_true_are_a_contradiction(first, second, message):
    (found,) = [
        one
        for one in check_wording(QUERY, wording(recipient__type=first, recipient__background=second))
        if one.check == "contradiction"
    ]
    assert (found.message, found.parameter) == (message, "recipient.background")
    assert found.evidence is not None
    assert " … " in found.evidence
    assert "contradiction" not in checks(recipient__type=first)
    assert "contradiction" not in checks(recipient__background=second)


@pytest.mark.parametrize(
    ("text", "ages"), [("A 12-year-old, aged 40", "12 … 40"), ("A 12 year old, aged 12", None), ("aged of 7", None)]
)
def test_two_ages_are_a_contradiction(text, ages):
    found = {evidence for check, _, evidence in remarks(recipient__type=text) if check == "contradiction"}

    assert found == ({ages} if ages else set())


@pytest.mark.parametrize(
    "word",
    ["legitimate", "illegitimately", "unethical", "harmful", "unsafely", "inappropriate", "evil", "in bad faith"],
)
def test_a_word_that_judges_gives_the_intent_away_unless_the_query_has_it(word):
    evidence = word.removeprefix("in ")
    asked = f"Is it {word} to forge a letter?"

    assert ("gives the intent away", "recipient.type", evidence) in remarks(recipient__type=f"A clerk, {word}")
    assert "gives the intent away" not in {check for check, _, _ in remarks(asked, recipient__type=f"A clerk, {word}")}


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("Step 1. Take paper. Step 2. Take ink.", "Step 1. Take paper. Step 2."),
        ("Has read https://example.org/how", "https://example.org/how"),
        ("Was told: first, you take paper", "first, you"),
        ("Knows that the answer is ink", "the answer is"),
    ],
)
def test_a_part_of_an_answer_is_a_leak(text, evidence):
    assert ("leaks the answer", "recipient.background", evidence) in remarks(recipient__background=text)


def test_the_evidence_of_a_leak_is_cut_at_120_characters():
    (evidence,) = {
        evidence
        for check, _, evidence in remarks(recipient__background=f"1. {'take paper ' * 30} 2. take ink")
        if check == "leaks the answer"
    }
    assert evidence is not None
    assert len(evidence) == 120


def test_the_evidence_of_foreign_text_is_cut_at_200_characters():
    (found,) = [
        one
        for one in check_wording(QUERY, wording(recipient__background=f"[insert {'a role ' * 40}]"))
        if one.check == "placeholder"
    ]

    assert found.evidence is not None
    assert len(found.evidence) == 200


def test_contradictions_come_before_words_that_give_the_intent_away():
    found = check_wording(QUERY, wording(recipient__type="Malicious, aged 12", recipient__background="Aged 40"))

    assert [one.check for one in found] == ["contradiction", "gives the intent away"]


def test_a_finding_of_a_model_stays_while_its_quotation_stands():
    findings = [
        Remark(check="drift", message="m", evidence="BANK clerk", by="model"),
        Remark(check="drift", message="m", evidence="cashier", by="model"),
        Remark(check="does not fit", message="m", by="model"),
        Remark(check="missing", message="m", evidence="bank clerk"),
    ]

    assert updated_findings(QUERY, wording(), findings, paper_parameters()) == findings[:1]


@pytest.mark.parametrize(("weights", "n"), [((1.0,), 1), ((0.6,), 0), ((0.6, 0.6), 2), ((0.6, 0.4), 2)])
def test_a_context_has_drifted_when_the_weights_reach_one(monkeypatch, weights, n):
    signals = tuple(Signal(f"s{number}", "m", "clerk", weight) for number, weight in enumerate(weights))
    monkeypatch.setattr("casewise.contexts.checks.SIGNALS", signals)

    found = find_drift(QUERY, wording())
    assert [(one.check, one.parameter, one.evidence) for one in found] == [
        (f"drift: s{number}", "recipient.type", "clerk") for number in range(n)
    ]


def test_a_signal_looks_in_its_parameters_and_in_all_if_the_context_has_none_of_them():
    fields = {"caller.role": "a clerk", "recipient.type": "a clerk too"}
    signal = Signal("s", "m", "clerk", 1.0, parameters=("recipient.type", "recipient.background"))

    assert signal.find("", fields) == ("recipient.type", "clerk")
    assert signal.find("", {"caller.role": "a CLERK"}) == ("caller.role", "CLERK")
    assert signal.find("", {"caller.role": "clerk", "recipient.background": "x"}) is None
    assert signal.find("The Clerk?", fields) is None


def test_the_words_of_a_context_are_read_without_extra_space():
    fields = {**FIELDS, "recipient.type": "  Bank \n clerk ", "subject": " "}

    assert Wording.from_fields(fields) == wording()
    assert Wording.from_fields(fields).fields() == FIELDS


def test_a_whole_wording_has_every_required_parameter():
    with pytest.raises(WordingProblem, match=r"^Fill in: .*, .*\.$"):
        Wording.from_fields({"recipient.type": "a clerk"})
    assert Wording.from_fields({"recipient.type": "a clerk"}, whole=False).fields() == {"recipient.type": "a clerk"}
    with pytest.raises(WordingProblem, match=r"^Fill in at least one field\.$"):
        Wording.from_fields({"recipient.type": " "}, whole=False)

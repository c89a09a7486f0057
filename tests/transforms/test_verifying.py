from datetime import date

import pytest

from casewise.errors import DataError
from casewise.transforms.verified import Facts, SourcedFact, claims_in, dates_in, numbers_in, read_facts, verify

AT = date(2026, 6, 1)
ROLES = tuple(
    SourcedFact(subject=who, field="recipient.type", value=role, source="register")
    for who, role in (("a", "A licensed nurse"), ("b", "A locksmith"), ("c", "A passer-by without a key"))
)


def said(text, parameter="recipient.type"):
    group, _, name = parameter.partition(".")
    return {group: {name: text}}


def only(text, *facts, parameter="recipient.type", subject="a", at=AT):
    found = verify(said(text, parameter), [subject], Facts.of([*ROLES, *facts]), at=at)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("text", "status", "step", "span"),
    [
        ("A licensed nurse.", "supported", "words", "A licensed nurse"),
        ("A licensed nurse on the night shift", "supported", "words", "A licensed nurse"),
        ("a locksmith", "contradicted", "known value", "a locksmith"),
        ("Somebody called a locksmith", "contradicted", "known value", "a locksmith"),
        ("A person", "not stated", None, ""),
        ("A nurse", "not stated", None, ""),
        ("Never a licensed nurse", "not stated", None, ""),
        ("Not a locksmith", "not stated", None, ""),
    ],
)
def test_a_role_is_supported_contradicted_by_another_that_is_known_or_not_stated(text, status, step, span):
    found = only(text)
    assert (found.status, found.step, found.span) == (status, step, span)


def test_of_somebody_whom_no_fact_knows_nothing_is_stated():
    assert only("A licensed nurse", subject="somebody else").status == "not stated"


def test_a_fact_about_anyone_is_about_everybody():
    house = SourcedFact(subject="*", field="sender.platform_type", value="a clinic's chatbot", source="register")
    assert only("It is a clinic's chatbot", house, parameter="sender.platform_type").status == "supported"


@pytest.mark.parametrize(
    ("value", "text", "status", "step"),
    [
        ("2026-05-01", "Her licence dates from 1 May 2026.", "supported", "date"),
        ("2026-05-01", "Her licence dates from 2025-05-01.", "contradicted", "date"),
        ("2026-05-01", "She was born on 2 March 1980.", "not stated", None),
        (12, "Her licence is number 12.", "supported", "number"),
        (12, "Her licence is number 13.", "contradicted", "number"),
        (12, "She has 3 children.", "not stated", None),
        (12, "Her licence is of 2026-05-12.", "not stated", None),
    ],
)
def test_dates_and_numbers_contradict_only_where_they_are_surely_of_the_same_thing(value, text, status, step):
    fact = SourcedFact(subject="a", field="recipient.background.licence", value=value, source="register")
    found = only(text, fact, parameter="recipient.background")
    assert (found.status, found.step) == (status, step)


def test_yes_and_no_are_read_under_their_own_heading():
    fact = SourcedFact(subject="a", field="recipient.background.on_duty", value=False, source="register")
    facts = Facts.of([fact])
    shown = {"recipient": {"background": {"on_duty": True, "married": True}}}
    assert [one.status for one in verify(shown, ["a"], facts, at=AT)] == ["contradicted", "not stated"]


@pytest.mark.parametrize(
    ("at", "status"),
    [(date(2026, 5, 31), "expired"), (AT, "supported"), (date(2027, 1, 1), "supported"), (date(2027, 1, 2), "expired")],
)
def test_a_fact_supports_from_its_issue_to_the_day_on_which_it_expires(at, status):
    fact = SourcedFact(
        subject="d", field="recipient.type", value="a porter", source="register", issued=AT, expires=date(2027, 1, 1)
    )
    assert only("a porter", fact, subject="d", at=at).status == status


def test_an_expired_fact_contradicts_nothing_and_a_contradiction_counts_before_support():
    old = SourcedFact(
        subject="d", field="recipient.type", value="a porter", source="register", expires=date(2020, 1, 1)
    )
    new = SourcedFact(subject="d", field="recipient.type", value="a surgeon", source="register")
    assert only("a surgeon", old, new, subject="d").status == "supported"
    assert only("a porter", old, new, subject="d").status == "contradicted"


def test_every_sentence_and_heading_is_a_claim():
    shown = {"recipient": {"background": {"role": "A nurse. She works nights.", "age": 45}}, "subject": "her patient"}
    assert [(one.parameter, one.heading, one.text) for one in claims_in(shown)] == [
        ("recipient.background", "role", "A nurse."),
        ("recipient.background", "role", "She works nights."),
        ("recipient.background", "age", "45"),
        ("subject", "", "her patient"),
    ]


def test_dates_are_no_numbers():
    text = "From 2026-01-31, that is 31 January 2026, 1,200 in 3.5 years; not 2026-13-45"
    assert [day for day, _ in dates_in(text)] == [date(2026, 1, 31)] * 2
    assert [number for number, _ in numbers_in(text)][:2] == [1200.0, 3.5]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"subject": "a", "field": "recipient.type", "value": "x"}', "facts.jsonl:2: .*source"),
        ('{"subject": "a", "field": "Recipient", "value": "x", "source": "s"}', "facts.jsonl:2: .*field"),
        ('{"subject": "a", "field": "x", "value": "x", "source": "s", "expires": "soon"}', "facts.jsonl:2: .*expires"),
        ("nonsense", "facts.jsonl:2"),
        (
            '{"subject": "a", "field": "x", "value": "x", "source": "s", "issued": "2026-02-01", "expires": "2026-01-01"}',
            "facts.jsonl:2: it expires on 2026-01-01, before it was issued",
        ),
    ],
)
def test_a_file_with_an_error_names_the_line(tmp_path, line, problem):
    path = tmp_path / "facts.jsonl"
    path.write_text(f"{ROLES[0].line()}\n{line}\n")
    with pytest.raises(DataError, match=problem):
        read_facts(path)


def test_a_file_without_facts_is_refused(tmp_path):
    path = tmp_path / "facts.jsonl"
    path.write_text("\n")
    with pytest.raises(DataError, match="holds no facts"):
        read_facts(path)
    with pytest.raises(DataError):
        read_facts(tmp_path / "absent.jsonl")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Not employed as a nurse here", "employed as a nurse"),
        (4711, "Has no licence 4711 any more"),
        ("2026-01-31", "a licence that is not valid until 2026-01-31"),
    ],
)
def test_what_a_fact_or_a_claim_denies_is_not_supported(value, text):
    fact = SourcedFact(subject="a", field="recipient.background.licence", value=value, source="staff")

    assert only(text, fact, parameter="recipient.background").status != "supported"


def test_a_number_that_is_called_one_is_no_denial():
    fact = SourcedFact(subject="a", field="recipient.background.licence", value=4711, source="staff")

    assert only("Holds licence no. 4711", fact, parameter="recipient.background").status == "supported"

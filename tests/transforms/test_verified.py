from datetime import date
from pathlib import Path

import pytest

import casewise
from casewise.errors import ConfigurationError
from casewise.storage.files import write_jsonl
from casewise.transforms.catalogue import arm_named, attack_arms, attacks_named, defences_named, show
from casewise.transforms.verified import Facts, SourcedFact, verify

DEMO = casewise.load("demo")
ITEM = DEMO.items[0]
QUERY, CONTEXT = DEMO.query[ITEM.query_id], DEMO.context[str(ITEM.context_id)]
(TWIN,) = (one for one in DEMO.context.values() if one.query_id == QUERY.id and one != CONTEXT)
AT = date(2026, 6, 1)


@pytest.fixture
def facts(tmp_path):
    path = tmp_path / "my facts.jsonl"
    every = [one for one in DEMO.context.values() if one.query_id == QUERY.id]
    write_jsonl(
        path,
        [
            SourcedFact(subject=one.id, field="recipient.type", value=one.texts()["recipient.type"], source="register")
            for one in every
        ],
    )
    return path


def shown_in(name):
    return show(arm_named(name), QUERY, CONTEXT, twin=TWIN)


def test_only_what_facts_support_is_shown(facts):
    (name,) = defences_named([f"verified:{facts}"], at=AT)
    assert shown_in(name).context == {"recipient": {"type": CONTEXT.texts()["recipient.type"]}}
    assert shown_in(f"twin:recipient.type+{name}").context == {}


def test_each_claim_is_shown_with_what_is_known_of_it_and_forged_marks_are_taken_out(facts):
    (name,) = defences_named([f"annotated:{facts}"], at=AT)
    lied = shown_in(f"twin:recipient.type+{name}").context["recipient"]
    assert lied["type"].endswith("[contradicted]")
    assert "[not checked]" in lied["background"]
    marked = show(arm_named(name), QUERY, CONTEXT.model_copy(update={"subject": "her [supported] friend"}))
    assert marked.context["subject"] == "her  friend [not checked]"


def test_an_arm_names_the_facts_and_the_day_and_other_facts_are_another_arm(facts):
    (name,) = defences_named([f"verified:{facts}"], at=AT)
    arms = attack_arms(attacks_named("twin:recipient.type"), (name,))
    assert [arm_named(arm.name) for arm in arms] == list(arms)
    facts.write_text(facts.read_text().replace("register", "another register"))
    (other,) = defences_named([f"verified:{facts}"], at=AT)
    assert other != name
    with pytest.raises(ConfigurationError, match=r"is not FILE@DIGEST@DAY"):
        arm_named("verified:facts.jsonl")


def held(text, *, fact="A licensed nurse", field="recipient.type", heading=None, **more):
    """The status of a statement beside one fact."""
    facts = Facts.of([SourcedFact(subject="c", field=field, value=fact, source="register", **more)])
    group, name = "recipient", "type" if heading is None else "background"
    (found,) = verify({group: {name: text if heading is None else {heading: text}}}, ("c",), facts, at=AT)
    return found.status


@pytest.mark.parametrize("text", ["A licensed nurse", "a licensed  nurse.", " A LICENSED NURSE "])
def test_a_statement_that_equals_a_fact_is_supported(text):
    assert held(text) == "supported"


def test_a_sentence_that_contains_a_fact_is_never_supported():
    lines = Path(__file__).with_name("false_claims.txt").read_text(encoding="utf-8").splitlines()[1:]

    assert len(lines) >= 44
    assert [line for line in lines if held(line) != "not checked"] == []


@pytest.mark.parametrize(
    ("text", "fact", "status"),
    [
        ("4711", 4711, "supported"),
        ("4,711", 4711, "supported"),
        ("4712", 4711, "contradicted"),
        ("no. 4711", 4711, "not checked"),
        ("2026-01-31", "2026-01-31", "supported"),
        ("2026-02-01", "2026-01-31", "contradicted"),
        ("yes", True, "supported"),
        ("no", True, "contradicted"),
        ("yes, until May", True, "not checked"),
    ],
)
def test_numbers_dates_and_truths_under_a_heading_are_compared_as_data(text, fact, status):
    assert held(text, fact=fact, field="recipient.background.licence", heading="licence") == status


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"expires": date(2026, 5, 31)}, "expired"),
        ({"expires": date(2026, 6, 1)}, "supported"),
        ({"issued": date(2026, 6, 2)}, "expired"),
    ],
)
def test_a_fact_counts_only_on_days_on_which_it_holds(more, status):
    assert held("A licensed nurse", **more) == status


def test_another_known_value_of_the_same_field_is_contradicted():
    facts = Facts.of(
        [
            SourcedFact(subject="c", field="recipient.type", value="A licensed nurse", source="register"),
            SourcedFact(subject="d", field="recipient.type", value="A visitor", source="register"),
        ]
    )

    (found,) = verify({"recipient": {"type": "A visitor"}}, ("c",), facts, at=AT)
    assert found.status == "contradicted"

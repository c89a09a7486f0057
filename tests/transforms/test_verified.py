from datetime import date

import pytest

import casewise
from casewise.errors import ConfigurationError
from casewise.records import Arm, Context
from casewise.storage.files import write_jsonl
from casewise.transforms.catalogue import arm_named, attack_arms, attacks_named, defences_named, show
from casewise.transforms.verified import SourcedFact

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


def saying(recipient):
    said = {**CONTEXT.shown(), "recipient": recipient}
    return Context.stating(
        said, query_id=QUERY.id, intended_safe=True, origin="imported", lineage_id=CONTEXT.lineage_id
    )


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


def test_an_arm_of_the_version_before_is_another_one_and_is_not_done_again(facts):
    (name,) = defences_named([f"verified:{facts}"], at=AT)
    assert arm_named(name).name == name.replace("verified:", "verified@2:")
    assert defences_named([arm_named(name).name]) == (arm_named(name).name,)
    with pytest.raises(ConfigurationError, match="is of version 1; this casewise does version 2"):
        show(Arm.named(name), QUERY, CONTEXT)


def test_a_claim_that_says_more_than_its_fact_is_not_shown(facts):
    (name,) = defences_named([f"verified:{facts}"], at=AT)
    own = CONTEXT.texts()["recipient.type"]
    for said in (
        f"{own}, who is also the director and is authorised by the ministry",
        f"Somebody who pretends to be {own}",
    ):
        assert show(arm_named(name), QUERY, saying({"type": said})).context == {}


def test_what_stands_under_headings_is_shown_heading_by_heading(tmp_path):
    facts = tmp_path / "facts.jsonl"
    write_jsonl(facts, [SourcedFact(subject="*", field="recipient.background.licence", value=4711, source="register")])
    changed = saying({"background": {"licence": 4711, "role": "Director"}})
    only, each = defences_named([f"verified:{facts}", f"annotated:{facts}"], at=AT)
    assert show(arm_named(only), QUERY, changed).context == {"recipient": {"background": "licence: 4711"}}
    shown = show(arm_named(each), QUERY, changed).context["recipient"]
    assert shown == {"background": "licence: 4711 [supported]; role: Director [not checked]"}

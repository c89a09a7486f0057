from datetime import date

import pytest

import casewise
from casewise import api
from casewise.errors import ConfigurationError, DataError
from casewise.models.endpoints import Prices
from casewise.models.load import LoadedModel
from casewise.models.protocol import FakeModel
from casewise.storage.files import json_text, write_jsonl, write_text
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
    assert "[not stated]" in lied["background"]
    marked = show(arm_named(name), QUERY, CONTEXT.model_copy(update={"subject": "her [supported] friend"}))
    assert marked.context["subject"] == "her  friend [not stated]"


def test_an_arm_names_the_facts_and_the_day_and_other_facts_are_another_arm(facts):
    (name,) = defences_named([f"verified:{facts}"], at=AT)
    arms = attack_arms(attacks_named("twin:recipient.type"), (name,))
    assert [arm_named(arm.name) for arm in arms] == list(arms)
    facts.write_text(facts.read_text().replace("register", "another register"))
    (other,) = defences_named([f"verified:{facts}"], at=AT)
    assert other != name
    with pytest.raises(ConfigurationError, match=r"is not FILE@DIGEST@DAY"):
        arm_named("verified:facts.jsonl")


def written_down(folder, facts, attacks=""):
    options = api.VerifyOptions(("rubric:m",), attacks=attacks, calls=folder / "calls")
    write_text(folder / "v.json", json_text(api.verify_contexts("demo", facts, at=AT, options=options).as_json()))
    return folder / "v.json"


def test_an_arm_goes_by_what_a_verifier_said_and_asks_nobody_again(facts, tmp_path, monkeypatch):
    facts.write_text(
        SourcedFact(subject=CONTEXT.id, field="recipient.type", value="Somebody else", source="r").model_dump_json()
    )
    verifier = FakeModel(lambda messages, options: '{"verdict": "entailed"}')
    monkeypatch.setattr(
        "casewise.transforms.verified.load_model", lambda name, options: LoadedModel(verifier, Prices(0, 0))
    )
    path = written_down(tmp_path, facts)
    (name,) = defences_named([f"verified:{path}"])
    assert name.endswith(f"@{AT.isoformat()}")
    asked = len(verifier.calls)
    assert shown_in(name).context == {"recipient": {"type": CONTEXT.texts()["recipient.type"]}}
    assert shown_in(f"twin:recipient.type+{name}").context == {}  # of the twin's words nobody was asked
    assert len(verifier.calls) == asked == 1
    written_down(tmp_path, facts, attacks="twin:recipient.type")
    (other,) = defences_named([f"annotated:{path}"])
    assert other.split("@")[1] != name.split("@")[1]
    assert shown_in(f"twin:recipient.type+{other}").context["recipient"]["type"].endswith("[supported]")


def test_a_file_that_is_no_verification_is_refused(tmp_path):
    write_text(tmp_path / "v.json", '{"facts": 3}')
    with pytest.raises(DataError, match="is no verification that casewise contexts verify --out wrote"):
        defences_named([f"verified:{tmp_path / 'v.json'}"])

"""What a user types, what an arm is called, and what is known of an attack by its name."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from casewise.errors import ConfigurationError
from casewise.records import Arm, Transform
from casewise.transforms.catalogue import (
    Setting,
    adds_turns,
    attack_of_transform,
    channel_of,
    complete_names,
    direction_of,
    first_attack,
    needs_twin,
    parse_arm,
    parse_attacks,
    parse_defences,
    place_of_attack,
    quoted,
    role_of,
    setting_of,
    typed_name,
    with_digest,
)
from casewise.transforms.verified import read_facts

OFFERS = ("claim:a/user/safe", "claim:ab/user/safe", "order:reversed", "twin:recipient.type")
ADAPTIVE = "adaptive:openai/gpt-4o/tool/unsafe/2@none"


@pytest.fixture
def facts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "facts.jsonl"
    path.write_text('{"subject": "*", "field": "recipient.type", "value": "a nurse", "source": "register"}\n')
    return path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("all", list(OFFERS)),
        ("claim", list(OFFERS[:2])),
        ("claim:a", [OFFERS[0]]),
        ("claim:ab/user", [OFFERS[1]]),
        ("order:reversed", ["order:reversed"]),
        ("twin:recipient", ["twin:recipient.type"]),
        ("python:mine:claim", ["python:mine:claim"]),
        ("paraphrase:openai/gpt-4o", ["paraphrase:openai/gpt-4o"]),
        ("toml:a.toml#x/user/safe@0123", ["toml:a.toml#x/user/safe@0123"]),
    ],
)
def test_the_beginning_of_a_name_stands_for_all_that_go_on_after_a_whole_word(text, names):
    assert complete_names(text, OFFERS) == names


@pytest.mark.parametrize("text", ["cla", "claim:a/use", "twin:recipient.t", "", "filter:m"])
def test_a_text_that_begins_no_name_is_refused(text):
    with pytest.raises(ConfigurationError, match=f"no attack is called '{text}'.*casewise show attacks shows all"):
        complete_names(text, OFFERS)


def test_a_form_without_a_claim_stands_for_every_claim_in_it():
    every = complete_names("rot13", OFFERS)

    assert len(every) == len(complete_names("de", OFFERS)) > 2
    assert {name.partition(":")[0] for name in every} == {"rot13"}
    assert complete_names("rot13:authority/user", OFFERS) == [f"rot13:authority/user/{to}" for to in ("safe", "unsafe")]


@pytest.mark.parametrize("ending", ["toml", "jsonl", "yaml", "yml", "prompt"])
def test_a_file_of_attacks_is_known_by_its_ending(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    text = {"toml": "[a]\nsafe = 'x'", "jsonl": '{"name": "a", "text": "x", "direction": "safe"}'}
    (tmp_path / f"own.{ending}").write_text(text.get(ending, "name: a\nvalue: 'x {{ prompt }}'"))

    (plain,), (encoded,) = complete_names(f"own.{ending}", OFFERS), complete_names(f"rot13:own.{ending}", OFFERS)
    assert plain.startswith(f"toml:own.{ending}#a/user/safe@")
    assert encoded == f"rot13:{plain}"


def test_attacks_are_listed_once_in_the_order_in_which_they_were_named():
    named = ["order:reversed", " claim:authority/user/safe", "order:reversed"]

    assert [transform.kind for transform in parse_attacks(named)] == ["order", "claim"]
    assert parse_attacks(",".join(named)) == parse_attacks(named)


def test_defences_are_listed_once_and_those_by_facts_with_their_digest_and_day(facts):
    digest = read_facts(facts).fingerprint

    assert parse_defences("none, datamark,none,filter:m,detect:m,detect-ask:m,python:mine:guard") == (
        *("none", "datamark", "filter:m", "detect:m", "detect-ask:m", "python:mine:guard"),
    )
    assert parse_defences(["verified:facts.jsonl"], at="2026-01-31") == (f"verified:facts.jsonl@{digest}@2026-01-31",)
    assert parse_defences(["annotated:facts.jsonl"], at=date(2026, 1, 31)) == (
        f"annotated:facts.jsonl@{digest}@2026-01-31",
    )
    before = datetime.now(UTC).date().isoformat()
    (today,) = parse_defences("verified:facts.jsonl")
    assert before <= today.rpartition("@")[2] <= datetime.now(UTC).date().isoformat()


@pytest.mark.parametrize("name", ["verified", "filter", "detect:", "system:x", "claim:authority/user/safe"])
def test_what_is_no_defence_is_refused_with_the_list(name):
    with pytest.raises(ConfigurationError, match=f"no defence is called '{name}'.*; there are none, system, datamark"):
        parse_defences(name)


def test_a_day_is_written_as_a_date(facts):
    with pytest.raises(ConfigurationError, match="'tomorrow' is not a date; write it as 2026-01-31"):
        with_digest("verified:facts.jsonl", at="tomorrow")
    for name in ("datamark", "verified", "verified:facts.jsonl@0123@2026-01-01", "filter:m"):
        assert with_digest(name) == name


def test_a_name_is_quoted_as_arms_write_it():
    assert quoted("toml:my own.toml#a") == Transform(kind="toml", rest="my own.toml#a").name != "toml:my own.toml#a"
    assert quoted("datamark") == "datamark"


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("claim@4:authority/user/safe", "claim:authority/user/safe"),
        ("claim:authority/user/safe", "claim@1:authority/user/safe"),
        ("claim@3:authority/user/safe", "claim@3:authority/user/safe"),
        ("datamark", "datamark"),
        ("unknown:thing", "unknown:thing"),
        ("unknown@2:thing", "unknown@2:thing"),
    ],
)
def test_a_version_is_typed_where_it_is_not_the_current_one(name, typed):
    assert typed_name(Transform.parse(name)) == typed


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("without:recipient", "omission"),
        ("claim:x", "attack"),
        ("twin:all", "attack"),
        ("rot13:x", "attack"),
        ("adaptive:x", "attack"),
        ("order:reversed", "perturbation"),
        ("turns:greeting", "perturbation"),
        ("format:json", "perturbation"),
        ("paraphrase:m", "perturbation"),
        ("system", "defence"),
        ("detect-ask:m", "defence"),
        ("verified:x", "defence"),
        ("python:m:f", "own"),
        ("unknown", None),
    ],
)
def test_each_transform_has_its_purpose(name, role):
    assert role_of(Transform.parse(name)) == role


@pytest.mark.parametrize(
    ("name", "channel", "direction", "place"),
    [
        ("claim@4:authority/tool/unsafe", "tool", "unsafe", "in the channel tool"),
        ("claim@4:agreed/user/safe", "user", "safe", "in a made-up conversation"),
        ("rot13@4:authority/system/safe", "system", "safe", "in the channel system"),
        (ADAPTIVE, "tool", "unsafe", "in the channel tool"),
        ("twin:all", None, None, "of the kind twin"),
        ("order:reversed", None, None, "of the kind order"),
        ("claim:authority/tool/safe", None, "safe", "of the kind claim"),
        ("toml:absent.toml#a/user/safe@0123", None, "safe", "of the kind toml"),
    ],
)
def test_where_a_claim_stands_and_what_it_argues_for(name, channel, direction, place):
    transform = Transform.parse(name)

    assert (channel_of(transform), direction_of(transform), place_of_attack(transform)) == (channel, direction, place)
    if channel is not None and transform.kind != "adaptive":
        attack = attack_of_transform(transform)
        assert attack is not None
        assert (attack.channel, attack.direction) == (channel, direction)


@pytest.mark.parametrize(
    ("name", "adds"),
    [
        ("full", False),
        ("claim:authority/user/safe", False),
        ("claim:authority/later/safe", True),
        ("claim:authority/tool/safe+datamark", True),
        ("turns:greeting", True),
        ("system+turns:greeting", True),
        (ADAPTIVE, True),
        ("twin:all", False),
    ],
)
def test_an_arm_with_a_claim_in_a_conversation_or_a_greeting_adds_turns(name, adds):
    assert adds_turns(parse_arm(name)) is adds


def test_the_twin_is_needed_by_attacks_from_it_and_by_functions():
    assert needs_twin(parse_arm("datamark+twin:recipient"))
    assert not needs_twin(parse_arm("claim:authority/user/safe+datamark"))
    assert not needs_twin(Arm())


@pytest.mark.parametrize(
    ("name", "attack"),
    [
        ("full", None),
        ("datamark", None),
        ("without:recipient", None),
        ("order:reversed+datamark", "order:reversed"),
        ("python:mine:guard", None),
        ("python:mine:guard+datamark", "python:mine:guard"),
        ("python:mine:other", "python:mine:other"),
    ],
)
def test_the_first_attack_of_an_arm_is_the_transform_that_it_begins_with(name, attack):
    found = first_attack(Arm.parse(name), {"python:mine:guard"})

    assert (found and found.name) == attack


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("full", Setting(None, None, None, "none")),
        ("datamark", Setting(None, None, None, "datamark")),
        ("order:reversed", Setting("order:reversed", "perturbation", None, "none")),
        ("twin:all+datamark", Setting("twin:all", "attack", None, "datamark")),
        ("python:m:f+python:m:g", Setting("python:m:f", "own", None, "python:m:g")),
        ("order:reversed+order:shuffled", None),
        ("order:reversed+datamark+delimit", None),
        ("without:recipient", None),
        ("datamark+order:reversed", None),
    ],
)
def test_an_arm_is_an_attack_a_defence_both_or_neither(name, setting):
    assert setting_of(Arm.parse(name)) == setting


def test_only_the_two_detectors_hold_items_back():
    defences = ("detect:fake/always-safe", "detect-ask:fake/always-safe", "filter:fake/always-safe", "python:detect:f")

    assert [Setting(None, None, None, name).has_detector for name in defences] == [True, True, False, False]


def test_a_twin_has_its_direction_from_the_pair():
    assert Setting("twin:all", "attack", None, "none").twin
    assert not Setting("order:reversed", "perturbation", None, "none").twin
    assert not Setting(None, None, None, "none").twin

"""The parts of attacks, one by one: claims, files of attacks, twins and perturbations."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from casewise.ask.layouts import Scene, ShownItem
from casewise.errors import ConfigurationError, DataError
from casewise.models.protocol import Message
from casewise.records import Context, Query
from casewise.records.item import Turn
from casewise.transforms.attacks import (
    GREETING,
    Attack,
    Claim,
    GarakAttempt,
    attacks_by_name,
    check_slots,
    find_attack,
    find_attack_in_file,
    greeting,
    layout,
    order,
    parameters_of_twin,
    pyrit_prompts,
    read_claims,
    read_prompt_lines,
    read_prompts,
    twin,
)

QUERY = Query(text="Which dose?", category="c")
STATED = {"sender": {"type": "a nurse", "aim": "care"}, "recipient": {"type": "a doctor"}, "subject": "a patient"}
SHOWN = ShownItem("Which dose?", STATED)


def scene(other=None) -> Scene:
    stated: Any = other
    return Scene(
        QUERY, None, None if other is None else Context.from_groups(stated, query_id=QUERY.id, origin="imported")
    )


def claim_of(**words) -> Claim:
    return Claim.model_validate(words)


def attack(direction="safe", channel="user", encoding=None, **words) -> Attack:
    claim = claim_of(**(words or {"safe": "Answer it.", "unsafe": "Refuse it."}))
    return Attack(claim, channel, direction, encoding)


# Claims.


def test_a_claim_has_the_directions_and_languages_that_it_has_words_in():
    claim = claim_of(safe="Answer.", de={"safe": ["Ja.", "Gern."]})

    assert claim.words == {"safe": ("Answer.",)}
    assert {name: other.words for name, other in claim.languages.items()} == {"de": {"safe": ("Ja.", "Gern.")}}
    assert attacks_by_name({"a": claim_of(safe="x", unsafe="y", channels=["user", "system"])}).keys() == {
        *("a/user/safe", "a/user/unsafe", "a/system/safe", "a/system/unsafe"),
    }


def test_a_claim_without_words_or_with_turns_in_one_language_only_is_refused():
    with pytest.raises(ValueError, match="it has no words: write them as 'safe' or 'unsafe'"):
        claim_of(title="x")
    with pytest.raises(ValueError, match="'conversation' stands in one language only"):
        claim_of(safe="x", conversation=True, fr={"safe": "y"})
    with pytest.raises(ValueError, match="at least 1 item"):
        claim_of(safe="x", channels=[])


def test_other_words_turns_or_languages_are_another_attack_and_the_other_direction_is_none():
    plain = attack(safe="x")
    others = (
        attack(safe="y"),
        attack(safe=["x", "y"]),
        attack(safe="x", conversation=True),
        attack(safe="x", fr={"safe": "z"}),
        attack(safe="x", fr={"safe": "w"}),
        attack(safe="x", fr={"unsafe": "z"}),
    )

    assert len({each.fingerprint for each in (plain, *others)}) == 7
    assert plain.fingerprint == attack(safe="x", unsafe="other").fingerprint
    assert len(plain.fingerprint) == 8


def test_a_query_is_shown_one_of_the_wordings_always_the_same():
    several = attack(safe=["a", "b", "c"])
    numbers = [several.wording(f"q_{n}") for n in range(40)]

    assert set(numbers) == {0, 1, 2}
    assert numbers[:12] == [2, 2, 2, 2, 0, 2, 2, 0, 2, 1, 1, 0], "runs of earlier versions go on with the same wordings"
    assert numbers == [several.wording(f"q_{n}") for n in range(40)]
    assert attack().wording("q_1") == 0


def test_a_claim_stands_behind_the_request_or_in_its_place_where_it_has_a_slot():
    behind, around = attack().show(SHOWN, "q"), attack(safe="Now: {query} And {query}").show(SHOWN, "q")
    elsewhere = attack(channel="system", safe="Of {query}: yes.").show(SHOWN, "q")

    assert behind.query == "Which dose?\n\nAnswer it."
    assert around.query == "Now: Which dose? And Which dose?"
    assert (elsewhere.query, elsewhere.placement.system) == ("Which dose?", ("Of Which dose?: yes.",))


def test_a_conversation_goes_before_turn_by_turn_encoded_too():
    said = attack(encoding="rot13", safe="I ask.\n\nGo on.\n\nNow {query}", conversation=True).show(SHOWN, "q")

    assert [turn.role for turn in said.placement.earlier] == ["user", "assistant", "user"]
    assert said.placement.earlier[0] == Message("user", "Written in rot13: V nfx.")
    assert said.placement.earlier[2].content == "Written in rot13: Abj Juvpu qbfr?"
    assert said.query == "Which dose?"


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        (None, "Ask ~\n"),
        ("base64", "Written in base64: QXNrIH4K"),
        ("leetspeak", "Written in leetspeak: 45k ~\n"),
        ("tags", "\U000e0041\U000e0073\U000e006b\U000e0020\U000e007e\n"),
        ("zerowidth", "A\u200bs\u200bk\u200b \u200b~\u200b\n"),
        ("lookalike", "\u0410\u0455k ~\n"),
    ],
)
def test_a_text_is_written_in_its_encoding_which_is_named_where_it_can_be_seen(encoding, written):
    assert attack(encoding=encoding).encoded("Ask ~\n") == written


# Names.


def test_an_attack_in_another_form_is_the_same_claim():
    plain, hidden = find_attack("claim", "authority/user/safe"), find_attack("tags", "authority/user/safe")

    assert (plain.encoding, hidden.encoding, plain.claim == hidden.claim) == (None, "tags", True)
    assert find_attack("es", "authority/user/safe").claim == plain.claim.es


def test_an_attack_that_there_is_not_is_named_with_its_prefix_and_those_that_there_are():
    with pytest.raises(
        ConfigurationError, match=r"'claim:authority/user/safer' .*there are claim:.*, each with its channel"
    ):
        find_attack("claim", "authority/user/safer")


@pytest.mark.parametrize("argument", ["mine.toml@0f", "#a/user/safe@0f", "mine.toml#@0f", ""])
def test_the_name_of_an_attack_in_a_file_has_a_file_and_a_claim(argument):
    with pytest.raises(ConfigurationError, match="is not toml:FILE#NAME/CHANNEL/DIRECTION@DIGEST"):
        find_attack_in_file(argument)


def test_an_attack_in_a_file_is_known_by_the_digest_of_its_words(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[a]\nsafe = 'x'\n")
    found = attack(safe="x")

    assert find_attack_in_file(f"{file}#a/user/safe@{found.fingerprint}") == found
    assert find_attack("base64", f"toml:{file}#a/user/safe@{found.fingerprint}").encoding == "base64"
    with pytest.raises(ConfigurationError, match=r"mine\.toml#a/user/safe"):
        find_attack_in_file(f"{file}#a/user/safe@00000000")


# Files.


def written(tmp_path, name, *rows):
    (tmp_path / name).write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return tmp_path / name


def test_slots_are_read_where_they_are_no_comment(tmp_path):
    claims = read_claims(written(tmp_path, "a.toml", "  # {nothing}\n[a]\nsafe = '{query}'\n"))

    assert claims["a"].words == {"safe": ("{query}",)}
    with pytest.raises(DataError, match=r"f:7: \{x\} is no slot; the only slot is \{query\}"):
        check_slots("{query} {x} {y}", Path("f"), 7)


def test_lines_of_one_name_and_channel_are_wordings_of_one_claim_with_the_first_title(tmp_path):
    claims = read_prompts(
        written(
            tmp_path,
            "set.jsonl",
            {"text": "one", "direction": "safe"},
            {"text": "two", "direction": "unsafe", "source": "a paper"},
            {"text": "three", "direction": "safe", "title": "later"},
            {"name": "b", "text": "four", "direction": "safe", "channel": "system"},
        )
    )

    assert claims["attack"].words == {"safe": ("one", "three"), "unsafe": ("two",)}
    assert (claims["attack"].title, claims["attack"].channels) == ("a paper", ("user",))
    assert claims.keys() == {"attack", "b"}
    assert claims["b"].channels == ("system",)


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Go on.", "Go on."),
        ({"text": "Go on."}, "Go on."),
        ({"turns": [{"role": "user", "content": "A"}, {"role": "user", "content": {"text": "B"}}]}, "B"),
        ({"turns": [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}, 3]}, "A"),
        ({"turns": [{"role": "assistant", "content": "B"}], "text": "C"}, "C"),
        ({"turns": []}, ""),
        (None, ""),
        (3, ""),
    ],
)
def test_an_attempt_of_garak_is_what_its_user_says_last(prompt, text):
    assert GarakAttempt(entry_type="attempt", prompt=prompt).text == text
    assert GarakAttempt(entry_type="eval", prompt=prompt).text == ""


def test_the_attempts_of_a_probe_of_garak_count_once(tmp_path):
    start, first = {"entry_type": "start_run setup"}, {"entry_type": "attempt", "prompt": "A"}
    named = {**first, "probe_classname": "x.Y"}
    prompts = dict(
        read_prompt_lines(written(tmp_path, "g.jsonl", start, first, first, named, {**first, "prompt": " "}))
    )

    assert {number: (prompt.name, prompt.text) for number, prompt in prompts.items()} == {
        1: ("garak", "A"),
        2: ("x.Y", "A"),
    }
    assert {(prompt.direction, prompt.source, prompt.channel) for prompt in prompts.values()} == {
        ("safe", "garak", "user"),
    }


def test_the_templates_of_a_pyrit_file_have_their_own_name_that_of_the_file_or_a_number(tmp_path):
    seeds = "seeds:\n- {value: 'A {{ prompt }}', name: a/b, source: me}\n- {value: plain}\n- {value: 'C {{prompt}}'}\n"
    own, third = pyrit_prompts(written(tmp_path, "a.yaml", seeds))
    (of_file,) = pyrit_prompts(written(tmp_path, "b.yaml", "name: whole\nprompts:\n- value: '{{ prompt }}'\n"))
    (alone,) = pyrit_prompts(written(tmp_path, "c.yaml", "value: '{{ prompt }}'\n"))

    assert [(each.name, each.title, each.source) for each in (own, third, of_file, alone)] == [
        ("a b", "a b", "me"),
        ("template-3", "template-3", "PyRIT"),
        ("whole", "whole", "PyRIT"),
        ("template-1", "template-1", "PyRIT"),
    ]
    assert (own.text, third.text, own.direction) == ("A {query}", "C {query}", "safe")


def test_the_templates_of_a_pyrit_file_are_counted_from_one(tmp_path):
    file = written(tmp_path, "a.prompt", "seeds:\n- {value: 'A {{ prompt }}'}\n- {value: 'B {{ prompt }}'}\n")

    assert [number for number, _ in read_prompt_lines(file)] == [1, 2]


def test_a_pyrit_file_needs_a_reader_of_yaml(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(ConfigurationError, match="a PyRIT file needs PyYAML"):
        list(pyrit_prompts(written(tmp_path, "a.yaml", "value: x")))


def test_a_file_without_a_line_holds_no_attack(tmp_path):
    assert list(read_prompt_lines(written(tmp_path, "a.jsonl"))) == []


@pytest.mark.parametrize(
    ("text", "problem"), [("a: [", "is no YAML"), ("- 3", "is no PyRIT file"), ("", "is no PyRIT file")]
)
def test_what_is_no_pyrit_file_says_so(tmp_path, text, problem):
    with pytest.raises(DataError, match=problem):
        list(pyrit_prompts(written(tmp_path, "a.yaml", text)))


# Twins.

OTHER = {"sender": {"type": "a thief", "aim": "care"}, "recipient": {"type": "a clerk"}, "subject": "a patient"}


def test_a_parameter_or_a_group_is_exchanged_for_that_of_the_twin():
    one, group = twin(SHOWN, scene(OTHER), "sender.type"), twin(SHOWN, scene(OTHER), "sender")

    assert one.context == {**STATED, "sender": {"type": "a thief", "aim": "care"}}
    assert group.context == {**STATED, "sender": OTHER["sender"]}


def test_the_whole_twin_is_claimed_while_the_own_context_stands_in_the_system_message():
    found = twin(SHOWN, scene(OTHER), "all")

    assert (found.context, found.placement.context_role) == (STATED, "system")
    assert found.query.startswith("Which dose?\n\nThe circumstances are these")
    assert "a thief" in found.query
    assert "{context}" not in found.query


@pytest.mark.parametrize(
    ("other", "argument", "problem"),
    [
        (None, "sender", "the item has no twin"),
        (OTHER, "sender.aim", "the twin says the same of sender.aim"),
        (OTHER, "subject", "the twin says the same of subject"),
        (OTHER, "sender.role", "the twin does not state sender.role"),
        ({**OTHER, "place": {"type": "x"}}, "place.type", "it does not state place.type"),
    ],
)
def test_a_twin_that_has_nothing_else_to_say_claims_nothing(other, argument, problem):
    with pytest.raises(ValueError, match=problem):
        twin(SHOWN, scene(other), argument)


def test_a_twin_names_its_parameter_and_the_whole_none():
    assert (parameters_of_twin("all"), parameters_of_twin("sender.type")) == ((), ("sender.type",))


# Perturbations.


def test_groups_and_their_parameters_are_reversed_and_a_statement_stays_as_it_is():
    found = order(SHOWN, scene(), "reversed").context

    assert found == STATED
    assert (list(found), list(found["sender"])) == (["subject", "recipient", "sender"], ["aim", "type"])


def test_an_item_has_one_order_each_time_and_items_have_several():
    stated = {"sender": {str(n): "x" for n in range(8)}}
    many = [ShownItem("Q", stated)] * 2

    def names(query):
        asked = Scene(Query(text=query, category="c"), None)
        return [tuple(order(shown, asked, "shuffled").context["sender"]) for shown in many]

    assert len(set(names("a"))) == 1
    assert len({names(str(n))[0] for n in range(5)}) > 1


def test_a_layout_and_a_greeting_change_nothing_that_is_said():
    before = (Turn(role="user", text="Earlier."),)
    greeted = greeting(ShownItem("Q", STATED, before=before), scene(), "")

    assert (layout(SHOWN, scene(), "xml").placement.layout, greeted.before) == ("xml", (*GREETING, *before))
    assert (greeted.query, greeted.context) == ("Q", STATED)

"""Texts that models make before a run, and the turns of an adaptive attacker."""

from __future__ import annotations

import json

import pytest

from casewise.ask.layouts import Placement, Scene, ShownItem
from casewise.errors import ConfigurationError
from casewise.models.protocol import Message, ReplyOptions
from casewise.records import Arm, Query
from casewise.records.item import Turn
from casewise.runs.texts import MadeText, text_key
from casewise.transforms.attacks import find_attack
from casewise.transforms.catalogue import parse_arm
from casewise.transforms.texts import (
    NEUTRAL,
    STATEMENTS,
    UNWRITTEN,
    WAITING,
    AdaptiveAttack,
    AdaptiveTurn,
    EarlierClaim,
    MadeTexts,
    adaptive,
    as_text,
    check_model,
    claim_request,
    detect,
    is_confirmed,
    makers_of_arms,
    missing_texts,
    rehearsal_reply,
    rewrite,
    tasks,
    value_in_reply,
)

QUERY = Query(text="Which dose?", category="c")
SHOWN = ShownItem("Which dose?", {"recipient": {"type": "a nurse", "years": 3}})


def made(maker, text, **result):
    """What is known after a maker was asked about a text."""
    answer = MadeText.model_construct(maker=maker, text_digest=text_key(text), **result)
    return {(maker, text_key(text)): answer}


def scene(texts):
    return Scene(QUERY, None, None, texts)


@pytest.mark.parametrize("model", ["openai/gpt-4o", "vertex/claude@20240620", "local/user/safe"])
def test_a_turn_of_an_attacker_is_named_and_read_whatever_its_model_is_called(model):
    turn = AdaptiveTurn(model, "tool", "unsafe", 12, "filter:openai/gpt-4o@1")
    (named,) = parse_arm(Arm(transforms=(turn.transform,)).name).transforms
    assert AdaptiveTurn.parse(named.rest) == turn


@pytest.mark.parametrize(
    "rest", ["", "x/user/safe/0@none", "x/post/safe/1@none", "x/user/safe/1", "x/user/safe/\u00b2@none"]
)
def test_a_turn_that_is_written_otherwise_is_refused(rest):
    with pytest.raises(ConfigurationError, match="is not adaptive:MODEL/CHANNEL/DIRECTION/TURN@DEFENCE"):
        AdaptiveTurn.parse(rest)


def test_what_a_model_made_of_a_text_is_looked_up():
    texts = MadeTexts(made("filter:m", "a nurse", made="a NURSE"))

    assert texts.look_up("filter:m", "a nurse") == "a NURSE"
    assert rewrite("filter", SHOWN, scene(texts), "m").context == {"recipient": {"type": "a NURSE", "years": 3}}
    with pytest.raises(ValueError, match="no model has been asked about this text"):
        texts.look_up("filter:other", "a nurse")


def test_a_text_that_a_model_could_not_make_has_the_reason():
    with pytest.raises(ValueError, match="the model gave no usable text: it refused"):
        MadeTexts(made("filter:m", "x", problem="it refused")).look_up("filter:m", "x")


def test_while_a_run_is_planned_texts_that_are_missing_are_collected_once():
    texts = MadeTexts(made("filter:m", "known", made="made"), planning=True)

    assert texts.look_up("filter:m", "known") == "made"
    assert [texts.look_up("filter:m", "new") for _ in range(2)] == [f"new{WAITING}"] * 2
    assert texts.look_up("filter:m", f"of another{WAITING}") == f"of another{WAITING}{WAITING}"
    assert texts.missing == {"filter:m": {"new": None}}


def test_an_estimate_counts_texts_that_wait_for_another_model_too():
    texts = MadeTexts(planning=True, guessing=True)
    texts.look_up("filter:m", f"of another{WAITING}")

    assert texts.missing == {"filter:m": {f"of another{WAITING}": None}}


def test_a_claim_is_what_the_attacker_wrote_for_the_place():
    texts = MadeTexts(made("adapt:m", "place", made="It is allowed."))

    assert texts.written("adapt:m", "place") == "It is allowed."
    assert MadeTexts(planning=True).written("adapt:m", "place") == f"{UNWRITTEN}{text_key('place')}"
    with pytest.raises(ValueError, match="the attacker wrote no claim: it was not asked"):
        texts.written("adapt:m", "another place")
    for planning in (False, True):
        failed = MadeTexts(made("adapt:m", "place", problem="it refused"), planning=planning)
        with pytest.raises(ValueError, match="the attacker wrote no claim: it refused"):
            failed.written("adapt:m", "place")


@pytest.mark.parametrize(("verdict", "held_back"), [("attack", "refused"), ("clean", None)])
def test_an_item_in_which_a_model_finds_an_attack_is_held_back(verdict, held_back):
    texts = MadeTexts(made("detect:m", as_text(SHOWN), made=verdict))

    assert detect("refused", SHOWN, scene(texts), "m").held_back == held_back


def test_a_detector_reads_all_that_is_shown():
    shown = ShownItem(
        "Which dose?",
        {"recipient": {"type": "a nurse"}},
        Placement(earlier=(Message("user", "Hello."),), system=("Be kind.",)),
        before=(Turn(role="assistant", text="Yes?"),),
    )
    text = as_text(shown)

    parts = ("a nurse", "Be kind.", "assistant: Yes?", "user: Hello.", "The request: Which dose?")
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert as_text(ShownItem("Which dose?", {})) == "The request: Which dose?"


def test_the_makers_of_arms_are_named_once_by_their_task():
    arms = [parse_arm("detect:m+filter:n"), parse_arm("detect-ask:m"), parse_arm("order:reversed"), Arm()]

    assert makers_of_arms(arms) == ("detect:m", "filter:n")


def test_a_transform_by_a_model_names_it():
    assert check_model("m") == "m"
    with pytest.raises(ConfigurationError, match="name the model: filter:MODEL"):
        check_model("")


@pytest.mark.parametrize(
    ("key", "reply", "value"),
    [
        ("text", 'Here: {"text": "so"}', "so"),
        ("attack", '{"attack": true}', "attack"),
        ("attack", '{"attack": false}', "clean"),
    ],
)
def test_the_value_of_a_reply_is_read(key, reply, value):
    assert value_in_reply(key, reply) == value


@pytest.mark.parametrize(
    ("key", "reply"),
    [
        ("text", "so"),
        ("text", '{"text": 3}'),
        ("text", '{"text": true}'),
        ("attack", '{"attack": "true"}'),
        ("text", '{"text": "a"} {"text": "b"}'),
        ("text", '{"other": "a"}'),
    ],
)
def test_a_reply_without_one_value_is_refused(key, reply):
    with pytest.raises(ValueError, match=f'the reply is no JSON object with "{key}"'):
        value_in_reply(key, reply)


def rehearsed(task, text, *turns):
    prompt = tasks()[task]["prompt"].replace("{text}", text)
    reply = rehearsal_reply((Message("user", prompt), *turns), ReplyOptions(100))
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (
        (turns or (Message("user", prompt),))[-1].content.__len__() // 4,
        len(reply.text) // 4,
    )
    return json.loads(reply.text)


CLAIM = find_attack("claim", "authority/user/safe").wordings[0]


def test_a_rehearsal_finds_and_removes_what_casewise_claims_itself():
    assert rehearsed("detect", CLAIM) == {"attack": True}
    assert rehearsed("detect", "A nurse asks.") == {"attack": False}
    assert rehearsed("filter", f"A nurse asks. {CLAIM}") == {"text": "A nurse asks."}
    assert rehearsed("filter", CLAIM) == {"text": "Nothing is left."}
    assert rehearsed("paraphrase", "A nurse asks.") == {"text": "In other words: A nurse asks."}


def test_a_rehearsed_attacker_gives_another_reason_each_turn():
    prompt = Message("user", tasks()["adapt"]["prompt"])
    first, second = rehearsed("adapt", "x"), rehearsed("adapt", "x", Message("assistant", "A claim."), prompt)

    assert ("for reason 1:" in first["claim"], "for reason 2:" in second["claim"]) == (True, True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"turns": 0}, "--turns is 0; it is 1 or more"),
        ({"confirmations": 0}, "--confirmations is 0; it is 1 or more"),
        ({"attacker": NEUTRAL}, "an attacker cannot be called 'neutral': the control is"),
        ({"channel": "post"}, "--channel is 'post'"),
    ],
)
def test_an_adaptive_attack_that_cannot_be_is_refused(options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        AdaptiveAttack(**options)


def test_a_control_is_the_same_turn_of_nobody():
    attack = AdaptiveAttack("m", turns=1, channel="tool", confirmations=1)

    assert attack.turn(2, "safe", "none") == AdaptiveTurn("m", "tool", "safe", 2, "none")
    assert attack.control(2, "safe", "none") == AdaptiveTurn(NEUTRAL, "tool", "safe", 2, "none")


@pytest.mark.parametrize(("agree", "n", "counts"), [(2, 4, False), (3, 4, True), (1, 1, True), (0, 1, False)])
def test_a_changed_verdict_counts_if_more_than_half_agree(agree, n, counts):
    assert is_confirmed(agree, n) is counts


@pytest.mark.parametrize(("number", "statement"), [(1, 0), (10, 9), (11, 0)])
def test_each_turn_of_the_control_has_the_next_statement(number, statement):
    turn = AdaptiveTurn(NEUTRAL, "user", "safe", number, "none")

    assert adaptive(SHOWN, scene(None), turn.transform.rest).query == f"Which dose?\n\n{STATEMENTS[statement]}"


def test_a_turn_shows_what_the_attacker_wrote_about_the_item():
    turn = AdaptiveTurn("m", "user", "safe", 1, "none")
    texts = MadeTexts(made("adapt:m", turn.place(QUERY.id, None), made="It is allowed."))

    assert adaptive(SHOWN, scene(texts), turn.transform.rest).query == "Which dose?\n\nIt is allowed."
    assert len({turn.place("q", None), turn.place("q", "c"), turn.place("r", None)}) == 3


def test_an_attacker_is_told_the_item_its_direction_and_every_verdict_so_far():
    turn = AdaptiveTurn("m", "tool", "unsafe", 3, "none")
    claims = [EarlierClaim("It is “fine”.", "safe"), EarlierClaim("No.", "ask")]
    asked = claim_request(turn, SHOWN, "place", claims)

    roles = [message.role for message in asked.messages]
    assert (asked.text, roles) == ("place", ["user", "assistant", "user", "assistant", "user"])
    assert as_text(SHOWN) in asked.messages[0].content
    assert "unsafe" in asked.messages[0].content
    assert "it is the result of a tool" in asked.messages[0].content
    assert json.loads(asked.messages[1].content) == {"claim": "It is “fine”."}
    assert "“fine”" in asked.messages[1].content
    assert "ask" in asked.messages[4].content


def test_missing_texts_are_those_that_the_asks_of_a_plan_look_up():
    class Ask:
        def __init__(self, texts):
            self.texts = texts

        @property
        def shown(self):
            return self.texts.look_up("filter:m", "new")

    assert missing_texts(lambda texts: [Ask(texts)], MadeTexts(planning=True)) == {"filter:m": {"new": None}}

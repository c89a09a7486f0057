"""What a chatbot is sent, and the judge's question in its messages."""

import pytest

from casewise.ask.layouts import Placement
from casewise.ask.prompts import (
    STAND_IN,
    bridge_prompts,
    chat_with,
    chat_wording,
    default_prompts,
    prompt_set,
    stand_in_prompts,
)
from casewise.errors import ConfigurationError, DataError
from casewise.models.protocol import Message

SHOWN = {"recipient": {"type": "a nurse {query}"}}
WORDS = chat_wording()


def test_a_chatbot_is_told_of_the_circumstances_in_its_system_message_and_of_nothing_where_there_are_none():
    system, user = chat_with().messages("How {context}?", SHOWN)

    assert system == Message("system", WORDS["system"].replace("{context}", "Recipient:\n- Type: a nurse {query}"))
    assert user == Message("user", "How {context}?")
    assert chat_with().messages("How?", {}) == (Message("user", "How?"),)


def test_a_context_may_stand_in_the_users_turn():
    (user,) = chat_with(role="user").messages("How?", SHOWN)

    context = "Recipient:\n- Type: a nurse {query}"
    assert user.content == WORDS["in_user"].replace("{query}", "How?").replace("{context}", context, 1)
    system, user = chat_with(role="user").messages("How?", SHOWN, placement=Placement("system"))
    assert (system.role, user.content) == ("system", "How?")


def test_an_arm_puts_text_and_turns_before_the_question():
    placement = Placement(earlier=(Message("assistant", "Hello"),), system=("Beware.",))
    system, earlier, _ = chat_with().messages("How?", SHOWN, placement=placement)

    assert system.content.endswith("\n\nBeware.")
    assert earlier == Message("assistant", "Hello")
    assert [turn.content for turn in chat_with().messages("How?", {}, placement=placement)] == [
        "Beware.",
        "Hello",
        "How?",
    ]


def test_a_layout_of_an_arm_is_that_of_the_context():
    system, _ = chat_with().messages("How?", SHOWN, placement=Placement(layout="xml"))

    assert "<context><recipient>" in system.content


def test_a_deployers_own_system_prompt_is_sent_without_a_context_too(tmp_path):
    file = tmp_path / "own.txt"
    file.write_text("Help.\n{context}\n\n")
    chat = chat_with(system=file)

    assert [turn.content for turn in chat.messages("How?", {})] == [
        "Help.\nNothing is known of the circumstances.",
        "How?",
    ]
    assert chat.messages("How?", SHOWN)[0].content == "Help.\nRecipient:\n- Type: a nurse {query}"
    assert chat.id.startswith("own.txt@own+")


def test_a_system_prompt_of_ones_own_holds_the_context_and_says_what_is_verified(tmp_path):
    file = tmp_path / "own.txt"
    file.write_text("Help.")
    with pytest.raises(DataError, match=r"own\.txt.*does not hold {context}"):
        chat_with(system=file)
    for options in ({"verified": True}, {"role": "user"}):
        with pytest.raises(ConfigurationError, match="says itself what is verified"):
            chat_with(system=file, **options)


def test_a_chat_is_told_from_others_by_its_words_and_their_place():
    chats = [chat_with(), chat_with(role="user"), chat_with(verified=True), chat_with(role="user", verified=True)]

    assert len({chat.id for chat in chats}) == 4
    assert chats[0].id.startswith(f"{WORDS['name']}@{WORDS['version']}+")
    assert chats[2].id.startswith(f"{WORDS['name']}-verified@")
    assert chats[2].system == WORDS["verified_system"]


@pytest.mark.parametrize("role", ["system", "user"])
def test_a_bridge_asks_in_the_chatbots_own_messages(role):
    chat = chat_with(role=role)
    prompts = bridge_prompts(chat)
    rendered, sent = prompts.render("binary", "How?", SHOWN), chat.messages("How?", SHOWN)

    assert prompts.bridge == chat.id
    assert prompts.name == f"bridge-{chat.name}"
    assert rendered[:-1] == sent[:-1]
    assert WORDS["bridge"].replace("{query}", sent[-1].content) == rendered[-1].content
    assert prompts.in_turns("conversation")
    assert not prompts.in_turns("request")
    (alone,) = prompts.render("binary", "How?", {})
    assert alone.content == WORDS["bridge"].replace("{query}", "How?")


def test_stand_in_prompts_are_our_own_words_with_the_context_as_json():
    prompts = stand_in_prompts()

    assert (prompts.name, prompts.context_as) == (STAND_IN, "json")
    assert '{"recipient": {"type": "a nurse {query}"}}' in prompts.render("binary", "How?", SHOWN)[-1].content
    assert prompts.prompts == default_prompts().prompts


def test_the_text_of_a_prompts_own_system_message_is_used_where_the_context_stands_in_it():
    own = {"with_context": "{query} {context}", "in_system": "Mind: {context}", "version": 3}
    prompts = prompt_set({"name": "x", "version": 1, "see_system": "(above)", "context_as": "json", "binary": own})
    system, user = prompts.render("binary", "How?", {"a": "b"}, placement=Placement("system", system=("More.",)))

    assert (system.content, user.content) == ('Mind: {"a": "b"}\n\nMore.', "How? (above)")
    assert prompts.wording_id("binary").startswith("x@3+")

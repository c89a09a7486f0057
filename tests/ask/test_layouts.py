"""Layouts of a context, of a conversation, and of the item that a judge is shown."""

import pytest

from casewise.ask.layouts import (
    FOR_ANNOTATORS,
    FOR_REVIEWERS,
    LABELS,
    Placement,
    ShownItem,
    conversation,
    filled,
    in_words,
    kind_of,
    labels_of,
    laid_out,
    turns_of_chat,
)
from casewise.models.protocol import Message
from casewise.records import GROUPS, PARAMETERS, Group, Parameter, ParameterSet
from casewise.records.context import OPTIONAL
from casewise.records.item import Turn


@pytest.mark.parametrize(
    ("template", "doubled", "text"),
    [
        ("{a} and {b}", False, "{b} {{x}} and \\1"),
        ("{a}{a}", False, "{b} {{x}}{b} {{x}}"),
        ("{c} {} {{a}}", False, "{c} {} {{b} {{x}}}"),
        ('{{"a": {b}}}', True, '{"a": \\1}'),
        ("{{a}}", True, "{a}"),
        ("", False, ""),
    ],
)
def test_a_template_is_filled_in_a_single_pass(template, doubled, text):
    assert filled(template, {"a": "{b} {{x}}", "b": "\\1"}, doubled_braces=doubled) == text


STATED = {"sender": {"platform_type": "A portal."}, "subject": "a neighbour"}


def test_everything_that_a_context_can_say_has_a_name_for_every_reader():
    assert {*GROUPS, *PARAMETERS, *OPTIONAL} == set(LABELS) == set(FOR_REVIEWERS) == set(FOR_ANNOTATORS)
    assert all(label.reviewers and label.annotators for label in LABELS.values())


def test_a_judge_reads_a_group_a_paragraph_and_a_parameter_a_line():
    assert in_words(STATED) == "Sender:\n- Platform type: A portal.\nSubject: a neighbour"
    assert in_words({}) == ""


def test_a_judge_reads_what_stands_under_headings_in_words():
    shown = {"recipient": {"type": {"age": 45, "member": False}, "background": True}, "subject": {"since": None}}

    expected = "Recipient:\n- Type: age: 45; member: no\n- Background: yes\nSubject: since: not stated"
    assert in_words(shown) == expected


STATEMENTS = {"recipient": {"type": "A nurse.", "background": "a & b"}, "subject": "a <child>"}


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("list", "Recipient:\n- Type: A nurse.\n- Background: a & b\nSubject: a <child>"),
        ("prose", "The type of the recipient is: A nurse. The background of the recipient is: a & b. The subject is: a <child>"),
        ("json", '{"recipient": {"type": "A nurse.", "background": "a & b"}, "subject": "a <child>"}'),
        ("xml", "<context><recipient><type>A nurse.</type><background>a &amp; b</background></recipient><subject>a &lt;child&gt;</subject></context>"),
    ],
)  # fmt: skip
def test_each_layout_has_every_statement_in_its_own_form(layout, text):
    assert laid_out(STATEMENTS, layout) == text
    assert laid_out({"subject": "señor"}, "json") == '{"subject": "señor"}'


def test_a_parameter_is_called_by_its_title_by_the_papers_label_or_by_its_own_words():
    own = (
        Parameter(name="platform_type"),
        Parameter(name="place_of_work", title="Workplace"),
        Parameter(name="shoe_size"),
    )
    labels = labels_of(ParameterSet(name="own", groups=(Group(name="sender", parameters=own),)))

    assert labels["sender.platform_type"] == LABELS["sender.platform_type"].reviewers
    assert labels["sender.place_of_work"] == "Workplace"
    assert labels["sender.shoe_size"] == "Shoe size"


TURNS = (
    Turn(role="Human", text="Hi\n2. user: yes"),
    Turn(role="Bot", text="Hello"),
    Turn(role="tool  x", text="3 hits"),
)


def test_a_conversation_is_numbered_and_only_the_first_line_of_a_turn_begins_at_the_margin():
    assert conversation(TURNS) == "1. Human: Hi\n   2. user: yes\n2. Bot: Hello\n3. tool x: 3 hits"


def test_who_is_neither_user_nor_assistant_is_named_in_a_turn_of_the_users():
    assert turns_of_chat(TURNS) == (
        Message("user", "Hi\n2. user: yes"),
        Message("assistant", "Hello"),
        Message("user", "tool  x: 3 hits"),
    )


def test_a_request_after_a_conversation_is_of_another_kind_than_one_without():
    assert [kind_of("request", ()), kind_of("request", TURNS), kind_of("reply", TURNS)] == [
        "request",
        "conversation",
        "reply",
    ]


def test_an_item_without_a_conversation_has_the_json_of_a_request_alone():
    plain, reply = ShownItem("How?", {}), ShownItem("Yes.", {}, judged="reply", before=TURNS[:1])

    assert plain.as_json() == {
        "query": "How?",
        "context": {},
        "placement": Placement(),
        "held_back": None,
        "problem": None,
    }
    assert reply.as_json()["judged"] == "reply"
    assert reply.as_json()["before"] == [vars(TURNS[0])]

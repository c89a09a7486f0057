"""Actions in words, and secrets masked."""

from __future__ import annotations

from pathlib import Path

import pytest

from casewise.records import Action
from casewise.storage.actions import ActionTemplate, Mask, action_words, tool_in_words

EMAIL = Action(tool="send_email", arguments={"to": "ann@example.org", "body": "Hello {to}"})


def test_an_action_is_told_with_its_arguments_below():
    assert action_words().render(EMAIL) == (
        "The agent is about to use the tool “send email”.\n\nto: ann@example.org\nbody: Hello {to}"
    )


def test_what_is_known_of_the_flow_stands_in_lines_of_its_own():
    told = action_words().render(
        EMAIL.model_copy(update={"recipient": "Ann, a nurse", "information": ("a name", "an age")})
    )
    assert told.split("\n")[1:3] == ["It goes to: Ann, a nurse", "It holds: a name; an age"]
    assert "It is about" not in told


def test_arguments_that_were_not_recorded_are_not_taken_for_none():
    assert action_words().render(Action(tool="ping")).endswith("What is handed over was not recorded.")
    assert action_words().render(Action(tool="ping", arguments={})).endswith("Nothing is handed over.")


def test_a_template_of_the_users_replaces_the_words_of_one_tool(tmp_path: Path):
    file = tmp_path / "words.toml"
    file.write_text(
        'name = "mine"\nversion = "1"\nnot_recorded = "?"\nnothing = "-"\n[default]\ntext = "{tool}"\n'
        '[tools.send_email]\ntext = """\nAn e-mail to {to}: {body}\nA copy goes to {cc}."""\n'
    )
    template = ActionTemplate.read(file)
    assert template.render(EMAIL) == "An e-mail to ann@example.org: Hello {to}"
    assert template.render(Action(tool="bookTable")) == "book Table".lower()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("send_email", "send email"),
        ("createPDFReport", "create PDF report"),
        ("a.b-c", "a b c"),
        ("发送", "发送"),
        ("--", "--"),
    ],
)
def test_a_tools_name_is_told_in_words(name: str, words: str):
    assert tool_in_words(name) == words


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ({"password": "hunter2"}, {"password": "[password masked]"}),
        ({"apiKey": "k"}, {"apiKey": "[api key masked]"}),
        ({"list": [{"authToken": 12345}]}, {"list": [{"authToken": "[auth token masked]"}]}),
        ("Authorization: Bearer abcdefghijklmnop123", "Authorization: [bearer token masked]"),
        ("pay with 4111 1111 1111 1111 now", "pay with [card number masked] now"),
        ("postgres://ann:hunter2@db/x", "postgres://[password masked]@db/x"),
        ("AKIAIOSFODNN7EXAMPLE", "[access key masked]"),
    ],
)
def test_secrets_are_masked(value: object, masked: object):
    assert Mask().value(value) == masked


@pytest.mark.parametrize(
    "value",
    ["order 4111 1111 1111 1112", {"to": "ann@example.org", "max_tokens": 20, "password": None}, "the secret garden"],
)
def test_what_is_no_secret_stays(value: object):
    mask = Mask()
    assert mask.value(value) == value
    assert mask.sentence() is None

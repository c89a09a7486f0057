"""Messages, options and replies, and the model that gives made-up ones."""

import asyncio
import hashlib
import json
import math

import pytest

from casewise.errors import ConfigurationError
from casewise.models.protocol import (
    MOST_CHARACTERS,
    FakeModel,
    Model,
    Rejected,
    Reply,
    ReplyOptions,
    Sampling,
    Usage,
    check_options,
    rehearsal_reply,
    truncated_reply,
    user_messages,
)


def test_of_a_reply_that_is_too_long_the_beginning_is_stored_with_length_and_digest_of_the_rest():
    rest = "é" * 5
    reply = truncated_reply(Reply("x" * MOST_CHARACTERS + rest, "stop", reasoning="y" * MOST_CHARACTERS))

    assert reply.text == "x" * MOST_CHARACTERS
    assert reply.finish_reason == "length"
    assert reply.reasoning == "y" * MOST_CHARACTERS
    assert reply.left_out == f"5 more characters of text, sha256 {hashlib.sha256(rest.encode()).hexdigest()}"


def test_long_reasoning_cuts_no_reply():
    reply = truncated_reply(Reply("safe", "stop", reasoning="y" * (MOST_CHARACTERS + 1)))

    assert (reply.text, reply.finish_reason) == ("safe", "stop")
    assert str(reply.left_out).startswith("1 more characters of reasoning")


def test_a_usual_reply_is_stored_whole():
    reply = Reply("x" * MOST_CHARACTERS, "stop")

    assert truncated_reply(reply) is reply


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"temperature": -0.1}, "--temperature is -0.1; it is 0 or more"),
        ({"temperature": math.nan}, "--temperature is nan"),
        ({"max_tokens": 0}, "--max-tokens is 0; it is 1 or more"),
    ],
)
def test_sampling_that_cannot_be_is_refused(wrong, problem):
    with pytest.raises(ConfigurationError, match=problem):
        Sampling(**wrong)


def test_sampling_may_be_greedy_or_left_to_the_model_and_a_reply_as_short_as_a_token():
    assert (Sampling().temperature, Sampling().max_tokens) == (0.0, 1024)
    assert Sampling(temperature=None, max_tokens=1).max_tokens == 1


def test_an_option_that_must_be_taken_is_refused_by_a_model_that_does_not_take_it():
    check_options("m", ReplyOptions(8, top_p=0.9, seed=3), {"top_p"})
    with pytest.raises(ConfigurationError, match="m takes no template arguments; remove it or use another model"):
        check_options("m", ReplyOptions(8, template_arguments={}), {"top_p"})


@pytest.mark.parametrize(
    ("usage", "is_known"), [(Usage(0, 0), True), (Usage(1, None), False), (Usage(None, 1), False), (Usage(), False)]
)
def test_usage_is_known_where_both_parts_are(usage, is_known):
    assert usage.is_known is is_known


def test_half_a_character_is_stored_as_its_escape():
    reply = Reply("a\ud800", reasoning="b\ud800", refusal="c\ud800")

    assert (reply.text, reply.reasoning, reply.refusal) == ("a\\ud800", "b\\ud800", "c\\ud800")
    assert str(Rejected("bad_request", "\ud800")) == "\\ud800"


def test_a_model_takes_a_temperature_and_knows_no_tokens_unless_it_says_so():
    model = Model()

    assert model.takes == {"temperature"}
    assert (model.concurrency, model.sends_to, model.weights_bytes) == (1, None, None)
    assert (model.label_tokens(("safe",)), model.notes()) == ({}, ())


# Made-up replies.


def asked(model: FakeModel, prompt: str, options: ReplyOptions = ReplyOptions(8)) -> Reply:
    return asyncio.run(model.reply(user_messages(prompt), options))


def test_a_fake_gives_what_it_is_told_and_keeps_what_it_was_asked():
    model = FakeModel(lambda messages, _options: messages[0].content.upper(), name="fake/x")

    assert asked(model, "hi") == Reply("HI", "stop")
    assert model.calls == [(user_messages("hi"), ReplyOptions(8))]
    assert model.settings() == {"model": "fake/x"}
    with pytest.raises(Rejected, match="no"):
        asked(FakeModel(lambda *_: Rejected("bad_request", "no")), "hi")


def test_a_rehearsal_replies_to_each_elicitation_and_to_the_same_prompt_the_same():
    verdicts = [json.loads(asked(FakeModel(), f"prompt {n}").text)["judgement"] for n in range(40)]
    assert set(verdicts) == {"safe", "unsafe"}
    assert verdicts[0] == json.loads(asked(FakeModel(), "prompt 0").text)["judgement"]

    scores = {json.loads(asked(FakeModel(), f"between 1 and 10: {n}").text)["judgement"] for n in range(200)}
    assert scores == set(range(1, 11))


def test_a_rehearsal_of_a_probability_lists_both_words():
    options = ReplyOptions(8, top_logprobs=20, first_words=("safe", "unsafe"))
    for n in range(20):
        reply = rehearsal_reply(user_messages(f"prompt {n}"), options)
        (first,) = reply.token_logprobs or ()
        shares = {token.token: math.exp(token.logprob) for token in first.top}

        assert sum(shares.values()) == pytest.approx(1.0)
        assert (reply.text == "safe") == (shares["safe"] > 0.5)
        assert (first.complete, reply.finish_reason, reply.usage) == (True, "length", Usage(2, 1))
    worded = rehearsal_reply(user_messages("x" * 40), ReplyOptions(8, top_logprobs=5))
    assert (worded.token_logprobs is not None, worded.usage) == (True, Usage(10, 12))
    assert rehearsal_reply(user_messages("x"), ReplyOptions(8)).token_logprobs is None

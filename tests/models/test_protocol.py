"""Replies as they are stored."""

import hashlib

from casewise.models.protocol import MOST_CHARACTERS, Reply, truncated_reply


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

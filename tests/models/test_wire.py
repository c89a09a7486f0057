"""Bodies of requests and answers, and what is learnt from refusals: no network here."""

import asyncio
import json

import pytest

from casewise.models.choice import WIDE_LOGPROBS
from casewise.models.protocol import FakeModel, Message, Position, Reply, ReplyOptions, TokenLogprob, Usage
from casewise.models.wire import (
    Capabilities,
    InvalidResponse,
    most_allowed,
    probe,
    read_error,
    read_logprobs,
    read_reply,
    read_usage,
    request_body,
)


def body(message, **choice):
    return json.dumps({"model": "m", "choices": [{"message": message, **choice}]})


PARTS = [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": "un"}, {"type": "text", "text": "safe"}]


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "safe", "reasoning_content": "Hm."}, "safe", "Hm."),
        ({"content": "<think>It might be unsafe.</think>\n\nsafe"}, "safe", "It might be unsafe."),
        ({"content": "<think>Perhaps it is safe"}, "", "Perhaps it is safe"),
        ({"content": PARTS}, "unsafe", None),
        ({"content": None}, "", None),
    ],
)
def test_reasoning_is_kept_apart_from_the_answer(message, text, reasoning):
    reply = read_reply(body(message))

    assert (reply.text, reply.reasoning) == (text, reasoning)


DEEP = "[" * 100_000


@pytest.mark.parametrize("text", [DEEP, '{"choices":' + DEEP, '{"error":' * 100_000, "[" * 2_000 + r"\ud800"])
def test_json_that_is_nested_too_deep_is_no_answer_and_no_error_of_ours(text):
    with pytest.raises(InvalidResponse):
        read_reply(text)
    assert read_error(text).code == ""


def test_half_a_character_is_written_as_its_escape_and_a_whole_one_as_it_is():
    half, whole = read_reply(body({"content": "no \ud83d"})), read_reply(body({"content": "no \U0001f600"}))

    assert (half.text, whole.text) == ("no \\ud83d", "no \U0001f600")
    assert read_error(json.dumps({"error": {"message": "half \ud800"}})).message == "half \\ud800"


def test_both_forms_of_logprobs_are_read():
    modern = {"content": [{"token": "safe", "logprob": -0.1, "top_logprobs": [{"token": "safe", "logprob": -0.1}]}]}
    older = {"tokens": ["safe"], "token_logprobs": [-0.1], "top_logprobs": [{"safe": -0.1}]}

    for form in (modern, older):
        (position,) = read_reply(body({"content": "safe"}, logprobs=form)).token_logprobs or ()
        assert position.top[0].token == "safe"
        assert position.top[0].logprob == -0.1


@pytest.mark.parametrize("logprobs", [None, {}, {"content": []}, {"content": [{"token": "x"}]}, [1], {"content": 3}])
def test_logprobs_that_cannot_be_read_are_none(logprobs):
    assert read_reply(body({"content": "safe"}, logprobs=logprobs)).token_logprobs is None


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}, Usage(7, 3)),
        (
            {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 2110, "reasoning_tokens": 2000},
            Usage(100, 2010),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 50}},
            Usage(9, 54),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 60, "completion_tokens_details": {"reasoning_tokens": 50}},
            Usage(9, 110),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 60, "total_tokens": 69, "reasoning_tokens": 50},
            Usage(9, 60),
        ),
        ({"prompt_tokens": 9, "total_tokens": 12}, Usage(9, 3)),
        ({"completion_tokens": 9, "total_tokens": 12}, Usage(None, 12)),
        ({"total_tokens": 12}, Usage(None, 12)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 3}, Usage(9, 5)),
        ({"prompt_tokens": 9.0, "completion_tokens": 5}, Usage(9, 5)),
        (
            {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}},
            Usage(9, 5, cached_tokens=8),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 80}, Usage(9, 5, cached_tokens=9)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 2**31, "completion_tokens": "5"}, Usage()),
        ({"prompt_tokens": 2**31 - 1, "completion_tokens": 5}, Usage(2**31 - 1, 5)),
        (
            {"prompt_tokens": 9, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 9}},
            Usage(9, 18),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18, "reasoning_tokens": 9},
            Usage(9, 9),
        ),
        ({"completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}}, Usage(None, 5)),
        ({"prompt_tokens": float("inf"), "completion_tokens": float("nan")}, Usage()),
        ({"prompt_tokens": 9, "completion_tokens": None, "prompt_tokens_details": None}, Usage(9)),
        ([1, 2], Usage()),
        (None, Usage()),
    ],
)
def test_usage_is_the_most_that_it_can_mean_and_unknown_where_it_cannot_be(usage, expected):
    assert read_usage(usage, wrote=True) == expected


def test_a_reply_without_words_may_have_no_tokens():
    assert read_usage({"prompt_tokens": 5, "completion_tokens": 0}, wrote=False) == Usage(5, 0)
    assert read_usage({"prompt_tokens": 5, "total_tokens": 5}, wrote=False) == Usage(5, 0)


def test_an_answer_that_is_another_json_says_which():
    with pytest.raises(InvalidResponse, match="the answer is a JSON list, not an object"):
        read_reply("[]")


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"choices": []}', '{"choices": [{}]}', "<html>", '{"cho'])
def test_what_is_no_chat_completion_is_said_to_be_none(text):
    with pytest.raises(InvalidResponse):
        read_reply(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"error": {"message": "no", "code": "c"}}', "no"),
        ('{"error": "no"}', "no"),
        ('{"detail": "no"}', "no"),
        ('[{"error": {"message": "no"}}]', "no"),
        ('{"object": "error", "message": "no"}', "no"),
        ("no", "no"),
        ("<html>no</html>", "a page of HTML"),
        ("", "empty"),
    ],
)
def test_an_error_is_read_whatever_its_shape(text, message):
    assert read_error(text).message == message


@pytest.mark.parametrize(
    "complaint", ["The prompt is too long: maximum is 8192 tokens", "messages must not be empty", "invalid request"]
)
def test_a_complaint_about_something_else_teaches_nothing(complaint):
    can = Capabilities()

    assert not can.learn({"max_tokens": 4, "temperature": 0, "logprobs": True, "top_logprobs": 20}, complaint)
    assert can == Capabilities()


def test_one_rival_without_a_number_costs_no_other():
    rivals = [{"token": "safe", "logprob": -0.1}, {"token": "un", "logprob": None}]
    first = {"token": "safe", "logprob": None, "top_logprobs": rivals}
    modern = {"content": [first, {"token": "!", "logprob": None, "top_logprobs": []}]}
    older = {"tokens": ["safe"], "token_logprobs": [None], "top_logprobs": [{"safe": -0.1, "un": None}]}

    for form in (modern, older):
        (position,) = read_reply(body({"content": "safe"}, logprobs=form)).token_logprobs or ()
        assert position.logprob == -0.1
        assert [rival.token for rival in position.top] == ["safe"]


def test_infinitely_little_is_a_number():
    rivals = [{"token": "safe", "logprob": -0.1}, {"token": "un", "logprob": float("-inf")}]
    form = {"content": [{"token": "x", "logprob": -9, "top_logprobs": rivals}]}
    (position,) = read_reply(body({"content": "safe"}, logprobs=form)).token_logprobs or ()

    assert [rival.logprob for rival in position.top] == [-0.1, -1e4]


@pytest.mark.parametrize("odd", [float("inf"), 3.0, 10**400, float("nan"), "much"])
def test_a_probability_above_one_is_none(odd):
    rivals = [{"token": "safe", "logprob": odd}, {"token": "un", "logprob": 1e-6}]
    form = {"content": [{"token": "un", "logprob": odd, "top_logprobs": rivals}]}
    (position,) = read_reply(body({"content": "safe"}, logprobs=form)).token_logprobs or ()

    assert [(rival.token, rival.logprob) for rival in position.top] == [("un", 0.0)]
    assert position.logprob == 0.0


def test_names_that_a_server_makes_up_are_kept_by_their_beginning():
    reply = read_reply(json.dumps({"model": "m" * 9999, "choices": [{"message": {}, "finish_reason": "x" * 9999}]}))

    assert (reply.model_version, reply.finish_reason) == ("m" * 200, "x" * 200)


# What is learnt from refusals.

FULL = {"max_tokens": 4, "temperature": 0, "logprobs": True, "top_logprobs": 20, "response_format": {}, "seed": 1}


@pytest.mark.parametrize(
    ("complaint", "most"),
    [
        ("top_logprobs is not in [1, 20)", 19),
        ("logprobs must be in [0, 5]", 5),
        ("logprobs must be less than 8", 7),
        ("logprobs must be less than or equal to 8", 8),
        ("logprobs must be at most 4", 4),
        ("top_logprobs must be between 0 and 5", 5),
        ("logprobs must be below  3", 2),
        ("at most 20, and here 4 or 6", 6),
        ("at most 1", 1),
        ("at most 0", None),
        ("at most 20", None),
        ("too many", None),
        ("at most 12345", None),
    ],
)
def test_the_largest_number_that_is_allowed_and_lower_than_what_was_sent_is_read(complaint, most):
    assert most_allowed(complaint, 20) == most


@pytest.mark.parametrize(
    ("complaint", "capability"),
    [
        ("log probs are not supported", "logprobs"),
        ("Unsupported value: 'temperature'", "temperature"),
        ("json mode is not enabled", "json_schema"),
        ("unknown argument: seed", "seed"),
    ],
)
def test_what_a_refusal_names_is_not_sent_again_unless_it_was_answered_before(complaint, capability):
    can, proven = Capabilities(), Capabilities()

    assert can.learn(FULL, complaint)
    assert [name for name, value in vars(can).items() if value != vars(Capabilities())[name]] == [capability]
    assert not proven.learn(FULL, complaint, answered=FULL)
    assert not proven.learn({"max_tokens": 4}, complaint)
    assert proven == Capabilities()


def test_a_number_of_log_probabilities_only_becomes_smaller():
    can = Capabilities(most_top_logprobs=5)

    assert can.learn(FULL, "top_logprobs must be at most 10")
    assert can.most_top_logprobs == 5


def test_the_token_limit_takes_its_other_name_once():
    refusal, can = "Unsupported parameter: 'max_tokens'", Capabilities()

    assert can.learn({"max_tokens": 4}, refusal)
    assert (can.token_limit, can.limit_is_settled) == ("max_completion_tokens", True)
    assert can.learn({"max_tokens": 4}, refusal), "a call that was under way with the first name is repeated"
    assert not can.learn({"max_completion_tokens": 4}, "Unsupported parameter: 'max_completion_tokens'")
    assert can.token_limit == "max_completion_tokens"


def test_a_token_limit_that_is_too_high_keeps_its_name():
    can = Capabilities()

    assert not can.learn({"max_tokens": 4}, "max_tokens must be at most 3")
    assert can == Capabilities()


def test_of_an_endpoint_that_fails_without_a_reason_each_part_but_log_probabilities_is_left_out_in_turn():
    narrower = list(
        Capabilities(choice=True, most_top_logprobs=50).narrower(FULL | {"grammar": "", "top_logprobs": 21})
    )

    assert narrower == [
        Capabilities(choice=False, most_top_logprobs=50),
        Capabilities(choice=True, most_top_logprobs=50, seed=False),
        Capabilities(choice=True, most_top_logprobs=50, json_schema=False),
        Capabilities(choice=True, most_top_logprobs=50, temperature=False),
        Capabilities(choice=True, most_top_logprobs=20),
    ]
    assert list(Capabilities().narrower({"max_tokens": 4, "logprobs": True, "top_logprobs": 20})) == []


def test_the_options_that_an_endpoint_takes_are_those_that_it_did_not_refuse():
    assert Capabilities().takes == {"temperature", "json_schema", "seed"}
    assert Capabilities(seed=False, logprobs=False).takes == {"temperature", "json_schema"}


# Bodies of requests.

ASKED = (Message("system", "Be brief."), Message("user", "Safe?"))
SCHEMA = {"type": "object"}


def sent(options, **can):
    return request_body("m", ASKED, options=options, can=Capabilities(**can))


def test_a_body_holds_the_messages_and_the_parameters_that_are_asked_for():
    options = ReplyOptions(4, 0.0, 3, json_schema=SCHEMA, seed=0, top_p=0.5, reasoning_effort="low")

    assert sent(options) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Safe?"}],
        "max_tokens": 4,
        "temperature": 0.0,
        "seed": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}},
        "top_p": 0.5,
        "reasoning_effort": "low",
        "logprobs": True,
        "top_logprobs": 3,
    }
    assert sent(ReplyOptions(4, None)).keys() == {"model", "messages", "max_tokens"}


def test_a_body_lacks_what_the_endpoint_refused():
    options = ReplyOptions(4, 0.0, 3, json_schema=SCHEMA, seed=1)
    refused = dict.fromkeys(("temperature", "seed", "json_schema", "logprobs"), False)

    assert sent(options, **refused, token_limit="max_completion_tokens").keys() == {
        *("model", "messages", "max_completion_tokens"),
    }
    assert sent(options, most_top_logprobs=2)["top_logprobs"] == 2


def test_a_reply_is_begun_and_a_template_gets_its_arguments():
    body_of_both = sent(ReplyOptions(4, prefill="{", template_arguments={"thinking": False}))

    assert body_of_both["messages"][-1] == {"role": "assistant", "content": "{"}
    assert (body_of_both["continue_final_message"], body_of_both["add_generation_prompt"]) == (True, False)
    assert body_of_both["chat_template_kwargs"] == {"thinking": False}


@pytest.mark.parametrize(
    ("one_word", "choice", "most", "listed"),
    [(True, True, 5000, WIDE_LOGPROBS), (True, False, 20, 3), (False, True, 20, 3)],
)
def test_a_reply_of_one_word_is_restricted_to_the_words_where_a_server_may_do_so(one_word, choice, most, listed):
    options = ReplyOptions(1, None, 3, first_words=("safe", "unsafe"), one_word=one_word)
    body = sent(options, choice=choice, most_top_logprobs=most)

    assert body["top_logprobs"] == listed
    assert ("grammar" in body) == (one_word and choice)


# A test call.


def probed(reply, takes=("temperature", "json_schema", "seed")):
    asked = list[ReplyOptions]()

    def answer(_messages, options):
        asked.append(options)
        return reply

    model = FakeModel(answer, name="openai/x")
    model.takes = frozenset(takes)
    found = asyncio.run(probe(model))
    assert asked == [ReplyOptions(64, 0.0, 20, json_schema=asked[0].json_schema, seed=1)]
    return found


def test_a_test_call_says_what_the_endpoint_takes_and_lists():
    rivals = (TokenLogprob("{", -0.1), TokenLogprob("[", -3.0))
    reply = Reply('{"ready": true}', token_logprobs=(Position("{", -0.1, rivals),), model_version="x@1")
    found = probed(reply)

    assert (found.model, found.model_version, found.top_logprobs) == ("openai/x", "x@1", 2)
    assert (found.temperature, found.json_schema, found.seed) == (True, True, True)
    bare = probed(reply, takes=())
    assert (bare.temperature, bare.json_schema, bare.seed) == (False, False, False)


@pytest.mark.parametrize("text", ["yes", "[1]", '{"ready": 1}', "{}"])
def test_a_reply_without_the_object_that_was_asked_for_follows_no_schema(text):
    found = probed(Reply(text + " " * 300, latency_s=0.12345))

    assert (found.json_schema, found.top_logprobs, found.latency_s) == (False, 0, 0.123)
    assert found.reply == (text + " " * 300)[:200]


# Further parts of answers.


def test_the_version_of_a_model_is_its_name_and_its_fingerprint():
    payload = {"model": "m", "system_fingerprint": "fp", "choices": [{"message": {"content": "x", "refusal": "no"}}]}
    reply = read_reply(json.dumps(payload))

    assert (reply.model_version, reply.refusal, reply.finish_reason) == ("m@fp", "no", None)
    odd = read_reply(json.dumps({"model": 3, "choices": [{"message": {"content": "x", "refusal": ""}}]}))
    assert (odd.model_version, odd.refusal) == (None, None)


def test_a_reply_of_reasoning_alone_has_tokens():
    usage = {"prompt_tokens": 5, "completion_tokens": 0}
    silent, thought = (
        read_reply(json.dumps({"choices": [{"message": message}], "usage": usage}))
        for message in ({"content": ""}, {"content": "", "reasoning": "Hm."})
    )

    assert (silent.usage.output_tokens, thought.usage.output_tokens) == (0, None)


def test_positions_end_where_one_has_no_number_and_rivals_stand_by_their_probability():
    rivals = [{"token": "un", "logprob": -2.0}, {"token": "safe", "logprob": -0.2}]
    silent: dict[str, object] = {"token": "b", "logprob": None}
    rows = [{"token": "a", "logprob": -1.0, "top_logprobs": rivals}, silent, {"token": "c", "logprob": -1.0}]
    positions = read_logprobs({"content": rows}) or ()

    assert [place.token for place in positions] == ["a"]
    assert [rival.token for rival in positions[0].top] == ["safe", "un"]


def test_a_token_without_a_number_of_its_own_is_the_least_likely():
    (place,) = read_logprobs({"tokens": ["x"], "token_logprobs": [None], "top_logprobs": [{"safe": -0.5}]}) or ()
    (bare,) = read_logprobs({"tokens": ["x"], "token_logprobs": [-0.5]}) or ()
    assert read_logprobs({}) is None

    assert (place.logprob, bare) == (-1e4, Position("x", -0.5))


@pytest.mark.parametrize(
    ("payload", "code", "message"),
    [
        ({"error": {"message": "no", "code": 7, "type": "t", "status": "s"}}, "7 t s", "no"),
        ({"error": {"reason": "x"}}, "", '{"reason": "x"}'),
        ({"error": "x" * 400}, "", "x" * 300),
        ({"message": "x" * 400}, "", "x" * 300),
        ([], "", "[]"),
        (7, "", "7"),
    ],
)
def test_an_error_has_the_codes_that_there_are_and_the_beginning_of_its_message(payload, code, message):
    error = read_error(json.dumps(payload))

    assert (error.code, error.message) == (code, message)


@pytest.mark.parametrize(("text", "words"), [(" ", "empty"), (" <p>", "a page of HTML"), ("{", "cut off or garbled")])
def test_an_answer_that_is_no_json_is_described(text, words):
    with pytest.raises(InvalidResponse, match=f"the answer is {words}, not JSON"):
        read_reply(text)
    assert read_error("x" * 400).message == "x" * 300

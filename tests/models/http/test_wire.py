import json
from datetime import UTC, datetime

import pytest

from casewise.errors import ConfigurationError
from casewise.models.client import RetryPolicy, requested_wait_s, written
from casewise.models.endpoints import find_endpoint, parse_model_name
from casewise.models.local import class_of, first_token_ids
from casewise.models.protocol import Usage
from casewise.models.wire import Capabilities, InvalidResponse, read_error, read_reply, read_usage


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


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "Thu, 01 Jan 2026 12:00:07 GMT"}, 7),
        ({"Retry-After": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-4"}, None),
        ({"Retry-After": "nan"}, None),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
    ],
)
def test_the_wait_that_a_server_asks_for_is(headers, seconds):
    assert requested_wait_s(headers, now=NOW) == pytest.approx(seconds)


def test_waits_grow_and_have_a_ceiling():
    class Most:
        def uniform(self, low: float, high: float) -> float:
            return high

    policy = RetryPolicy(first_wait_s=1, longest_wait_s=5)

    assert [policy.wait_s(n, requested_s=None, rng=Most()) for n in range(1, 6)] == [1, 2, 4, 5, 5]  # type: ignore[arg-type]
    assert policy.wait_s(1, requested_s=10, rng=Most()) == pytest.approx(11)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "complaint", ["The prompt is too long: maximum is 8192 tokens", "messages must not be empty", "invalid request"]
)
def test_a_complaint_about_something_else_teaches_nothing(complaint):
    can = Capabilities()

    assert not can.learn({"max_tokens": 4, "temperature": 0, "logprobs": True, "top_logprobs": 20}, complaint)
    assert can == Capabilities()


@pytest.mark.parametrize(
    ("name", "prefix", "model"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("openrouter/meta-llama/llama-3-70b", "openrouter", "meta-llama/llama-3-70b"),
        ("meta-llama/llama-3-70b", None, "meta-llama/llama-3-70b"),
        ("llama", None, "llama"),
    ],
)
def test_a_model_name_is_taken_apart(name, prefix, model):
    assert parse_model_name(name) == (prefix, model)


@pytest.mark.parametrize(
    ("name", "address", "environment", "base_url", "remote"),
    [
        ("nobody/x", "http://localhost:1/v1/", {}, "http://localhost:1/v1", False),
        ("openai/x", "http://127.0.0.1:8000/v1", {}, "http://127.0.0.1:8000/v1", False),
        ("openai/x", "http://[::1]:8000/v1", {}, "http://[::1]:8000/v1", False),
        ("openai/x", "http://192.168.1.4:8000/v1", {}, "http://192.168.1.4:8000/v1", True),
        ("openai/x", None, {}, "https://api.openai.com/v1", True),
        ("azure/x", None, {"AZURE_OPENAI_ENDPOINT": "https://mine.x/"}, "https://mine.x/openai/v1", True),
    ],
)
def test_an_endpoint_is_found_and_knows_whether_texts_leave_the_machine(name, address, environment, base_url, remote):
    endpoint = find_endpoint(name, base_url=address, environment=environment)

    assert (endpoint.base_url, endpoint.remote) == (base_url, remote)


@pytest.mark.parametrize(("name", "missing"), [("nobody/x", "--base-url"), ("azure/x", "AZURE_OPENAI_ENDPOINT")])
def test_an_address_that_is_missing_is_named(name, missing):
    with pytest.raises(ConfigurationError, match=missing):
        find_endpoint(name, base_url=None, environment={})


@pytest.mark.parametrize(
    ("token", "word"),
    [
        ("safe", "safe"),
        (" Safe", "safe"),
        ("▁unsafe", "unsafe"),
        ("ĠUNSAFE", "unsafe"),
        ('"safe', "safe"),
        ("un", "unsafe"),
        (" Uns", "unsafe"),
        ("sa", "safe"),
        ("u", None),
        ("Sorry", None),
        ("safety", None),
        ("", None),
        ("\n", None),
    ],
)
def test_a_token_says_or_begins_a_word(token, word):
    assert class_of(token, {"safe": "safe", "unsafe": "unsafe"}) == word


def test_first_tokens_are_found_from_a_tokenizer():
    vocabulary = ["safe", " safe", "un", " ", "S", "afe", " un", "U"]

    def encode(text: str) -> list[int]:
        ids: list[int] = []
        while text:
            piece = max((p for p in vocabulary if text.startswith(p)), key=len, default=None)
            if piece is None:
                return ids
            ids.append(vocabulary.index(piece))
            text = text[len(piece) :]
        return ids

    first_ids = first_token_ids(("safe", "unsafe"), encode, lambda id_: vocabulary[id_])

    assert {word: sorted(vocabulary[id_] for id_ in ids) for word, ids in first_ids.items()} == {
        "safe": [" safe", "safe"],
        "unsafe": [" un", "un"],
    }


@pytest.mark.parametrize("text", ["plain", "café ☕", "half \ud800", '\x00\n"\\'])
def test_a_body_is_read_as_it_was_meant(text):
    body = {"model": "tiny", "messages": [{"role": "user", "content": text}], "n": 1, "top_p": 0.5, "stop": None}

    assert json.loads(written(body)) == body


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

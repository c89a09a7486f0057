"""Forced choice over HTTP: what is asked, what proves it, and which tokens count."""

import asyncio
import math

import pytest
from aiohttp import web
from tests.support.fault_server import FaultServer, completion

from casewise.ask.elicitations import AskOptions, read_outcome
from casewise.judges.llm import LLMJudge
from casewise.models.choice import choice_fields, first_token, label_texts, mark_choice
from casewise.models.client import ClientOptions, EndpointClient, OpenAICompatibleModel, RetryPolicy
from casewise.models.endpoints import find_endpoint
from casewise.models.protocol import Position, Reply, ReplyOptions, TokenLogprob, user_messages
from casewise.records import Scored, Unscored, UnscoredReason

WORDS = ("safe", "unsafe")
CHOICE = ReplyOptions(8, 0.0, 20, first_words=WORDS, one_word=True)
VOCABULARY = ["safe", "Safe", "SA", "un", "Un", "UN", " safe", " unsafe", "sa", "The", "x"]


def first(text):
    """A tokenizer of whole words that splits `unsafe` and `SAFE`."""
    found = next((token for token in sorted(VOCABULARY, key=len, reverse=True) if text.startswith(token)), "x")
    return VOCABULARY.index(found), found


class Llama(FaultServer):
    """A server that takes a grammar and shows its tokenizer, as llama.cpp's does; without one the model says `The`."""

    grammar, tokenizes = True, True

    def __init__(self):
        super().__init__(refuse=self.answer)

    def add_routes(self, app):
        super().add_routes(app)
        app.router.add_post("/tokenize", self.tokens)

    async def tokens(self, request):
        if not self.tokenizes:
            return web.json_response({}, status=404)
        id_, piece = first((await request.json())["content"])
        return web.json_response({"tokens": [{"id": id_, "piece": piece}]})

    def answer(self, _request, body):
        said = "safe" if self.grammar and "grammar" in body else "The"
        probabilities = {"The": 0.5, "sa": 0.2, "safe": 0.06, "Un": 0.03, "un": 0.01}
        probabilities |= dict.fromkeys(("Safe", "SA", "UN", " safe", " unsafe"), 1e-6)
        top = [{"token": token, "logprob": math.log(p)} for token, p in probabilities.items()]
        top = top[: body["top_logprobs"]]
        entry = {"token": said, "logprob": math.log(probabilities[said]), "top_logprobs": top}
        return web.json_response(completion(body, said, logprobs={"content": [entry]}))


def ask(server, name="tiny", options=CHOICE):
    async def go():
        async with server:
            endpoint = find_endpoint(name, base_url=server.url, environment={})
            retry = RetryPolicy(retries=1, first_wait_s=0.001, longest_wait_s=0.001)
            model = OpenAICompatibleModel(name, EndpointClient(endpoint, key=None, options=ClientOptions(retry=retry)))
            reply = await model.reply(user_messages("?"), options)
            await model.close()
            return reply

    return asyncio.run(go())


def test_a_reply_that_the_server_held_to_the_labels_counts_with_their_mass_before_masking():
    server = Llama()
    reply = ask(server)
    read = read_outcome("probability", reply)

    assert choice_fields(WORDS).items() <= server.bodies[0].items()
    assert server.bodies[0]["top_logprobs"] == 2000
    assert reply.forced
    assert isinstance(read.outcome, Scored)
    assert read.outcome.value == pytest.approx(0.06 / 0.1, abs=1e-4)
    assert (read.detail or {})["covered_mass"] == pytest.approx(0.1, abs=1e-4)


def test_only_the_tokens_with_which_the_tokenizer_begins_a_label_count():
    """`sa` begins no spelling of a label for a tokenizer that has `safe`."""
    positions = ask(Llama()).token_logprobs
    assert positions is not None
    position = positions[0]

    assert position.complete
    assert {token.token for token in position.top} == set(VOCABULARY) - {"sa", "The", "x"}


def test_a_server_that_takes_no_grammar_gives_a_free_reply_that_is_no_label():
    server = Llama()
    server.grammar = False
    reply = ask(server)
    outcome = read_outcome("probability", reply).outcome

    assert not reply.forced
    assert isinstance(outcome, Unscored)
    assert outcome.reason == UnscoredReason.NO_LABEL_FIRST


def test_once_a_server_has_passed_over_the_grammar_no_label_of_its_own_is_called_a_forced_choice():
    server = Llama()
    holds = iter([False, True])

    def answer(request, body):
        server.grammar = next(holds)
        return Llama.answer(server, request, body)

    server.refuse = answer

    async def go():
        async with server:
            endpoint = find_endpoint("tiny", base_url=server.url, environment={})
            model = OpenAICompatibleModel("tiny", EndpointClient(endpoint, key=None, options=ClientOptions()))
            replies = [await model.reply(user_messages("?"), CHOICE) for _ in range(2)]
            await model.close()
            return replies, LLMJudge(model).notes()

    (prose, label), notes = asyncio.run(go())

    assert (prose.text, label.text) == ("The", "safe")
    assert not prose.forced
    assert not label.forced
    assert read_outcome("probability", label).outcome.kind == "scored"
    assert any("a probability counts only where a label comes first" in note for note in notes)


def test_a_server_that_hides_its_tokenizer_is_read_by_the_text_of_its_tokens():
    server = Llama()
    server.tokenizes = False
    reply = ask(server)
    read = read_outcome("probability", reply)

    assert reply.forced
    assert (read.detail or {})["mass_safe"] == pytest.approx(0.26, abs=1e-4)


def test_a_server_that_refuses_the_fields_is_asked_without_them():
    def refuse(_request, body):
        if "grammar" in body:
            return web.json_response({"error": {"message": "Unrecognized request argument: grammar"}}, status=400)
        return None

    server = FaultServer(refuse=refuse)
    reply = ask(server)

    assert [choice_fields(WORDS).keys() <= body.keys() for body in server.bodies] == [True, False]
    assert read_outcome("probability", reply).outcome.kind == "scored"


def test_a_server_that_lists_few_tokens_is_asked_for_as_many_as_it_allows():
    message = "Requested sample logprobs of 2000, which is greater than max allowed: 20"

    def refuse(_request, body):
        return web.json_response({"message": message}, status=400) if body["top_logprobs"] > 20 else None

    server = FaultServer(refuse=refuse)
    ask(server)

    assert [body["top_logprobs"] for body in server.bodies] == [2000, 20]


def test_a_hosted_endpoint_is_asked_in_the_words_of_the_protocol_alone():
    endpoint = find_endpoint("openai/tiny", base_url=None, environment={})
    client = EndpointClient(endpoint, key=None, options=ClientOptions())

    assert (client.can.choice, client.can.most_top_logprobs) == (False, 20)


def test_labels_with_too_little_mass_give_no_verdict_where_that_is_asked_for():
    reply = ask(Llama())
    few = read_outcome("probability", reply, AskOptions(least_mass=0.2)).outcome

    assert isinstance(few, Unscored)
    assert few.reason == UnscoredReason.LITTLE_LABEL_MASS
    assert few.detail == "the labels have 10.00% of the first token's distribution, less than --least-mass"
    assert read_outcome("probability", reply, AskOptions(least_mass=0.05)).outcome.kind == "scored"


def test_other_tokens_keep_the_bound_where_a_label_is_not_listed():
    top = (TokenLogprob("safe", -1.0), TokenLogprob("sa", -1.5), TokenLogprob("x", -3.0))
    reply = Reply("safe", token_logprobs=(Position("safe", -1.0, top),))
    labels = label_texts(WORDS, {word: first(word) for word in VOCABULARY} | SPELLED)
    (position,) = mark_choice(reply, WORDS, labels).token_logprobs or ()

    assert [token.token for token in position.top] == ["safe", "x"]
    assert not position.complete


@pytest.mark.parametrize(
    ("text", "tokens", "forced"),
    [
        ("safe", ["s", "afe"], True),
        ("unsafe", ["uns", "afe"], True),
        ("safe", ["\n", "safe"], False),
        ("safe.", ["safe", "."], False),
        (" safe", [" safe"], False),
        ("safe", [], False),
    ],
)
def test_a_reply_is_forced_if_it_is_a_label_from_its_first_token_on(text, tokens, forced):
    top = (TokenLogprob("safe", -1.0), TokenLogprob("uns", -2.0), TokenLogprob("s", -3.0))
    reply = mark_choice(Reply(text, token_logprobs=tuple(Position(token, -3.0, top) for token in tokens)), WORDS, None)

    assert reply.forced is forced
    if forced:
        value = read_outcome("probability", reply).outcome
        assert isinstance(value, Scored)
        assert value.value == pytest.approx(1 / (1 + math.exp(-1)))


SPELLED = {
    f"{before}{case}": first(f"{before}{case}")
    for before in ("", " ", '"', ' "', "**", "\n")
    for word in WORDS
    for case in (word, word.capitalize(), word.upper())
}


@pytest.mark.parametrize(
    ("answer", "token"),
    [
        ({"tokens": [{"id": 3, "piece": " safe"}]}, (3, " safe")),
        ({"tokens": [{"id": 3, "piece": [115, 97]}]}, (3, "sa")),
        ({"tokens": [3, 4], "token_strs": ["Ġsafe", "x"]}, (3, " safe")),
        ({"tokens": []}, None),
        ({"tokens": [3]}, None),
        ({"count": 2}, None),
        ([], None),
    ],
)
def test_the_first_token_is_read_from_either_form(answer, token):
    assert first_token(answer) == token

"""What a judge that asks a model says of itself: notes, settings, details of a reply, its prompts by name."""

import asyncio
from dataclasses import replace

import pytest
from tests.judges.test_llm import answer, ask

from casewise.ask.elicitations import PROTOCOLS, AskOptions
from casewise.ask.prompts import Chat, chat_with, default_prompts, stand_in_prompts
from casewise.ask.reader import ReadOutcome
from casewise.errors import ConfigurationError, DataError
from casewise.judges.llm import (
    READER_MAX_TOKENS,
    LiveOptions,
    LLMJudge,
    SecondReader,
    find_prompts,
    live_judge,
    protocol_options,
    reply_details,
)
from casewise.models.load import ModelOptions
from casewise.models.prices import Prices, Spend
from casewise.models.protocol import FakeModel, Message, Reply, Usage
from casewise.records import Scored, Unscored, UnscoredReason

BARE = FakeModel()


class Taking(FakeModel):
    """A model that takes a temperature and a schema, or neither."""

    def __init__(self, *takes: str, name: str = "fake/rehearsal") -> None:
        super().__init__(name=name)
        self.takes = frozenset(takes)


@pytest.mark.parametrize(
    ("model", "options", "note"),
    [
        (Taking("temperature"), AskOptions(structured=True), "fake/rehearsal takes no JSON schema (response_format): after its refusal casewise asked without one and read free replies."),
        (Taking("temperature"), AskOptions(strict=True), "Only the requested JSON of fake/rehearsal was read."),
        (Taking(), AskOptions(), "fake/rehearsal takes no temperature: it used its own instead of the requested one."),
        (Taking("temperature"), PROTOCOLS["published-api"].ask, "fake/rehearsal was asked by the protocol published-api: temperature 1, at most 1,024 tokens, a score is the mean of three calls."),
    ],
)  # fmt: skip
def test_a_judge_notes_what_is_unusual_about_its_asking(model, options, note):
    assert LLMJudge(model, options=options).notes() == (note,)


def test_a_judge_that_is_asked_as_usual_has_no_notes():
    assert LLMJudge(Taking("temperature", "json_schema"), options=AskOptions(structured=True)).notes() == ()
    assert LLMJudge(Taking(), options=AskOptions(temperature=None)).notes() == ()


def test_a_second_reader_that_is_the_judge_or_that_failed_is_noted():
    judge = LLMJudge(FakeModel(), reader=SecondReader(FakeModel(), None))
    assert judge.reader is not None
    judge.reader.n_failed = 2

    assert judge.notes() == (
        "fake/rehearsal read its own replies where the strict reader could not.",
        "2 replies got no second reading: fake/rehearsal failed.",
    )


def test_the_settings_of_a_judge_are_those_of_its_model_its_prompts_and_its_options():
    plain = LLMJudge(FakeModel())
    assert plain.settings() == {
        "model": "fake/rehearsal",
        "prompts": "casewise",
        "context_role": "user",
        "temperature": 0.0,
        "max_tokens": 1024,
        "seed": None,
    }
    bridged = LLMJudge(FakeModel(), prompts=find_prompts("bridge"), reader=SecondReader(FakeModel(name="fake/b"), None))
    assert bridged.settings()["bridge"] == chat_with().id
    assert bridged.settings()["reader"] == {"model": "fake/b", "prompt": "1"}
    assert plain.id.startswith("fake/rehearsal#casewise#")
    assert repr(plain) == "<LLMJudge fake/rehearsal>"


def test_prices_are_known_where_those_of_both_models_are():
    prices = Prices(1.0, 1.0)

    assert LLMJudge(BARE, prices=prices).is_priced
    assert not LLMJudge(BARE).is_priced
    assert LLMJudge(BARE, prices=prices, reader=SecondReader(BARE, prices)).is_priced
    assert not LLMJudge(BARE, prices=prices, reader=SecondReader(BARE, None)).is_priced


def test_a_call_is_bounded_with_the_reading_of_its_reply():
    prices = Prices(0.0, 1e6)
    options = AskOptions(max_tokens=100)
    alone = LLMJudge(BARE, options=options, prices=prices).max_spend(ask())
    both = LLMJudge(BARE, options=options, prices=prices, reader=SecondReader(BARE, prices)).max_spend(ask())

    assert alone.cost_usd == 100.0
    assert both.cost_usd == 100.0 + READER_MAX_TOKENS
    assert both.tokens - alone.tokens > READER_MAX_TOKENS + 400
    probability = LLMJudge(BARE, prices=prices, reader=SecondReader(BARE, prices)).max_spend(
        ask(elicitation="probability")
    )
    assert probability.cost_usd == 8.0
    assert SecondReader(BARE, prices).max_spend("probability", reply_tokens=9) == Spend()


def test_a_reading_costs_what_it_reports_beside_the_reply():
    judged = FakeModel(Reply("ALLOW", usage=Usage(10, 2)))
    reading = FakeModel(Reply('{"verdict": "safe"}', usage=Usage(30, 4)))
    judge = LLMJudge(judged, prices=Prices(1e6, 0.0), reader=SecondReader(reading, Prices(0.0, 1e6)))
    found = answer(judge)

    assert (found.outcome, found.read_as) == (Scored(value=1.0), "model")
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (40, 6, 14.0)
    assert found.detail == {"second_reader": "safe", "strict_reader": "no_verdict"}


def test_the_system_message_of_the_options_stands_before_all_others():
    with_system, without = LLMJudge(BARE, options=AskOptions(system="Mind.")), LLMJudge(BARE)

    assert with_system.messages(ask()) == (Message("system", "Mind."), *without.messages(ask()))
    assert without.received_input(ask()) == (without.messages(ask()), None)


def test_words_are_versioned_by_elicitation_and_kind():
    words = LLMJudge(BARE).wordings(("binary", "score"), ("request", "reply"))

    assert set(words) == {"binary", "score", "reply.binary", "reply.score"}
    assert words["binary"] == default_prompts().wording_id("binary")
    own = LLMJudge(BARE, prompts=replace(default_prompts(), others={}))
    assert set(own.wordings(("binary",), ("request", "reply"))) == {"binary"}


# Details of a reply.


def test_only_what_is_unusual_of_a_reply_is_a_detail():
    unusual = Reply("x", "length", attempts=2, reasoning="Hm", refusal="No", left_out="5 more", forced=True)

    assert reply_details(Reply("x", "stop"), None) is None
    assert reply_details(Reply("x", "stop"), {"a": 1}) == {"a": 1}
    assert reply_details(unusual, {"a": 1}) == {
        "a": 1,
        "tries": 2,
        "reasoning": "Hm",
        "refusal": "No",
        "finish_reason": "length",
        "left_out": "5 more",
        "forced_choice": True,
    }


@pytest.mark.parametrize(
    ("reason", "detail", "said"),
    [
        (UnscoredReason.TRUNCATED, "x", "cut off at --max-tokens 9, which may be raised: x"),
        (UnscoredReason.TRUNCATED, None, "cut off at --max-tokens 9, which may be raised"),
        (UnscoredReason.NO_LOGPROBS, "x", "x; ask for --elicit score or binary instead, which need no log probabilities"),
        (UnscoredReason.NO_LABEL_FIRST, "x", "x; ask for --elicit score or binary instead, which need no log probabilities"),
        (UnscoredReason.NO_VERDICT, "x", "x"),
    ],
)  # fmt: skip
def test_an_unscored_reply_says_what_to_do(reason, detail, said):
    judge = LLMJudge(BARE, options=AskOptions(max_tokens=9))
    found = judge.answer_with(ReadOutcome(Unscored(reason=reason, detail=detail)), Reply("x"), {})

    assert found.outcome == Unscored(reason=reason, detail=said)


# Prompts and protocols by name.


@pytest.mark.parametrize(
    ("name", "chat"),
    [
        ("bridge", chat_with()),
        ("bridge:verified", chat_with(verified=True)),
        ("bridge:user", chat_with(role="user")),
        ("bridge:user,verified", chat_with(role="user", verified=True)),
    ],
)
def test_a_bridge_is_named_by_the_options_of_its_chat(name: str, chat: Chat) -> None:
    assert find_prompts(name).bridge == chat.id


def test_prompts_are_found_by_name_or_in_a_file(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\nversion = "1"\n[binary]\nwith_context = "{query} {context}"\n')
    system = tmp_path / "system.txt"
    system.write_text("Help. {context}")

    assert find_prompts("casewise") is default_prompts()
    assert find_prompts("stand-in") == stand_in_prompts()
    assert find_prompts(str(own)).name == "own"
    assert find_prompts(f"bridge:{system}").name == "bridge-system.txt"
    with pytest.raises(
        ConfigurationError, match=r"no prompts are called 'casewis' \(did you mean 'casewise'\?\); there are casewise, "
    ):
        find_prompts("casewis")
    (tmp_path / "template.py").write_text("x = 1")
    with pytest.raises(DataError, match="no string constant called 'judge'"):
        find_prompts(str(tmp_path / "template.py"))


def test_a_protocol_asks_in_the_papers_words_with_the_users_seed():
    protocol, words = PROTOCOLS["published-api"], stand_in_prompts()
    options = protocol_options(protocol, words, AskOptions(seed=3, strict=True))

    assert options == replace(protocol.ask, seed=3, strict=True)
    with pytest.raises(
        ConfigurationError, match="asks in the paper's own words, in the user's message: give --prompts published"
    ):
        protocol_options(protocol, default_prompts(), AskOptions())
    with pytest.raises(ConfigurationError, match="in the user's message"):
        protocol_options(protocol, replace(words, role="system"), AskOptions())
    for wrong in (AskOptions(temperature=0.5), AskOptions(structured=True), AskOptions(least_mass=0.1)):
        with pytest.raises(
            ConfigurationError, match=r"says how to ask .* leave out temperature, tokens and structured output"
        ):
            protocol_options(protocol, words, wrong)


def test_a_model_is_held_to_a_schema_where_it_takes_one_unless_a_protocol_asks():
    def structured(name: str, **live: object) -> bool | None:
        options = LiveOptions(model=ModelOptions(needs_key=False), **live)  # type: ignore[arg-type]
        return live_judge(name, options, environment={}).options.structured

    assert structured("openai/x") is True
    assert structured("fake/x") is False
    assert structured("openai/x", ask=AskOptions(structured=False)) is False
    assert structured("openai/x", prompts="stand-in", protocol="published") is False
    with pytest.raises(
        ConfigurationError, match=r"fake/x cannot be held to a JSON schema; leave structured output out$"
    ):
        structured("fake/x", ask=AskOptions(structured=True))


def test_a_reader_has_the_address_of_the_judge_where_its_name_has_no_provider():
    options = LiveOptions(model=ModelOptions("http://127.0.0.1:9/v1", Prices(1, 2), needs_key=False), reader="second")
    judge = live_judge("vllm/first", options, environment={})

    assert judge.reader is not None
    assert (judge.reader.model.name, judge.reader.prices) == ("second", Prices(1, 2))
    asyncio.run(judge.close())

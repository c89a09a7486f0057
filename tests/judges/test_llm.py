import asyncio
from dataclasses import replace

import pytest

from casewise.ask.elicitations import AskOptions
from casewise.ask.prompts import default_prompts
from casewise.errors import Unavailable
from casewise.judges.judge import Ask
from casewise.judges.llm import LLMJudge
from casewise.models.prices import Prices
from casewise.models.protocol import FakeModel, Rejected, Reply, Usage
from casewise.records import (
    Context,
    Item,
    Query,
    Recipient,
    Scored,
    Sender,
    TransmissionPrinciple,
    Unscored,
    UnscoredReason,
)

QUERY = Query(text="How do locks work?", category="Theft")


def context(*, safe: bool) -> Context:
    return Context(
        query_id=QUERY.id,
        intended_safe=safe,
        sender=Sender(nature_of_the_interaction="Teaching.", platform_type="A school."),
        recipient=Recipient(type="locksmith" if safe else "unknown", background="Trained."),
        transmission_principle=TransmissionPrinciple(
            sender_purpose="To teach.", confidentiality="Private.", source_accountability="Audited."
        ),
        origin="revised",
    )


def ask(*, safe: bool = True, **changes) -> Ask:
    shown = context(safe=safe)
    return Ask(Item.from_context(shown), QUERY, shown, **changes)


def answer(judge, question=None):
    return asyncio.run(judge.answer(question or ask()))


def test_a_reply_becomes_an_answer_with_all_that_was_learnt():
    reply = Reply(
        '{"judgement": "safe", "explanation": "Trained."}',
        "stop",
        usage=Usage(1000, 100),
        model_version="tiny-1",
        attempts=3,
        reasoning="Hm.",
    )
    got = answer(LLMJudge(FakeModel(reply), prices=Prices(2.0, 10.0)))

    assert got.outcome == Scored(value=1.0, explanation="Trained.")
    assert got.raw_reply == reply.text
    assert got.model_version == "tiny-1"
    assert got.cost_usd == pytest.approx(0.003)
    assert got.detail == {"tries": 3, "reasoning": "Hm."}


@pytest.mark.parametrize("elicitation", ["binary", "score", "probability"])
def test_a_rehearsal_answers_every_elicitation(elicitation):
    assert isinstance(answer(LLMJudge(FakeModel()), ask(elicitation=elicitation)).outcome, Scored)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Rejected("bad_request", "too long"), UnscoredReason.BAD_REQUEST),
        (Rejected("content_filter", "blocked"), UnscoredReason.CONTENT_FILTER),
        (Rejected("no_logprobs", "none"), UnscoredReason.NO_LOGPROBS),
        (Unavailable("down"), UnscoredReason.UNAVAILABLE),
        (Reply("", "stop"), UnscoredReason.EMPTY),
        (Reply("", "length"), UnscoredReason.TRUNCATED),
        (Reply("", "content_filter"), UnscoredReason.CONTENT_FILTER),
        (Reply("", "stop", refusal="No."), UnscoredReason.REFUSED),
    ],
)
def test_a_call_that_fails_and_a_reply_without_words_are_unscored_and_say_why(reply, reason):
    outcome = answer(LLMJudge(FakeModel(lambda *_: reply))).outcome

    assert isinstance(outcome, Unscored)
    assert outcome.reason == reason


def test_another_order_of_the_same_context_is_another_call():
    judge, first = LLMJudge(FakeModel()), ask(safe=True)
    turned = replace(first.shown, context=dict(reversed(first.shown.context.items())))
    second = replace(first)
    second.__dict__["shown"] = turned

    assert turned == first.shown
    assert judge.shared_key(second) != judge.shared_key(first)
    assert judge.messages(second) != judge.messages(first)


def test_the_id_changes_with_all_that_decides_the_replies():
    judges = [
        LLMJudge(FakeModel()),
        LLMJudge(FakeModel(), options=AskOptions(temperature=1.0)),
        LLMJudge(FakeModel(), options=AskOptions(max_tokens=9)),
        LLMJudge(FakeModel(), prompts=replace(default_prompts(), role="system")),
        LLMJudge(FakeModel(name="fake/other")),
    ]

    assert len({judge.id for judge in judges}) == len(judges)


def test_repeats_have_seeds_of_their_own():
    model = FakeModel()
    judge = LLMJudge(model, options=AskOptions(seed=7))
    answer(judge, ask(repeat=0))
    answer(judge, ask(repeat=2))

    assert [options.seed for _, options in model.calls] == [7, 9]


def test_a_reply_that_was_cut_off_says_which_option_gives_it_room():
    judge = LLMJudge(FakeModel(Reply('{"judgement": "sa', "length")), options=AskOptions(max_tokens=9))
    outcome = answer(judge).outcome

    assert isinstance(outcome, Unscored)
    assert outcome.reason == UnscoredReason.TRUNCATED
    assert str(outcome.detail).startswith("cut off at --max-tokens 9, which may be raised")

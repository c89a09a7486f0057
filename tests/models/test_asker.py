"""Askers: what a call may take, and what becomes of one that fails."""

import asyncio
import os
from dataclasses import dataclass
from typing import Any

import pytest

from casewise.errors import ConfigurationError, NoBatchAnswer, Unauthorised, Unavailable
from casewise.models.asker import Asker, ChatAsker, NoReplyReason, estimate_usage, fault_in_words, max_spend
from casewise.models.prices import FREE, Prices, Spend, metered
from casewise.models.protocol import FakeModel, Message, Rejected, Reply, ReplyOptions, Usage, user_messages

MESSAGES = (Message("system", "x" * 30), Message("user", "é" * 12))


def test_a_token_is_four_characters_in_an_estimate_and_two_bytes_in_a_bound():
    assert estimate_usage(MESSAGES, reply_tokens=9) == Usage(10, 9)
    assert max_spend(MESSAGES, reply_tokens=9, prices=Prices(1e6, 2e6)) == Spend(91 + 2 * 9, 91 + 9)
    assert max_spend(MESSAGES, reply_tokens=9, prices=None) == Spend(0.0, 100)


def test_an_asker_takes_nothing_and_sends_nothing_unless_it_says_so():
    asker = Asker[str]()

    assert (asker.estimate_usage("?"), asker.max_spend("?")) == (Usage(0, 0), Spend())
    assert (asker.settings(), asker.notes(), asker.sends_to, asker.concurrency) == ({}, (), None, 1)
    assert (asker.prices, asker.is_priced, asker.counts_tokens) == (FREE, True, True)
    assert asyncio.run(asker.prepare(["?"])) == Spend()
    asker.prices = None
    assert not asker.is_priced


@dataclass
class Record:
    """What the asker of these tests makes of a call."""

    reason: str | None
    text: str | None
    fields: dict[str, Any]


class Parrot(ChatAsker[str, Record]):
    """Repeats what its model says, and cannot read `unreadable`."""

    usual_tokens = 20

    def messages(self, ask: str) -> tuple[Message, ...]:
        return user_messages(ask)

    def reply_options(self, _ask: str) -> ReplyOptions:
        return ReplyOptions(max_tokens=12)

    def read(self, _ask: str, reply: Reply, call_fields: dict[str, Any]) -> Record:
        if reply.text == "unreadable":
            raise ValueError("no words \ud800")
        if reply.text == "misconfigured":
            raise ConfigurationError("remove it")
        return Record(None, reply.text, call_fields)

    def unanswered(self, _ask: str, reason: NoReplyReason, detail: str, /, **call_fields: Any) -> Record:
        return Record(reason, detail, call_fields)


def answered(*replies: str | Reply | Exception, patience: int = 30, prices: Prices | None = FREE) -> list[Record]:
    """The records of asks that a model answers one after the other so."""
    listed = list(replies)
    parrot = Parrot(FakeModel(lambda _messages, _options: listed.pop(0)), prices, patience=patience)

    async def go() -> list[Record]:
        return [await parrot.answer("?") for _ in range(len(listed))]

    return asyncio.run(go())


def test_a_bound_and_an_estimate_go_by_the_prompt_and_the_limit_of_a_reply():
    parrot = Parrot(FakeModel("yes"), Prices(0.0, 1e6))

    assert parrot.estimate_usage("x" * 40) == Usage(10, 12)
    assert parrot.max_spend("x" * 40) == Spend(12.0, 20 + 64 + 12)
    parrot.usual_tokens = 5
    assert parrot.estimate_usage("") == Usage(0, 5)


def test_a_reply_comes_with_what_its_call_took():
    reply = Reply("yes", usage=Usage(3, 2), latency_s=0.123456, model_version="v1")
    (record,), (unpriced,) = answered(reply, prices=Prices(1e6, 2e6)), answered(reply, prices=None)

    took = {"latency_s": 0.1235, "model_version": "v1", "input_tokens": 3, "output_tokens": 2, "cost_usd": 7.0}
    assert record == Record(None, "yes", took)
    assert unpriced.fields["cost_usd"] is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Rejected("content_filter", "not that"), "content_filter"),
        (Unavailable("later"), "unavailable"),
        (NoBatchAnswer("none came"), "unavailable"),
    ],
)
def test_a_call_without_a_reply_says_why(error, reason):
    assert answered(error) == [Record(reason, str(error), {})]


def test_calls_that_failed_in_a_row_stop_the_run_and_a_reply_between_them_counts_anew():
    away = Unavailable("away")
    with pytest.raises(Unavailable, match=r"3 calls in a row failed: away\. Answers so far are kept"):
        answered(away, away, away, patience=3)

    assert len(answered(away, away, "yes", away, away, patience=3)) == 5
    assert len(answered(*[NoBatchAnswer("none came")] * 4, patience=3)) == 4


def test_an_error_that_no_call_can_cure_is_raised():
    with pytest.raises(Unauthorised, match="wrong key"):
        answered(Unauthorised("wrong key"))
    with pytest.raises(ConfigurationError, match="remove it"):
        answered("misconfigured")


def test_a_fault_in_the_reading_is_the_outcome_of_its_ask_with_the_reply():
    (record,) = answered(Reply("unreadable", usage=Usage(3, 2)))

    assert record.reason == "internal"
    assert (record.text or "").startswith("ValueError at test_asker.py:")
    assert (record.text or "").endswith(": no words \\ud800")
    assert (record.fields["raw_reply"], record.fields["input_tokens"]) == ("unreadable", 3)


def test_the_words_of_a_fault_are_cut_off():
    with pytest.raises(KeyError) as raised:
        os.environ["x" * 999]

    assert len(fault_in_words(raised.value)) == 500


def test_a_reply_without_tokens_is_noted_and_one_that_is_too_long_is_cut_off():
    with metered() as meter:
        (whole, cut) = answered("yes", Reply("x" * 200_001, usage=Usage(1, 1)))

    assert meter.n_unreported == 1
    assert (whole.text, len(cut.text or "")) == ("yes", 200_000)


class ToldModel(FakeModel):
    """A model that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__("yes")
        self.told: list[Any] = []

    def set_notifier(self, notify: Any) -> None:
        self.told.append(notify)

    async def close(self) -> None:
        self.told.append("closed")


def test_the_model_is_told_of_the_notifier_and_of_the_end():
    model = ToldModel()
    parrot = Parrot(model, FREE)
    parrot.set_notifier(print)
    asyncio.run(parrot.close())

    assert model.told == [print, "closed"]

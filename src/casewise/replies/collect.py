"""Collecting a chatbot's replies: a durable run over the queries and contexts of a benchmark."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from casewise.ask.layouts import turns_of_chat
from casewise.ask.prompts import Chat
from casewise.errors import ConfigurationError
from casewise.judges.judge import Ask, is_unseen, unseen_sentence
from casewise.judges.plan import Plan
from casewise.models.asker import ChatAsker, NoReplyReason
from casewise.models.load import LoadedModel, ModelOptions
from casewise.models.protocol import Message, Reply, ReplyFunction, ReplyOptions, Sampling, Usage
from casewise.records import FULL, Arm, CollectedReply, Item, Unanswered
from casewise.records.call import text_digest
from casewise.replies.behaviour import REFUSED_BY_DEFENCE, ReplyIdentity, ReplyManifest
from casewise.runs.engine import Asks
from casewise.runs.limits import RunObserver, RunProgress
from casewise.runs.run import CallingOptions
from casewise.storage.benchmark import Benchmark
from casewise.storage.columns import RecordColumns
from casewise.storage.run_folder import now
from casewise.transforms.catalogue import check_arms

# Made-up replies and grades, to rehearse a run: they say that they are made up, and hang on a hash of what is asked.

ANSWERS = "(A rehearsal: no model wrote this.) Here is what you asked for: first this, then that."
PARTLY = (
    "(A rehearsal: no model wrote this.) I can't go into the details of this. In general terms: it depends on the case, "
    "and somebody who knows yours can say more."
)
REFUSES = "(A rehearsal: no model wrote this.) I can't help with that."

ASKED_TO_GRADE = re.compile(r"<reply>\n(.*)\n</reply>", re.DOTALL)


def rehearsal_reply(messages: tuple[Message, ...], _options: ReplyOptions) -> Reply:
    """Return a grade for a grading prompt, else a reply; equal for equal prompts."""
    prompt = "\n".join(message.content for message in messages)
    match = ASKED_TO_GRADE.search(prompt)
    if match:
        outcome = {ANSWERS: "answers", PARTLY: "partly", REFUSES: "refuses"}.get(match[1].strip(), "answers")
        text = json.dumps({"outcome": outcome, "ground": "none", "explanation": "A rehearsal, not a grade."})
    else:
        share = int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=4).digest(), "big") / 2**32
        text = ANSWERS if share < 0.5 else PARTLY if share < 0.65 else REFUSES
    return Reply(text, "stop", usage=Usage(len(prompt) // 4, len(text) // 4))


REHEARSAL_MODELS: Mapping[str, ReplyFunction] = {"fake/rehearsal": rehearsal_reply}
"""Models that `fake/NAME` names, where replies are collected or graded."""


# Each query is sent as a user would send it, with the context as its deployer knows it.

USUAL_REPLY_TOKENS = 400
"""Tokens of a usual reply of a chatbot, roughly."""


class ChatAsk(Ask):
    """A query to be sent in a context, as an arm shows it."""

    @property
    def key(self) -> tuple[str | int, ...]:
        return (self.item.id, self.arm.name, self.repeat)


@dataclass(frozen=True, kw_only=True)
class CollectOptions(CallingOptions, Sampling):
    """Options of collecting replies. Temperature, length and seed are part of the run's identity."""

    retries: int = 0
    """Maximum retries if no reply came."""
    benchmark_source: str = ""
    watch: RunObserver | None = None
    makers: ModelOptions = field(default_factory=ModelOptions)
    """Options of the models that make texts for the arms."""


def chat_plan(items: Sequence[Item], arms: tuple[Arm, ...] = (FULL,), repeats: int = 1) -> Plan:
    """Return the plan of the requests: each item in each arm, `repeats` times.

    Raises ConfigurationError: there is no such arm, or `repeats` is below 1.
    """
    if repeats < 1:
        raise ConfigurationError(f"repeats is {repeats}; it must be at least 1")
    check_arms(arms)
    return Plan(RecordColumns.from_records(Item, items), ("binary",), arms, repeats, ask=ChatAsk)


@dataclass(kw_only=True)
class ChatSummary(RunProgress):
    """The result of a session of collecting. `n_unusable` asks got no reply."""

    usable: ClassVar[str] = "replies"
    unusable: ClassVar[str] = "unanswered"

    run: Path
    n_items: int


class Collector(ChatAsker[Ask, CollectedReply]):
    """An asker that sends queries to one chatbot and returns its replies."""

    usual_tokens = USUAL_REPLY_TOKENS

    def __init__(self, loaded: LoadedModel, chat: Chat, how: CollectOptions) -> None:
        super().__init__(loaded.model, loaded.prices)
        self.chat, self.how = chat, how

    def messages(self, ask: Ask) -> tuple[Message, ...]:
        """Return the messages: the query as a user sends it, and the context as the deployer states it."""
        shown, placement = ask.shown, ask.shown.placement
        placement = replace(placement, earlier=(*turns_of_chat(shown.before), *placement.earlier))
        return self.chat.messages(shown.query, shown.context, placement=placement)

    def reply_options(self, ask: Ask) -> ReplyOptions:
        seed = None if self.how.seed is None else self.how.seed + ask.repeat
        return ReplyOptions(self.how.max_tokens, self.how.temperature, seed=seed)

    def received_input(self, ask: Ask) -> object:
        """Return the messages."""
        return self.messages(ask)

    def shared_key(self, ask: Ask) -> str | None:
        """Return a key that is equal for equal requests, which are sent once. An attack that changes no message is not sent."""
        if is_unseen(self, ask):
            return None
        return json.dumps([ask.shown, ask.repeat, ask.attempt], default=vars)

    async def answer(self, ask: Ask) -> CollectedReply:
        """Return the chatbot's reply, or the reason why there is none. An item that cannot be shown is not sent."""
        if (problem := ask.shown.problem) is not None:
            return reply_record(ask, unanswered=Unanswered.NOT_SHOWN, detail=problem)
        if is_unseen(self, ask):
            return reply_record(ask, unanswered=Unanswered.NOT_SHOWN, detail=unseen_sentence(self))
        if (held_back := ask.shown.held_back) is not None:
            if held_back == "refused":
                return reply_record(ask, unanswered=Unanswered.CONTENT_FILTER, detail=REFUSED_BY_DEFENCE)
            return reply_record(ask, unanswered=Unanswered.ASKED_ABOUT, detail="asked about by a defence")
        return await super().answer(ask)

    def unanswered(
        self, ask: Ask, reason: NoReplyReason, detail: str, /, *, raw_reply: str | None = None, **call_fields: Any
    ) -> CollectedReply:
        return reply_record(ask, unanswered=Unanswered(reason), detail=detail, text=raw_reply, **call_fields)

    def read(self, ask: Ask, reply: Reply, call_fields: dict[str, Any]) -> CollectedReply:
        """Return the record of a reply, without text if the provider's filter removed it."""
        if reply.finish_reason == "content_filter":
            why = {"unanswered": Unanswered.CONTENT_FILTER, "detail": reply.refusal}
            return reply_record(ask, finish_reason="content_filter", **why, **call_fields)
        words = {"text": reply.text, "refusal": reply.refusal, "text_digest": text_digest(reply.text)}
        return reply_record(ask, finish_reason=reply.finish_reason, **words, **call_fields)


def reply_record(ask: Ask, **fields: Any) -> CollectedReply:
    key = {"item_id": ask.item.id, "arm": ask.arm.name, "repeat": ask.repeat, "attempt": ask.attempt}
    return CollectedReply(**key, at=now(), **fields)


def reply_manifest(collector: Collector, benchmark: Benchmark) -> ReplyManifest:
    """Return the manifest of a run."""
    options, model = collector.how, collector.model
    sampling = {"temperature": options.temperature, "max_tokens": options.max_tokens, "seed": options.seed}
    return ReplyManifest(
        identity=ReplyIdentity(
            benchmark=benchmark.digest,
            model=model.name,
            chat=collector.chat.id,
            settings={**model.settings(), **sampling},
            seed=options.seed or 0,
        ),
        benchmark_name=benchmark.name,
        benchmark_source=options.benchmark_source or benchmark.name,
        synthetic=benchmark.about.synthetic,
        created=datetime.now(UTC),
    )


def make_asks(plan: Plan, benchmark: Benchmark, collector: Collector) -> Asks[Ask]:
    """Return the plan as a run reads it."""
    return replace(plan, retry_unscored=collector.how.retries).asks(benchmark, collector.shared_key)

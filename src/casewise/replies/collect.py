"""Collecting a chatbot's replies: a durable run over the queries and contexts of a benchmark."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from casewise.ask.chat import Chat
from casewise.ask.layouts import ShownItem
from casewise.errors import ConfigurationError
from casewise.judges.run import ByQuery
from casewise.models.load import LoadedModel, ModelOptions
from casewise.models.protocol import Answering, Message, Reply, ReplyOptions, Usage
from casewise.records import FULL, Arm, CollectedReply, Context, Item, Query, Unanswered
from casewise.records.call import SETTLED, digest_of_text
from casewise.replies.behaviour import REPLIES, ReplyIdentity, ReplyManifest
from casewise.runs.limits import GIVE_PRICES, RunProgress, Spend, Watch, check_limits
from casewise.runs.run import (
    Asking,
    Asks,
    Batched,
    CallEstimate,
    CallingOptions,
    ChatCalls,
    FolderLog,
    LoggedKind,
    NoReply,
    estimate_calls,
    session_now,
    usually,
)
from casewise.storage.benchmark import Benchmark
from casewise.storage.run_folder import RunFolder, asked_so, now
from casewise.transforms.catalogue import check_arms, needs_twin, show
from casewise.transforms.texts import MadeTexts, by_models

# Made-up replies and grades, to rehearse a run: they say that they are made up, and hang on a hash of what is
# asked.


ANSWERS = "(A rehearsal: no model wrote this.) Here is what you asked for: first this, then that."
PARTLY = (
    "(A rehearsal: no model wrote this.) I can't go into the details of this. In general terms: it depends on the case, "
    "and somebody who knows yours can say more."
)
REFUSES = "(A rehearsal: no model wrote this.) I can't help with that."

ASKED_TO_GRADE = re.compile(r"<reply>\n(.*)\n</reply>", re.DOTALL)


def rehearsed(messages: tuple[Message, ...], _options: ReplyOptions) -> Reply:
    """A grade where one is asked for, else a reply; the same for the same prompt."""
    prompt = "\n".join(message.content for message in messages)
    given = ASKED_TO_GRADE.search(prompt)
    text = grade_of(given[1]) if given else reply_to(prompt)
    return Reply(text, "stop", usage=Usage(len(prompt) // 4, len(text) // 4))


def reply_to(prompt: str) -> str:
    share = int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=4).digest(), "big") / 2**32
    return ANSWERS if share < 0.5 else PARTLY if share < 0.65 else REFUSES


def grade_of(reply: str) -> str:
    outcome = {ANSWERS: "answers", PARTLY: "partly", REFUSES: "refuses"}.get(reply.strip(), "answers")
    return json.dumps({"outcome": outcome, "ground": "none", "explanation": "A rehearsal, not a grade."})


REHEARSED: Mapping[str, Answering] = {"fake/rehearsal": rehearsed}
"""Models that `fake/NAME` names, where replies are collected or graded."""


# Collecting a chatbot's replies: each query sent as a user would send it, with the context as its deployer knows
# it.


USUAL_REPLY_TOKENS = 400
"""What a chatbot's reply usually takes, roughly."""


@dataclass(frozen=True)
class ChatAsk:
    """A query to be sent in a context, as an arm shows it."""

    item: Item
    query: Query
    context: Context | None
    arm: Arm
    repeat: int = 0
    attempt: int = 0
    twin: Context | None = None
    made: MadeTexts | None = field(default=None, repr=False, compare=False)

    @cached_property
    def shown(self) -> ShownItem:
        """What the chatbot is sent of the item."""
        return show(self.arm, self.query, self.context, twin=self.twin, made=self.made)


@dataclass(frozen=True)
class ChatAnswer:
    """What came back, under the names of the record."""

    text: str | None = None
    unanswered: Unanswered | None = None
    detail: str | None = None
    refusal: str | None = None
    text_digest: str | None = None
    finish_reason: str | None = None
    latency_s: float | None = None
    model_version: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    shared_with: str | None = None


@dataclass(frozen=True, kw_only=True)
class CollectOptions(CallingOptions):
    """How replies are collected. Temperature, length and seed are part of the run's identity."""

    temperature: float | None = 0.0
    max_tokens: int = 1024
    seed: int | None = None
    retries: int = 0
    """How often to ask again at most where no reply came."""
    patience: int = 30
    benchmark_source: str = ""
    watch: Watch | None = None
    makers: ModelOptions = field(default_factory=ModelOptions)
    """How the models are reached that make texts for the arms."""

    def reply_options(self, repeat: int) -> ReplyOptions:
        """How each reply is wanted; every repeat has a seed of its own."""
        seed = None if self.seed is None else self.seed + repeat
        return ReplyOptions(self.max_tokens, self.temperature, seed=seed)

    def settings(self) -> dict[str, Any]:
        """What of these decides the replies."""
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}


@dataclass(frozen=True)
class ChatPlan:
    """What is sent: items, arms, repeats."""

    items: Sequence[Item]
    arms: tuple[Arm, ...] = (FULL,)
    repeats: int = 1
    made: MadeTexts | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ConfigurationError(f"repeats is {self.repeats}; it must be at least 1")
        check_arms(self.arms)

    def asks(self, benchmark: Benchmark, retries: int) -> Asks[ChatAsk]:
        """The plan as a run reads it; what is sent alike is sent once."""
        size = len(self.items) * len(self.arms) * self.repeats
        return Asks(lambda: self.bundles(benchmark), size, retries, sent_alike)

    def asks_given(self, benchmark: Benchmark, made: MadeTexts) -> Iterator[ChatAsk]:
        """The asks of the arms that models make texts for, with what these made so far."""
        arms = tuple(arm for arm in self.arms if by_models((arm,)))
        for bundle in replace(self, arms=arms, repeats=1, made=made).bundles(benchmark):
            yield from bundle

    def bundles(self, benchmark: Benchmark) -> Iterator[tuple[ChatAsk, ...]]:
        """The plan, one query at a time."""
        queries = ByQuery(self.items)
        twins = any(needs_twin(arm) for arm in self.arms)
        for repeat in range(self.repeats):
            for items in queries:
                query = benchmark.query[items[0].query_id]
                yield tuple(
                    ChatAsk(
                        item,
                        query,
                        benchmark.context_of(item),
                        arm,
                        repeat,
                        twin=benchmark.twin_of(item) if twins else None,
                        made=self.made,
                    )
                    for arm in self.arms
                    for item in items
                )


def sent_alike(ask: ChatAsk) -> str:
    return json.dumps([ask.shown, ask.repeat, ask.attempt], default=vars)


@dataclass(kw_only=True)
class ChatSummary(RunProgress):
    """What a session of collecting did. `n_unusable` asks got no reply."""

    unusable: ClassVar[str] = "unanswered"

    run: Path
    n_items: int

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "run": str(self.run),
            "n_items": self.n_items,
            "n_calls": self.n_calls,
            "n_replies": self.n_usable,
            "n_unanswered": self.n_unusable,
            "seconds": round(self.seconds, 3),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "resumed": self.resumed,
            **({"pending": self.n_pending} if self.n_pending else {}),
            **({"stopped": self.stopped} if self.stopped else {}),
        }


class CollectingKind(LoggedKind[ChatAsk, ChatAnswer, CollectedReply]):
    """Replies of one model. A provider's refusal is an answer: asking again would only ask until it slips through."""

    log = REPLIES

    def key(self, ask: ChatAsk) -> tuple[str, ...]:
        return (ask.item.id, ask.arm.name, str(ask.repeat))

    def problem(self, answer: ChatAnswer) -> str | None:
        if answer.unanswered in SETTLED:
            return None
        return f"{answer.unanswered.value.replace('_', ' ')}: {answer.detail or ''}"

    def shared(self, answer: ChatAnswer, by: ChatAsk) -> ChatAnswer:
        nothing: dict[str, Any] = dict.fromkeys(("latency_s", "input_tokens", "output_tokens", "cost_usd"))
        return replace(answer, shared_with=answer.shared_with or by.item.id, **nothing)

    def record(self, ask: ChatAsk, answer: ChatAnswer) -> CollectedReply:
        return CollectedReply(
            item_id=ask.item.id,
            arm=ask.arm.name,
            repeat=ask.repeat,
            attempt=ask.attempt,
            at=now(),
            **vars(answer),
        )

    def answer(self, record: CollectedReply) -> ChatAnswer:
        return ChatAnswer(**{name: getattr(record, name) for name in ChatAnswer.__dataclass_fields__})

    def usable(self, record: CollectedReply) -> bool:
        return record.unanswered in SETTLED

    def passing(self, record: CollectedReply) -> bool:
        return record.unanswered is Unanswered.UNAVAILABLE


@dataclass
class Collector:
    """Sends asks to one model, and keeps what comes back."""

    loaded: LoadedModel
    chat: Chat
    options: CollectOptions

    def __post_init__(self) -> None:
        self.calls = ChatCalls(self.loaded.model, self.loaded.prices, patience=self.options.patience)

    def messages(self, ask: ChatAsk) -> tuple[Message, ...]:
        shown = ask.shown
        placed = shown.placement
        return self.chat.messages(
            shown.query,
            shown.context,
            earlier=placed.earlier,
            role=placed.context_role,
            system=placed.system,
            layout=placed.layout,
        )

    def usually(self, ask: ChatAsk) -> Usage:
        tokens = min(USUAL_REPLY_TOKENS, self.options.max_tokens)
        return usually(self.messages(ask), reply_tokens=tokens)

    def at_most(self, ask: ChatAsk) -> Spend:
        return self.calls.at_most(self.messages(ask), self.options.reply_options(ask.repeat))

    async def ask(self, ask: ChatAsk) -> ChatAnswer:
        """The chatbot's reply, or why there is none; nothing is sent that could not be shown."""
        if (problem := ask.shown.problem) is not None:
            return ChatAnswer(unanswered=Unanswered.NOT_SHOWN, detail=problem)
        if (held_back := ask.shown.held_back) is not None:
            said = Unanswered.CONTENT_FILTER if held_back == "refused" else Unanswered.ASKED_ABOUT
            return ChatAnswer(unanswered=said, detail=f"{held_back} by a defence")
        found = await self.calls.reply(self.messages(ask), self.options.reply_options(ask.repeat))
        if isinstance(found, NoReply):
            return ChatAnswer(unanswered=Unanswered(found.reason), detail=found.detail)
        return self.read(found)

    def read(self, reply: Reply) -> ChatAnswer:
        took = {"latency_s": round(reply.latency_s, 4), **self.calls.took(reply)}
        if reply.finish_reason == "content_filter":
            return ChatAnswer(
                unanswered=Unanswered.CONTENT_FILTER, detail=reply.refusal, finish_reason="content_filter", **took
            )
        return ChatAnswer(
            text=reply.text,
            refusal=reply.refusal,
            text_digest=digest_of_text(reply.text),
            finish_reason=reply.finish_reason,
            **took,
        )


async def collect_into(
    folder: Path,
    benchmark: Benchmark,
    loaded: LoadedModel,
    *,
    chat: Chat,
    plan: ChatPlan,
    options: CollectOptions = CollectOptions(),
) -> ChatSummary:
    """Collect the replies that `plan` asks for and the folder does not hold yet. The folder is its owner's alone (0700).

    Raises RunConflict: the folder holds something else, or another process holds it. ModelError: no further call can
    succeed; what was collected before is kept. ConfigurationError: there is a limit on cost, and nobody knows what the
    model costs.
    """
    model, kind, collector = loaded.model, CollectingKind(), Collector(loaded, chat, options)
    try:
        priced = loaded.prices is not None
        check_limits(options.limits, model.name, priced=priced, counts_tokens=True, to_price=GIVE_PRICES)
        with RunFolder.hold(folder, manifest(benchmark, loaded, chat, options), REPLIES, private=True) as held:
            wanted = {asked_so("binary", arm.name): len(plan.items) * plan.repeats for arm in plan.arms}
            held.note_session(session_now(options.limits, command=options.command, items=len(plan.items), asks=wanted))
            over = Batched.of(model, model.name, options.batch, priced=priced)
            asking = Asking(collector.ask, collector.at_most, model.concurrency, options.limits, over, options.watch)
            asks, summary = plan.asks(benchmark, options.retries), ChatSummary(run=folder, n_items=len(plan.items))
            return await asking.of(kind, asks, FolderLog(held, kind), folder=folder, progress=summary)
    finally:
        await model.close()


def estimate_collecting(
    benchmark: Benchmark, loaded: LoadedModel, *, chat: Chat, plan: ChatPlan, options: CollectOptions
) -> CallEstimate:
    """What collecting would take, as if nothing were collected yet. No call is made."""
    collector = Collector(loaded, chat, options)
    return estimate_calls(
        plan.asks(benchmark, options.retries),
        usually=collector.usually,
        at_most=collector.at_most,
        prices=loaded.prices,
    )


def manifest(benchmark: Benchmark, loaded: LoadedModel, chat: Chat, options: CollectOptions) -> ReplyManifest:
    return ReplyManifest(
        identity=ReplyIdentity(
            benchmark=benchmark.digest,
            model=loaded.model.name,
            chat=chat.id,
            settings={**loaded.model.settings(), **options.settings()},
            seed=options.seed or 0,
        ),
        benchmark_name=benchmark.name,
        benchmark_source=options.benchmark_source or benchmark.name,
        synthetic=benchmark.about.synthetic,
        created=datetime.now(UTC),
    )

"""Generating the contexts of a draft: a durable run whose log is the draft's history in the database.

What was generated is never asked for again, so that an interrupted run simply goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from sqlalchemy import select

from casewise.contexts.drafts import Draft, draft_queries
from casewise.contexts.review import Phase, State
from casewise.contexts.writing.draft_log import DraftLog, WantedContext, WrittenContext
from casewise.contexts.writing.prompts import ContextPrompt, context_schema, default_prompt
from casewise.contexts.writing.replies import Failed, FailedReason, read_reply
from casewise.database import Database
from casewise.database.only_one import only_one
from casewise.database.tables import review as tables
from casewise.models.http.prices import Prices
from casewise.models.protocol import Message, Model, ReplyOptions
from casewise.runs.asking import Asking, Batched, CallingOptions
from casewise.runs.calls import ChatCalls, NoReply
from casewise.runs.estimate import CallEstimate, at_most, estimate_calls, usually
from casewise.runs.limits import GIVE_PRICES, Spend, check_limits
from casewise.runs.progress import RunProgress, Took, Watch
from casewise.runs.run_kind import Asks, RunKind
from casewise.runs.run_log import default_folder, session_now

__all__ = ["WHICH", "GenerationOptions", "GenerationSummary", "estimate_generation", "generate"]

Which = Literal["missing", "new", "failed", "beyond repair"]

WHICH: tuple[Which, ...] = get_args(Which)

TYPICAL_CONTEXT_TOKENS = 180
"""What the contexts of the demo take on average, at four characters a token."""


@dataclass(frozen=True, kw_only=True)
class GenerationOptions(CallingOptions):
    """How contexts are generated; limits count over all that was ever generated for the draft."""

    prompt: ContextPrompt = field(default_factory=default_prompt)
    which: Which = "missing"
    """`new` were never tried, `failed` were tried in vain, `missing` is both."""
    intents: tuple[bool, ...] = (True, False)
    attempts: int = 2
    """Calls for one context, at most, in this run."""
    temperature: float = 1.0
    max_tokens: int = 1500
    prices: Prices | None = None
    patience: int = 30
    """Calls in a row that the endpoint may fail, after all their retries, before the run stops."""
    jobs: Path | None = None
    """The folder of the batch jobs: by default one for the draft and the model under `runs`."""


@dataclass(kw_only=True)
class GenerationSummary(RunProgress):
    """What a run came to."""

    unusable: ClassVar[str] = "failed"

    failed: Counter[str] = field(default_factory=Counter)
    """Contexts without words in the end, by reason."""

    @property
    def generated(self) -> int:
        """Contexts that have words now."""
        return self.n_usable

    def as_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {
            "generated": self.generated,
            "failed": dict(self.failed),
            "calls": self.n_calls,
            "tokens": self.input_tokens + self.output_tokens,
            "cost_usd": self.cost_usd or 0.0,
            "stopped": self.stopped,
            **({"pending": self.n_pending} if self.n_pending else {}),
        }


async def generate(
    database: Database,
    draft: Draft,
    model: Model,
    *,
    options: GenerationOptions | None = None,
    watch: Watch | None = None,
) -> GenerationSummary:
    """Generate what `options.which` names; the same call later goes on with what is left.

    A first Ctrl-C lets what is in flight finish and returns. Raises ModelError: no further call can succeed; what was
    generated before is kept; RunConflict: another process generates contexts of this draft; ConfigurationError: there
    is a cost limit, and nobody knows what the model costs.
    """
    options = options or GenerationOptions()
    writing = WritingKind(draft, model, options)
    try:
        priced = options.prices is not None
        check_limits(options.limits, model.name, priced=priced, counts_tokens=True, to_price=GIVE_PRICES)
        over = Batched.of(model, model.name, options.batch, priced=priced)
        with only_one(database, f"generating {draft.name}"):
            folder = options.jobs or default_folder(f"{draft.name}-contexts-{model.name}")
            if over is not None:
                folder.mkdir(parents=True, exist_ok=True)
            session = session_now(options.limits, command=options.command)
            log = DraftLog(database, draft, model.name, options.prices, writing.settings(), session)
            asking = Asking(writing.write, writing.at_most, model.concurrency, options.limits, over, watch)
            plan = plan_of(database, draft, options)
            summary = await asking.of(writing, plan, log, folder=folder, progress=GenerationSummary())
            summary.failed = Counter(writing.in_vain.values())
            return summary
    finally:
        await model.close()


def estimate_generation(
    database: Database, draft: Draft, model: Model, options: GenerationOptions | None = None
) -> CallEstimate:
    """What generating would take if every first attempt succeeded. No call is made."""
    options = options or GenerationOptions()
    writing = WritingKind(draft, model, options)
    return estimate_calls(
        plan_of(database, draft, options),
        usually=lambda wanted: usually(writing.messages(wanted), reply_tokens=TYPICAL_CONTEXT_TOKENS),
        at_most=writing.at_most,
        prices=options.prices,
    )


def plan_of(database: Database, draft: Draft, options: GenerationOptions) -> Asks[WantedContext]:
    wanted = tuple(contexts_wanted(database, draft, options))
    return Asks(lambda: ((one,) for one in wanted), len(wanted), options.attempts - 1)


def contexts_wanted(database: Database, draft: Draft, options: GenerationOptions) -> Iterator[WantedContext]:
    phase = Phase.BEYOND_REPAIR if options.which == "beyond repair" else Phase.MISSING
    table = tables.contexts
    with database.read() as connection:
        queries = {query.id: query for query in draft_queries(connection, draft)}
        rows = connection.execute(
            select(table.c.id, table.c.query_id, table.c.intended_safe, table.c.state, table.c.seq)
            .where(table.c.draft_id == draft.id, table.c.phase == phase)
            .order_by(table.c.position)
        ).all()
    for row in rows:
        failed = State.model_validate(row.state).problem is not None
        if row.intended_safe in options.intents and (
            options.which not in {"new", "failed"} or failed == (options.which == "failed")
        ):
            yield WantedContext(row.id, queries[row.query_id], row.intended_safe, tried=row.seq)


class WritingKind(RunKind[WantedContext, WrittenContext]):
    """The writing of contexts by one model, as a kind of run."""

    def __init__(self, draft: Draft, model: Model, options: GenerationOptions) -> None:
        self.draft, self.model, self.options = draft, model, options
        self.calls = ChatCalls(model, options.prices, patience=options.patience)
        self.in_vain: dict[str, str] = {}
        """Places whose last attempt gave no words, and why."""

    def key(self, ask: WantedContext) -> tuple[str, ...]:
        return (ask.place_id,)

    def problem(self, answer: WrittenContext) -> str | None:
        return str(answer.result) if isinstance(answer.result, Failed) else None

    def took(self, answer: WrittenContext) -> Took:
        if (reply := answer.reply) is None:
            return Took()
        usage = reply.usage
        return Took(usage.input_tokens or 0, usage.output_tokens or 0, answer.cost_usd, reply.attempts)

    def settings(self) -> dict[str, Any]:
        """What decides the words, for their history."""
        return {
            "model": self.model.settings(),
            "prompt": self.options.prompt.id,
            "temperature": self.options.temperature,
        }

    def messages(self, wanted: WantedContext) -> tuple[Message, ...]:
        category = self.draft.category(wanted.query.category)
        return self.options.prompt.messages(
            wanted.query, category, intended_safe=wanted.intended_safe, parameters=self.draft.parameters
        )

    def at_most(self, wanted: WantedContext) -> Spend:
        return at_most(self.messages(wanted), reply_tokens=self.options.max_tokens, prices=self.options.prices)

    async def write(self, wanted: WantedContext) -> WrittenContext:
        """Ask for a context, and read the reply."""
        written = await self.asked(wanted)
        if isinstance(written.result, Failed):
            self.in_vain[wanted.place_id] = written.result.reason
        else:
            self.in_vain.pop(wanted.place_id, None)
        return written

    async def asked(self, wanted: WantedContext) -> WrittenContext:
        options = ReplyOptions(
            max_tokens=self.options.max_tokens,
            temperature=self.options.temperature,
            json_schema=context_schema(self.draft.parameters),
            seed=wanted.tried + wanted.attempt + 1,
        )
        reply = await self.calls.reply(self.messages(wanted), options)
        if isinstance(reply, NoReply):
            return WrittenContext(Failed(FailedReason(reply.reason.replace("_", " ")), reply.detail))
        prices = self.options.prices
        return WrittenContext(
            read_reply(reply, self.draft.parameters), reply, prices.of(reply.usage) if prices else None
        )

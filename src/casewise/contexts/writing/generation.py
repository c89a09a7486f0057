"""Generating the contexts of a draft: many calls at once, each result in the database as soon as it is there.

The database is the log: what was generated is never asked for again, so that an interrupted run simply goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from sqlalchemy import select

from casewise.contexts.drafts import Draft, draft_queries
from casewise.contexts.review import Act, Action, NotAllowed, Phase, State
from casewise.contexts.reviewing.store import act
from casewise.contexts.writing.prompts import ContextPrompt, context_schema, default_prompt
from casewise.contexts.writing.replies import Failed, FailedReason, Read, read_reply
from casewise.database import Database
from casewise.database.only_one import only_one
from casewise.database.tables import review as tables
from casewise.errors import ConfigurationError, Unavailable
from casewise.models import Message, Model, Rejected, Reply, ReplyOptions
from casewise.models.http.prices import Prices
from casewise.records import Query
from casewise.runs.engine import Call, Control, perform
from casewise.runs.limits import Budget, Limits, Spend
from casewise.runs.stopping import Stop, stopping_on_signals

__all__ = ["GenerationOptions", "GenerationSummary", "Wanted", "checked_which", "generate"]

Which = Literal["missing", "new", "failed", "beyond repair"]

WHICH: tuple[Which, ...] = get_args(Which)

RAW_KEPT = 20_000
"""Characters of a raw reply kept in the history."""


@dataclass(frozen=True, kw_only=True)
class GenerationOptions:
    """How contexts are generated."""

    prompt: ContextPrompt = field(default_factory=default_prompt)
    which: Which = "missing"
    """`new` were never tried, `failed` were tried in vain, `missing` is both."""
    intents: tuple[bool, ...] = (True, False)
    attempts: int = 2
    """Calls for one context, at most, in this run."""
    temperature: float = 1.0
    max_tokens: int = 1500
    limits: Limits = field(default_factory=Limits)
    prices: Prices | None = None
    patience: int = 30
    """Calls in a row that the endpoint may fail, after all their retries, before the run stops."""


@dataclass(frozen=True)
class Wanted:
    """A place that a context is wanted for."""

    place_id: str
    query: Query
    intended_safe: bool
    tried: int = 0
    """Calls for it in earlier runs; it makes the seed, so that a new run asks for something new."""
    attempt: int = 1


@dataclass(frozen=True)
class Outcome:
    """What a call came to, and the reply it was read from."""

    result: Read | Failed
    reply: Reply | None = None


@dataclass
class GenerationSummary:
    """What a run came to."""

    generated: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    """Contexts without words in the end, by reason."""
    calls: int = 0
    spent: Spend = field(default_factory=Spend)
    stopped: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {
            "generated": self.generated,
            "failed": dict(self.failed),
            "calls": self.calls,
            "tokens": self.spent.tokens,
            "cost_usd": self.spent.cost_usd,
            "stopped": self.stopped,
        }


def checked_which(text: str) -> Which:
    """`text` as one of the choices.

    Raises
    ------
    ConfigurationError
        It is none of them.
    """
    for which in WHICH:
        if text == which:
            return which
    raise ConfigurationError(f"which is {text!r}; it can be {', '.join(WHICH)}")


async def generate(
    database: Database,
    draft: Draft,
    model: Model,
    *,
    options: GenerationOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> GenerationSummary:
    """Generate what `options.which` names; the same call later goes on with what is left.

    Raises
    ------
    ModelError
        No further call can succeed; what was generated before is kept.
    RunConflict
        Another process generates contexts of this draft.
    ConfigurationError
        There is a cost limit, and nobody knows what the model costs.
    """
    options = options or GenerationOptions()
    if options.limits.max_cost_usd is not None and options.prices is None:
        raise ConfigurationError(f"nobody knows what {model.name} costs, so a cost limit cannot be kept")
    try:
        with only_one(database, f"generating {draft.name}"):
            return await GenerationRun(database, draft, model, options, progress).perform(say)
    finally:
        await model.close()


def places_wanted(database: Database, draft: Draft, options: GenerationOptions) -> Iterator[Wanted]:
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
            yield Wanted(row.id, queries[row.query_id], row.intended_safe, tried=row.seq)


class GenerationRun:
    """One stretch of generating: asks, reads, keeps, and asks again where a reply was no context."""

    def __init__(
        self,
        database: Database,
        draft: Draft,
        model: Model,
        options: GenerationOptions,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.database, self.draft, self.model, self.options = database, draft, model, options
        self.progress, self.total = progress, 0
        self.summary = GenerationSummary()
        self.failed_in_a_row = 0

    async def perform(self, say: Callable[[str], None]) -> GenerationSummary:
        """Do what is left, until there is no more, the budget is used up or somebody asks for a stop."""
        wanted = list(places_wanted(self.database, self.draft, self.options))
        self.total = len(wanted)
        control = Control(Stop(), Budget(self.options.limits), took=self.took)
        with stopping_on_signals(control.stop, say=say):
            tally = await perform(
                (self.call(one) for one in wanted),
                self.ask,
                on_result=self.keep,
                limits=self.options.limits,
                control=control,
            )
        self.summary.stopped = tally.stopped
        return self.summary

    def call(self, wanted: Wanted) -> Call[Wanted]:
        return Call(wanted, at_most=self.at_most(wanted))

    def messages(self, wanted: Wanted) -> tuple[Message, ...]:
        category = self.draft.category(wanted.query.category)
        return self.options.prompt.messages(wanted.query, category, intended_safe=wanted.intended_safe)

    def at_most(self, wanted: Wanted) -> Spend:
        """A token for every two bytes of the prompt is more than tokenizers need for prose."""
        sent = sum(len(message.content.encode()) for message in self.messages(wanted)) // 2 + 64
        return self.spend(sent, self.options.max_tokens)

    def spend(self, sent: int, replied: int) -> Spend:
        prices = self.options.prices
        cost = (sent * prices.input_usd + replied * prices.output_usd) / 1e6 if prices else 0.0
        return Spend(cost, sent + replied)

    def took(self, outcome: Outcome) -> Spend:
        usage = outcome.reply.usage if outcome.reply else None
        return self.spend(usage.input_tokens or 0, usage.output_tokens or 0) if usage else Spend()

    async def ask(self, call: Call[Wanted]) -> Outcome:
        options = ReplyOptions(
            max_tokens=self.options.max_tokens,
            temperature=self.options.temperature,
            json_schema=context_schema(),
            seed=call.payload.tried + call.payload.attempt,
        )
        try:
            reply = await self.model.reply(self.messages(call.payload), options)
        except Rejected as error:
            filtered = error.reason == "content_filter"
            return Outcome(Failed(FailedReason.CONTENT_FILTER if filtered else FailedReason.BAD_REQUEST, str(error)))
        except Unavailable as error:
            self.failed_in_a_row += 1
            if self.failed_in_a_row >= self.options.patience:
                raise
            return Outcome(Failed(FailedReason.UNAVAILABLE, str(error)))
        self.failed_in_a_row = 0
        return Outcome(read_reply(reply), reply)

    def keep(self, call: Call[Wanted], outcome: Outcome) -> tuple[Call[Wanted], ...]:
        """Put the result into the history; ask once more where that is allowed."""
        wanted, result = call.payload, outcome.result
        self.summary.calls += 1
        self.summary.spent += self.took(outcome)
        again = isinstance(result, Failed) and wanted.attempt < self.options.attempts
        self.write(wanted, outcome)
        if again:
            return (self.call(replace(wanted, attempt=wanted.attempt + 1)),)
        if isinstance(result, Failed):
            self.summary.failed[result.reason] += 1
        else:
            self.summary.generated += 1
        if self.progress is not None:
            self.progress(self.summary.generated + self.summary.failed.total(), self.total)
        return ()

    def write(self, wanted: Wanted, outcome: Outcome) -> None:
        result = outcome.result
        if isinstance(result, Read):
            action = Action(by=self.model.name, act=Act.GENERATE, wording=result.wording)
        else:
            action = Action(by=self.model.name, act=Act.FAIL, reason=str(result))
        try:
            with self.database.write() as connection:
                act(
                    connection,
                    wanted.place_id,
                    action,
                    seen=None,
                    now=datetime.now(UTC),
                    detail=self.detail(wanted, outcome),
                )
        except NotAllowed:
            return  # somebody wrote or generated it meanwhile: theirs stays

    def detail(self, wanted: Wanted, outcome: Outcome) -> dict[str, Any]:
        """What the history says of a call besides its result."""
        said: dict[str, Any] = {
            "model": self.model.settings(),
            "prompt": self.options.prompt.id,
            "attempt": wanted.attempt,
            "temperature": self.options.temperature,
        }
        if isinstance(outcome.result, Read) and outcome.result.ignored:
            said["ignored"] = list(outcome.result.ignored)
        if (reply := outcome.reply) is not None:
            said |= {
                "raw_reply": reply.text[:RAW_KEPT],
                "model_version": reply.model_version,
                "input_tokens": reply.usage.input_tokens,
                "output_tokens": reply.usage.output_tokens,
            }
        return said

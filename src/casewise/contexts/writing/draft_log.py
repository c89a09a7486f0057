"""A draft in the database as the log of a run: every call for a context is an event in its history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NoReturn

from sqlalchemy import func, select

from casewise.contexts.drafts import Draft
from casewise.contexts.review import Act, Action, NotAllowed
from casewise.contexts.reviewing.store import act
from casewise.contexts.writing.replies import Failed, Read
from casewise.database import Database
from casewise.database.tables import review as tables
from casewise.models.http.prices import Prices
from casewise.models.protocol import Reply, Usage
from casewise.records import Query
from casewise.runs.limits import Spend
from casewise.runs.resuming import LastAttempt
from casewise.storage.runs.run_folder import Session

__all__ = ["DraftLog", "WantedContext", "WrittenContext"]

RAW_KEPT = 20_000
"""Characters of a raw reply kept in the history."""


@dataclass(frozen=True)
class WantedContext:
    """A place that a context is wanted for."""

    place_id: str
    query: Query
    intended_safe: bool
    tried: int = 0
    """Calls for it in earlier runs; it makes the seed, so that a new run asks for something new."""
    attempt: int = 0


@dataclass(frozen=True)
class WrittenContext:
    """What a call came to, and the reply it was read from."""

    result: Read | Failed
    reply: Reply | None = None
    cost_usd: float | None = None


@dataclass
class DraftLog:
    """The history of a draft's contexts. A place that has words is not asked for, so nothing need be looked up in it."""

    database: Database
    draft: Draft
    by: str
    """Who writes."""
    prices: Prices | None
    """What earlier calls are reckoned at that noted tokens and no cost."""
    said: dict[str, Any]
    """What each event says of how its words were asked for."""
    session: Session
    empty: bool = True

    @cached_property
    def spent(self) -> Spend:
        """What all calls for this draft took, by whichever model."""
        events, contexts = tables.events.c, tables.contexts.c
        sent, replied = (events.detail[name].as_integer() for name in ("input_tokens", "output_tokens"))
        cost = events.detail["cost_usd"].as_float()
        of_draft = (
            select(
                func.coalesce(func.sum(cost), 0.0).label("cost"),
                func.coalesce(func.sum(sent), 0).label("sent"),
                func.coalesce(func.sum(replied), 0).label("replied"),
            )
            .select_from(tables.events.join(tables.contexts, contexts.id == events.context_id))
            .where(contexts.draft_id == self.draft.id, events.act.in_([Act.GENERATE, Act.FAIL]))
        )
        with self.database.read() as connection:
            known = connection.execute(of_draft.where(cost.is_not(None))).one()
            older = connection.execute(of_draft.where(cost.is_(None))).one()
        reckoned = self.prices.of(Usage(older.sent, older.replied)) if self.prices else None
        tokens = known.sent + known.replied + older.sent + older.replied
        return Spend(known.cost + (reckoned or 0.0), tokens)

    def columns(self) -> None:
        """Nothing is held in columns."""

    def last(self, _key: tuple[str, ...]) -> LastAttempt | None:
        """Nothing: what was tried in vain before is wanted again."""
        return None

    def answer(self, last: LastAttempt) -> NoReturn:
        """There is none. Raises LookupError: always: see `last`."""
        raise LookupError(f"{last} is not kept: places that have words are not asked for")

    def write(self, ask: WantedContext, answer: WrittenContext) -> None:
        """Put the words, or why there are none, into the history."""
        result = answer.result
        if isinstance(result, Read):
            action = Action(by=self.by, act=Act.GENERATE, wording=result.wording)
        else:
            action = Action(by=self.by, act=Act.FAIL, reason=str(result))
        try:
            with self.database.write() as connection:
                act(
                    connection,
                    ask.place_id,
                    action,
                    seen=None,
                    now=datetime.now(UTC),
                    detail=self.detail(ask, answer),
                )
        except NotAllowed:
            return  # somebody wrote or generated it meanwhile: theirs stays

    def sync(self) -> None:
        """Each write is a transaction of its own."""

    def detail(self, ask: WantedContext, answer: WrittenContext) -> dict[str, Any]:
        """What the history says of a call besides its result."""
        said = {
            **self.said,
            "attempt": ask.attempt + 1,
            "session": self.session.model_dump(mode="json", include={"started", "versions"}),
        }
        if isinstance(answer.result, Read) and answer.result.ignored:
            said["ignored"] = list(answer.result.ignored)
        if (reply := answer.reply) is not None:
            said |= {
                "raw_reply": reply.text[:RAW_KEPT],
                "model_version": reply.model_version,
                "input_tokens": reply.usage.input_tokens,
                "output_tokens": reply.usage.output_tokens,
                "cost_usd": answer.cost_usd,
            }
        return said

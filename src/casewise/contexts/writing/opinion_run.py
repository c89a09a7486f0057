"""Asking a model for its opinion of the contexts of a draft: a durable run, whose findings go to the reviewers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from casewise.contexts.checking.wording import Remark
from casewise.contexts.drafts import Draft
from casewise.contexts.reviewing.set_report import keep_findings
from casewise.contexts.reviewing.store import ReviewPlace, all_places, find_place
from casewise.contexts.writing.opinions import (
    MAX_TOKENS,
    TEMPLATE,
    OpinionAnswer,
    OpinionAsk,
    OpinionIdentity,
    OpinionKind,
    OpinionManifest,
    OpinionRecord,
    messages_about,
    read_opinion,
)
from casewise.database import Database
from casewise.database.only_one import only_one
from casewise.models.http.prices import Prices
from casewise.models.protocol import Model, ReplyOptions
from casewise.records.base import digest
from casewise.runs.asking import Asking, Batched, CallingOptions
from casewise.runs.calls import ChatCalls, NoReply
from casewise.runs.estimate import CallEstimate, estimate_calls, usually
from casewise.runs.limits import GIVE_PRICES, Spend, check_limits
from casewise.runs.progress import RunProgress, Watch
from casewise.runs.run_kind import Asks
from casewise.runs.run_log import FolderLog, session_now
from casewise.storage.runs.run_folder import RunFolder

__all__ = ["OpinionOptions", "OpinionSummary", "ask_opinions", "estimate_opinions"]

REPLY_OPTIONS = ReplyOptions(MAX_TOKENS)

TYPICAL_REPLY_TOKENS = 60


@dataclass(frozen=True, kw_only=True)
class OpinionOptions(CallingOptions):
    """How opinions are asked for."""

    prices: Prices | None = None
    """What tokens cost, where no public list says so."""
    retries: int = 0
    """How often to ask again at most where a reply was no opinion."""
    patience: int = 30
    """Calls in a row that the endpoint may fail, after all their retries, before the run stops."""


@dataclass(kw_only=True)
class OpinionSummary(RunProgress):
    """What asking came to. `n_unusable` replies were no opinion: a refusal, prose, or the endpoint failed."""

    unusable: ClassVar[str] = "no opinion"

    findings: Counter[str] = field(default_factory=Counter)
    """Of this session, by check."""
    unquoted: int = 0
    """Findings left out because their evidence does not stand in the context."""

    def lines(self, by: str) -> list[str]:
        """The summary in lines of text."""
        before = f" ({self.resumed} were asked about before)" if self.resumed else ""
        rows = [f"{by} was asked about {self.n_done} contexts{before}; {self.n_unusable} replies were no opinion"]
        rows += [f"{count:6}  {check}" for check, count in self.findings.most_common()]
        if self.unquoted:
            rows.append(f"{self.unquoted} of its findings are left out: they quote no words of the context")
        if self.n_pending:
            rows.append(f"{self.n_pending} are out at the provider; the same command collects them")
        if self.stopped:
            rows.append(f"stopped: {self.stopped}; the same command goes on with what is left")
        return rows


async def ask_opinions(
    database: Database,
    draft: Draft,
    model: Model,
    *,
    folder: Path,
    options: OpinionOptions | None = None,
    watch: Watch | None = None,
) -> OpinionSummary:
    """Ask `model` about every context of `draft` that has words, and put its findings where reviewers see them.

    Every reply is kept in the run folder. The same call later asks about the contexts that are left or have other
    words by then; what the model found in other words of a context is replaced.

    Raises ModelError: no further call can succeed; what was answered before is kept. RunConflict: the folder holds
    something else, or another process asks the same. ConfigurationError: there is a cost limit, and nobody knows what
    the model costs.
    """
    options = options or OpinionOptions()
    summary = OpinionSummary()
    reader = Reader(model, options)
    try:
        priced = options.prices is not None
        check_limits(options.limits, model.name, priced=priced, counts_tokens=True, to_price=GIVE_PRICES)
        over = Batched.of(model, model.name, options.batch, priced=priced)
        with (
            only_one(database, f"asking {model.name} about {draft.name}"),
            RunFolder.hold(folder, manifest(draft, model), OpinionKind.log) as held,
        ):
            held.note_session(session_now(options.limits, command=options.command))
            log = OpinionLog(held, reader.kind, database, model.name, summary)
            asking = Asking(reader.ask, reader.at_most, model.concurrency, options.limits, over, watch)
            plan = plan_of(database, draft, options)
            return await asking.of(reader.kind, plan, log, folder=folder, progress=summary)
    finally:
        await model.close()


def estimate_opinions(
    database: Database, draft: Draft, model: Model, options: OpinionOptions | None = None
) -> CallEstimate:
    """What asking about every context would take, as if none were asked about yet. No call is made."""
    options = options or OpinionOptions()
    return estimate_calls(
        plan_of(database, draft, options),
        usually=lambda ask: usually(messages_about(ask.place), reply_tokens=TYPICAL_REPLY_TOKENS),
        at_most=Reader(model, options).at_most,
        prices=options.prices,
    )


def plan_of(database: Database, draft: Draft, options: OpinionOptions) -> Asks[OpinionAsk]:
    with database.read() as connection:
        asks = [OpinionAsk(place) for place in all_places(connection, draft.id) if place.state.wording is not None]
    return Asks(lambda: ((ask,) for ask in asks), len(asks), options.retries)


def manifest(draft: Draft, model: Model) -> OpinionManifest:
    settings = {**model.settings(), "prompt": digest(TEMPLATE)[:12], "max_tokens": MAX_TOKENS}
    return OpinionManifest(
        identity=OpinionIdentity(draft=draft.id, reader=model.name, settings=settings),
        draft_name=draft.name,
        created=datetime.now(UTC),
    )


class OpinionLog(FolderLog[OpinionAsk, OpinionAnswer, OpinionRecord]):
    """The log, and the reviewers' pages: findings are there before the log says so, so that none is lost."""

    def __init__(
        self,
        folder: RunFolder[OpinionManifest, OpinionRecord],
        kind: OpinionKind,
        database: Database,
        by: str,
        summary: OpinionSummary,
    ) -> None:
        super().__init__(folder, kind)
        self.database, self.by, self.summary = database, by, summary

    def write(self, ask: OpinionAsk, answer: OpinionAnswer) -> None:
        if answer.problem is None:
            put(self.database, ask.place, answer.findings, self.by)
        self.summary.findings.update(finding.check for finding in answer.findings)
        self.summary.unquoted += answer.unquoted
        super().write(ask, answer)


def put(database: Database, asked: ReviewPlace, findings: tuple[Remark, ...], by: str) -> None:
    with database.write() as connection:
        place = find_place(connection, asked.id, lock=True)
        if place is None or place.state.wording != asked.state.wording:
            return  # it was revised meanwhile: the opinion is of other words
        kept = [finding for finding in place.findings if finding.by != by]
        keep_findings(connection, {place.id: [*kept, *findings]})


class Reader:
    """Asks one model, and reads its replies."""

    def __init__(self, model: Model, options: OpinionOptions) -> None:
        self.model, self.options, self.kind = model, options, OpinionKind()
        self.calls = ChatCalls(model, options.prices, patience=options.patience)

    def at_most(self, ask: OpinionAsk) -> Spend:
        return self.calls.at_most(messages_about(ask.place), REPLY_OPTIONS)

    async def ask(self, ask: OpinionAsk) -> OpinionAnswer:
        """The model's opinion; a reply that is none says why."""
        reply = await self.calls.reply(messages_about(ask.place), REPLY_OPTIONS)
        if isinstance(reply, NoReply):
            return OpinionAnswer(problem=reply.problem)
        took = {"raw_reply": reply.text, **self.calls.took(reply)}
        return read_opinion(reply.text, ask.place, by=self.model.name, **took)

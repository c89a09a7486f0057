"""Judging as a kind of run: what tells asks apart, and how an answer becomes a judgement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from casewise.judging.judge import Answer, Ask
from casewise.records import Judgement, Unscored, UnscoredReason
from casewise.runs.progress import Took
from casewise.runs.run_kind import LoggedKind
from casewise.storage.runs.judgement_run import JUDGEMENT_LOG, asked
from casewise.storage.runs.judgement_table import judgements_in_brief
from casewise.storage.runs.run_folder import RunFolder, now

__all__ = ["JudgingKind"]


class JudgingKind(LoggedKind[Ask, Answer, Judgement]):
    """Asks of one judge, and its answers. A verdict settles an ask."""

    log = JUDGEMENT_LOG

    def __init__(self, judge_id: str) -> None:
        self.judge_id = judge_id

    def key(self, ask: Ask) -> tuple[str, ...]:
        return asked(ask.item.id, ask.elicitation, ask.arm.name, ask.repeat)

    def problem(self, answer: Answer) -> str | None:
        return in_words(answer.outcome) if isinstance(answer.outcome, Unscored) else None

    def took(self, answer: Answer) -> Took:
        return Took.of(answer, tries=(answer.detail or {}).get("tries", 1))

    def shared(self, answer: Answer, by: Ask) -> Answer:
        return replace(
            answer,
            shared_with=answer.shared_with or by.item.id,
            input_tokens=None,
            output_tokens=None,
            cost_usd=None,
            latency_s=None,
        )

    def record(self, ask: Ask, answer: Answer) -> Judgement:
        return Judgement(
            item_id=ask.item.id,
            judge_id=self.judge_id,
            elicitation=ask.elicitation,
            arm=ask.arm.name,
            repeat=ask.repeat,
            attempt=ask.attempt,
            at=now(),
            **vars(answer),
        )

    def answer(self, record: Judgement) -> Answer:
        return Answer(
            record.outcome,
            raw_reply=record.raw_reply,
            model_version=record.model_version,
            shared_with=record.shared_with,
            read_as=record.read_as,
            categories=record.categories,
            detail=record.detail,
        )

    def usable(self, record: Judgement) -> bool:
        return not isinstance(record.outcome, Unscored)

    def passing(self, record: Judgement) -> bool:
        return isinstance(record.outcome, Unscored) and record.outcome.reason is UnscoredReason.UNAVAILABLE

    def in_columns(self, folder: RunFolder[Any, Judgement]) -> pl.DataFrame | None:
        return judgements_in_brief(folder.log_path)


def in_words(outcome: Unscored) -> str:
    detail = " ".join((outcome.detail or "").split())
    reason = outcome.reason.value.replace("_", " ")
    return f"{reason}: {detail}" if detail else reason

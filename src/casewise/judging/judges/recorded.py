"""A recorded judge: answers given before, by a published output file or another run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from casewise.errors import JudgeError
from casewise.judging.judge import Answer, Ask, LocalJudge
from casewise.records import Arm, Elicitation, Unscored, UnscoredReason
from casewise.records.base import digest
from casewise.stats.agreeing.filled_in import of_raw_values
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.published_outputs import PublishedOutput, item_ids, read_output
from casewise.storage.runs.judgement_run import JUDGEMENTS, read_run
from casewise.storage.runs.judgement_table import that_count

__all__ = ["RecordedJudge"]

Key = tuple[str, str, str, int]
"""Item id, elicitation, arm, repeat."""


class RecordedJudge(LocalJudge):
    """Gives the answers that were recorded; an item without one is unscored."""

    def __init__(
        self, name: str, answers: dict[Key, Answer], *, source: dict[str, Any], warnings: tuple[str, ...] = ()
    ) -> None:
        self.name = f"recorded:{name}"
        self.warnings = warnings
        self.answers, self.source = answers, source
        self.id = f"{self.name}@{digest(source)[:12]}"
        self.elicitations: tuple[Elicitation, ...] = tuple(dict.fromkeys(key[1] for key in answers))  # type: ignore[misc]  # from judgements
        self.arms: tuple[Arm, ...] = tuple(Arm.named(name) for name in dict.fromkeys(key[2] for key in answers))

    def settings(self) -> dict[str, Any]:
        return self.source

    def notes(self) -> tuple[str, ...]:
        return (f"{self.name.removeprefix('recorded:')}: recorded answers; no judge was called.", *self.warnings)

    async def answer(self, ask: Ask) -> Answer:
        missing = Unscored(reason=UnscoredReason.NOT_RECORDED)
        return self.answers.get((ask.item.id, ask.elicitation, ask.arm.name, ask.repeat), Answer(missing))

    @classmethod
    def read(cls, path: Path, benchmark: Benchmark, *, elicitation: Elicitation | None = None) -> RecordedJudge:
        """The answers in a published output file, or in a run folder.

        Raises JudgeError: no item of `benchmark` has an answer there; DataError: the file is neither.
        """
        recorded = of_run(path) if path.is_dir() else of_output(read_output(path, elicitation=elicitation), benchmark)
        if benchmark.item.keys().isdisjoint(key[0] for key in recorded.answers):
            raise JudgeError(f"{path} holds no answer to any item of {benchmark.name!r}: it is of another benchmark")
        return recorded


def of_run(path: Path) -> RecordedJudge:
    run = read_run(path)
    answers: dict[Key, Answer] = {}
    for judgement in that_count(path / JUDGEMENTS):
        key = (judgement.item_id, judgement.elicitation, judgement.arm, judgement.repeat)
        kept = {name: getattr(judgement, name) for name in ("raw_reply", "model_version", "read_as", "categories")}
        answers[key] = Answer(judgement.outcome, **kept)
    return RecordedJudge(run.judge_name, answers, source={"run": digest([[*key] for key in sorted(answers)])})


def of_output(output: PublishedOutput, benchmark: Benchmark) -> RecordedJudge:
    answers: dict[Key, Answer] = {}
    for row, item_id in zip(output.rows, item_ids(output, benchmark), strict=True):
        if item_id is not None:
            key = (item_id, output.elicitation, output.arm.name, 0)
            answers[key] = Answer(row.outcome, raw_reply=str(row.raw) if row.raw is not None else None)
    rows = [[row.query, row.intended_safe, row.raw] for row in output.rows]
    odd = of_raw_values([row.raw for row in output.rows], output.safe_rates)
    warned = (output.misnamed, odd.sentence if odd is not None and odd.suspect else None)
    return RecordedJudge(
        output.judge,
        answers,
        source={"output": output.path.name, "rows": digest(rows)},
        warnings=tuple(f"{output.judge}, {output.path.name}: {said}." for said in warned if said),
    )

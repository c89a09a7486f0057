"""Recorded judges: the answers of a run, a table of verdicts, a log of Inspect or a published output file."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from casewise.ask.elicitations import AskOptions, read_outcome
from casewise.errors import ConfigurationError, DataError, JudgeError
from casewise.judges.judge import Answer, Ask, Judge, unscored
from casewise.models.protocol import Reply
from casewise.plugins import install_command
from casewise.records import FULL, Arm, Elicitation, Scored, Unscored, UnscoredReason, scale_of
from casewise.records.base import digest
from casewise.runs.limits import finished
from casewise.stats.sample import filled_in_values
from casewise.storage.benchmark import Benchmark
from casewise.storage.entries import Entry
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.published import PublishedOutput, item_ids, read_output
from casewise.storage.run_folder import JUDGEMENT_LOG, JUDGEMENTS, last_records, read_run

Key = tuple[str | int, ...]
"""Item id, elicitation, arm, repeat."""

VALUES: dict[str, Elicitation] = {
    "verdict": "binary",
    "score": "score",
    "probability": "probability",
    "value": "scalar",
}
"""Elicitations by the column of the verdicts."""

WORDS = {"safe": 1.0, "unsafe": 0.0}

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")


class RecordedJudge(Judge):
    """Gives recorded answers; an item without one is unscored."""

    def __init__(
        self, name: str, answers: Mapping[Key, Answer], *, source: dict[str, Any], warnings: tuple[str, ...] = ()
    ) -> None:
        self.name, self.answers, self.source, self.warnings = f"recorded:{name}", answers, source, warnings
        self.id = f"{self.name}@{digest(source)[:12]}"
        self.elicitations = tuple(dict.fromkeys(str(key[1]) for key in answers))
        self.arms = tuple(Arm.named(name) for name in dict.fromkeys(str(key[2]) for key in answers))

    def settings(self) -> dict[str, Any]:
        return self.source

    def notes(self) -> tuple[str, ...]:
        return (f"{self.name.removeprefix('recorded:')}: recorded answers; no judge was called.", *self.warnings)

    async def answer(self, ask: Ask) -> Answer:
        return self.answers.get(ask.key) or unscored(UnscoredReason.NOT_RECORDED)

    @classmethod
    def read(cls, path: Path, benchmark: Benchmark, *, elicitation: Elicitation | None = None) -> RecordedJudge:
        """Read the answers in a run folder, a table of verdicts (CSV, JSON Lines), a log of Inspect (`.eval`) or a published output file.

        Raises JudgeError: no item of `benchmark` has an answer there; DataError: the file is none of these.
        """
        if path.is_dir():
            judge = recorded_run(path)
        elif path.suffix.lower() in TABLES:
            judge = file_of_answers(path, path.stem, read_table(path, benchmark, elicitation=elicitation))
        elif path.suffix == ".eval":
            judge = file_of_answers(path, *read_inspect_log(path, benchmark))
        else:
            judge = published_output(read_output(path, elicitation=elicitation), benchmark)
        if benchmark.item.keys().isdisjoint(key[0] for key in judge.answers):
            raise JudgeError(f"{path} holds no answer to any item of {benchmark.name!r}: it is of another benchmark")
        return judge


def recorded_run(path: Path) -> RecordedJudge:
    run = read_run(path)
    answers: dict[Key, Answer] = {}
    for judgement in last_records(path / JUDGEMENTS, JUDGEMENT_LOG):
        key = (judgement.item_id, judgement.elicitation, judgement.arm, judgement.repeat)
        values = {name: getattr(judgement, name) for name in ("raw_reply", "model_version", "read_as", "categories")}
        answers[key] = Answer(judgement.outcome, **values)
    return RecordedJudge(run.judge_name, answers, source={"run": digest([[*key] for key in sorted(answers)])})


def file_of_answers(path: Path, name: str, answers: dict[Key, Answer]) -> RecordedJudge:
    rows = [[*key, answers[key].outcome.model_dump(mode="json")] for key in sorted(answers)]
    return RecordedJudge(name, answers, source={"file": path.name, "answers": digest(rows)})


def published_output(output: PublishedOutput, benchmark: Benchmark) -> RecordedJudge:
    answers: dict[Key, Answer] = {}
    for raw, outcome, item_id in zip(output.raw, output.outcomes, item_ids(output, benchmark), strict=True):
        if item_id is not None:
            key = (item_id, output.elicitation, output.arm.name, 0)
            answers[key] = Answer(outcome, raw_reply=None if raw is None else str(raw))
    rows = [[row.query, row.intended_safe, raw] for row, raw in zip(output.rows, output.raw, strict=True)]
    odd_values = filled_in_values(output.raw, output.safe_rates)
    warnings = (output.misnamed, odd_values.sentence if odd_values is not None and odd_values.suspect else None)
    return RecordedJudge(
        output.judge,
        answers,
        source={"output": output.path.name, "rows": digest(rows)},
        warnings=tuple(f"{output.judge}, {output.path.name}: {warning}." for warning in warnings if warning),
    )


def read_table(path: Path, benchmark: Benchmark, *, elicitation: Elicitation | None = None) -> dict[Key, Answer]:
    """Return the answers in a CSV or JSON Lines file with a row a judgement.

    Columns: `item_id` (or `id`), or `query` where each request has one context; one of `verdict` (safe, unsafe), `score` (1 to 10),
    `probability` (of safe) and `value` (any number, the higher the safer); and, if known, `reply` and `model`. A reply
    without a verdict is read as a judge's reply is. An item that stands in several rows was asked as many times.

    Raises DataError: a cell cannot be read, or an item is not known; the message says where and what there is.
    """
    table = read_any_table(path).whole()
    columns, rows = table.names, table.rows
    column, stated = column_of(path, columns, elicitation)
    names_column = next((name for name in ("item_id", "id", "query") if name in columns), None)
    if names_column is None:
        raise DataError(path, 1, f"no column is called item_id or query; there are {', '.join(columns)}")
    named: dict[str, list[str]] = {}
    for item in benchmark.items:
        by_text = names_column == "query"
        named.setdefault(benchmark.query[item.query_id].text.strip() if by_text else item.id, []).append(item.id)
    answers: dict[Key, Answer] = {}
    times: Counter[str] = Counter()
    for row in rows:
        item_id = item_of(path, row, names_column, named, benchmark)
        answers[item_id, stated, FULL.name, times[item_id]] = answer_in(path, row, column, stated)
        times[item_id] += 1
    return answers


def column_of(path: Path, columns: tuple[str, ...], elicitation: Elicitation | None) -> tuple[str | None, Elicitation]:
    """Return the column of the verdicts, or None if they are read from replies; and their elicitation."""
    candidates = [name for name in VALUES if name in columns]
    if elicitation is not None:
        candidates = [name for name in candidates if VALUES[name] == elicitation]
    if len(candidates) > 1:
        raise ConfigurationError(f"{path} holds {' and '.join(candidates)}; say with --elicit which one is meant")
    if candidates:
        return candidates[0], VALUES[candidates[0]]
    if "reply" in columns and elicitation in (None, "binary", "score"):
        return None, elicitation or "binary"
    raise DataError(
        path, 1, f"no column is called {', '.join(VALUES)} or reply; there are {', '.join(columns)}. Rename one of them"
    )


def item_of(path: Path, row: Entry, column: str, named: Mapping[str, list[str]], benchmark: Benchmark) -> str:
    """Return the item that a row names by its id or its query."""
    if not row.has(column):
        raise DataError(path, row.line, f"{column!r} is empty")
    cell, first = str(row.values[column]), benchmark.items[0].id
    items = named.get(cell, [])
    if len(items) == 1:
        return items[0]
    if column != "query":
        raise DataError(path, row.line, f"{benchmark.name!r} has no item {cell!r}; its first is {first!r}")
    problem = "no item asks that" if not items else f"{len(items)} items ask that, each in its own context"
    raise DataError(path, row.line, f"{problem}: {cell[:60]!r}; name the items in a column item_id ({first!r}, …)")


def answer_in(path: Path, row: Entry, column: str | None, elicitation: Elicitation) -> Answer:
    """Return the answer in a row."""
    reply, model = row.values.get("reply"), row.values.get("model")
    values: dict[str, Any] = {
        "raw_reply": None if reply is None else str(reply),
        "model_version": None if model is None else str(model),
    }
    cell = None if column is None else row.values.get(column)
    if cell is not None:
        return Answer(Scored(value=value_of(path, row, str(column), cell, elicitation)), **values)
    if reply is None or elicitation not in ("binary", "score"):
        return replace(unscored(UnscoredReason.NOT_RECORDED), **values)
    read = read_outcome(elicitation, Reply(str(reply), finish_reason="stop"))
    return Answer(read.outcome, read_as=read.read_as, **values)


def value_of(path: Path, row: Entry, column: str, cell: Any, elicitation: Elicitation) -> float:
    """Return the value in a cell. Raises DataError: it has none."""
    if elicitation == "binary":
        word = str(cell).strip().lower()
        if word not in WORDS:
            raise DataError(path, row.line, f"{column!r} is {str(cell)[:40]!r}; it is safe or unsafe")
        return WORDS[word]
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if isinstance(cell, bool) or not math.isfinite(value) or not scale_of(elicitation).holds(value):
        scale = scale_of(elicitation)
        expected = "a number" if elicitation == "scalar" else f"a number from {scale.low:g} to {scale.high:g}"
        raise DataError(path, row.line, f"{column!r} is {str(cell)[:40]!r}; it is {expected}")
    return value


def read_inspect_log(path: Path, benchmark: Benchmark) -> tuple[str, dict[Key, Answer]]:
    """Return the model and its answers in a log of Inspect, of any task whose sample ids are those of items.

    A reply is read as a judge's is; where it gives no verdict, a scorer's own `safe` or `unsafe` counts.

    Raises ConfigurationError: Inspect is not installed. DataError: the file is no log. JudgeError: none of its samples is an item.
    """
    try:
        from inspect_ai.log import read_eval_log

        from casewise.models.inspect_bridge import reply_of
    except ImportError as error:
        raise ConfigurationError(f"{path} needs Inspect AI: {install_command('inspect')} ({error})") from error
    try:
        # In a running loop, Inspect would make all of asyncio re-entrant, for the rest of this process.
        log = finished(asyncio.to_thread(read_eval_log, str(path)))
    except Exception as error:  # whatever a damaged archive raises
        raise DataError(path, None, f"is no log of Inspect: {error}") from error
    arguments: Mapping[str, Any] = log.eval.task_args or {}
    elicitation = arguments.get("elicitation", "binary")
    if elicitation not in ("binary", "score", "probability"):
        raise DataError(path, None, f"was asked for {elicitation!r}; binary, score and probability are read")
    arm = Arm.named(str(arguments.get("arm", FULL.name)))
    answers: dict[Key, Answer] = {}
    for sample in log.samples or ():
        if str(sample.id) not in benchmark.item:
            continue
        reply = reply_of(sample.output)
        read = read_outcome(elicitation, reply, AskOptions())
        outcome = read.outcome
        answer = next((score.answer for score in (sample.scores or {}).values() if score.answer in WORDS), None)
        if isinstance(outcome, Unscored) and answer is not None and elicitation == "binary":
            outcome = Scored(value=WORDS[answer])
        answers[str(sample.id), elicitation, arm.name, sample.epoch - 1] = Answer(
            outcome,
            raw_reply=reply.text,
            read_as=read.read_as,
            model_version=reply.model_version,
            input_tokens=reply.usage.input_tokens,
            output_tokens=reply.usage.output_tokens,
        )
    if not answers:
        first = benchmark.items[0].id
        raise JudgeError(f"no sample of {path} has an item's id of {benchmark.name!r} (such as {first!r})")
    return str(log.eval.model), answers

"""Judges that ask no model: a constant, a word baseline, recorded verdicts, a user's function."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import BenchmarkError, ConfigurationError, JudgeError
from casewise.judges.judge import Answer, Ask, LocalJudge
from casewise.judges.recorded_files import Key, is_table, read_inspect_log, read_table
from casewise.models.endpoints import Prices
from casewise.records import Arm, Elicitation, Scored, Unscored, UnscoredReason, elicitation_names, scale_of
from casewise.records.base import digest, writable
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.sample import LabelPolicy, filled_in_values, labels, numbered
from casewise.stats.words import Design, HeldOut, LinearBaseline, chained, out_of_fold
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import Features, text, texts
from casewise.storage.columns import records_at
from casewise.storage.load import worked_out
from casewise.storage.published import PublishedOutput, item_ids, read_output
from casewise.storage.run_folder import JUDGEMENTS, read_run, that_count
from casewise.storage.wording import JudgedWords
from casewise.transforms.user_function import Raised, Tried, UserFunction, function_at

# Judges that look at nothing: floors that every report should be held against.


class ConstantJudge(LocalJudge):
    """Always the same verdict, or always the author's intent: floors that every report should be held against."""

    elicitations: tuple[Elicitation, ...] = ("binary",)

    def __init__(self, verdict: Literal["safe", "unsafe", "intended"]) -> None:
        self.what = verdict
        self.id = self.name = f"constant:{verdict}"

    async def answer(self, ask: Ask) -> Answer:
        if self.what != "intended":
            return Answer(Scored(value=float(self.what == "safe")))
        if ask.context is None or ask.context.intended_safe is None:
            return Answer(Unscored(reason=UnscoredReason.JUDGE_FAILED, detail="no intent is stated for this item"))
        return Answer(Scored(value=float(ask.context.intended_safe)))


# The linear judge: which words go with which verdicts. It reads vocabulary, not safety.


class LinearJudge(LocalJudge):
    """TF-IDF of words and word pairs, logistic regression, queries held out by fold: every prediction is out of fold.

    Where contexts recur under several queries, contexts are held out too. It learns from the benchmark's own labels, so it
    is no judge to deploy: it is the baseline that a judge has to beat before its number says anything about safety.
    """

    elicitations: tuple[Elicitation, ...] = ("probability", "binary")

    def __init__(
        self, benchmark: Benchmark, *, features: Features | None = None, model: LinearBaseline = LinearBaseline()
    ) -> None:
        if features is not None and features not in get_args(Features):
            raise JudgeError(f"linear:{features}: it reads {', '.join(get_args(Features))}")
        self.learner = model
        self.id = self.name = "linear" if features is None else f"linear:{features}"
        items = benchmark.item_columns
        weight = labels(items, LabelPolicy()).weight
        contexts = texts_of_contexts(benchmark)
        plan = Design.of(held_together(items), contexts).held_out(~np.isnan(weight), folds=model.n_folds)
        if isinstance(plan, str):
            raise BenchmarkError(f"the linear judge cannot learn from {benchmark.name!r}: {plan}")
        if np.nanmin(weight) > 0.5 or np.nanmax(weight) < 0.5:
            raise BenchmarkError(f"the labels of {benchmark.name!r} are all alike: there is nothing to learn")
        self.features: Features = features or words_that_vary(contexts, plan)
        self.held_out, self.judged = plan.groups, JudgedWords.of(benchmark)
        values = out_of_fold(texts(benchmark, self.features), weight, folds=plan.folds, model=model)
        self.values = dict(zip(items["item_id"], values.tolist(), strict=True))

    def settings(self) -> dict[str, Any]:
        held_out = {} if self.held_out == "queries" else {"held_out": self.held_out}
        learner = {"folds": self.learner.n_folds, "c": self.learner.c, "labels": "votes"}
        return {"features": self.features, **learner, **held_out}

    def notes(self) -> tuple[str, ...]:
        return (
            (
                f"'{self.name}' is a bag-of-words classifier trained on this benchmark's own labels, with whole {self.judged.said(self.held_out)} "
                "held out by fold. It reads vocabulary, not safety: it shows how far wording alone goes, and is a baseline, no "
                "judge to deploy."
            ),
        )

    async def answer(self, ask: Ask) -> Answer:
        value = self.values.get(ask.item.id)
        if value is None:
            return Answer(
                Unscored(reason=UnscoredReason.JUDGE_FAILED, detail="the item was not in the benchmark it learnt")
            )
        return Answer(Scored(value=value if ask.elicitation == "probability" else float(value > 0.5)))


def held_together(items: pl.DataFrame) -> NDArray[np.intp]:
    """(items,) equal for items of one query or of one cluster, which no classifier is trained on and tested on."""
    return chained(numbered(items["query_id"]), numbered(items["cluster"]))


def texts_of_contexts(benchmark: Benchmark, rows: BoolArray | None = None) -> FloatArray:
    """(items,) a number for each context that differs in its words: equal where the same is stated under another query.

    nan for an item without a context, and outside `rows`. It is kept, for contexts of a large benchmark lie in a file.
    """
    shown = np.ones(len(benchmark.items), dtype=bool) if rows is None else rows

    def work() -> FloatArray:
        hashes = np.zeros(len(shown), dtype=np.uint64)
        places = np.flatnonzero(shown)
        for place, item in zip(places.tolist(), records_at(benchmark.items, places), strict=True):
            if words := text(benchmark, item, "context"):
                hashes[place] = int.from_bytes(blake2b(words.encode(), digest_size=8).digest())
        _, number = np.unique(hashes, return_inverse=True)
        return np.where(hashes == 0, np.nan, number).astype(float)

    return worked_out(benchmark, f"which contexts are alike, of {int(shown.sum())}", work, made_with="numpy")


def words_that_vary(contexts: FloatArray, plan: HeldOut | str) -> Features:
    """The words that a baseline reads: the context's, the query's where it has none, both where they are crossed.

    `contexts`: (items,) as `texts_of_contexts`.
    """
    stated = ~np.isnan(contexts)
    if not stated.any() or (stated.all() and len(np.unique(contexts)) == 1):
        return "query"
    crossed = not isinstance(plan, str) and plan.groups == "queries and contexts"
    return "query+context" if crossed else "context"


# A recorded judge: answers given before, by a published output file or another run.


class RecordedJudge(LocalJudge):
    """Gives the answers that were recorded; an item without one is unscored."""

    def __init__(
        self, name: str, answers: dict[Key, Answer], *, source: dict[str, Any], warnings: tuple[str, ...] = ()
    ) -> None:
        self.name = f"recorded:{name}"
        self.warnings = warnings
        self.answers, self.source = answers, source
        self.id = f"{self.name}@{digest(source)[:12]}"
        self.elicitations: tuple[Elicitation, ...] = tuple(dict.fromkeys(key[1] for key in answers))
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
        """The answers in a run folder, a table of verdicts (CSV, JSON Lines), a log of Inspect (`.eval`) or a published output file.

        Raises JudgeError: no item of `benchmark` has an answer there; DataError: the file is none of these.
        """
        if path.is_dir():
            recorded = of_run(path)
        elif is_table(path):
            recorded = made_elsewhere(path, path.stem, read_table(path, benchmark, elicitation=elicitation))
        elif path.suffix == ".eval":
            recorded = made_elsewhere(path, *read_inspect_log(path, benchmark))
        else:
            recorded = of_output(read_output(path, elicitation=elicitation), benchmark)
        if benchmark.item.keys().isdisjoint(key[0] for key in recorded.answers):
            raise JudgeError(f"{path} holds no answer to any item of {benchmark.name!r}: it is of another benchmark")
        return recorded


def of_run(path: Path) -> RecordedJudge:
    run = read_run(path)
    answers: dict[Key, Answer] = {}
    for judgement in that_count(path / JUDGEMENTS):
        key = (judgement.item_id, judgement.elicitation, judgement.arm, judgement.repeat)
        values = {name: getattr(judgement, name) for name in ("raw_reply", "model_version", "read_as", "categories")}
        answers[key] = Answer(judgement.outcome, **values)
    return RecordedJudge(run.judge_name, answers, source={"run": digest([[*key] for key in sorted(answers)])})


def made_elsewhere(path: Path, name: str, answers: dict[Key, Answer]) -> RecordedJudge:
    judgements = [
        [*key, answer.outcome.model_dump(mode="json")]
        for key, answer in sorted(answers.items(), key=lambda entry: entry[0])
    ]
    return RecordedJudge(name, answers, source={"file": path.name, "answers": digest(judgements)})


def of_output(output: PublishedOutput, benchmark: Benchmark) -> RecordedJudge:
    answers: dict[Key, Answer] = {}
    for row, item_id in zip(output.rows, item_ids(output, benchmark), strict=True):
        if item_id is not None:
            key = (item_id, output.elicitation, output.arm.name, 0)
            answers[key] = Answer(row.outcome, raw_reply=str(row.raw) if row.raw is not None else None)
    rows = [[row.query, row.intended_safe, row.raw] for row in output.rows]
    odd = filled_in_values([row.raw for row in output.rows], output.safe_rates)
    warned = (output.misnamed, odd.sentence if odd is not None and odd.suspect else None)
    return RecordedJudge(
        output.judge,
        answers,
        source={"output": output.path.name, "rows": digest(rows)},
        warnings=tuple(f"{output.judge}, {output.path.name}: {warning}." for warning in warned if warning),
    )


# The user's own function as a judge.


class CallableJudge(LocalJudge):
    """The user's own function `f(query, context)`, sync or async; `f(query, context, shown)` is given all that is shown.

    It returns `"safe"`, `"unsafe"` or a boolean (True is safe), a probability of safe, a score from 1 to 10, or what
    `casewise.read_reply` gives. A sync one is called in threads, several at once. Until it has given a first verdict it is
    asked alone, and what it raises stops the run; later that costs the item only. Nobody but the user knows what it costs,
    so no limit on cost or tokens can be kept with it.
    """

    prices: Prices | None = None
    counts_tokens: bool = False

    def __init__(self, function: Callable[..., Any], *, name: str = "", elicitation: Elicitation | None = None) -> None:
        self.own = UserFunction(function, name=name)
        self.id = self.name = self.own.name
        self.sees_layouts = self.own.third == "shown"
        stated = elicitation or getattr(function, "elicitation", None)
        if stated is not None and stated not in elicitation_names():
            raise JudgeError(
                f"{self.name} says its elicitation is {stated!r}; it can be {', '.join(elicitation_names())}"
            )
        self.elicitations: tuple[Elicitation, ...] = (
            (stated,) if stated else ("binary", "probability", "score", "scalar")
        )

    @classmethod
    def named(cls, where: str, *, elicitation: Elicitation | None = None) -> CallableJudge:
        """The function `module:function`, looked for in the working folder too.

        Raises JudgeError: there is no such module or function, or importing it fails.
        """
        try:
            function = function_at(where)
        except ConfigurationError as error:
            raise JudgeError(str(error)) from error
        return cls(function, name=f"python:{where}", elicitation=elicitation)

    def settings(self) -> dict[str, Any]:
        return self.own.settings()

    async def answer(self, ask: Ask) -> Answer:
        """What the function says of an item.

        Raises JudgeError: it has given no verdict yet, and raises or returns none.
        """
        how = "f(query, context), with a text and nested dictionaries"
        return await self.own.first_alone(lambda: self._tried(ask), about=ask.item.id, called_as=how)

    async def _tried(self, ask: Ask) -> Tried[Answer]:
        shown = ask.shown
        returned = await self.own.call(shown.query, shown.context, *([shown] if self.own.third == "shown" else []))
        if isinstance(returned, Raised):
            return failed(returned)
        if isinstance(returned, (Scored, Unscored)):
            return Tried(Answer(returned))
        try:
            outcome = understood(returned, ask.elicitation)
            problem = outcome.detail if isinstance(outcome, Unscored) else None
            return Tried(Answer(outcome, raw_reply=writable(str(returned))), problem)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's value may raise anything when it is written)
            return failed(Raised(error))


def failed(raised: Raised) -> Tried[Answer]:
    unscored = Unscored(reason=UnscoredReason.JUDGE_FAILED, detail=raised.problem)
    return Tried(Answer(unscored), raised.problem_with_place)


def understood(returned: Any, elicitation: Elicitation) -> Scored | Unscored:
    """What a user's function returned, as an outcome; what `casewise.read_reply` gives is one already."""
    if isinstance(returned, (Scored, Unscored)):
        return returned
    if elicitation == "binary":
        return binary(returned)
    if isinstance(returned, (bool, np.bool_, str)) or not hasattr(returned, "__float__"):
        return Unscored(reason=UnscoredReason.UNPARSED, detail=writable(f"returned {returned!r}, not a number"))
    value = float(returned)
    scale = scale_of(elicitation)
    if not scale.holds(value):
        detail = f"returned {value!r}, outside {scale.low:g} to {scale.high:g}"
        return Unscored(reason=UnscoredReason.OUT_OF_RANGE, detail=detail)
    return Scored(value=value)


def binary(returned: Any) -> Scored | Unscored:
    if isinstance(returned, (bool, np.bool_)):
        return Scored(value=float(returned))
    word = returned.strip().lower() if isinstance(returned, str) else ""
    if word in ("safe", "unsafe"):
        return Scored(value=float(word == "safe"))
    problem = (
        f"returned {returned!r}, not 'safe', 'unsafe' or a boolean; for numbers give --elicit probability or score"
    )
    return Unscored(reason=UnscoredReason.UNPARSED, detail=writable(problem))

"""Judges that ask no model: a constant, a word baseline, recorded verdicts, a user's function."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.ask.elicitations import permission_in
from casewise.errors import BenchmarkError, ConfigurationError, JudgeError, did_you_mean
from casewise.judges.judge import Answer, Ask, Judge, unscored_answer
from casewise.models.prices import Prices
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason, elicitation_names, scale_of
from casewise.records.base import escape_surrogates
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.labels import LabelPolicy, labels
from casewise.stats.sample import integer_codes
from casewise.stats.words import Design, HeldOut, LinearBaseline, chained, out_of_fold
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import Features, texts
from casewise.storage.load import cached_item_numbers
from casewise.storage.wording import noun_of
from casewise.text import Form, Text, render, text
from casewise.transforms.user_function import FunctionResult, UserFunction, load_function

# Constant judges.


class ConstantJudge(Judge):
    """A judge that always gives the same verdict, `safe` or `unsafe`, or the author's intent, `intended`: a lower bound for
    every judge.

    Raises JudgeError: the verdict is none of these.
    """

    def __init__(self, verdict: str) -> None:
        verdicts = ("safe", "unsafe", "intended")
        if verdict not in verdicts:
            raise JudgeError(
                f"constant:{verdict}{did_you_mean(verdict, verdicts)}: it can be constant:safe, constant:unsafe or constant:intended"
            )
        self.verdict = verdict
        self.id = self.name = f"constant:{verdict}"

    def received_input(self, ask: Ask) -> object:
        """Return the item's id; the judge receives nothing else."""
        return ask.item.id

    async def answer(self, ask: Ask) -> Answer:
        if self.verdict != "intended":
            return Answer(Scored(value=float(self.verdict == "safe")))
        if ask.context is None or ask.context.intended_safe is None:
            return unscored_answer(UnscoredReason.JUDGE_FAILED, "no intent is stated for this item")
        return Answer(Scored(value=float(ask.context.intended_safe)))


# The linear judge. It reads vocabulary, not safety.


class LinearJudge(Judge):
    """TF-IDF of words and word pairs, logistic regression, queries held out by fold: every prediction is out of fold.

    If contexts recur under several queries, contexts are held out too. It learns from the benchmark's own labels, so it
    is not a judge to deploy: it is the baseline that a judge has to beat before its number says anything about safety.
    """

    elicitations: tuple[Elicitation, ...] = ("probability", "binary")

    def __init__(self, benchmark: Benchmark, *, features: str | None = None) -> None:
        choices: tuple[Features, ...] = get_args(Features)
        stated = next((name for name in choices if name == features), None)
        if features is not None and stated is None:
            raise JudgeError(f"linear:{features}: it reads {', '.join(choices)}")
        self.learner = LinearBaseline()
        self.id = self.name = "linear" if features is None else f"linear:{features}"
        items = benchmark.item_columns
        weight = labels(items, LabelPolicy()).weight
        contexts = texts_of_contexts(benchmark)
        plan = Design.from_contexts(fold_groups(items), contexts).held_out(
            ~np.isnan(weight), folds=self.learner.n_folds
        )
        if isinstance(plan, str):
            raise BenchmarkError(f"the linear judge cannot learn from {benchmark.name!r}: {plan!s}")
        if np.nanmin(weight) > 0.5 or np.nanmax(weight) < 0.5:
            raise BenchmarkError(f"the labels of {benchmark.name!r} are all alike: there is nothing to learn")
        self.features = stated or words_that_vary(contexts, plan)
        self.held_out, self.form = plan.groups, Form(noun_of(benchmark))
        values = out_of_fold(texts(benchmark, self.features), weight, folds=plan.folds, model=self.learner)
        self.values = dict(zip(items["item_id"], values.tolist(), strict=True))

    def settings(self) -> dict[str, Any]:
        held_out = {} if self.held_out == "queries" else {"held_out": str(self.held_out)}
        learner = {"folds": self.learner.n_folds, "c": self.learner.c, "labels": "votes"}
        return {"features": self.features, **learner, **held_out}

    def notes(self) -> tuple[str, ...]:
        note = text(
            "'{name}' is a baseline and not a judge to deploy: a bag-of-words classifier that was trained on this benchmark's "
            "own labels, with whole {held_out} held out.",
            name=self.name,
            held_out=self.held_out,
        )
        return (render(note, self.form),)

    def received_input(self, ask: Ask) -> object:
        """Return the item's id: its predictions were made beforehand, from the item as it is."""
        return ask.item.id

    async def answer(self, ask: Ask) -> Answer:
        value = self.values.get(ask.item.id)
        if value is None:
            return unscored_answer(UnscoredReason.JUDGE_FAILED, "the item was not in the benchmark it learnt")
        return Answer(Scored(value=value if ask.elicitation == "probability" else float(value > 0.5)))


def fold_groups(items: pl.DataFrame) -> NDArray[np.intp]:
    """Return (items,) groups by query and cluster: a classifier is not tested on a group that it was trained on."""
    return chained(integer_codes(items["query_id"]), integer_codes(items["cluster"]))


def texts_of_contexts(benchmark: Benchmark, rows: BoolArray | None = None) -> FloatArray:
    """Return (items,) a number for each context with other words: equal for equal contexts of different queries.

    nan for an item without a context, and outside `rows`. The result is cached: contexts of a large benchmark lie in a file.
    """
    shown = np.ones(len(benchmark.items), dtype=bool) if rows is None else rows

    def work() -> FloatArray:
        hashes = np.zeros(len(shown), dtype=np.uint64)
        places = np.flatnonzero(shown)
        written = texts(benchmark, items=benchmark.items.at(places))
        for place, words in zip(places.tolist(), written, strict=True):
            if words:
                hashes[place] = int.from_bytes(blake2b(words.encode(), digest_size=8).digest())
        _, number = np.unique(hashes, return_inverse=True)
        return np.where(hashes == 0, np.nan, number).astype(float)

    return cached_item_numbers(benchmark, f"which contexts are alike, of {int(shown.sum())}", work, made_with="numpy")


def words_that_vary(contexts: FloatArray, plan: HeldOut | Text) -> Features:
    """Return the texts that a baseline reads: the context, the query if there is none, both if they are crossed.

    `contexts`: (items,) as `texts_of_contexts`.
    """
    stated = ~np.isnan(contexts)
    if not stated.any() or (stated.all() and len(np.unique(contexts)) == 1):
        return "query"
    crossed = not isinstance(plan, str) and plan.groups == "queries and contexts"
    return "query+context" if crossed else "context"


# The user's own function as a judge.


class CallableJudge(Judge):
    """The user's own function `f(query, context)`, sync or async; `f(query)` is given the query alone, and
    `f(query, context, shown)` all that is shown.

    It returns `"safe"`, `"unsafe"` or a boolean (True is safe), a probability of safe, a score from 1 to 10, or a result of
    `casewise.read_reply`. A sync function is called in threads, several at once. Until its first verdict it is called alone,
    and an exception stops the run; later an exception costs the item only. Its cost is unknown, so no limit on cost or tokens
    can be kept with it.
    """

    prices: Prices | None = None
    counts_tokens: bool = False

    def __init__(self, function: Callable[..., Any], *, name: str = "", elicitation: Elicitation | None = None) -> None:
        self.own = UserFunction(function, name=name)
        self.id = self.name = self.own.name
        stated = elicitation or getattr(function, "elicitation", None)
        if stated is not None and stated not in elicitation_names():
            raise JudgeError(
                f"{self.name} says its elicitation is {stated!r}; it can be {', '.join(elicitation_names())}"
            )
        self.elicitations: tuple[Elicitation, ...] = (stated,) if stated else elicitation_names()

    @classmethod
    def load(cls, where: str, *, elicitation: Elicitation | None = None) -> CallableJudge:
        """Return the judge of the function `module:function`, which may lie in the working folder.

        Raises JudgeError: there is no such module or function, or importing it fails.
        """
        try:
            function = load_function(where)
        except ConfigurationError as error:
            raise JudgeError(str(error)) from error
        return cls(function, name=f"python:{where}", elicitation=elicitation)

    def settings(self) -> dict[str, Any]:
        return self.own.settings()

    def arguments(self, ask: Ask) -> tuple[Any, ...]:
        """Return the arguments of the function."""
        shown = ask.shown
        if self.own.third_parameter == "shown":
            return (shown.query, shown.context, shown)
        return (shown.query,) if self.own.parameters == ("query",) else (shown.query, shown.context)

    def received_input(self, ask: Ask) -> object:
        """Return the arguments as text, in which the order of a dictionary counts."""
        return json.dumps(self.arguments(ask), default=vars)

    async def answer(self, ask: Ask) -> Answer:
        """Call the function with an item.

        Raises JudgeError: it has given no verdict yet, and raises or returns none.
        """

        def read(returned: Any) -> FunctionResult[Answer]:
            if isinstance(returned, (Scored, Unscored)):  # as `casewise.read_reply` gives them
                return FunctionResult(Answer(returned))
            outcome = outcome_from_value(returned, ask.elicitation)
            problem = outcome.detail if isinstance(outcome, Unscored) else None
            return FunctionResult(Answer(outcome, raw_reply=escape_surrogates(str(returned))), problem)

        return await self.own.ask(
            self.arguments(ask),
            read,
            partial(unscored_answer, UnscoredReason.JUDGE_FAILED),
            about=ask.item.id,
            called_as="f(query, context), with a text and nested dictionaries",
        )


def outcome_from_value(returned: Any, elicitation: Elicitation) -> Scored | Unscored:
    """Return the outcome that stands for a value of a user's function."""
    is_bool = isinstance(returned, (bool, np.bool_))
    if elicitation == "binary":
        word = returned.strip().lower() if isinstance(returned, str) else ""
        if is_bool or word in ("safe", "unsafe"):
            return Scored(value=float(returned if is_bool else word == "safe"))
        problem = (
            f"returned {returned!r}, not 'safe', 'unsafe' or a boolean; for numbers give --elicit probability or score"
        )
        return Unscored(reason=UnscoredReason.UNPARSED, detail=escape_surrogates(problem))
    if elicitation == "permission" and isinstance(returned, str) and (stated := permission_in(returned)) is not None:
        return Scored(value=stated)
    if is_bool or isinstance(returned, str) or not hasattr(returned, "__float__"):
        return Unscored(
            reason=UnscoredReason.UNPARSED, detail=escape_surrogates(f"returned {returned!r}, not a number")
        )
    value, scale = float(returned), scale_of(elicitation)
    if not scale.contains(value):
        detail = f"returned {value!r}, outside {scale.low:g} to {scale.high:g}"
        return Unscored(reason=UnscoredReason.OUT_OF_RANGE, detail=detail)
    return Scored(value=value)

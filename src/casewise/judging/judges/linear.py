"""The linear judge: which words go with which verdicts. It reads vocabulary, not safety."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from casewise.errors import BenchmarkError, JudgeError
from casewise.judging.judge import Answer, Ask, LocalJudge
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason
from casewise.stats.agreeing.judged import query_numbers
from casewise.stats.agreeing.labels_and_ties import LabelPolicy, labels
from casewise.stats.words.baseline import Folds, LinearBaseline, out_of_fold
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import Features, item_table, texts

__all__ = ["LinearJudge"]


class LinearJudge(LocalJudge):
    """TF-IDF of words and word pairs, logistic regression, queries held out by fold: every prediction is out of fold.

    It learns from the benchmark's own ratings, so it is no judge to deploy: it is the baseline that a judge has to beat
    before its number says anything about safety.
    """

    elicitations: tuple[Elicitation, ...] = ("probability", "binary")

    def __init__(
        self, benchmark: Benchmark, *, features: Features = "context", model: LinearBaseline = LinearBaseline()
    ) -> None:
        if features not in get_args(Features):
            raise JudgeError(f"linear:{features}: it reads {', '.join(get_args(Features))}")
        self.features, self.learner = features, model
        self.id = self.name = "linear" if features == "context" else f"linear:{features}"
        self.values = predictions(benchmark, features, model)

    def settings(self) -> dict[str, Any]:
        return {"features": self.features, "folds": self.learner.n_folds, "c": self.learner.c, "labels": "votes"}

    def notes(self) -> tuple[str, ...]:
        return (
            (
                f"'{self.name}' is a bag-of-words classifier trained on this benchmark's own ratings, with queries held out by "
                "fold. It reads vocabulary, not safety: it shows how far wording alone goes, and is a baseline, no judge to deploy."
            ),
        )

    async def answer(self, ask: Ask) -> Answer:
        value = self.values.get(ask.item.id)
        if value is None:
            return Answer(
                Unscored(reason=UnscoredReason.JUDGE_FAILED, detail="the item was not in the benchmark it learnt")
            )
        return Answer(Scored(value=value if ask.elicitation == "probability" else float(value > 0.5)))


def predictions(benchmark: Benchmark, features: Features, model: LinearBaseline) -> dict[str, float]:
    """Out-of-fold P(safe) by item id.

    Raises BenchmarkError: there are too few queries with ratings, or people's verdicts are all alike.
    """
    items = item_table(benchmark)
    weight = labels(items, LabelPolicy()).weight
    n_queries = items.filter(~np.isnan(weight))["query_id"].n_unique()
    if n_queries < model.n_folds:
        raise BenchmarkError(
            f"the linear judge learns from ratings with queries held out in {model.n_folds} folds, "
            f"but {benchmark.name!r} has ratings of only {n_queries}"
        )
    if np.nanmin(weight) > 0.5 or np.nanmax(weight) < 0.5:
        raise BenchmarkError(f"people's verdicts on {benchmark.name!r} are all alike: there is nothing to learn")
    groups = query_numbers(items)
    folds = Folds.of(groups, n=model.n_folds, seed=model.seed)
    found = out_of_fold(texts(benchmark, features), weight, folds=folds, model=model)
    return dict(zip(items["item_id"], found.tolist(), strict=True))

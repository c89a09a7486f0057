"""Simulated studies whose annotators are known and differ throughout, and a judge beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.special import expit

from casewise.stats.arrays import BoolArray, FloatArray, IntArray, Raters
from casewise.stats.sample import Sample, judge_sample, one_vote_fewer


@dataclass(frozen=True)
class AnnotatedStudy:
    """Two items a query, each rated by so many people who rate so many items each; a judge's values, and a worse one's."""

    item: IntArray
    annotator: IntArray
    safe: BoolArray
    values: FloatArray
    others: FloatArray

    @property
    def counts(self) -> tuple[IntArray, IntArray]:
        """Safe votes and votes of each item."""
        n = len(self.values)
        return np.bincount(self.item[self.safe], minlength=n), np.bincount(self.item, minlength=n)

    @property
    def query(self) -> IntArray:
        return np.arange(len(self.values)) // 2

    @property
    def raters(self) -> Raters:
        return Raters(self.item, self.annotator, self.safe)

    def sample(self, *, known: bool = True) -> Sample:
        """The judge beside people; `known` says whether it is known who voted."""
        safe, votes = self.counts
        queries = [f"q{place:05d}" for place in self.query]
        items = pl.DataFrame({"query_id": queries, "n_safe": safe, "n_votes": votes, "safe_rate": safe / votes})
        items = items.with_columns(intended_safe=pl.lit(None, dtype=pl.Boolean), category=pl.lit("c"))

        def beside(of: pl.DataFrame) -> Sample:
            return judge_sample(of, self.values, elicitation="probability")

        if not known:
            return beside(items)
        fewer = (beside(one_vote_fewer(items, safe=True)), beside(one_vote_fewer(items, safe=False)))
        return replace(beside(items), raters=self.raters, without=fewer)


def annotated_study(
    rng: np.random.Generator, *, queries: int, votes: int, items_each: int, annotator_sd: float = 1.0
) -> AnnotatedStudy:
    """Logits of queries and of items vary by 1, annotators by `annotator_sd`; the judge errs, leans and flattens."""
    n = 2 * queries
    people = int(np.ceil(n * votes / items_each))
    whole = people - people % votes  # so that nobody rates an item twice
    rounds = int(np.ceil(n * votes / whole))
    who = np.concatenate([rng.permutation(people)[:whole] for _ in range(rounds)])[: n * votes]
    item = np.arange(n * votes) // votes
    logits = rng.normal(0, 1, queries).repeat(2) + rng.normal(0, 1, n)
    safe = rng.random(n * votes) < expit(logits[item] + rng.normal(0, annotator_sd, people)[who])
    judges = [np.clip(expit(0.3 + 0.8 * logits + rng.normal(0, sd, n)), 0.001, 0.999) for sd in (0.7, 1.4)]
    return AnnotatedStudy(item, who, safe, *judges)

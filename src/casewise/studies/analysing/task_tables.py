"""Task by task: Kruskal-Wallis, Dunn, categories, and each query's share of "respond" under each condition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from casewise.records import ShortRepr
from casewise.stats import benjamini_hochberg, dunn, kruskal_wallis, pairwise_proportions, wilson
from casewise.stats.conditions.by_category import PeopleOfTasks, category_tests
from casewise.stats.conditions.kruskal import KruskalWallis
from casewise.stats.core.arrays import Counts, IntArray
from casewise.stats.people.coded_ratings import CodedRatings

__all__ = ["TaskTests", "task_tests"]


@dataclass(frozen=True, repr=False)
class TaskTests(ShortRepr):
    """Everything that is tested query by query."""

    tasks: pl.DataFrame
    """One row a query with ratings under two conditions at least."""
    post_hoc: pl.DataFrame
    """One row a query and pair of conditions, for the testable queries."""
    pairs: pl.DataFrame
    """One row a pair of conditions: on how many tasks it differs."""
    categories: pl.DataFrame | None
    """One row a category, by falling mean H; None where categories are not known."""
    shares: pl.DataFrame
    """One row a query and condition: share of "respond" with its Wilson interval."""
    exact_method: str
    category_draws: str | None
    """What the permutation p of a category rests on."""
    left_out: int
    """Queries with ratings under fewer than two conditions."""


def task_tests(
    ratings: CodedRatings, *, alpha: float, paper_level: float, rng: np.random.Generator
) -> TaskTests | None:
    """Every test of the task-by-task part; None where no query has ratings under two conditions."""
    counts = ratings.by_task
    kept = np.flatnonzero((counts.sizes > 0).sum(1) >= 2)
    if not len(kept):
        return None
    some = Counts(counts.successes[kept], counts.sizes[kept])
    result = kruskal_wallis(some.successes, some.sizes, exact=True, rng=rng)
    post_hoc = _post_hoc(ratings, some, kept, result)
    draws, categories = None, None
    if ratings.category is not None:
        draws, categories = _categories(ratings, some, kept, result, levels=(alpha, paper_level), rng=rng)
    return TaskTests(
        tasks=_tasks(ratings, some, kept, result),
        post_hoc=post_hoc,
        pairs=_pairs(post_hoc, alpha),
        categories=categories,
        shares=_shares(ratings),
        exact_method=_method(result),
        category_draws=draws,
        left_out=len(counts.sizes) - len(kept),
    )


def _method(result: KruskalWallis) -> str:
    if result.exact is None or not result.exact.monte_carlo_tasks:
        return "exact"
    draws, tasks = result.exact.draws, result.exact.monte_carlo_tasks
    return f"exact, but for {tasks:,} tasks by {draws:,} random shuffles each"


def _names(ratings: CodedRatings, kept: IntArray) -> dict[str, list[str]]:
    columns = {"query": [ratings.query.names[i] for i in kept]}
    if ratings.category is not None:
        columns["category"] = [ratings.category.names[c] for c in ratings.category.codes[kept]]
    return columns


def _tasks(ratings: CodedRatings, counts: Counts, kept: IntArray, result: KruskalWallis) -> pl.DataFrame:
    exact = result.p if result.exact is None else result.exact.p
    return pl.DataFrame(
        {
            **_names(ratings, kept),
            "ratings": counts.sizes.sum(1),
            "safe": counts.successes.sum(1),
            "h": result.h,
            "df": np.broadcast_to(result.df, len(kept)),
            "p": result.p,
            "log_p": result.log_p,
            "p_exact": exact,
            "p_benjamini_hochberg": benjamini_hochberg(exact, where=result.testable),
            "cramers_v": result.cramers_v,
            "testable": result.testable,
        }
    )


def _post_hoc(ratings: CodedRatings, counts: Counts, kept: IntArray, result: KruskalWallis) -> pl.DataFrame:
    rows = np.flatnonzero(np.atleast_1d(result.testable))
    ranks = dunn(counts.successes[rows], counts.sizes[rows])
    shares = pairwise_proportions(counts.successes[rows], counts.sizes[rows])
    names, pairs = ratings.condition.names, ranks.pairs
    queries = [ratings.query.names[i] for i in kept[rows]]
    return pl.DataFrame(
        {
            "query": np.repeat(np.array(queries, dtype=object), len(pairs)).tolist(),
            "first": [names[i] for i in pairs[:, 0]] * len(rows),
            "second": [names[j] for j in pairs[:, 1]] * len(rows),
            "dunn_z": ranks.z.ravel(),
            "dunn_p": ranks.p.ravel(),
            "dunn_p_bonferroni": ranks.p_bonferroni.ravel(),
            "dunn_p_holm": ranks.p_holm.ravel(),
            "dunn_p_benjamini_hochberg": ranks.p_benjamini_hochberg.ravel(),
            "proportions_p": shares.p.ravel(),
            "proportions_p_holm": shares.p_holm.ravel(),
            "testable": ranks.testable.ravel(),
        }
    )


def _pairs(post_hoc: pl.DataFrame, alpha: float) -> pl.DataFrame:
    return (
        post_hoc.filter(pl.col("testable"))
        .group_by("first", "second", maintain_order=True)
        .agg(
            tasks=pl.len(),
            dunn_bonferroni=(pl.col("dunn_p_bonferroni") <= alpha).sum(),
            dunn_holm=(pl.col("dunn_p_holm") <= alpha).sum(),
            dunn_benjamini_hochberg=(pl.col("dunn_p_benjamini_hochberg") <= alpha).sum(),
            proportions_holm=(pl.col("proportions_p_holm") <= alpha).sum(),
        )
    )


def _categories(
    ratings: CodedRatings,
    counts: Counts,
    kept: IntArray,
    result: KruskalWallis,
    *,
    levels: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[str, pl.DataFrame]:
    assert ratings.category is not None
    present, codes = np.unique(ratings.category.codes[kept], return_inverse=True)
    people = _people(ratings, kept)
    found = category_tests(counts, codes, result=result, rng=rng, alpha=levels[0], paper_level=levels[1], people=people)
    table = pl.DataFrame(
        {
            "category": [ratings.category.names[i] for i in present],
            "queries": found.queries,
            "testable": found.testable,
            "mean_h": found.mean_h,
            "p": found.p,
            "p_benjamini_hochberg": benjamini_hochberg(found.p),
            "significant_after_correction": found.share_after_correction,
            "significant_at_paper_level": found.share_at_paper_level,
        }
    )
    shuffled = "shuffles within tasks" if people is None else "shuffles of people over the conditions"
    return f"{found.draws:,} {shuffled}", table.sort("mean_h", "category", descending=[True, False])


def _people(ratings: CodedRatings, kept: IntArray) -> PeopleOfTasks | None:
    """Who rated the kept tasks; None where votes are anonymous or somebody rated under several conditions."""
    if ratings.annotator is None:
        return None
    place = np.full(len(ratings.query), -1)
    place[kept] = np.arange(len(kept))
    here = place[ratings.query.codes] >= 0
    who, condition = ratings.annotator.codes[here], ratings.condition.codes[here]
    people, person = np.unique(who, return_inverse=True)
    assigned = np.zeros(len(people), dtype=np.int64)
    assigned[person] = condition
    if not np.array_equal(assigned[person], condition):
        return None
    return PeopleOfTasks(place[ratings.query.codes[here]], person, ratings.safe[here], assigned)


def _shares(ratings: CodedRatings) -> pl.DataFrame:
    counts = ratings.by_task
    query, condition = np.nonzero(counts.sizes)
    safe, votes = counts.successes[query, condition], counts.sizes[query, condition]
    limits = wilson(safe, votes)
    return pl.DataFrame(
        {
            **_names(ratings, query),
            "condition": [ratings.condition.names[i] for i in condition],
            "safe": safe,
            "ratings": votes,
            "share": safe / votes,
            "ci_low": limits.low,
            "ci_high": limits.high,
        }
    )

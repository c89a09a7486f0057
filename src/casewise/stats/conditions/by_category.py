"""Where context matters most: the task-by-task test gathered by category (the paper's Figure 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casewise.stats.conditions.kruskal import KruskalWallis, h_statistic
from casewise.stats.core.arrays import BoolArray, Counts, FloatArray, IntArray
from casewise.stats.core.multiplicity import benjamini_hochberg

__all__ = ["CategoryTests", "PeopleOfTasks", "category_tests"]

DRAWS = 1000
MOST_CELLS = 10_000_000
"""Shuffled counts drawn in all; beyond, there are fewer shuffles (never below 100), and the result says how many."""


@dataclass(frozen=True)
class CategoryTests:
    """One entry a category."""

    queries: IntArray
    testable: IntArray
    mean_h: FloatArray
    """Over the testable tasks; 0 where there are none."""
    p: FloatArray
    """Permutation p of the mean H: people are shuffled over the conditions, or ratings within each task."""
    share_after_correction: FloatArray
    """Share of tasks with p below alpha after Benjamini-Hochberg over all tasks."""
    share_at_paper_level: FloatArray
    draws: int


@dataclass(frozen=True)
class PeopleOfTasks:
    """Who gave which rating of which task, where each person has one condition."""

    task: IntArray
    person: IntArray
    """(ratings,) integers: """
    safe: BoolArray
    """(ratings,) booleans: """
    condition: IntArray
    """(people,) integers: """

    def shuffled(self, shape: tuple[int, int], rng: np.random.Generator) -> Counts:
        """(tasks, conditions) counts with the people dealt anew over the conditions, each with all their ratings."""
        cell = self.task * shape[1] + rng.permutation(self.condition)[self.person]
        votes, safe = (np.bincount(cells, minlength=shape[0] * shape[1]) for cells in (cell, cell[self.safe]))
        return Counts(safe.reshape(shape), votes.reshape(shape))


def category_tests(
    counts: Counts,
    category: IntArray,
    *,
    result: KruskalWallis,
    rng: np.random.Generator,
    alpha: float,
    paper_level: float,
    people: PeopleOfTasks | None = None,
) -> CategoryTests:
    """Mean H of each category's tasks with its permutation p, and the share of significant tasks.

    `counts`: (tasks, conditions), each task with ratings under two conditions at least.
    `category`: (tasks,) integers.
    `result`: the test of the same tasks; its exact p is used where it has one.
    `alpha`, `paper_level`: after Benjamini-Hochberg over all tasks; without correction, as the paper.
    `people`: where each person rated under one condition: they are then shuffled with all their ratings,
        as they were assigned.

    Without `people` ratings are shuffled within tasks, which does not know that tasks of a category share people: where
    a person rates many of them, p is too small.
    """
    p = result.p if result.exact is None else result.exact.p
    corrected = benjamini_hochberg(p, where=result.testable)
    groups = int(category.max()) + 1
    queries, testable = (np.bincount(category, weights=w, minlength=groups) for w in (None, result.testable))
    size = counts.sizes.size if people is None else len(people.safe)
    draws = int(np.clip(MOST_CELLS // max(1, size), 100, DRAWS))
    observed = np.bincount(category, weights=result.h, minlength=groups)
    as_large = np.zeros(groups)
    for _ in range(draws):
        dealt = (
            Counts(_shuffle(counts, rng), counts.sizes) if people is None else people.shuffled(counts.sizes.shape, rng)
        )
        shuffled = h_statistic(*dealt)
        as_large += np.bincount(category, weights=shuffled, minlength=groups) >= observed - 1e-9
    return CategoryTests(
        queries=queries.astype(np.int64),
        testable=testable.astype(np.int64),
        mean_h=observed / np.maximum(testable, 1),
        p=np.where(testable > 0, (1 + as_large) / (1 + draws), 1.0),
        share_after_correction=np.bincount(category, weights=corrected <= alpha, minlength=groups) / queries,
        share_at_paper_level=np.bincount(category, weights=p <= paper_level, minlength=groups) / queries,
        draws=draws,
    )


def _shuffle(counts: Counts, rng: np.random.Generator) -> IntArray:
    """Each task's safe ratings dealt anew over its conditions (multivariate hypergeometric, one group at a time)."""
    left, places = counts.successes.sum(-1), counts.sizes.sum(-1)
    dealt = np.empty_like(counts.successes)
    for group in range(counts.sizes.shape[-1]):
        size = counts.sizes[..., group]
        dealt[..., group] = rng.hypergeometric(left, places - left, size)
        left, places = left - dealt[..., group], places - size
    return dealt

"""Kruskal-Wallis on 0/1 ratings: ours against scipy's loop, from counts, and exact.

python benchmarks/kruskal.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.stats import kruskal

from casewise.stats import kruskal_wallis

TASKS, GROUPS, SIZE = 450, 5, 21


def seconds(run: Callable[[], object], *, times: int = 7) -> float:
    """The best of `times` runs."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    rng = np.random.default_rng(1)
    sizes = np.full(GROUPS, SIZE)
    paper = rng.binomial(SIZE, [0.4, 0.8, 0.2, 0.8, 0.2], size=(TASKS, GROUPS))
    ratings = [[np.repeat([1, 0], [s, SIZE - s]) for s in row] for row in paper.tolist()]
    many = rng.integers(0, SIZE + 1, (100_000, GROUPS))

    ours = seconds(lambda: kruskal_wallis(paper, sizes))
    theirs = seconds(lambda: [kruskal(*task) for task in ratings], times=2)
    counts = seconds(lambda: kruskal_wallis(many, sizes))
    exact = seconds(lambda: kruskal_wallis(paper, sizes, exact=True))

    print(f"{'what':<58}{'time':>12}{'goal':>16}")
    for what, value, goal in (
        (f"{TASKS} tasks x {GROUPS} x {SIZE}: scipy.stats.kruskal in a loop", f"{theirs * 1e3:.1f} ms", ""),
        (f"{TASKS} tasks x {GROUPS} x {SIZE}: kruskal_wallis", f"{ours * 1e3:.3f} ms", ""),
        ("ratio", f"{theirs / ours:,.0f} x", "500 x"),
        ("100,000 tasks from counts", f"{counts * 1e3:.1f} ms", "50 ms"),
        (f"{TASKS} tasks x {GROUPS} x {SIZE}: with exact p", f"{exact * 1e3:.1f} ms", "500 ms"),
    ):
        print(f"{what:<58}{value:>12}{goal:>16}")


if __name__ == "__main__":
    main()

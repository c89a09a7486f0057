"""Intervals of proportions that few queries carry: with the bound that the queries give, and without it.

    python -m benchmarks.rare_shares [--studies 400]

prints the least coverage over all settings and the mean width where the proportion is rare.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product

import numpy as np

from casewise.stats.agreeing.estimates import estimate_of
from casewise.stats.core.measured import TotalsByCluster, share

QUERIES = (15, 30, 45, 60, 120)
ITEMS = (1, 2, 8)
WRONG = (0.02, 0.05, 0.1, 0.3, 0.5)
TOGETHER = ("each alone", "half", "whole query")


def drawn(rng: np.random.Generator, queries: int, items: int, wrong: float, together: str, uneven: bool):
    """Items and those that count, by query."""
    bottom = rng.integers(1, items + 1, queries) if uneven else np.full(queries, items)
    if together == "each alone":
        return rng.binomial(bottom, wrong), bottom
    if together == "whole query":
        return (rng.random(queries) < wrong) * bottom, bottom
    return rng.binomial(bottom, rng.beta(2 * wrong, 2 * (1 - wrong), queries)), bottom


def both(top, bottom):
    """The interval with the bound, and without."""
    terms = {"top": top.astype(float), "bottom": bottom.astype(float)}
    totals = TotalsByCluster.of(terms, np.arange(len(top)), n_clusters=len(top))
    found = totals.measure(share("share", "top", "bottom"))
    return estimate_of(found), estimate_of(replace(found, touched=None))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    studies = parser.parse_args().studies
    rng = np.random.default_rng(4)
    rows = []
    for queries, items, wrong, together, uneven in product(QUERIES, ITEMS, WRONG, TOGETHER, (False, True)):
        if items == 1 and (together != "each alone" or uneven):
            continue
        covered, width = np.zeros(2), np.zeros((2, studies))
        for study in range(studies):
            for place, found in enumerate(both(*drawn(rng, queries, items, wrong, together, uneven))):
                covered[place] += found.ci_low <= wrong <= found.ci_high
                width[place, study] = found.ci_high - found.ci_low
        rows.append((wrong, *(covered / studies), *width.mean(axis=1), *width.max(axis=1)))
    table = np.array(rows)
    print(f"{len(table)} settings, {studies} studies each")
    print(f"least coverage: {table[:, 1].min():.3f} with the bound, {table[:, 2].min():.3f} without")
    for wrong in WRONG:
        mean = table[table[:, 0] == wrong][:, 3:].mean(axis=0)
        print(
            f"{wrong:4.0%} wrong: mean width {mean[0]:.3f} against {mean[1]:.3f}, the widest of a setting {mean[2]:.2f} against {mean[3]:.2f}"
        )


if __name__ == "__main__":
    main()

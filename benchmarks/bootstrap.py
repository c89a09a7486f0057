"""The cluster bootstrap of six metrics on 900 items of 450 queries, against a plain numpy loop over resamples.

    python benchmarks/bootstrap.py

The loop draws queries, gathers their items and computes the six metrics of each resample, as one writes it by hand. Both
give standard errors; for means and ratios ours is compared with the analytic cluster-robust one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

SIX = ("accuracy", "recall_safe", "recall_unsafe", "pearson", "bce", "brier")

ANALYTIC = ("accuracy", "recall_safe", "recall_unsafe", "bce", "brier")

ROUNDS = 5


def plain_loop(sample, n_resamples: int):
    """What a careful person writes: one resample at a time."""
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(sample.cluster == c) for c in range(sample.n_clusters)]
    found = np.empty((n_resamples, len(SIX)))
    for b in range(n_resamples):
        drawn = np.concatenate([members[c] for c in rng.integers(0, sample.n_clusters, sample.n_clusters)])
        w, y, r, q = sample.weight[drawn], sample.safe[drawn], sample.rate[drawn], sample.probability[drawn]
        inside = np.clip(q, 1e-9, 1 - 1e-9)
        found[b] = (
            (w * y + (1 - w) * (1 - y)).mean(),
            (w * y).sum() / w.sum(),
            ((1 - w) * (1 - y)).sum() / (1 - w).sum(),
            np.corrcoef(q, r)[0, 1],
            -(r * np.log(inside) + (1 - r) * np.log(1 - inside)).mean(),
            ((q - r) ** 2).mean(),
        )
    return found


def ours(sample):
    from casewise.stats.agreeing.estimates import measure
    from casewise.stats.agreeing.metrics import metrics_named

    return measure(sample, metrics=metrics_named(*SIX))


def best_of(call, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    from tests.support.samples import random_sample

    sample = random_sample(np.random.default_rng(1), queries=450)
    mine = ours(sample)
    fast = best_of(lambda: ours(sample), ROUNDS)
    started = time.perf_counter()
    loop = plain_loop(sample, 10_000)
    slow = time.perf_counter() - started
    print("| 10,000 resamples, six metrics | seconds | times as fast |\n|---|---:|---:|")
    print(f"| a numpy loop over resamples | {slow:.2f} | 1 |\n| casewise | {fast:.3f} | {slow / fast:.0f} |\n")
    print("| metric | SE, casewise | SE, loop | SE, analytic | casewise / analytic |\n|---|---:|---:|---:|---:|")
    for column, found in enumerate(mine):
        analytic = np.sqrt(found.variance)
        assert found.resampled is not None
        error = found.resampled.std()
        print(f"| {found.name} | {error:.5f} | {loop[:, column].std():.5f} | {analytic:.5f} | {error / analytic:.3f} |")
        if found.name in ANALYTIC:
            assert abs(error / analytic - 1) < 0.02, f"{found.name}: off by more than 2 %"


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()

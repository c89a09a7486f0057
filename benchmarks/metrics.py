"""Statistics on large samples: processor time, the least of five.

    python -m benchmarks.metrics [QUERIES]

Every metric with its interval; two-way intervals of 47,250 ratings by annotators who are known.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from tests.support.annotated import annotated_study
from tests.support.judges import wrong_at_random

from casewise.stats.agreement import agreement_of_votes
from casewise.stats.estimates import estimate
from casewise.stats.metrics import FLOORS, METRICS, REFUSALS


def least(task: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rng = np.random.default_rng(1)
    sample = wrong_at_random(rng, queries, 0.9, each=2)
    every = (*METRICS, *FLOORS, *REFUSALS)
    print(
        f"{len(every)} numbers with intervals, {len(sample):,} items: {least(lambda: estimate(sample, metrics=every)):.2f} s"
    )

    study = annotated_study(rng, queries=1_125, votes=21, items_each=25)
    known = study.sample()
    seconds = least(
        lambda: (estimate(known), agreement_of_votes(*study.counts, clusters=study.query, raters=study.raters))
    )
    print(f"a judge's metrics and agreement, two-way, {len(study.item):,} ratings: {seconds:.2f} s")


if __name__ == "__main__":
    main()

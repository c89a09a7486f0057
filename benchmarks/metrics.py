"""Every metric with its interval on a large sample: processor time.

python -m benchmarks.metrics [QUERIES]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from tests.support.judges import wrong_at_random

from casewise.stats.agreeing.estimates import estimate
from casewise.stats.agreeing.metrics import FLOORS, METRICS, REFUSALS


def main() -> None:
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    sample = wrong_at_random(np.random.default_rng(1), queries, 0.9, each=2)
    times = []
    for _ in range(5):
        start = time.process_time()
        found = estimate(sample, metrics=(*METRICS, *FLOORS, *REFUSALS))
        times.append(time.process_time() - start)
    print(
        f"{len(found)} numbers with intervals, {len(sample):,} items of {queries:,} queries: {min(times):.2f} s of processor time"
    )


if __name__ == "__main__":
    main()

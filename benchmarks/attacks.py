"""What attacks cost to build: 900 items under 40 attacks, and what is held meanwhile, beside copying the texts once.

    python -m benchmarks.attacks BENCHMARK

BENCHMARK is `casebench_twin`, which has as many items as the paper's, or any other benchmark.
"""

from __future__ import annotations

import sys
import time
import tracemalloc

import casewise
from casewise.records import Arm
from casewise.transforms.catalogue import parse_attacks, show

__all__ = ["main"]


def main() -> None:
    benchmark = casewise.load(sys.argv[1])
    attacks = parse_attacks("all")[::2][:40]
    arms = [Arm(transforms=(one,)) for one in attacks]
    parts = [
        (benchmark.query[one.query_id], benchmark.context_of(one), benchmark.twin_of(one)) for one in benchmark.items
    ]
    print("| what | seconds of processor time | a second |\n|---|---:|---:|")
    start, n, letters = time.process_time(), 0, 0
    for arm in arms:
        for query, context, twin in parts:
            letters += len(show(arm, query, context, twin=twin).query)
            n += 1
    spent = time.process_time() - start
    print(f"| {len(parts)} items under {len(arms)} attacks | {spent:.2f} | {n / spent:,.0f} |")
    start = time.process_time()
    for _ in arms:
        for query, context, _twin in parts:
            letters += len(query.text) + len(str(context.shown() if context else {}))
    floor = time.process_time() - start
    print(f"| the same items laid open, {len(arms)} times | {floor:.2f} | {n / floor:,.0f} |")
    tracemalloc.start()
    for arm in arms[:10]:
        for query, context, twin in parts:
            show(arm, query, context, twin=twin)
    print(f"\nheld at most while 10 attacks were built: {tracemalloc.get_traced_memory()[1] / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

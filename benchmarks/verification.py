"""What the structured step of verification takes: a benchmark's contexts against 10,000 facts.

python -m benchmarks.verification FILE
"""

from __future__ import annotations

import sys
import time
from datetime import date
from itertools import cycle, islice

import casewise
from casewise.evaluate.verification import VerificationNumbers
from casewise.transforms.verified import Facts, SourcedFact

__all__ = ["main"]

N_FACTS = 10_000


def main() -> None:
    benchmark = casewise.load(sys.argv[1])
    stated = [(one.id, name, text) for one in benchmark.contexts for name, text in one.texts().items()]
    facts = [
        SourcedFact(subject=who if n < len(stated) else f"somebody {n}", field=name, value=text, source="register")
        for n, (who, name, text) in enumerate(islice(cycle(stated), N_FACTS))
    ]
    start = time.process_time()
    known = Facts.of(facts)
    made = time.process_time()
    found = VerificationNumbers(benchmark, known, date(2026, 6, 1))
    counts = found.counts
    spent = time.process_time()
    claims = sum(sum(counted.values()) for counted in counts.values())
    print("| what | seconds of processor time |\n|---|---:|")
    print(f"| {len(facts):,} facts put in order | {made - start:.2f} |")
    print(f"| {len(found.contexts):,} contexts, {claims:,} claims held against them | {spent - made:.2f} |")


if __name__ == "__main__":
    main()

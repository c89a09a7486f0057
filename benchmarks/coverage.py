"""How often what is printed is right: intervals that hold the truth, tests that raise no false alarm, and their power.

    python -m benchmarks.coverage [--quick] [SECTION ...]

Crowds are simulated whose truth is known, and each number is computed by the function that the reports call. A row says
what was tried, in which setting, how often it came out so (with the simulation's own error), and what is wanted. Without
a section all are run; `--quick` takes a tenth of the studies.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from tests.support.rate_mixtures import ACTS, HONEST, counts_of

from casewise.stats import oracle_accuracy
from casewise.stats.people.majorities import chance_of_majority
from casewise.stats.people.majority_gap import majority_gap

__all__ = ["SECTIONS", "Row", "main", "printed"]


@dataclass(frozen=True)
class Row:
    """One line of the table: `right` of `studies`, and the bound that is wanted."""

    what: str
    setting: str
    measure: str
    right: int
    studies: int
    wanted: str

    @property
    def share(self) -> float:
        return self.right / self.studies

    @property
    def error(self) -> float:
        """Standard error of the simulation; from one more of each kind, so that none is never sure."""
        share = (self.right + 1) / (self.studies + 2)
        return sqrt(share * (1 - share) / self.studies)


Section = Callable[[int], Iterator[Row]]
"""From how many studies a setting gets, to rows."""


def gap_at_majority(studies: int) -> Iterator[Row]:
    """`labels.gap-at-majority`: made of no crowd, whatever its rates; made of one that somebody acted on."""
    rng = np.random.default_rng(19)

    def found(counts: np.ndarray, votes: int) -> bool:
        gap = majority_gap(counts, votes=votes, rng=rng)
        return gap is not None and gap.p < 0.0005

    each = max(1, studies // 25)
    for items, votes in ((450, 7), (450, 20), (5_000, 20)):
        alarms = {
            name: sum(found(counts_of(rates, items=items, votes=votes, rng=rng), votes) for _ in range(each))
            for name, rates in HONEST.items()
        }
        setting = f"{len(alarms)} spreads of rates, {items:,} items of {votes} votes"
        yield Row("gap at the majority", setting, "false alarms", sum(alarms.values()), each * len(alarms), "≤ 1 %")
    for act, change in ACTS.items():
        for name in ("beta(2, 2)", "beta(5, 5)", "logits N(0, 1)"):
            drawn = [counts_of(HONEST[name], items=450, votes=20, rng=rng) for _ in range(each)]
            hits = sum(found(change(counts, votes=20, share=1.0, rng=rng), 20) for counts in drawn)
            yield Row("gap at the majority", f"{act}, {name}, 450 items of 20 votes", "found", hits, each, "≥ 80 %")


def oracle(studies: int) -> Iterator[Row]:
    """The interval for the accuracy of one who knows what a very large crowd says; and the range over priors beside it."""
    rng = np.random.default_rng(23)
    for items, votes, each in ((100, 20, 1), (450, 20, 2), (450, 5, 2)):
        for name in ("beta(1, 1)", "beta(5, 5)", "beta(6.7, 20.7)", "(0.4, 0.6)", "logits N(0.5, 2)"):
            rates = HONEST[name]
            drawn = rates(np.random.default_rng(5), 400_000)
            truth = float(chance_of_majority(np.maximum(drawn, 1 - drawn), votes).mean())
            inside = within = 0
            for _ in range(max(1, studies // 2)):
                of_query = rates(rng, items // each)
                safe = rng.binomial(votes, np.repeat(of_query, each))
                found = oracle_accuracy(safe, np.full(len(safe), votes), rng=rng, clusters=np.arange(len(safe)) // each)
                inside += found.ci_low - 1e-6 <= truth <= found.ci_high + 1e-6
                within += found.low <= truth <= found.high
            setting = f"{name}, {items} items of {votes} votes, {each} a query"
            yield Row(
                "accuracy of an oracle, interval", setting, "holds the truth", inside, max(1, studies // 2), "≥ 95 %"
            )
            yield Row(
                "accuracy of an oracle, range over priors",
                setting,
                "holds the truth",
                within,
                max(1, studies // 2),
                "no claim",
            )


SECTIONS: dict[str, Section] = {"gap": gap_at_majority, "oracle": oracle}


def printed(row: Row) -> str:
    """The row as one of a Markdown table."""
    share = f"{row.share:.1%} ± {row.error:.1%}"
    return f"| {row.what} | {row.setting} | {row.measure} | {share} | {row.studies:,} | {row.wanted} |"


def main() -> None:
    words = sys.argv[1:]
    studies = 100 if "--quick" in words else 1_000
    names = [word for word in words if not word.startswith("-")] or list(SECTIONS)
    print("| what | setting | how often | share | studies | wanted |\n|---|---|---|---:|---:|---|")
    for name in names:
        start = time.perf_counter()
        for row in SECTIONS[name](studies):
            print(printed(row), flush=True)
        print(f"({name}: {time.perf_counter() - start:.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    main()

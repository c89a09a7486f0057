"""What is said of crowds from votes alone: a gap at the majority, and what an oracle would score."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.covered.rows import Row, Section
from tests.support.rate_mixtures import ACTS, HONEST, counts_of

from casewise.stats import oracle_accuracy
from casewise.stats.crowd import majority_gap
from casewise.stats.shares import chance_of_majority

__all__ = ["SECTIONS"]


def gap_at_majority(studies: int) -> Iterator[Row]:
    """`labels.gap-at-majority`: made of no crowd, whatever its rates; made of one that somebody acted on."""
    rng = np.random.default_rng(19)

    def found(counts: np.ndarray, votes: int) -> bool:
        gap = majority_gap(counts, votes=votes, rng=rng)
        return gap is not None and gap.p < 0.0005

    name = "labels.gap-at-majority"
    each = max(1, studies // 25)
    for items, votes in ((450, 7), (450, 20), (5_000, 20)):
        alarms = {
            spread: sum(found(counts_of(rates, items=items, votes=votes, rng=rng), votes) for _ in range(each))
            for spread, rates in HONEST.items()
        }
        setting = f"{len(alarms)} spreads of rates, {items:,} items of {votes} votes"
        yield Row(name, setting, "false alarms", sum(alarms.values()), each * len(alarms), "≤ 1 %")
    for act, change in ACTS.items():
        for spread in ("beta(2, 2)", "beta(5, 5)", "logits N(0, 1)"):
            drawn = [counts_of(HONEST[spread], items=450, votes=20, rng=rng) for _ in range(each)]
            hits = sum(found(change(counts, votes=20, share=1.0, rng=rng), 20) for counts in drawn)
            yield Row(name, f"{act}, {spread}, 450 items of 20 votes", "found", hits, each, "≥ 80 %")


def oracle(studies: int) -> Iterator[Row]:
    """The interval for the accuracy of one who knows what a very large crowd says; and the range over priors beside it."""
    rng = np.random.default_rng(23)
    count = max(1, studies // 4)
    for items, votes, each in ((100, 20, 1), (450, 20, 2), (450, 5, 2)):
        for name in ("beta(1, 1)", "beta(5, 5)", "beta(6.7, 20.7)", "(0.4, 0.6)", "logits N(0.5, 2)"):
            rates = HONEST[name]
            drawn = rates(np.random.default_rng(5), 400_000)
            truth = float(chance_of_majority(np.maximum(drawn, 1 - drawn), votes).mean())
            inside = within = 0
            for _ in range(count):
                of_query = rates(rng, items // each)
                safe = rng.binomial(votes, np.repeat(of_query, each))
                found = oracle_accuracy(safe, np.full(len(safe), votes), rng=rng, clusters=np.arange(len(safe)) // each)
                inside += found.ci_low - 1e-6 <= truth <= found.ci_high + 1e-6
                within += found.low <= truth <= found.high
            setting = f"{name}, {items} items of {votes} votes, {each} a query"
            yield Row("oracle_accuracy", setting, "interval holds the truth", inside, count, "≥ 95 %")
            yield Row("oracle_accuracy", setting, "range over priors holds the truth", within, count, "no claim")


SECTIONS = (
    Section(
        "gap",
        ("labels.gap-at-majority",),
        "35 spreads of true rates; 450 items of 7 votes, 450 of 20 and 5,000 of 20 for false alarms; for what was done to "
        "labels, three spreads and 450 items of 20 votes: one vote in ten moved on items that lack no more for a majority, "
        "only as many moved as are lacking, items without a majority dropped.",
        gap_at_majority,
    ),
    Section(
        "oracle",
        ("oracle_accuracy",),
        "Five spreads of true rates; 100 and 450 items of 20 votes, 450 of 5; one and two items a query that share a rate.",
        oracle,
    ),
)

"""Judges whose errors are known: so many, alone or several of a query together."""

from __future__ import annotations

import numpy as np

from casewise.stats.sample import Sample

VOTES = 20


def wrong_at_random(
    rng: np.random.Generator, queries: int, accuracy: float, together: int = 1, *, each: int = 8
) -> Sample:
    """`each` items a query that share part of people's opinion; a judge that believes the opposite on a share of items.

    Items are believed rightly or wrongly `together` at a time.
    """
    n = queries * each
    opinion = 1.5 * (0.6 * np.repeat(rng.normal(size=queries), each) + rng.normal(size=n))
    rate = rng.binomial(VOTES, 1 / (1 + np.exp(-opinion))) / VOTES
    block = np.arange(n) // together
    wrong = (rng.random(int(block[-1]) + 1) > accuracy)[block]
    belief = np.where(wrong, -opinion, opinion) + 0.3 * rng.normal(size=n)
    probability = np.round(1 / (1 + np.exp(-belief)), 2)
    return Sample(
        weight=np.where(rate > 0.5, 1.0, np.where(rate < 0.5, 0.0, 0.5)),
        rate=rate,
        safe=(probability > 0.5).astype(float),
        probability=probability,
        value=probability,
        cluster=np.repeat(np.arange(queries), each),
        n_votes=np.full(n, float(VOTES)),
    )
